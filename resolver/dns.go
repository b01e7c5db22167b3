package resolver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	// maxQueries bounds the sockets that look-ups hold at once.
	maxQueries = 256
	// udpSize is what a UDP answer may take: less than what would be cut into
	// fragments anywhere (DNS flag day 2020).
	udpSize = 1232
	// maxAliases bounds a chain of CNAMEs.
	maxAliases = 16
	// patience is how long the second family may come after the first has
	// brought addresses (RFC 8305 section 3 recommends 50 ms).
	patience = 50 * time.Millisecond
)

// found is one family's answer.
type found struct {
	qtype uint16
	addrs []netip.Addr
	ttl   time.Duration // of addrs, or of the word that there are none
	err   error         // no word at all
}

// askServers asks for a name, then for it with each suffix of the search list, in
// the order that resolv.conf says.
func (r *Resolver) askServers(ctx context.Context, s *servers, name string) answer {
	var problem error
	none, known := time.Duration(0), false // how long all names are known to be missing
	for _, full := range s.names(name) {
		a, four, six := r.askBoth(ctx, s, full)
		if len(a) > 0 {
			return answer{addrs: a, ttl: min(lifeOf(four, six), r.cfg.MaxTTL)}
		}
		if err := errors.Join(four.err, six.err); err != nil {
			problem = err
			continue
		}
		ttl := min(four.ttl, six.ttl)
		if known {
			ttl = min(ttl, none)
		}
		none, known = ttl, true
	}
	switch {
	case problem != nil:
		return failed(name, problem.Error())
	case !known:
		return missing(name, r.negative(r.cfg.NegativeTTL))
	default:
		return missing(name, r.negative(none))
	}
}

// lifeOf is how long addresses of both families are good: as long as those that
// die first.
func lifeOf(four, six found) time.Duration {
	switch {
	case len(six.addrs) == 0:
		return four.ttl
	case len(four.addrs) == 0:
		return six.ttl
	default:
		return min(four.ttl, six.ttl)
	}
}

// askBoth asks for both families at once. When one has brought addresses, the
// other has patience to follow: there are servers that never answer for IPv6.
func (r *Resolver) askBoth(ctx context.Context, s *servers, full string) (addrs []netip.Addr, four, six found) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan found, 2)
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		go func() { results <- r.guarded(ctx, s, full, qtype) }()
	}
	four.err, six.err = errors.New("no answer"), errors.New("no answer")
	var late <-chan time.Time
	for range 2 {
		select {
		case f := <-results:
			if f.qtype == dns.TypeA {
				four = f
			} else {
				six = f
			}
			if len(f.addrs) > 0 && late == nil {
				timer := time.NewTimer(patience)
				defer timer.Stop()
				late = timer.C
			}
		case <-late:
		}
	}
	return ordered(append(slices.Clip(four.addrs), six.addrs...)), four, six
}

// guarded asks every server in turn, as often as resolv.conf says. It is the
// whole of a goroutine: a panic over a stranger's bytes ends here.
func (r *Resolver) guarded(ctx context.Context, s *servers, full string, qtype uint16) (f found) {
	defer func() {
		if reason := recover(); reason != nil {
			f = found{qtype: qtype, err: fmt.Errorf("look-up panicked: %v", reason)}
		}
	}()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return found{qtype: qtype, err: errTimeout}
	}
	f = found{qtype: qtype, err: errTimeout}
	for range s.attempts {
		for _, server := range s.addrs {
			if ctx.Err() != nil {
				return f
			}
			reply, err := exchange(ctx, server, s.try, full, qtype)
			if err == nil {
				if f, err = r.read(reply, full, qtype); err == nil {
					return f
				}
			}
			f = found{qtype: qtype, err: err}
		}
	}
	return f
}

var (
	errTimeout = errors.New("name servers did not answer in time")
	errReply   = errors.New("name server answered another question")
)

// exchange asks one server, by TCP when the answer is too long for UDP.
func exchange(ctx context.Context, server netip.AddrPort, try time.Duration, full string, qtype uint16) (*dns.Msg, error) {
	query := new(dns.Msg)
	query.SetQuestion(full, qtype)
	query.SetEdns0(udpSize, false)
	reply, err := exchangeBy(ctx, "udp", server, try, query)
	if err == nil && reply.Truncated {
		reply, err = exchangeBy(ctx, "tcp", server, try, query)
	}
	if err == nil && reply.Rcode == dns.RcodeFormatError { // a server older than EDNS
		query.Extra = nil
		reply, err = exchangeBy(ctx, "udp", server, try, query)
	}
	return reply, err
}

func exchangeBy(ctx context.Context, network string, server netip.AddrPort, try time.Duration, query *dns.Msg) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, try)
	defer cancel()
	query.Id = dns.Id()
	client := &dns.Client{Net: network, Timeout: try}
	conn, err := client.DialContext(ctx, server.String())
	if err != nil {
		return nil, errors.New("name server cannot be reached")
	}
	defer conn.Close() //nolint:errcheck // read
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	reply, _, err := client.ExchangeWithConnContext(ctx, query, conn)
	switch {
	case ctx.Err() != nil:
		return nil, errTimeout
	case err != nil:
		return nil, errors.New("name server did not answer") // its error has the server's address
	case reply.Response && reply.Rcode == dns.RcodeFormatError && len(reply.Question) == 0:
		return reply, nil // it did not understand, so it does not repeat
	case !reply.Response, len(reply.Question) != 1, reply.Question[0].Qtype != query.Question[0].Qtype,
		!strings.EqualFold(reply.Question[0].Name, query.Question[0].Name):
		return nil, errReply
	}
	return reply, nil
}

// read takes the addresses of full out of a reply, along its aliases. Records of
// other names are passed over: nobody asked for them.
func (r *Resolver) read(reply *dns.Msg, full string, qtype uint16) (found, error) {
	f := found{qtype: qtype}
	switch reply.Rcode {
	case dns.RcodeSuccess:
	case dns.RcodeNameError:
		f.ttl = negativeTTL(reply)
		return f, nil
	default:
		return f, fmt.Errorf("name server answered %s", dns.RcodeToString[reply.Rcode])
	}
	least := uint32(1<<31 - 1)
	owner := full
	for range maxAliases {
		alias := ""
		for _, rr := range reply.Answer {
			h := rr.Header()
			if !strings.EqualFold(h.Name, owner) || h.Class != dns.ClassINET {
				continue
			}
			ttl := h.Ttl
			if ttl > 1<<31-1 {
				ttl = 0 // RFC 2181 section 8
			}
			switch rr := rr.(type) {
			case *dns.CNAME:
				alias, least = rr.Target, min(least, ttl)
			case *dns.A:
				if addr, ok := netip.AddrFromSlice(rr.A.To4()); ok && qtype == dns.TypeA {
					f.addrs, least = append(f.addrs, addr), min(least, ttl)
				}
			case *dns.AAAA:
				if addr, ok := netip.AddrFromSlice(rr.AAAA.To16()); ok && qtype == dns.TypeAAAA {
					f.addrs, least = append(f.addrs, addr), min(least, ttl)
				}
			}
		}
		if len(f.addrs) > 0 || alias == "" {
			break
		}
		owner = alias
	}
	if f.ttl = time.Duration(least) * time.Second; len(f.addrs) == 0 {
		f.ttl = negativeTTL(reply)
	}
	return f, nil
}

// negativeTTL is how long the zone says that a name is missing (RFC 2308 section
// 5); without its word, not at all.
func negativeTTL(reply *dns.Msg) time.Duration {
	for _, rr := range reply.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return time.Duration(min(soa.Minttl, soa.Hdr.Ttl)) * time.Second
		}
	}
	return 0
}
