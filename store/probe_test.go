package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// TestExplain covers failures that need more than a loopback to happen.
func TestExplain(t *testing.T) {
	t.Parallel()
	to, err := parseURL("redis://:secret@h:1")
	require.NoError(t, err)
	tests := []struct {
		name string
		err  error
		want error
		says string
	}{
		{
			"name without address", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}},
			ErrUnreachable, "the host's name has no address",
		},
		{"full", reply("ERR max number of clients reached"), ErrUnreachable, "no connection left"},
		{"protected", reply("DENIED Redis is running in protected mode because..."), ErrAuth, "protected mode"},
		{"replica without master", reply("MASTERDOWN Link with MASTER is down"), ErrNotPrimary, "it is a replica"},
		{"cluster with holes", reply("CLUSTERDOWN Hash slot not served"), ErrUnreachable, "slots that nobody serves"},
		{"other", errors.New("redis: can't parse \"x\""), ErrNotRedis, "something else answers there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := explain(t.Context(), to, tt.err)
			require.ErrorIs(t, err, tt.want)
			require.ErrorIs(t, err, tt.err)
			require.ErrorContains(t, err, tt.says)
			require.NotContains(t, err.Error(), "secret")
		})
	}
	sentinel, err := parseURL("redis+sentinel://h/other")
	require.NoError(t, err)
	err = explain(t.Context(), sentinel, fmt.Errorf("all sentinels: %w", redis.Nil))
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, `know no master "other"`)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, explain(ctx, to, tests[0].err), context.Canceled)
}

// reply is an error that the server sent.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestParseInfo(t *testing.T) {
	t.Parallel()
	got := parseInfo("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nredis_mode:cluster\r\n\r\n# Replication\r\nrole:master\r\n")
	require.Equal(t, serverInfo{version: "7.2.4", mode: "cluster", role: "master"}, got)
	require.Equal(t, serverInfo{}, parseInfo("garbage"))
}
