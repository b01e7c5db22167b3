package rqueue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func (b *bundle) putCookies(err error, cookies ...Cookie) {
	b.t.Helper()
	op := &CookiesPut{Crawl: b.c, Host: "www.a.test", Cookies: cookies}
	require.NoError(b.t, b.f.Do(b.ctx, op))
	require.ErrorIs(b.t, op.Err, err)
}

func (b *bundle) cookies(domains ...string) []Cookie {
	b.t.Helper()
	op := &CookiesGet{Crawl: b.c, Host: "www.a.test", Domains: domains}
	require.NoError(b.t, b.f.Do(b.ctx, op))
	require.NoError(b.t, op.Err)
	return op.Cookies
}

func TestCookies(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		require.Empty(t, b.cookies("www.a.test", "a.test"))
		b.putCookies(nil,
			Cookie{"www.a.test", "\t/\ta\th\t", "\t/\ta\th\t1"}, Cookie{"a.test", "\t/\tb\td\t", "\t/\tb\td\t\xe9%"},
			Cookie{"www.a.test", "\t/\tc\th\t", "\t/\tc\th\t3"}, Cookie{"a.test", "none", ""})
		require.Equal(t, []Cookie{
			{Domain: "www.a.test", Line: "\t/\ta\th\t1"}, {Domain: "www.a.test", Line: "\t/\tc\th\t3"}, {Domain: "a.test", Line: "\t/\tb\td\t\xe9%"},
		}, b.cookies("www.a.test", "a.test"))
		require.Empty(t, b.cookies())
		b.putCookies(nil, Cookie{"www.a.test", "\t/\ta\th\t", "\t/\ta\th\t2"}, Cookie{"a.test", "\t/\tb\td\t", ""})
		require.Equal(t, []Cookie{{Domain: "www.a.test", Line: "\t/\ta\th\t2"}, {Domain: "www.a.test", Line: "\t/\tc\th\t3"}}, b.cookies("a.test", "www.a.test"))
		sh := b.c.keys.host("www.a.test").shard
		require.Equal(t, []string{"www.a.test"}, rdb.HKeys(b.ctx, text(sh.cookies)).Val(), "nothing is kept of an empty domain")
	})
}

func TestCookiesAreBounded(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		for i := range 40 {
			id := fmt.Sprintf("%02d\t", i)
			b.putCookies(nil, Cookie{"a.test", id, id + strings.Repeat("x", 4000)})
		}
		got := b.cookies("a.test")
		require.Len(t, got, cookieDomainBytes/4004)
		require.True(t, strings.HasPrefix(got[len(got)-1].Line, "39\t"), "the oldest went")
		b.putCookies(nil, Cookie{"a.test", "huge", "huge" + strings.Repeat("x", cookieDomainBytes)})
		require.Empty(t, b.cookies("a.test"))
	})
}

// A crawl's cookies end with it, and what a node still holds of an earlier run is
// refused.
func TestCookiesEndWithTheirRun(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		c := Cookie{"a.test", "a", "a1"}
		b.putCookies(nil, c)
		b.time.pass(time.Second)
		require.NoError(t, b.c.Flush(b.ctx))
		require.Empty(t, b.cookies("a.test"))
		b.putCookies(nil, c)
		require.NotEmpty(t, b.cookies("a.test"))
		b.time.pass(time.Second)
		require.NoError(t, b.c.Delete(b.ctx, true))
		require.Empty(t, keysOf(t, rdb, "c"))
		put, get := &CookiesPut{Crawl: b.c, Host: "a.test", Cookies: []Cookie{c}}, &CookiesGet{Crawl: b.c, Host: "a.test", Domains: []string{"a.test"}}
		require.NoError(t, b.f.Do(b.ctx, put, get))
		require.ErrorIs(t, put.Err, ErrStaleRun)
		require.ErrorIs(t, get.Err, ErrStaleRun)
		require.Empty(t, keysOf(t, rdb, "c"))
	})
}
