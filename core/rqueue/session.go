package rqueue

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/redis/go-redis/v9"
)

// conn is one connection of a client: after it breaks, every use of it fails.
type conn interface {
	processor
	Pipeline() redis.Pipeliner
	io.Closer
}

// Session is one connection on which links are enqueued and then the pages that
// hold them are committed, so that the store's log keeps their order (rule 3).
// It is confined to one goroutine. The zero value is not usable.
type Session struct {
	f       *Frontier
	conn    conn
	changes uint64 // StoreChanges when conn was made
	batch   batch  // reused
}

// NewSession makes a session; it connects when it is first used.
func (f *Frontier) NewSession() *Session { return &Session{f: f} }

// Close gives the connection back.
func (s *Session) Close() error {
	if s.conn == nil {
		return nil
	}
	err := s.conn.Close()
	s.conn = nil
	return err
}

// errConnChanged is a connection that broke between the two round trips.
var errConnChanged = errors.New("rqueue: connection broke between enqueue and commit")

// connect makes sure of a connection. A new one is to a store that was looked
// at after it was made: what this node's cache says is seen was seen by it (rule 7).
func (s *Session) connect(ctx context.Context) error {
	if s.conn != nil {
		return nil
	}
	single, ok := s.f.rdb.(interface{ Conn() *redis.Conn })
	if !ok {
		return fmt.Errorf("rqueue: session on a %T: %w", s.f.rdb, errors.ErrUnsupported)
	}
	cn := single.Conn()
	if err := cn.Ping(ctx).Err(); err != nil {
		_ = cn.Close()
		return fmt.Errorf("rqueue: connect session: %w", err)
	}
	if err := s.f.Ping(ctx); err != nil {
		_ = cn.Close()
		return err
	}
	s.conn, s.changes = cn, s.f.StoreChanges()
	return nil
}

// broken drops the connection after an error that was not the store's word.
func (s *Session) broken(err error) {
	var se *StoreError
	if err == nil || errors.As(err, &se) || s.conn == nil {
		return
	}
	_ = s.conn.Close()
	s.conn = nil
}

// Enqueue lets links in. It gives the hosts that had nothing waiting and now
// have, and how many links were new. Doing it again does nothing (rule 9).
func (s *Session) Enqueue(ctx context.Context, links []Link) (woken []HostRef, news int, err error) {
	if err := s.connect(ctx); err != nil {
		return nil, 0, err
	}
	b := &s.batch
	b.reset()
	for i := range links {
		b.add(&links[i], 0)
	}
	res := [1]pageResult{}
	err = s.enqueue(ctx, b, res[:])
	woken = b.takeWoken()
	if err == nil {
		err = res[0].err
	}
	return woken, res[0].enqueued, err
}

// EnqueueSeeds lets the requests of claimed seeds in and then acknowledges the
// claims on the same connection (rules 2, 3). On an error nothing is
// acknowledged: enqueue again.
func (s *Session) EnqueueSeeds(ctx context.Context, c *Crawl, links []Link, seeds []Seed) (woken []HostRef, news int, err error) {
	woken, news, err = s.Enqueue(ctx, links)
	if err != nil {
		return woken, news, err
	}
	if err := c.ackSeeds(ctx, s.conn, seeds, nil); err != nil {
		s.broken(err)
		return woken, news, err
	}
	return woken, news, nil
}

// Commit enqueues the links of all pages, and when every reply was good ends
// their leases on the same connection, with items, retries and dead letters, and
// adds the stats. A page's outcome is in the page; one with Err set is not
// committed and may be committed again. When stats could not be written the
// error is returned, and they are not: the call's error is that of the
// connection or of the stats, never of one page. The stats of a crawl that was
// flushed or deleted elsewhere are dropped.
func (s *Session) Commit(ctx context.Context, pages []*Page, stats []Stat) (woken []HostRef, err error) {
	for _, p := range pages {
		p.Enqueued, p.Filtered, p.Refused, p.Gone, p.Err = 0, 0, 0, false, nil
	}
	for try := 0; ; try++ {
		again := false
		woken, again, err = s.commitOnce(ctx, pages, stats, woken, try == 0)
		if !again || try == 1 {
			break
		}
	}
	if err != nil {
		for _, p := range pages {
			if p.Err == nil {
				p.Err = err
			}
		}
	}
	return woken, err
}

// commitOnce is one attempt; again says that the connection broke in between
// and that nothing but links may have been written. The second time nothing is
// believed to be seen: every link is enqueued.
func (s *Session) commitOnce(ctx context.Context, pages []*Page, stats []Stat, woken []HostRef, believe bool) (_ []HostRef, again bool, err error) {
	if err := s.connect(ctx); err != nil {
		return woken, false, err
	}
	b := &s.batch
	b.reset()
	results := make([]pageResult, len(pages))
	for i, p := range pages {
		salt := uint64(0)
		if p.Crawl != nil {
			salt = p.Crawl.salt(s.changes)
		}
		for j := range p.Links {
			l := &p.Links[j]
			if believe && l.Crawl == p.Crawl && l.filtered() && s.f.seen.has(l.Request.Fingerprint.Member(), salt) {
				results[i].filtered++
				continue
			}
			b.add(l, i)
		}
	}
	err = s.enqueue(ctx, b, results)
	woken = append(woken, b.takeWoken()...)
	if err != nil {
		return woken, false, err
	}
	for i, p := range pages {
		// Enqueued again after a broken connection, what was new is not.
		p.Filtered, p.Err = max(results[i].filtered-p.Enqueued, 0), results[i].err
		p.Enqueued += results[i].enqueued
		p.Refused = results[i].refused
	}
	err = s.commit(ctx, pages, stats)
	if errors.Is(err, errConnChanged) {
		return woken, true, err
	}
	return woken, false, err
}
