package netguard

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrPort is the refusal of a port.
var ErrPort = errors.New("port is not allowed")

// PortRange is the ports from First to Last, both included.
type PortRange struct{ First, Last uint16 }

// String is "80" or "8000-8999", as ParsePorts reads it.
func (r PortRange) String() string {
	if r.First == r.Last {
		return strconv.Itoa(int(r.First))
	}
	return strconv.Itoa(int(r.First)) + "-" + strconv.Itoa(int(r.Last))
}

// ParsePorts reads ports and ranges: "80,443,8000-8999". Blanks around them are
// ignored; an empty text is no range.
func ParsePorts(text string) ([]PortRange, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var out []PortRange
	for item := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(item), "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.ParseUint(first, 10, 16)
		b, errB := strconv.ParseUint(last, 10, 16)
		if errA != nil || errB != nil || a == 0 || a > b {
			return nil, fmt.Errorf("netguard: parse ports %.40q: want a port from 1 to 65535 or a range of them", item)
		}
		out = append(out, PortRange{uint16(a), uint16(b)})
	}
	return out, nil
}

// CheckPort gives nil for a port that may be connected to, else an error that is
// ErrPort.
func (p Policy) CheckPort(port uint16) error {
	allowed := port != 0
	if len(p.Ports) > 0 {
		allowed = slices.ContainsFunc(p.Ports, func(r PortRange) bool { return r.First <= port && port <= r.Last })
	} else if _, bad := slices.BinarySearch(badPorts[:], port); bad {
		allowed = false
	}
	if allowed && port != 0 {
		return nil
	}
	return fmt.Errorf("netguard: connect: port %d: %w", port, ErrPort)
}

// badPorts are, in order, the ports of other protocols, whose servers may take an
// HTTP request for one of theirs. See https://fetch.spec.whatwg.org/#port-blocking.
//
//nolint:gochecknoglobals // a constant table; nothing writes it
var badPorts = [...]uint16{
	0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79,
	87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137,
	139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540,
	548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
	3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
	6697, 10080,
}
