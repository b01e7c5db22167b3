package redistest_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
)

func TestFaulty(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := redistest.New(t)
	f := redistest.NewFaulty(t, s)
	c := f.NewClient(200 * time.Millisecond)
	value := func() string { return s.Client().Get(ctx, "k").Val() }

	require.NoError(t, c.Set(ctx, "k", "1", 0).Err())
	require.NoError(t, c.HSet(ctx, "h", "a", "1", "b", "").Err())
	require.Equal(t, map[string]string{"a": "1", "b": ""}, c.HGetAll(ctx, "h").Val())
	require.ErrorIs(t, c.Get(ctx, "none").Err(), redis.Nil)

	f.Inject(redistest.Fault{Call: "SET", Skip: 1, Reply: "OOM no"})
	pipe := c.Pipeline()
	sets := []*redis.StatusCmd{pipe.Set(ctx, "k", "2", 0), pipe.Set(ctx, "k", "3", 0), pipe.Set(ctx, "k2", "4", 0)}
	_, err := pipe.Exec(ctx)
	require.ErrorContains(t, err, "OOM no")
	require.NoError(t, sets[0].Err())
	require.ErrorContains(t, sets[1].Err(), "OOM no")
	require.NoError(t, sets[2].Err())
	require.Equal(t, "2", value())

	f.Inject(redistest.Fault{Call: "SET", Cut: true})
	require.Error(t, c.Set(ctx, "k", "5", 0).Err())
	require.Equal(t, "2", value())
	f.Inject(redistest.Fault{Call: "SET", Drop: true})
	require.Error(t, c.Set(ctx, "k", "6", 0).Err())
	require.Equal(t, "6", value())

	f.Inject(redistest.Fault{Call: "SET", Late: 400 * time.Millisecond})
	require.Error(t, c.Set(ctx, "k", "7", 0).Err())
	require.Equal(t, "6", value(), "not yet")
	require.NoError(t, c.Ping(ctx).Err())
	require.Eventually(t, func() bool { return value() == "7" }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, 4, f.Hits())

	f.Inject(redistest.Fault{Call: "SET", Times: 100, Reply: "LOADING"})
	require.Error(t, c.Set(ctx, "k", "8", 0).Err())
	f.Heal()
	require.NoError(t, c.Set(ctx, "k", "9", 0).Err())
}

func TestFaultyKnowsScripts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := redistest.New(t)
	f := redistest.NewFaulty(t, s)
	c := f.NewClient(time.Second)
	one := c.ScriptLoad(ctx, "-- prelude: first\n-- one: a script\nreturn 1").Val()
	two := c.ScriptLoad(ctx, "-- two: another\nreturn 2").Val()
	f.Inject(redistest.Fault{Call: "one", Reply: "BUSY"})
	require.Equal(t, int64(2), c.EvalSha(ctx, two, nil).Val())
	require.ErrorContains(t, c.EvalSha(ctx, one, nil).Err(), "BUSY")
	require.Equal(t, int64(1), c.EvalSha(ctx, one, nil).Val())
}
