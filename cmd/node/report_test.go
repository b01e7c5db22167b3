package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"orbweaver/core/policy"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
)

func TestSlowest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		waits map[throttle.Reason]int64
		want  string
	}{
		{name: "nothing waits"},
		{name: "no work is no wait", waits: map[throttle.Reason]int64{throttle.ReasonNoWork: 9, throttle.ReasonNone: 9}},
		{name: "most", waits: map[throttle.Reason]int64{throttle.ReasonDelay: 3, throttle.ReasonRetryAfter: 4, throttle.ReasonNoWork: 9}, want: "retry-after"},
		{name: "equal ones by name", waits: map[throttle.Reason]int64{throttle.ReasonRobots: 2, throttle.ReasonDelay: 2, throttle.ReasonPaused: 2}, want: "delay"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, slowest(tc.waits))
		})
	}
}

func TestPagesIn(t *testing.T) {
	t.Parallel()
	require.Zero(t, pagesIn(nil))
	require.Equal(t, int64(7), pagesIn(map[string]int64{
		policy.StatRequestDepthCount + "0":  2,
		policy.StatRequestDepthCount + "11": 5,
		policy.StatRequestDepthMax:          11,
		policy.StatItemScraped:              100,
	}))
}

func TestAddScheduler(t *testing.T) {
	t.Parallel()
	out := map[string]any{}
	addScheduler(out, rqueue.Counts{Seen: 9, Done: 5, Dead: 1, Waiting: 2, Delayed: 1})
	require.Equal(t, map[string]any{
		"scheduler/enqueued/redis": int64(9),
		"scheduler/dequeued/redis": int64(6),
		"scheduler/pending":        int64(3),
		"scheduler/dead":           int64(1),
	}, out)
}

func TestSafeName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"kept", "Node-1_b", "Node-1_b"},
		{"dots and slashes", "a.example/../b", "a_example____b"},
		{"key braces and spaces", "{a} b:c", "_a__b_c"},
		{"beyond ASCII, byte by byte", "ä", "__"},
		{"beside the letters", "@[`{", "____"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, safeName(tc.in))
		})
	}
}

func TestFirstSentence(t *testing.T) {
	t.Parallel()
	require.Equal(t, "One", firstSentence("One. Two."))
	require.Equal(t, "Only e.g.this", firstSentence("Only e.g.this."))
	require.Empty(t, firstSentence(""))
}

func TestReadSeedAnswer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, answer string
		status       int
		told         string
		wantErr      string
		code         int
	}{
		{name: "all taken", status: 200, answer: `{"accepted":2,"refused":0,"rejected":[]}`, told: "2 seeds sent\n"},
		{
			name: "some taken", status: 200, answer: `{"accepted":1,"refused":1,"rejected":[{"position":1,"seed":"x","reason":"not a URL"}]}`,
			told: "rejected: x: not a URL\n1 seeds sent\n",
		},
		{
			name: "none taken", status: 400, answer: `{"error":{"code":"bad_seeds","message":"no seed was accepted"},"rejected":[{"seed":"x","reason":"not a URL"}]}`,
			told: "rejected: x: not a URL\n", wantErr: "no seed was accepted", code: exitUsage,
		},
		{name: "not a node", status: 502, answer: "<html>Bad gateway</html>", wantErr: "status 502", code: exitStore},
		{name: "empty", status: 200, wantErr: "status 200", code: exitStore},
		{name: "endless", status: 200, answer: `{"accepted":1,"x":"` + strings.Repeat("y", 1<<20) + `"}`, wantErr: "not a node's", code: exitStore},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var told bytes.Buffer
			resp := &http.Response{StatusCode: tc.status, Body: io.NopCloser(strings.NewReader(tc.answer))}
			err := readSeedAnswer(resp, &terminal{err: &told})
			require.Equal(t, tc.told, told.String())
			if tc.wantErr == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.wantErr)
			require.Equal(t, tc.code, codeOf(err))
		})
	}
}

func TestLogBridge(t *testing.T) {
	t.Parallel()
	log, hook := test.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	bridge := newLogBridge(log).With(slog.String("system", "s1")).WithGroup("actor")
	bridge.Debug("too much detail")
	bridge.Info("started", slog.Int("id", 7))
	bridge.Warn("slow")
	bridge.With(slog.String("kind", "domain")).Error("failed", slog.Any("err", errors.New("boom")))

	require.False(t, bridge.Enabled(context.Background(), slog.LevelDebug))
	type line struct {
		level   logrus.Level
		message string
		data    logrus.Fields
	}
	var got []line
	for _, e := range hook.AllEntries() {
		got = append(got, line{e.Level, e.Message, e.Data})
	}
	require.Equal(t, []line{
		{logrus.DebugLevel, "started", logrus.Fields{"lib": "protoactor", "system": "s1", "actor.id": "7"}},
		{logrus.DebugLevel, "slow", logrus.Fields{"lib": "protoactor", "system": "s1"}},
		{logrus.WarnLevel, "failed", logrus.Fields{"lib": "protoactor", "system": "s1", "actor.kind": "domain", "actor.err": "boom"}},
	}, got)
}
