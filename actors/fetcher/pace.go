package fetcher

import (
	"errors"
	"os"
	"time"
)

// pace asks of a body that each period brings enough bytes. The zero value asks
// nothing. Its periods are the read deadlines of the connection.
type pace struct {
	period  time.Duration // 0 asks nothing; negative only keeps to deadline
	least   int64         // bytes of a period
	overall time.Time     // of the whole fetch

	ends time.Time // of the period; zero before the first
	from int64     // bytes read when it began
}

// due reports whether a period is to begin before the next read.
func (p *pace) due() bool {
	return p.period != 0 && (p.ends.IsZero() || p.period > 0 && !time.Now().Before(p.ends))
}

// judge gives errStalled when the period that has ended brought too little.
func (p *pace) judge(read int64) error {
	if !p.ends.IsZero() && read-p.from < p.least {
		return errStalled
	}
	return nil
}

// begin starts a period and gives the deadline for reads in it.
func (p *pace) begin(read int64) time.Time {
	p.from, p.ends = read, p.overall
	if p.period < 0 {
		return p.overall
	}
	if end := time.Now().Add(p.period); end.Before(p.overall) {
		p.ends = end
	}
	return p.ends
}

// renewable reports whether err only ended a period.
func (p *pace) renewable(err error) bool {
	return p.period > 0 && !p.ends.IsZero() && p.ends.Before(p.overall) && errors.Is(err, os.ErrDeadlineExceeded)
}
