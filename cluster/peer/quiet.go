package peer

import (
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// quietFor is the least time between two lines of one text.
const quietFor = 10 * time.Second

// quiet logs what strangers and dead peers can cause as often as they like: each
// text at once, then at most once in quietFor, with the number of lines left out.
type quiet struct {
	log logrus.FieldLogger
	now func() time.Time

	mu    sync.Mutex
	lines map[string]*line // guarded by mu; by text, of which there are a handful
}

type line struct {
	at         time.Time
	suppressed uint64 // since at
}

func newQuiet(log logrus.FieldLogger) *quiet {
	return &quiet{log: log, now: time.Now, lines: make(map[string]*line)}
}

// warn logs text, a constant, with its facts in fields.
func (q *quiet) warn(text string, fields logrus.Fields) {
	suppressed, ok := q.due(text)
	if !ok {
		return
	}
	log := q.log.WithFields(fields)
	if suppressed > 0 {
		log = log.WithField("suppressed", suppressed)
	}
	log.Warn(text)
}

func (q *quiet) due(text string) (suppressed uint64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	l := q.lines[text]
	if l == nil {
		q.lines[text] = &line{at: now}
		return 0, true
	}
	if now.Sub(l.at) < quietFor {
		l.suppressed++
		return 0, false
	}
	suppressed = l.suppressed
	*l = line{at: now}
	return suppressed, true
}
