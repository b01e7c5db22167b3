package rqueue

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// breaking is every connection of a node: it fails while the node is cut off,
// and at the call that was chosen.
type breaking struct {
	conn

	n    *crasher
	dead bool
}

func (c *breaking) Close() error {
	if c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

func (c *breaking) Process(ctx context.Context, cmd redis.Cmder) error {
	if c.dead || c.n.cut {
		return errCut
	}
	do, err := c.n.fate()
	if !do {
		c.dead = true
		return err
	}
	if e := c.conn.Process(ctx, cmd); e != nil {
		return e
	}
	if err != nil {
		c.dead = true
		if c.n.w.snapshot != nil && c.n.w.rng.IntN(2) == 0 {
			c.n.w.restart()
		}
	}
	return err
}

// fate tells whether the next call is carried out, and its error.
func (n *crasher) fate() (bool, error) {
	if n.cut {
		return false, errCut
	}
	if n.breaks == 0 {
		return true, nil
	}
	n.breaks--
	if n.breaks > 0 {
		return true, nil
	}
	if n.w.snapshot != nil && !n.after && n.w.rng.IntN(2) == 0 {
		n.w.restart()
	}
	return n.after, errCut
}

// breakingClient is a node's client, with the same faults.
type breakingClient struct {
	*redis.Client

	n *crasher
}

func (c *breakingClient) Process(ctx context.Context, cmd redis.Cmder) error {
	do, err := c.n.fate()
	if !do {
		return err
	}
	if e := c.Client.Process(ctx, cmd); e != nil {
		return e
	}
	return err
}

// session connects the node's session through a connection that breaks.
func (n *crasher) session() bool {
	if n.cut {
		return n.s.conn != nil
	}
	if n.s.connect(n.w.ctx) != nil {
		return false
	}
	n.wrap()
	return true
}

// wrap makes the session's connection one that breaks.
func (n *crasher) wrap() *breaking {
	b, ok := n.s.conn.(*breaking)
	if !ok {
		b = &breaking{conn: n.s.conn, n: n}
		n.s.conn = b
	}
	return b
}
