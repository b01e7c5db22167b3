package crawl

import "time"

// Cause names how a fetch ended when no whole response came. The names are the
// ones of stats, logs and dead letters. "" means that a response came.
type Cause string

// The causes of a fetch that gave no response.
const (
	CauseNone      Cause = ""
	CauseDNS       Cause = "dns"       // the name did not resolve
	CauseRefused   Cause = "refused"   // connection refused or unreachable
	CauseProxy     Cause = "proxy"     // the proxy does not serve: not the site's fault
	CauseTLS       Cause = "tls"       // TLS handshake or certificate
	CauseTimeout   Cause = "timeout"   // DOWNLOAD_TIMEOUT passed
	CauseReset     Cause = "reset"     // the peer closed before a whole response
	CauseMalformed Cause = "malformed" // not HTTP, or a header block over the limit
	CauseTooLarge  Cause = "too_large" // body over DOWNLOAD_MAXSIZE
	CauseForbidden Cause = "forbidden" // address refused by the guard
	CauseBadURL    Cause = "bad_url"   // cannot be requested at all
	CauseEncoding  Cause = "encoding"  // content coding unknown or broken
	CauseCancelled Cause = "cancelled" // slot lost, node stopping: not the site's fault
	CauseStale     Cause = "stale"     // a kept connection was closed by the peer before any answer: may be sent again
	CauseTooLate   Cause = "too_late"  // the permit ran out before the bytes were written: never sent
	CausePanic     Cause = "panic"     // our own code failed on this page
	CauseRobots    Cause = "robots"    // robots.txt could not be had; Status is that of its answer, 0 for none
	CauseRedirects Cause = "redirects" // more than REDIRECT_MAX_TIMES
	CauseStatus    Cause = "status"    // a response whose status is to be retried
	CauseMissing   Cause = "missing"   // not in the HTTP cache, which is all that is asked
	CauseParked    Cause = "parked"    // never sent: its host is put aside
)

// SiteFault reports whether the cause says something about the site's health,
// so that the throttle should slow down for it.
func (c Cause) SiteFault() bool {
	switch c {
	case CauseRefused, CauseTLS, CauseTimeout, CauseReset, CauseDNS:
		return true
	default:
		return false
	}
}

// Response is what a fetch brought. Body is decoded (content coding removed)
// and capped; it is owned by the receiver of the message that carries it.
type Response struct {
	URL     string // the request's URL as sent
	Status  int    // HTTP status; 0 when Cause is set
	Headers []Header
	Body    []byte
	Cause   Cause
	Err     string        // human-readable detail of Cause
	Latency time.Duration // start of connecting (or of writing, on a kept connection) to end of headers
	Wire    int64         // bytes read from the connection, headers included
	SentAt  time.Time     // when the request's last byte was written; zero when it never was
	Took    time.Duration // whole fetch
	Cached  bool          // from the HTTP cache: the site was not asked
	Counted []string      // statistics to be counted by one each, besides a response's own
}

// Header gives the first value of the named field, matched case-insensitively, or "".
func (r *Response) Header(name string) string {
	for i := range r.Headers {
		if equalFold(r.Headers[i].Name, name) {
			return r.Headers[i].Value
		}
	}
	return ""
}

func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x|0x20 != y|0x20 || x|0x20 < 'a' || x|0x20 > 'z' {
			return false
		}
	}
	return true
}
