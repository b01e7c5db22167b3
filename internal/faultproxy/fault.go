package faultproxy

import (
	"math"
	"math/rand/v2"
	"time"
)

// Fault is what a network does to connections. The zero value is a good network.
type Fault struct {
	// CutUp and CutDown stop the bytes from client to target, and from target to
	// client: nothing is forwarded, nothing is closed, and a new connection is
	// accepted but stays silent.
	CutUp, CutDown bool
	// Loss is the share, 0 to 1, of segments that are lost and sent again.
	Loss float64
	// Latency delays what goes either way, each by up to Jitter more; order is kept.
	Latency, Jitter time.Duration
	// Rate is the most bytes a second in either direction of a connection; 0: no limit.
	Rate int
}

// Cut is a network that carries nothing either way.
func Cut() Fault { return Fault{CutUp: true, CutDown: true} }

// What a lost segment costs: the first retransmission of TCP comes after rto, each
// further one after twice the time of the last (RFC 6298 §5.5; 200 ms is the least
// that Linux takes).
const (
	rto         = 200 * time.Millisecond
	mostResends = 6
	segment     = 1448 // bytes of a segment on an Ethernet
)

// with is both faults at once: the worse of each.
func (f Fault) with(g Fault) Fault {
	out := Fault{
		CutUp: f.CutUp || g.CutUp, CutDown: f.CutDown || g.CutDown,
		Loss: max(f.Loss, g.Loss), Latency: f.Latency + g.Latency, Jitter: f.Jitter + g.Jitter,
		Rate: max(f.Rate, g.Rate),
	}
	if f.Rate > 0 && g.Rate > 0 {
		out.Rate = min(f.Rate, g.Rate)
	}
	return out
}

// delay is how long a chunk of n bytes is under way, the time that Rate takes left out.
func (f Fault) delay(n int) time.Duration {
	d := f.Latency
	if f.Jitter > 0 {
		d += time.Duration(rand.Int64N(int64(f.Jitter) + 1)) //nolint:gosec // weather
	}
	if f.Loss <= 0 {
		return d
	}
	segments := max((n+segment-1)/segment, 1)
	if rand.Float64() < math.Pow(1-f.Loss, float64(segments)) { //nolint:gosec // weather
		return d
	}
	wait := rto
	d += wait
	for range mostResends - 1 {
		if rand.Float64() >= f.Loss { //nolint:gosec // weather
			break
		}
		wait *= 2
		d += wait
	}
	return d
}

// pace is how long n bytes take at Rate.
func (f Fault) pace(n int) time.Duration {
	if f.Rate <= 0 {
		return 0
	}
	return time.Duration(float64(n) / float64(f.Rate) * float64(time.Second))
}
