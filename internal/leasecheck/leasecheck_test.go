package leasecheck_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/leasecheck"
)

const ttl = 8 * time.Second

// at is an operation of 10 ms, called at a time in seconds.
func at(seconds float64, kind, node string, epoch int) leasecheck.Op {
	call := int64(seconds * 1e9)
	return leasecheck.Op{
		Kind: kind, Slot: "s", Node: node, Token: fmt.Sprint(node, ".", epoch),
		CallNS: call, ReturnNS: call + 10e6,
	}
}

func failed(o leasecheck.Op) leasecheck.Op {
	o.Err = "connection reset"
	return o
}

func TestCheck(t *testing.T) {
	t.Parallel()
	type ops = []leasecheck.Op
	for _, tt := range []struct {
		name     string
		ops      ops
		restarts []int64
		killed   map[string]float64 // node -> seconds
		bad      string             // the operation that does not fit; "" for a good history
	}{
		{name: "taken, kept, released, taken", ops: ops{
			at(0, "acquire", "a", 1), at(2, "renew", "a", 1), at(3, "lease", "a", 1), at(4, "reserve", "a", 1),
			at(5, "release", "a", 1), at(5.1, "acquire", "b", 2),
		}},
		{name: "taken after the TTL", ops: ops{at(0, "acquire", "a", 1), at(2, "renew", "a", 1), at(10.02, "acquire", "b", 2)}},
		{name: "taken before the TTL", ops: ops{at(0, "acquire", "a", 1), at(4, "renew", "a", 1), at(9, "acquire", "b", 2)}, bad: "acquire s by b"},
		{name: "taken before the TTL of a lease", ops: ops{at(0, "acquire", "a", 1), at(4, "lease", "a", 1), at(9, "acquire", "b", 2)}, bad: "acquire s by b"},
		{name: "stale renew", ops: ops{at(0, "acquire", "a", 1), at(9, "acquire", "b", 2), at(10, "renew", "a", 1)}, bad: "renew s by a"},
		{name: "stale reserve", ops: ops{at(0, "acquire", "a", 1), at(9, "acquire", "b", 2), at(10, "reserve", "a", 1)}, bad: "reserve s by a"},
		{name: "stale renew, refused", ops: ops{at(0, "acquire", "a", 1), at(9, "acquire", "b", 2), failed(at(10, "renew", "a", 1))}},
		{name: "renewed after the TTL, nobody took it", ops: ops{at(0, "acquire", "a", 1), at(20, "renew", "a", 1), at(21, "lease", "a", 1)}},
		{name: "stale release", ops: ops{at(0, "acquire", "a", 1), at(9, "acquire", "b", 2), at(10, "release", "a", 1)}, bad: "release s by a"},
		{name: "used after its release", ops: ops{at(0, "acquire", "a", 1), at(1, "release", "a", 1), at(2, "lease", "a", 1)}, bad: "lease s by a"},
		{name: "an epoch repeats", ops: ops{at(0, "acquire", "a", 5), at(1, "release", "a", 5), at(2, "acquire", "b", 5)}, bad: "acquire s by b"},
		{name: "an epoch falls", ops: ops{at(0, "acquire", "a", 5), at(1, "release", "a", 5), at(2, "acquire", "a", 4)}, bad: "acquire s by a"},
		{name: "its own again", ops: ops{at(0, "acquire", "a", 1), at(1, "acquire", "a", 2), at(2, "renew", "a", 2)}},
		{name: "its own again, the older token", ops: ops{at(0, "acquire", "a", 1), at(1, "acquire", "a", 2), at(2, "renew", "a", 1)}, bad: "renew s by a"},
		{name: "two at once", ops: ops{at(0, "acquire", "a", 1), at(0.001, "acquire", "b", 2)}, bad: "acquire s by"},
		{name: "a release that nobody knows of", ops: ops{at(0, "acquire", "a", 1), failed(at(1, "release", "a", 1)), at(2, "acquire", "b", 2)}},
		{name: "renewed after a release that nobody knows of", ops: ops{at(0, "acquire", "a", 1), failed(at(1, "release", "a", 1)), at(2, "renew", "a", 1)}},
		{name: "both after a release that nobody knows of", bad: "renew s by a", ops: ops{
			at(0, "acquire", "a", 1), failed(at(1, "release", "a", 1)), at(2, "acquire", "b", 2), at(3, "renew", "a", 1),
		}},
		{name: "an acquire that nobody knows of", ops: ops{at(0, "acquire", "a", 1), failed(at(9, "acquire", "b", 2)), at(11, "acquire", "b", 3)}},
		{name: "held", ops: ops{at(0, "acquire", "a", 1), {Kind: "acquire", Slot: "s", Node: "b", Held: true, CallNS: 1e9, ReturnNS: 2e9}}},
		{name: "killed, its last word unwritten", ops: ops{at(0, "acquire", "a", 1), at(2, "acquire", "b", 2)}, killed: map[string]float64{"a": 1.5}},
		{name: "another was killed", ops: ops{at(0, "acquire", "a", 1), at(2, "acquire", "b", 2)}, killed: map[string]float64{"b": 3}, bad: "acquire s by b"},
		{name: "the store forgot", restarts: []int64{3e9}, ops: ops{
			at(0, "acquire", "a", 1), at(1, "release", "a", 1), at(2, "acquire", "b", 2), at(4, "renew", "a", 1), at(13, "acquire", "b", 3),
		}},
		{name: "the store forgot an epoch", restarts: []int64{3e9}, bad: "acquire s by b", ops: ops{
			at(0, "acquire", "a", 1), at(2, "renew", "a", 1), at(13, "acquire", "b", 1),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			nodes := map[string]*leasecheck.History{}
			for _, o := range tt.ops {
				if nodes[o.Node] == nil {
					nodes[o.Node] = &leasecheck.History{Name: o.Node, KilledNS: int64(tt.killed[o.Node] * 1e9)}
				}
				nodes[o.Node].Ops = append(nodes[o.Node].Ops, o)
			}
			var all []leasecheck.History
			for _, h := range nodes {
				all = append(all, *h)
			}
			res, err := leasecheck.Check(all, leasecheck.Config{TTL: ttl, RestartsNS: tt.restarts})
			require.NoError(t, err)
			require.Equal(t, 1, res.Slots)
			require.Empty(t, res.Unknown)
			if tt.bad == "" {
				require.Empty(t, res.Violations)
				return
			}
			require.Len(t, res.Violations, 1)
			require.Contains(t, res.Violations[0].String(), "does not fit: "+tt.bad)
		})
	}
}

func TestSlotsAreApart(t *testing.T) {
	t.Parallel()
	other := at(1, "acquire", "b", 1)
	other.Slot = "another"
	res, err := leasecheck.Check([]leasecheck.History{
		{Ops: []leasecheck.Op{at(0, "acquire", "a", 1)}},
		{Ops: []leasecheck.Op{other}},
	}, leasecheck.Config{TTL: ttl})
	require.NoError(t, err)
	require.Equal(t, leasecheck.Result{Slots: 2, Ops: 2}, res)

	_, err = leasecheck.Check(nil, leasecheck.Config{})
	require.Error(t, err)
	odd := at(0, "acquire", "a", 1)
	odd.Token = "none"
	_, err = leasecheck.Check([]leasecheck.History{{Name: "x", Ops: []leasecheck.Op{odd}}}, leasecheck.Config{TTL: ttl})
	require.ErrorContains(t, err, "no epoch")
}

// A long history is judged quickly.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	var h [2]leasecheck.History
	now, epoch := 0.0, 0
	for i := range 100 {
		who := i % 2
		node := string(rune('a' + who))
		epoch++
		h[who].Ops = append(h[who].Ops, at(now, "acquire", node, epoch))
		for range 40 {
			now += 0.5
			h[who].Ops = append(h[who].Ops, at(now, "renew", node, epoch))
		}
		now += ttl.Seconds() + 0.1
	}
	begin := time.Now()
	res, err := leasecheck.Check(h[:], leasecheck.Config{TTL: ttl})
	require.NoError(t, err)
	require.Equal(t, leasecheck.Result{Slots: 1, Ops: 4100}, res)
	require.Less(t, time.Since(begin), time.Minute)
}

func TestRead(t *testing.T) {
	t.Parallel()
	line, err := json.Marshal(at(1, "renew", "a", 3))
	require.NoError(t, err)
	ops, err := leasecheck.Read(strings.NewReader(string(line) + "\n\n" + string(line) + "\n" + string(line[:20])))
	require.NoError(t, err, "the last line may be cut off")
	require.Equal(t, []leasecheck.Op{at(1, "renew", "a", 3), at(1, "renew", "a", 3)}, ops)
	for _, bad := range []string{
		"{\n", `{"op":"steal","slot":"s"}` + "\n", `{"op":"renew"}` + "\n",
		`{"op":"renew","slot":"s","call_ns":2,"return_ns":1}` + "\n", strings.Repeat("x", 1<<17) + "\n",
	} {
		_, err := leasecheck.Read(strings.NewReader(bad))
		require.ErrorContains(t, err, "line 1", "%.50s", bad)
	}
	_, err = leasecheck.ReadFile(filepath.Join(t.TempDir(), "none"))
	require.Error(t, err)
}

func FuzzRead(f *testing.F) {
	f.Add(`{"op":"acquire","slot":"s","node":"a","token":"a.1","held":false,"err":"","call_ns":1,"return_ns":2}` + "\n")
	f.Add(`{"op":"release","slot":"s","token":"a.-1","err":"x"}` + "\n{")
	f.Fuzz(func(t *testing.T, text string) {
		ops, err := leasecheck.Read(strings.NewReader(text))
		if err == nil && len(ops) < 20 {
			_, _ = leasecheck.Check([]leasecheck.History{{Ops: ops}}, leasecheck.Config{TTL: ttl, Deadline: time.Second})
		}
	})
}
