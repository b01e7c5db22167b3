package throttle

import (
	"container/heap"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/vectors"
)

type vectorFile struct {
	Header struct {
		Count int `json:"count"`
	} `json:"header"`
	Cases []vectorCase `json:"cases"`
}

type vectorCase struct {
	ID           string            `json:"id"`
	Kind         string            `json:"kind"`
	Settings     vectorSettings    `json:"settings"`
	DNS          map[string]string `json:"dns"`
	Steps        []vectorStep      `json:"steps"`
	Requests     []vectorRequest   `json:"requests"`
	Expect       vectorExpect      `json:"expect"`
	ExpectNewest *vectorExpect     `json:"expect_newest"`
}

type vectorSettings struct {
	Enabled           bool                      `json:"AUTOTHROTTLE_ENABLED"`
	StartDelay        float64                   `json:"AUTOTHROTTLE_START_DELAY"`
	MaxDelay          float64                   `json:"AUTOTHROTTLE_MAX_DELAY"`
	TargetConcurrency float64                   `json:"AUTOTHROTTLE_TARGET_CONCURRENCY"`
	DownloadDelay     float64                   `json:"DOWNLOAD_DELAY"`
	PerDomain         int                       `json:"CONCURRENT_REQUESTS_PER_DOMAIN"`
	PerIP             int                       `json:"CONCURRENT_REQUESTS_PER_IP"`
	Randomize         bool                      `json:"RANDOMIZE_DOWNLOAD_DELAY"`
	Slots             map[string]vectorOverride `json:"DOWNLOAD_SLOTS"`
}

type vectorOverride struct {
	Concurrency *int     `json:"concurrency"`
	Delay       *float64 `json:"delay"`
	Randomize   *bool    `json:"randomize_delay"`
}

type vectorStep struct {
	URL     string   `json:"url"`
	Slot    string   `json:"slot"`
	Latency *float64 `json:"latency"`
	Status  int      `json:"status"`
}

type vectorRequest struct {
	URL     string  `json:"url"`
	At      float64 `json:"at"`
	Latency float64 `json:"latency"`
	Status  int     `json:"status"`
}

type vectorExpect struct {
	Active          bool                  `json:"active"`
	StartDelay      map[string]float64    `json:"start_delay_by_slot"`
	After           []slotDelay           `json:"after"`
	Concurrency     map[string]int        `json:"slot_concurrency"`
	RandomizedRange map[string][2]float64 `json:"randomized_range"`
	Start           []float64             `json:"start"`
	FinalDelay      map[string]float64    `json:"final_delay"`
}

type slotDelay struct {
	slot  string
	delay float64
}

func (d *slotDelay) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&d.slot, &d.delay})
}

func (s *vectorSettings) config(slot string) Config {
	c := Config{ // Scrapy alone: no rule of ours
		AutoThrottleEnabled:           s.Enabled,
		AutoThrottleStartDelay:        duration(s.StartDelay),
		AutoThrottleMaxDelay:          duration(s.MaxDelay),
		AutoThrottleTargetConcurrency: s.TargetConcurrency,
		DownloadDelay:                 duration(s.DownloadDelay),
		ConcurrentRequestsPerDomain:   s.PerDomain,
		ConcurrentRequestsPerIP:       s.PerIP,
		RandomizeDownloadDelay:        s.Randomize,
	}
	if o, ok := s.Slots[slot]; ok {
		own := Override{Concurrency: o.Concurrency, RandomizeDelay: o.Randomize}
		if o.Delay != nil {
			own.Delay = new(duration(*o.Delay))
		}
		c = c.Override(own)
	}
	return c
}

func (c *vectorCase) key(t *testing.T, rawURL, named string) string {
	t.Helper()
	u, err := url.Parse(rawURL)
	require.NoError(t, err)
	var lookup func(string) (string, bool)
	if c.Settings.PerIP > 0 {
		lookup = func(host string) (string, bool) { ip, ok := c.DNS[host]; return ip, ok }
	}
	return SlotKey(u.Host, named, lookup)
}

func TestVectors(t *testing.T) {
	t.Parallel()
	raw := vectors.Read(t, "autothrottle.json")
	var file vectorFile
	require.NoError(t, json.Unmarshal(raw, &file))
	require.NotEmpty(t, file.Cases)
	require.Len(t, file.Cases, file.Header.Count)
	for _, c := range file.Cases {
		t.Run(c.Kind+"/"+c.ID, func(t *testing.T) {
			t.Parallel()
			want := c.Expect
			if c.ExpectNewest != nil {
				want = *c.ExpectNewest
			}
			if strings.HasPrefix(c.Kind, "schedule_") {
				checkSchedule(t, &c, &want)
				return
			}
			checkSteps(t, &c, &want)
		})
	}
}

// checkSteps compares delays bit for bit.
func checkSteps(t *testing.T, c *vectorCase, want *vectorExpect) {
	t.Helper()
	require.NotEmpty(t, c.Steps)
	slots := map[string]*Slot{}
	r := 0.0
	random := func() float64 { return r }
	slot := func(key string) *Slot {
		if slots[key] == nil {
			slots[key] = New(c.Settings.config(key), random)
			require.Equal(t, want.Active, slots[key].cfg.AutoThrottles())
			require.Equal(t, want.StartDelay[key], slots[key].delay, "start delay of %q", key) //nolint:testifylint // exact
			require.Equal(t, want.Concurrency[key], slots[key].cfg.Concurrency())
		}
		return slots[key]
	}
	now := time.Unix(0, 0)
	require.Len(t, want.After, len(c.Steps))
	for i, step := range c.Steps {
		key := c.key(t, step.URL, step.Slot)
		if step.URL == "" {
			key = "h1.example"
		}
		s := slot(key)
		res := Result{Status: step.Status}
		if step.Latency != nil {
			res.Latency, res.HasLatency = duration(*step.Latency), true
			require.Equal(t, *step.Latency, seconds(res.Latency), "latency survives") //nolint:testifylint // exact
		}
		s.Started(now)
		s.Done(now, res)
		require.Equal(t, want.After[i].slot, key)
		require.Equal(t, want.After[i].delay, s.delay, "delay after step %d", i) //nolint:testifylint // exact
	}
	require.Len(t, slots, len(want.StartDelay))
	for key, bounds := range want.RandomizedRange {
		for i, edge := range bounds {
			r = float64(i) // 1 is outside of [0, 1): the supremum
			got, _ := slots[key].draw()
			require.InDelta(t, edge, seconds(got), 1e-9)
		}
	}
}

// checkSchedule runs the requests through slots in virtual time.
func checkSchedule(t *testing.T, c *vectorCase, want *vectorExpect) {
	t.Helper()
	require.NotEmpty(t, c.Requests)
	epoch := time.Unix(1000, 0)
	at := func(sec float64) time.Time { return epoch.Add(duration(sec)) }
	slots, queues := map[string]*Slot{}, map[string][]int{}
	got := make([]float64, len(c.Requests))
	var events schedule
	for i, r := range c.Requests {
		events.add(at(r.At), event{slot: c.key(t, r.URL, ""), request: i, arrives: true})
	}
	for range 10_000 {
		if events.Len() == 0 {
			break
		}
		e := heap.Pop(&events).(event)
		s := slots[e.slot]
		if s == nil {
			s = New(c.Settings.config(e.slot), nil)
			slots[e.slot] = s
		}
		switch {
		case e.arrives:
			queues[e.slot] = append(queues[e.slot], e.request)
		case e.ends:
			r := c.Requests[e.request]
			s.Done(e.at, Result{Status: r.Status, Latency: duration(r.Latency), HasLatency: true})
		}
		for len(queues[e.slot]) > 0 {
			d := s.Next(e.at)
			if !d.OK {
				if !d.At.IsZero() {
					events.add(d.At, event{slot: e.slot})
				}
				break
			}
			i := queues[e.slot][0]
			queues[e.slot] = queues[e.slot][1:]
			s.Started(e.at)
			got[i] = seconds(e.at.Sub(epoch))
			events.add(e.at.Add(duration(c.Requests[i].Latency)), event{slot: e.slot, request: i, ends: true})
		}
	}
	require.Zero(t, events.Len())
	require.InDeltaSlice(t, want.Start, got, 1e-6)
	for key, delay := range want.FinalDelay {
		require.InDelta(t, delay, slots[key].delay, 1e-6)
	}
}

type event struct {
	at            time.Time
	seq           int
	slot          string
	request       int
	arrives, ends bool // neither: a timer
}

// schedule is a heap of events, by time and then by insertion.
type schedule struct {
	events []event
	seq    int
}

func (h *schedule) add(at time.Time, e event) {
	e.at, e.seq = at, h.seq
	h.seq++
	heap.Push(h, e)
}

func (h *schedule) Len() int      { return len(h.events) }
func (h *schedule) Swap(i, j int) { h.events[i], h.events[j] = h.events[j], h.events[i] }
func (h *schedule) Push(x any)    { h.events = append(h.events, x.(event)) }
func (h *schedule) Pop() any {
	last := h.events[len(h.events)-1]
	h.events = h.events[:len(h.events)-1]
	return last
}

func (h *schedule) Less(i, j int) bool {
	a, b := &h.events[i], &h.events[j]
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	return a.seq < b.seq
}
