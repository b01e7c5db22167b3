package resolver

import (
	"bufio"
	"bytes"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

const (
	// lookEvery is how often a file is looked at for changes.
	lookEvery = 5 * time.Second
	// maxFileBytes bounds a file; lists of blocked hosts reach 5 MB.
	maxFileBytes = 32 << 20
)

// watched is what a file says, read again when it has changed. A file that is
// not there, or cannot be read, says nothing.
type watched[T any] struct {
	path  string
	parse func([]byte) T

	mu     sync.Mutex
	looked time.Time // guarded by mu
	stamp  stamp     // guarded by mu
	value  T         // guarded by mu; not changed once it is given out
}

type stamp struct {
	modified time.Time
	size     int64
}

func (w *watched[T]) get(now time.Time) T {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.looked.IsZero() && now.Sub(w.looked) < lookEvery {
		return w.value
	}
	w.looked = now
	var have stamp
	if info, err := os.Stat(w.path); err == nil {
		have = stamp{info.ModTime(), info.Size()}
	}
	if have != w.stamp {
		w.stamp, w.value = have, w.parse(readFile(w.path))
	}
	return w.value
}

func readFile(path string) []byte {
	f, err := os.Open(path) //nolint:gosec // the machine's own file
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes))
	if err != nil {
		return nil
	}
	return data
}

// hosts are the addresses of names, as canonical writes these.
type hosts map[string][]netip.Addr

// parseHosts reads a hosts(5) file; a line that is none is passed over.
func parseHosts(data []byte) hosts {
	h := hosts{}
	for line := range bytes.Lines(data) {
		text, _, _ := strings.Cut(string(line), "#")
		fields := strings.Fields(text)
		if len(fields) < 2 {
			continue
		}
		addr, err := netip.ParseAddr(fields[0])
		if err != nil {
			continue
		}
		for _, f := range fields[1:] {
			if name, err := canonical(f); err == nil && len(h[name]) < maxAddrs {
				h[name] = append(h[name], addr)
			}
		}
	}
	return h
}

const (
	defaultTry      = 5 * time.Second
	defaultAttempts = 2
	maxServers      = 8
	maxSearch       = 16
)

// servers are who is asked, and how.
type servers struct {
	addrs    []netip.AddrPort
	try      time.Duration // for one question to one server
	attempts int           // rounds through all servers
	search   *dns.ClientConfig
}

// parseResolvConf reads a resolv.conf(5) file.
func parseResolvConf(data []byte) *servers {
	conf, err := dns.ClientConfigFromReader(bufio.NewReader(bytes.NewReader(data)))
	if err != nil {
		return nil
	}
	s := &servers{try: time.Duration(min(conf.Timeout, 30)) * time.Second, attempts: min(conf.Attempts, 5), search: conf}
	for _, text := range conf.Servers {
		if addr, err := netip.ParseAddr(text); err == nil && len(s.addrs) < maxServers {
			s.addrs = append(s.addrs, netip.AddrPortFrom(addr, 53))
		}
	}
	conf.Search = conf.Search[:min(len(conf.Search), maxSearch)]
	return s
}

// names are the full names to be asked for in turn.
func (s *servers) names(name string) []string {
	all := []string{dns.Fqdn(name)}
	if s.search != nil {
		all = s.search.NameList(name)
	}
	fit := all[:0]
	for _, n := range all {
		if _, ok := dns.IsDomainName(n); ok && len(n) <= 254 {
			fit = append(fit, n)
		}
	}
	return fit
}
