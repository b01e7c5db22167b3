package weburl

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxHostBytes is the longest name that DNS can answer for (RFC 1035 section
// 2.3.4: 255 octets on the wire).
const maxHostBytes = 253

// browserIDNA is the WHATWG domain to ASCII algorithm, not strict.
var browserIDNA = idna.New( //nolint:gochecknoglobals // immutable, as a compiled regexp
	idna.MapForLookup(),
	idna.BidiRule(),
	idna.VerifyDNSLength(false),
	idna.StrictDomainName(false),
	idna.ValidateLabels(true),
	idna.CheckHyphens(false),
	idna.CheckJoiners(true),
	idna.Transitional(false),
)

// appendHost writes the serialised host of an http or https URL. With lookup
// set it refuses names that cannot be looked up or named in a key.
// See https://url.spec.whatwg.org/#host-parsing.
func appendHost(dst []byte, host string, lookup bool) ([]byte, error) {
	if host[0] == '[' {
		return appendIPv6(dst, host)
	}
	domain, err := asciiDomain(host)
	if err != nil {
		return nil, err
	}
	if endsInNumber(domain) {
		return appendIPv4(dst, domain)
	}
	if !lookup {
		return append(dst, domain...), nil
	}
	if len(domain) > maxHostBytes || strings.Trim(domain, ".") == "" {
		return nil, ErrHost
	}
	for i := range len(domain) {
		if class[domain[i]]&plainHost == 0 {
			return nil, ErrHost
		}
	}
	return append(dst, domain...), nil
}

// asciiDomain decodes, lower-cases and encodes a domain. A name that is ASCII
// already is not validated further, as in browsers: names that only look like
// punycode exist.
func asciiDomain(host string) (string, error) {
	domain := host
	if strings.IndexByte(domain, '%') >= 0 {
		domain = string(unquoted(domain))
	}
	ascii := true
	for i := range len(domain) {
		if domain[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		domain = strings.ToLower(domain)
	} else {
		if !utf8.ValidString(domain) || len(domain) > 4*maxHostBytes {
			return "", ErrHost
		}
		var err error
		if domain, err = browserIDNA.ToASCII(domain); err != nil || domain == "" {
			return "", ErrHost
		}
	}
	for i := range len(domain) {
		if class[domain[i]]&forbiddenInH != 0 {
			return "", ErrHost
		}
	}
	return domain, nil
}

// endsInNumber reports whether the last label makes the domain an IPv4 address.
func endsInNumber(domain string) bool {
	domain = strings.TrimSuffix(domain, ".")
	last := domain[strings.LastIndexByte(domain, '.')+1:]
	if last == "" {
		return false
	}
	digits := true
	for i := range len(last) {
		if last[i] < '0' || last[i] > '9' {
			digits = false
			break
		}
	}
	if digits {
		return true
	}
	_, ok := ipv4Number(last)
	return ok
}

// ipv4Number reads a decimal, octal (0...) or hexadecimal (0x...) number;
// anything over 32 bits gives the same value over 32 bits.
func ipv4Number(s string) (uint64, bool) {
	const tooLarge = 1 << 33
	if s == "" {
		return 0, false
	}
	base := 10
	switch {
	case len(s) >= 2 && s[0] == '0' && s[1]|0x20 == 'x':
		base, s = 16, s[2:]
	case len(s) >= 2 && s[0] == '0':
		base, s = 8, s[1:]
	}
	n := uint64(0)
	for i := range len(s) {
		d, ok := unhex(s[i])
		if !ok || int(d) >= base {
			return 0, false
		}
		if n = n*uint64(base) + uint64(d); n > tooLarge { //nolint:gosec // base is 8, 10 or 16
			n = tooLarge
		}
	}
	return n, true
}

func appendIPv4(dst []byte, domain string) ([]byte, error) {
	parts := strings.Split(strings.TrimSuffix(domain, "."), ".")
	if len(parts) > 4 {
		return nil, ErrHost
	}
	addr := uint64(0)
	for i, part := range parts {
		n, ok := ipv4Number(part)
		if !ok {
			return nil, ErrHost
		}
		if i < len(parts)-1 {
			if n > 255 {
				return nil, ErrHost
			}
			addr |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(5-len(parts))) {
			return nil, ErrHost
		}
		addr |= n
	}
	for shift := 24; shift >= 0; shift -= 8 {
		dst = appendInt(dst, int(addr>>shift&0xFF)) //nolint:gosec // one byte
		if shift > 0 {
			dst = append(dst, '.')
		}
	}
	return dst, nil
}

func appendIPv6(dst []byte, host string) ([]byte, error) {
	if host[len(host)-1] != ']' {
		return nil, ErrHost
	}
	addr, err := netip.ParseAddr(host[1 : len(host)-1])
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return nil, ErrHost
	}
	b := addr.As16()
	var piece [8]uint16
	for i := range piece {
		piece[i] = uint16(b[2*i])<<8 | uint16(b[2*i+1])
	}
	from, length := longestZeros(piece)
	dst = append(dst, '[')
	for i := 0; i < len(piece); i++ {
		if i == from {
			dst = append(dst, "::"...)
			i += length - 1
			continue
		}
		if i > 0 && i != from+length {
			dst = append(dst, ':')
		}
		dst = strconv.AppendUint(dst, uint64(piece[i]), 16)
	}
	return append(dst, ']'), nil
}

// longestZeros finds the first longest run of at least two zero pieces; from is
// -1 where there is none.
func longestZeros(piece [8]uint16) (from, length int) {
	from = -1
	for i := 0; i < len(piece); {
		j := i
		for j < len(piece) && piece[j] == 0 {
			j++
		}
		if n := j - i; n >= 2 && n > length {
			from, length = i, n
		}
		i = max(j, i+1)
	}
	if from < 0 {
		return -1, -len(piece)
	}
	return from, length
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }
