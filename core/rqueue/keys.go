package rqueue

import (
	"hash/maphash"
	"strconv"
	"strings"
	"sync/atomic"
)

// Keys of the system, under the prefix <p>:
//
//	<p>:layout                      HASH    version, shards: fixed at the store's first use
//	<p>:store                       HASH    id; run_id, replid and when they were first seen, unix ms
//	<p>:crawls                      ZSET    crawl -> created, unix ms
//	<p>:{s}:slot:<slot>             HASH    a slot's lease and what it learned; see lua/acquire.lua
//	<p>:{s}:<host>:robots:<origin>  HASH    robots.txt
//
// Keys of a crawl <c>; s is the host's shard, the hash tag that keeps a host's
// keys and its due entry together:
//
//	<c>:spec, <c>:state             STRING  JSON of Spec; HASH state, run, openings, parked:<host>, ...
//	<c>:stats, <c>:totals           HASH    Scrapy's counters; seen, done, dead, lost, leased, delayed over all hosts
//	<c>:items, <c>:export           LIST    items as JSON; those that await a file
//	<c>:export:files                HASH    file -> offset up to which its items are safe
//	<c>:export:lock                 STRING  <member>|<file> that writes them now; 10 s
//	<c>:start_urls, ...:rejected    LIST, SET or ZSET; LIST of what could not be read
//	{<c>:start_urls}:taken, :claims HASH    claim -> node|unix ms|message; counter
//	<c>:dupefilter                  SET     40-hex fingerprints, only when shared with scrapy-redis
//	<c>:{s}:hosts                   ZSET    host -> when someone must look at it, unix ms
//	<c>:{s}:run, <c>:{s}:known      STRING  the crawl's incarnation; SET of every host ever
//	<c>:{s}:cookies                 HASH    domain -> its cookies, a line each; only with COOKIES_PERSIST
//	<c>:{s}:<host>:requests         ZSET    waiting entries -> order
//	<c>:{s}:<host>:delayed          ZSET    entries -> due, unix ms
//	<c>:{s}:<host>:leased           HASH    id -> request token, entry
//	<c>:{s}:<host>:dead             LIST    unix ms, cause, entry
//	<c>:{s}:<host>:meta             HASH    run, seen, members, buckets, done, dead, parked, lost, forgotten
//	<c>:{s}:<host>:seen:<n>         SET     int64 members of the compact dupefilter

// hostKeys are the keys of one host in one crawl, each a string boxed once.
type hostKeys struct {
	host    string
	name    any // host
	shard   *shardKeys
	prefix  string // <c>:{s}:<host>:
	seen    any    // bucket 0
	meta    any
	request any
	delayed any
	leased  any
	dead    any
}

// shardKeys are the keys of one shard of a crawl.
type shardKeys struct {
	index, run, known any
	cookies           any
	prefix            string // <c>:{s}:
}

// hostCacheSize bounds the host keys that a crawl keeps made, a power of two
// (about 600 bytes each).
const hostCacheSize = 4096

// crawlKeys makes a crawl's keys and keeps those of recent hosts.
type crawlKeys struct {
	spec, state, stats, totals, export, files, exportLock any
	shards                                                []shardKeys
	shardOf                                               func(host string) int
	seed                                                  maphash.Seed
	cache                                                 [hostCacheSize]atomic.Pointer[hostKeys]
}

func newCrawlKeys(name string, shards int, shardOf func(string) int) *crawlKeys {
	k := &crawlKeys{
		spec: name + ":spec", state: name + ":state", stats: name + ":stats", totals: name + ":totals",
		export: name + ":export", files: name + ":export:files", exportLock: name + ":export:lock",
		shards:  make([]shardKeys, shards),
		shardOf: shardOf,
		seed:    maphash.MakeSeed(),
	}
	for s := range k.shards {
		p := name + ":{" + strconv.Itoa(s) + "}:"
		k.shards[s] = shardKeys{prefix: p, index: p + "hosts", run: p + "run", known: p + "known", cookies: p + "cookies"}
	}
	return k
}

// host gives the keys of a host.
func (k *crawlKeys) host(host string) *hostKeys {
	at := &k.cache[maphash.String(k.seed, host)&(hostCacheSize-1)]
	if h := at.Load(); h != nil && h.host == host {
		return h
	}
	sh := &k.shards[shardIn(k.shardOf, host, len(k.shards))]
	p := sh.prefix + host + ":"
	h := &hostKeys{
		host: host, name: host, shard: sh, prefix: p,
		seen: p + "seen:0", meta: p + "meta", request: p + "requests",
		delayed: p + "delayed", leased: p + "leased", dead: p + "dead",
	}
	at.Store(h)
	return h
}

// shardIn is shardOf kept within the layout.
func shardIn(shardOf func(string) int, host string, shards int) int {
	s := shardOf(host) % shards
	if s < 0 {
		s += shards
	}
	return s
}

// fnvShard is the default of Config.ShardOf: FNV-1a over the host.
func fnvShard(shards int) func(string) int {
	return func(host string) int {
		h := uint32(2166136261)
		for i := range len(host) {
			h = (h ^ uint32(host[i])) * 16777619
		}
		return int(h % uint32(shards)) //nolint:gosec // shards is 1 to 16384
	}
}

func (f *Frontier) slotKey(slot string) any {
	return f.cfg.Prefix + ":{" + strconv.Itoa(shardIn(f.cfg.ShardOf, slot, f.cfg.Shards)) + "}:slot:" + slot
}

func (f *Frontier) robotsKey(host, origin string) any {
	return f.cfg.Prefix + ":{" + strconv.Itoa(shardIn(f.cfg.ShardOf, host, f.cfg.Shards)) + "}:" + host + ":robots:" + origin
}

// tagged puts a key's companion into the key's own cluster slot.
func tagged(key, suffix string) string {
	if i := strings.IndexByte(key, '{'); i >= 0 {
		if j := strings.IndexByte(key[i:], '}'); j > 1 {
			return key + suffix
		}
	}
	return "{" + key + "}" + suffix
}
