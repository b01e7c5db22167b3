package rqueue

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// TestJoinCrawl: whoever joins a crawl works on it, and brings none back that has
// ended or was deleted since it was listed.
func TestJoinCrawl(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		other, err := Open(b.ctx, rdb, b.time.config("n2"))
		require.NoError(t, err)
		list := func() []Info {
			infos, err := other.Crawls(b.ctx)
			require.NoError(t, err)
			return infos
		}
		b.enqueue(b.link("a.test", "/1"))
		infos := list()
		require.Len(t, infos, 1)
		c, err := other.JoinCrawl(infos[0])
		require.NoError(t, err)
		require.Equal(t, b.c.Run(), c.Run())
		require.EqualValues(t, 1, c.Resumed())
		due, err := c.Due(b.ctx, Cursor{}, 10)
		require.NoError(t, err)
		require.Equal(t, []string{"a.test"}, due.Hosts)

		token := b.acquire("a.test").Token
		leased := b.lease("a.test", token, 1)
		_, err = b.s.Commit(b.ctx, []*Page{{Crawl: b.c, Host: "a.test", ID: leased.Requests[0].Request.ID, Token: leased.Requests[0].Token, End: EndDone}}, nil)
		require.NoError(t, err)
		done, err := b.c.Finish(b.ctx)
		require.NoError(t, err)
		require.True(t, done)
		_, err = other.JoinCrawl(list()[0])
		require.ErrorIs(t, err, ErrNotRunning)
		c, err = other.JoinCrawl(infos[0]) // as it was when it was listed
		require.NoError(t, err)
		seeds, err := c.ClaimSeeds(b.ctx, 1)
		require.NoError(t, err)
		require.Empty(t, seeds)
		due, err = c.Due(b.ctx, Cursor{}, 10)
		require.NoError(t, err)
		require.Empty(t, due.Hosts)
		require.Equal(t, StateFinished, list()[0].State, "nobody brought it back")

		require.NoError(t, b.c.Delete(b.ctx, true))
		_, err = other.JoinCrawl(infos[0])
		require.NoError(t, err)
		require.Empty(t, list())
	})
}
