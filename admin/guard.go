package admin

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard keeps out what a web page could send here: requests under a name that
// its owner rebound to this address, and writes of another origin.
func (s *Server) guard(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusForbidden, "cross_origin", "requests of another origin are refused")
	}))
	next = origin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		if !s.isOwnHost(r) {
			writeError(w, http.StatusMisdirectedRequest, "host", "this endpoint does not answer to host "+clip(r.Host)+": use its address, localhost or the name it was given")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnHost reports whether the Host header names this endpoint: a loopback
// name or address, the address that the connection came in on, or the name that
// the endpoint was told to listen on.
func (s *Server) isOwnHost(r *http.Request) bool {
	host := hostname(r.Host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host != "" && host == hostname(s.cfg.Address)
	}
	addr = addr.Unmap()
	if addr.IsLoopback() {
		return true
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return local.AddrPort().Addr().Unmap().WithZone("") == addr.WithZone("")
	}
	return false
}

// hostname is the host of HOST, HOST:PORT or [HOST]:PORT in lower case.
func hostname(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// clip bounds foreign text in an answer.
func clip(s string) string {
	const limitBytes = 100
	if len(s) <= limitBytes {
		return s
	}
	return s[:limitBytes] + "..."
}
