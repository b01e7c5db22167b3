package cluster

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/placement"
)

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

func TestConfig(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*Config)
		want   string // part of the error, "" for none
	}{
		{"defaults", func(*Config) {}, ""},
		{"IPv6", func(c *Config) { c.Self.Address = "[::1]:7000" }, ""},
		{"admin", func(c *Config) { c.Self.Admin = "https://a.example:8080/" }, ""},
		{"no id", func(c *Config) { c.Self.ID = "" }, "id"},
		{"id of the list", func(c *Config) { c.Self.ID = "/born" }, "id"},
		{"id with a dot", func(c *Config) { c.Self.ID = "a.1" }, "id"},
		{"long id", func(c *Config) { c.Self.ID = strings.Repeat("a", 129) }, "id"},
		{"no address", func(c *Config) { c.Self.Address = "" }, "address"},
		{"no port", func(c *Config) { c.Self.Address = "example.com" }, "address"},
		{"admin is no URL", func(c *Config) { c.Self.Admin = "example.com:80" }, "admin"},
		{"long version", func(c *Config) { c.Self.Version = strings.Repeat("1", 129) }, "version"},
		{"negative weight", func(c *Config) { c.Self.Weight = -1 }, "weight"},
		{"no number", func(c *Config) { c.Self.Weight = math.NaN() }, "weight"},
		{"infinite weight", func(c *Config) { c.Self.Weight = math.Inf(1) }, "weight"},
		{"prefix with braces", func(c *Config) { c.Prefix = "{x}" }, "prefix"},
		{"short ttl", func(c *Config) { c.TTL = 2 * time.Second }, "ttl"},
		{"negative margin", func(c *Config) { c.Margin = -1 }, "margin"},
		{"short grace", func(c *Config) { c.Grace = time.Second }, "grace"},
		{"endless heartbeat", func(c *Config) { c.Heartbeat = math.MaxInt64 }, "heartbeat"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := Config{Self: Member{ID: "a", Address: "127.0.0.1:1"}}
			tt.change(&c)
			err := c.WithDefaults().Validate()
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
			_, err = NewRedis(nil, c, quiet())
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err := NewRedis(nil, Config{Self: self("a")}, quiet())
	require.ErrorContains(t, err, "client")
	require.ErrorContains(t, Config{Self: self("a")}.Validate(), "now")
}

func TestTopologyPlacement(t *testing.T) {
	t.Parallel()
	var none *Topology
	require.Empty(t, none.Placement(time.Now(), time.Second).Owner("x"))

	now := time.Now()
	top := &Topology{At: now, Members: []Member{
		{ID: "a", Weight: 2, Age: time.Hour},
		{ID: "b", Weight: 4, Age: 0},
	}}
	weights := func(after time.Duration) []placement.Member {
		return top.Placement(now.Add(after), 9*time.Second).Members()
	}
	require.Equal(t, []placement.Member{{ID: "a", Weight: 2}, {ID: "b", Weight: 0.4}}, weights(0))
	require.Equal(t, []placement.Member{{ID: "a", Weight: 2}, {ID: "b", Weight: 4}}, weights(9*time.Second))
	require.Equal(t, weights(0), weights(-time.Minute), "a clock that went back")
}

func TestNextStep(t *testing.T) {
	t.Parallel()
	now := time.Now()
	top := &Topology{At: now, Members: []Member{
		{ID: "a", Weight: 1, Age: time.Hour},
		{ID: "b", Weight: 1, Age: 300 * time.Millisecond},
		{ID: "c", Weight: 1, Age: 1800 * time.Millisecond},
	}}
	const ramp = 9 * time.Second // steps of a second
	tests := []struct {
		name           string
		after, horizon time.Duration
		want           time.Duration // 0 for none
	}{
		{"the older's", 0, 10 * time.Second, 200 * time.Millisecond},
		{"the younger's", 200 * time.Millisecond, 10 * time.Second, 500 * time.Millisecond},
		{"beyond", 0, 150 * time.Millisecond, 0},
		{"no time", 0, 0, 0},
		{"late", 0, -time.Second, 0},
		{"over", time.Minute, time.Hour, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at := now.Add(tt.after)
			got, ok := top.nextStep(at, ramp, tt.horizon)
			require.Equal(t, tt.want != 0, ok)
			if !ok {
				require.Equal(t, tt.horizon, got)
				return
			}
			require.InDelta(t, tt.want, got, float64(time.Millisecond))
			require.False(t, top.Placement(at.Add(got), ramp).Equal(top.Placement(at, ramp)))
		})
	}
}

func TestSingle(t *testing.T) {
	t.Parallel()
	s := NewSingle(Member{ID: "a"})
	require.NoError(t, s.Start(t.Context()))
	require.Equal(t, "a", s.Placement().Owner("x"))
	require.Equal(t, "a", s.Topology().Placement(time.Now(), time.Hour).Owner("x"))
	require.True(t, s.Fence().After(time.Now().Add(100*365*24*time.Hour)))
	require.Len(t, s.Topology().Members, 1)
	select {
	case <-s.Evicted():
		require.Fail(t, "evicted")
	case <-s.Watch():
		require.Fail(t, "changed")
	default:
	}
	require.NoError(t, s.Leave(t.Context()))
	s.Close()
}
