package pipeline

import (
	"github.com/sirupsen/logrus"

	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// statBlocked begins the counters of answers that are no pages, by kind.
const statBlocked = "blocked/"

// refused recognises an answer that is a challenge or another refusal in place of a
// page, and reports whether its host is parked for it: then the request is not tried
// again, and waits as a dead letter for the host's release.
func (w *worker) refused(job *Job, msg *messages.Page, links int, out *outcome) bool {
	if job.Blocked == nil {
		return false
	}
	v := job.Blocked.Answer(msg.Lease.Host, msg.Lease.Request, msg.Response, links)
	if v.Kind == "" {
		return false
	}
	out.stats = append(out.stats, count{statBlocked + string(v.Kind), 1})
	if !v.Park {
		return false
	}
	w.park(msg, v.Reason(), v.First, out)
	out.page.End, out.page.Cause = rqueue.EndParked, out.page.Park
	return true
}

// park puts the page's host aside; loud says that it is news.
func (w *worker) park(msg *messages.Page, reason string, loud bool, out *outcome) {
	out.page.Park = reason
	if loud {
		w.log.WithFields(logrus.Fields{
			"crawl": msg.Lease.Crawl.Name(), "domain": msg.Slot, "url": msg.Lease.Request.URL, "status": msg.Response.Status, "reason": reason,
		}).Warn("host parked: nothing more is sent to it until it is released")
	}
}
