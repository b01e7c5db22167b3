// Package supervise is what all actors of a node share: one supervisor strategy
// with capped, jittered back-off, and a registry that knows every long-lived
// actor's kind, mailbox and restarts for inspection. It knows no actor.
package supervise

import (
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
)

// Strategy restarts a failed child after a back-off that doubles with each
// failure inside Window, up to Max, each drawn from [d/2, d]. After Limit
// failures inside Window the child is stopped instead; Limit 0 never stops it.
//
// protoactor's own exponential back-off is linear and has no cap.
type Strategy struct {
	Base   time.Duration // first back-off; required
	Max    time.Duration // cap; required
	Window time.Duration // failures older than this are forgotten; required
	Limit  int
	Log    logrus.FieldLogger
	// Failed is told of every failure, for the registry; may be nil.
	Failed func(child *actor.PID, reason any)
}

// NewStrategy gives the strategy for actors that must always come back.
func NewStrategy(log logrus.FieldLogger, failed func(child *actor.PID, reason any)) *Strategy {
	return &Strategy{Base: 20 * time.Millisecond, Max: 5 * time.Second, Window: time.Minute, Log: log, Failed: failed}
}

// HandleFailure implements actor.SupervisorStrategy.
func (s *Strategy) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, rs *actor.RestartStatistics, reason, _ any) {
	if rs.NumberOfFailures(s.Window) == 0 {
		rs.Reset()
	}
	rs.Fail()
	if s.Failed != nil {
		s.Failed(child, reason)
	}
	n := max(1, rs.NumberOfFailures(s.Window))
	log := s.Log.WithFields(logrus.Fields{"actor": child.Id, "failures": n, "err": reason})
	if s.Limit > 0 && n > s.Limit {
		log.Error("actor failed too often, stopped")
		sup.StopChildren(child)
		return
	}
	d := s.backoff(n)
	log.WithField("backoff", d).Warn("actor failed, restarting")
	time.AfterFunc(d, func() { sup.RestartChildren(child) })
}

// backoff is the wait before the n-th restart, n >= 1.
func (s *Strategy) backoff(n int) time.Duration {
	d := s.Max
	if n < 30 {
		d = min(s.Max, s.Base<<(n-1))
	}
	return d/2 + rand.N(d/2+1)
}
