package fetcher

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"

	"orbweaver/core/crawl"
	"orbweaver/core/netguard"
	"orbweaver/core/weburl"
)

// connectCause names why there is no connection.
func connectCause(err error) crawl.Cause {
	var (
		forbidden *netguard.ForbiddenError
		host      *netguard.HostError
		noProxy   *proxyError
		lookup    *lookupError
		handshake *handshakeError
	)
	switch {
	case errors.As(err, &forbidden), errors.As(err, &host), errors.Is(err, netguard.ErrPort):
		return crawl.CauseForbidden
	case errors.Is(err, context.Canceled):
		return crawl.CauseCancelled
	case exhausted(err):
		return crawl.CauseCancelled
	case errors.As(err, &noProxy):
		return crawl.CauseProxy
	case errors.As(err, &lookup):
		return crawl.CauseDNS
	case isTimeout(err):
		return crawl.CauseTimeout
	case errors.As(err, &handshake):
		return crawl.CauseTLS
	case errors.Is(err, syscall.ECONNRESET):
		return crawl.CauseReset
	case errors.Is(err, errURLPort), errors.Is(err, weburl.ErrHost):
		return crawl.CauseBadURL
	default:
		return crawl.CauseRefused
	}
}

// exhausted reports whether this machine, not the site, is why there is no
// connection: it is out of file descriptors or of local ports.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EADDRNOTAVAIL)
}

// streamCause names why reading or writing ended, and crawl.CauseMalformed for
// what is no error of the connection.
func streamCause(err error) crawl.Cause {
	switch {
	case err == nil:
		return crawl.CauseMalformed
	case isTimeout(err):
		return crawl.CauseTimeout
	case errors.Is(err, net.ErrClosed):
		return crawl.CauseCancelled
	case strings.HasPrefix(err.Error(), "tls: "), strings.Contains(err.Error(), "remote error: tls: "):
		return crawl.CauseTLS // a broken record, or an alert after the handshake
	default:
		return crawl.CauseReset
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

// maxErrText is the most bytes of detail that a response's Err carries.
const maxErrText = 160

// errText makes one short printable line of what may quote a server's bytes.
func errText(s string) string {
	clean := func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return ' '
		}
		return r
	}
	if len(s) > maxErrText {
		s = s[:maxErrText]
	}
	return strings.Map(clean, s)
}
