package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"orbweaver/core/netguard"
)

// prefixesValue is a list of networks; an address is the network of it alone.
type prefixesValue struct {
	p     *[]netip.Prefix
	nat64 bool // each is to be a translator's prefix
}

func (v prefixesValue) kind() string { return "list of networks" }
func (v prefixesValue) text() string { return strings.Join(v.list(), ",") }
func (v prefixesValue) plain() any   { return v.list() }

func (v prefixesValue) list() []string {
	words := make([]string, len(*v.p))
	for i, prefix := range *v.p {
		words[i] = prefix.String()
	}
	return words
}

func (v prefixesValue) set(in input) error {
	words, err := in.words()
	if err != nil {
		return err
	}
	var prefixes []netip.Prefix
	for _, w := range words {
		prefix, err := netip.ParsePrefix(w)
		if addr, addrErr := netip.ParseAddr(w); addrErr == nil && addr.Zone() == "" {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("%s is no network: write an address (10.1.2.3) or a prefix (10.1.0.0/16, fd00::/8)", quote(w))
		}
		if v.nat64 && (netguard.Policy{NAT64: []netip.Prefix{prefix}}).Validate() != nil {
			return fmt.Errorf("%s is no translator's prefix: write an IPv6 one of 32, 40, 48, 56, 64 or 96 bits", quote(w))
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	*v.p = prefixes
	return nil
}

// portsValue is ports and ranges of them.
type portsValue struct{ p *[]netguard.PortRange }

func (v portsValue) kind() string { return "list of ports" }
func (v portsValue) text() string { return strings.Join(v.list(), ",") }
func (v portsValue) plain() any   { return v.list() }

func (v portsValue) list() []string {
	words := make([]string, len(*v.p))
	for i, r := range *v.p {
		words[i] = r.String()
	}
	return words
}

func (v portsValue) set(in input) error {
	words, err := in.words()
	if err != nil {
		return err
	}
	ports, err := netguard.ParsePorts(strings.Join(words, ","))
	if err != nil {
		return fmt.Errorf("%s is no list of ports: write ports from 1 to 65535 or ranges of them (80,443,8000-8999)", quote(strings.Join(words, ",")))
	}
	*v.p = ports
	return nil
}

// checkServer accepts an address, with or without a port.
func checkServer(s string) error {
	if addr, err := netip.ParseAddr(s); err == nil && addr.IsValid() {
		return nil
	}
	if at, err := netip.ParseAddrPort(s); err == nil && at.Port() > 0 {
		return nil
	}
	return fmt.Errorf("%s is no name server: write an address (10.0.0.53, 10.0.0.53:5353, [fd00::53]:53)", quote(s))
}

// checkProxy accepts the URL of a proxy. Its errors hold no part of it: it may have
// a password.
func checkProxy(s string) error {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "http", s
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "socks5", "socks5h":
	default:
		return errors.New("has an entry with another scheme: write http://, https://, socks5:// or socks5h://")
	}
	if u, err := url.Parse("http://" + rest); err != nil || u.Hostname() == "" {
		return errors.New("has an entry that is no URL: write SCHEME://[USER:PASSWORD@]HOST:PORT, with / # ? @ : % in a password as %2F %23 %3F %40 %3A %25")
	}
	return nil
}

// tlsValue is a version of TLS; Scrapy's spelling (TLSv1.2) will do.
func tlsValue(p *string) enumValue {
	return enumValue{
		p: p, words: []string{"1.0", "1.1", "1.2", "1.3"},
		also: map[string]string{"tlsv1.0": "1.0", "tlsv1": "1.0", "tlsv1.1": "1.1", "tlsv1.2": "1.2", "tlsv1.3": "1.3"},
	}
}

// checkDomain accepts a host name.
func checkDomain(s string) error {
	if strings.ContainsAny(s, "/?#@:*[] \t") || strings.Trim(s, ".") == "" {
		return fmt.Errorf("%s is no domain: write names such as example.org, without scheme, port or wildcard", quote(s))
	}
	return nil
}
