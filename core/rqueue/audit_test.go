package rqueue

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/invariant"
)

func TestAuditHolds(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		checks := invariant.New(func(n invariant.Name, detail string) { t.Errorf("%s: %s", n, detail) })
		b := newBundle(t, rdb, everything, func(c *Config, _ *Spec) { c.Checks = checks })
		b.fill()
		// Forgotten and let in again, replayed, recovered: nothing enters that is not seen.
		known, err := b.c.Forget(b.ctx, host(0), request("http://h0.test/1").Fingerprint)
		require.NoError(t, err)
		require.True(t, known)
		again := b.link(host(0), "/1")
		again.Request.ID = crawl.NewID("again")
		require.Equal(t, 1, b.enqueue(again))
		n, err := b.c.ReplayDead(b.ctx, host(1), 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		slot := b.acquire(host(2))
		rec := &Recover{Slot: host(2), Token: slot.Token, Crawl: b.c}
		require.NoError(t, b.f.Do(b.ctx, rec))
		require.Equal(t, 1, rec.Recovered)

		hosts := []string{"never.test"}
		for i := range 12 {
			hosts = append(hosts, host(i))
		}
		audits, err := b.c.Audit(b.ctx, hosts...)
		require.NoError(t, err)
		require.Len(t, audits, len(hosts))
		for i, a := range audits {
			require.Equal(t, hosts[i], a.Host)
			require.NoError(t, a.Err)
			require.Empty(t, a.Broken, "%+v", a)
		}
		require.Equal(t, HostAudit{
			Host: host(0), Indexed: true, Known: true, Letters: 1,
			Counts: Counts{Waiting: 1, Delayed: 1, Leased: 1, Done: 1, Dead: 1, Seen: 5, Forgotten: 1},
		}, audits[1])
		none, err := b.c.Audit(b.ctx)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

func TestAuditFinds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		harm   func(b *bundle, h *hostKeys)
		want   []invariant.Name
		detail string
	}{
		{
			"a request lost", func(b *bundle, h *hostKeys) { b.rdb.ZPopMin(b.ctx, text(h.request), 1) },
			[]invariant.Name{invariant.RequestsLost},
			"requests -1",
		},
		{
			"a request counted twice", func(b *bundle, h *hostKeys) { b.rdb.HIncrBy(b.ctx, text(h.meta), "done", 1) },
			[]invariant.Name{invariant.RequestsLost},
			"requests +1",
		},
		{
			"a dead letter lost", func(b *bundle, h *hostKeys) { b.rdb.RPop(b.ctx, text(h.dead)) },
			[]invariant.Name{invariant.DeadLettersLost},
			"dead letters -1",
		},
		{
			"no due entry", func(b *bundle, h *hostKeys) { b.rdb.ZRem(b.ctx, text(h.shard.index), h.host) },
			[]invariant.Name{invariant.HostUnindexed},
			"no due entry",
		},
		{
			"not known", func(b *bundle, h *hostKeys) { b.rdb.SRem(b.ctx, text(h.shard.known), h.host) },
			[]invariant.Name{invariant.HostUnknown},
			"a flush does not find it",
		},
		{
			"all counts lost", func(b *bundle, h *hostKeys) { b.rdb.Del(b.ctx, text(h.meta)) },
			[]invariant.Name{invariant.RequestsLost, invariant.DeadLettersLost},
			"requests +3",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				told := map[invariant.Name]string{}
				checks := invariant.New(func(n invariant.Name, detail string) { told[n] = detail })
				b := newBundle(t, rdb, func(c *Config, s *Spec) { everything(c, s); c.Checks = checks })
				b.fill()
				for i := range 2 { // the leased one waits again: 3 are scheduled at each
					rec := &Recover{Slot: host(i), Token: b.acquire(host(i)).Token, Crawl: b.c}
					require.NoError(t, b.f.Do(b.ctx, rec))
				}
				b.enqueue(b.link(host(0), "/5"))
				tt.harm(b, b.c.keys.host(host(0)))
				audits, err := b.c.Audit(b.ctx, host(0), host(1))
				require.NoError(t, err)
				require.Equal(t, tt.want, audits[0].Broken)
				require.Empty(t, audits[1].Broken)
				require.Len(t, told, len(tt.want))
				for _, n := range tt.want {
					require.EqualValues(t, 1, checks.Count(n))
				}
				require.Contains(t, told[tt.want[0]], "crawl c, host "+host(0)+": "+tt.detail)
			})
		})
	}
}

// One host whose keys are of a wrong type hides no other.
func TestAuditOfBrokenKeys(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		hosts := []string{}
		for i := range 7 {
			b.enqueue(b.link(host(i), "/1"))
			hosts = append(hosts, host(i))
		}
		for i, key := range []any{b.c.keys.host(host(0)).meta, b.c.keys.host(host(1)).request, b.c.keys.host(host(2)).leased} {
			rdb.Del(b.ctx, text(key))
			require.NoError(t, rdb.Set(b.ctx, text(key), i, 0).Err())
		}
		audits, err := b.c.Audit(b.ctx, hosts...)
		require.NoError(t, err)
		for i, a := range audits {
			if i < 3 {
				require.ErrorContains(t, a.Err, "WRONGTYPE")
				continue
			}
			require.NoError(t, a.Err)
			require.Empty(t, a.Broken)
		}
	})
}

func TestEpochsAreChecked(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		checks := invariant.New(nil)
		b := newBundle(t, rdb, func(c *Config, _ *Spec) { c.Checks = checks })
		key := text(b.f.slotKey("a.test"))
		counts := func() [2]int64 {
			return [2]int64{checks.Count(invariant.EpochFell), checks.Count(invariant.TokenReused)}
		}
		first := b.acquire("a.test")
		b.acquire("a.test")
		b.acquire("b.test")
		b.time.pass(time.Second)
		last := b.acquire("a.test")
		require.Greater(t, epochOf(last.Token), epochOf(first.Token))
		require.Equal(t, [2]int64{}, counts())

		require.NoError(t, rdb.HSet(b.ctx, key, "epoch", epochOf(last.Token)-1).Err())
		b.time.pass(-time.Second) // a store that forgot, and whose clock was set back
		b.acquire("a.test")
		require.Equal(t, [2]int64{0, 1}, counts())
		require.NoError(t, rdb.Del(b.ctx, key).Err())
		b.acquire("a.test")
		require.Equal(t, [2]int64{1, 1}, counts())
	})
}

func TestEpochOf(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]int64{"n1.17": 17, "": 0, "n1": 0, "n1.": 0, "n1.x": 0, "n1.-4": 0, "n.1.2": 0} {
		require.Equal(t, want, epochOf(token), token)
	}
	var none epochs
	none.note("a", 5)
	require.Zero(t, none.of("a"))
	e := newEpochs()
	e.note("a", 5)
	e.note("a", 3)
	require.EqualValues(t, 5, e.of("a"))
	require.Zero(t, e.of("b"))
}
