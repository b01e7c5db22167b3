package supervise

import (
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Entry is what is known of one actor.
type Entry struct {
	ID       string
	Kind     string
	Parent   string
	Started  time.Time
	Restarts int
	Failed   bool // waiting for its restart
	Mailbox  int  // user messages waiting
	Error    string
}

// Registry knows the long-lived actors of a node. Domains and their fetchers are
// too many and too short-lived for it: `domains` lists them itself.
// Safe for concurrent use.
type Registry struct {
	mu      sync.Mutex
	entries map[string]*record // guarded by mu
}

type record struct {
	kind, parent string
	started      time.Time
	mailbox      actor.Mailbox
	restarts     atomic.Int64
	lastErr      atomic.Value // string
}

// NewRegistry gives an empty registry.
func NewRegistry() *Registry { return &Registry{entries: map[string]*record{}} }

// Props makes props whose actors are listed under kind.
func (r *Registry) Props(kind string, producer actor.Producer, opts ...actor.PropsOption) *actor.Props {
	opts = append(opts, actor.WithMailbox(func() actor.Mailbox {
		return &mailbox{Mailbox: actor.Unbounded()(), reg: r, kind: kind}
	}))
	return actor.PropsFromProducer(producer, opts...)
}

// mailbox tells the registry whose it is: the invoker that it is given is the
// actor's context.
type mailbox struct {
	actor.Mailbox
	reg  *Registry
	kind string
}

func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, d actor.Dispatcher) {
	if ctx, ok := invoker.(actor.Context); ok {
		rec := &record{kind: m.kind, started: time.Now(), mailbox: m.Mailbox}
		if p := ctx.Parent(); p != nil {
			rec.parent = p.Id
		}
		m.reg.mu.Lock()
		m.reg.entries[ctx.Self().Id] = rec
		m.reg.mu.Unlock()
	}
	m.Mailbox.RegisterHandlers(invoker, d)
}

// Failed notes a failure; it is a Strategy's Failed.
func (r *Registry) Failed(child *actor.PID, reason any) {
	r.mu.Lock()
	rec := r.entries[child.Id]
	r.mu.Unlock()
	if rec == nil {
		return
	}
	rec.restarts.Add(1)
	rec.lastErr.Store(errorText(reason))
}

func errorText(reason any) string {
	switch v := reason.(type) {
	case error:
		return v.Error()
	case string:
		return v
	default:
		return "panic"
	}
}

// List gives the actors that live in sys, parents first, by id.
func (r *Registry) List(sys *actor.ActorSystem) []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Entry, 0, len(r.entries))
	for id, rec := range r.entries {
		if _, ok := sys.ProcessRegistry.GetLocal(id); !ok {
			delete(r.entries, id)
			continue
		}
		e := Entry{
			ID: id, Kind: rec.kind, Parent: rec.parent, Started: rec.started,
			Restarts: int(rec.restarts.Load()), Mailbox: rec.mailbox.UserMessageCount(),
		}
		e.Error, _ = rec.lastErr.Load().(string)
		out = append(out, e)
	}
	sort.Slice(out, func(i, j int) bool {
		di, dj := strings.Count(out[i].ID, "/"), strings.Count(out[j].ID, "/")
		if di != dj {
			return di < dj
		}
		return out[i].ID < out[j].ID
	})
	return out
}
