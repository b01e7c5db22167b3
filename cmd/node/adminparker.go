package main

import (
	"context"
	"errors"
	"fmt"

	"orbweaver/admin"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// parker leaves hosts alone for the admin endpoint.
type parker struct{ n *Node }

func (p parker) crawl(name string) (*rqueue.Crawl, error) {
	if c := p.n.served(name); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%w: this node serves no crawl %q", admin.ErrNotFound, name)
}

// storeError is an error of the frontier for a client.
func storeError(err error) error {
	if errors.Is(err, rqueue.ErrStaleRun) {
		return fmt.Errorf("%w: the crawl was flushed or deleted: %w", admin.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", admin.ErrUnavailable, err)
}

// Parked implements admin.Parker.
func (p parker) Parked(ctx context.Context, name string) ([]admin.ParkedHost, error) {
	c, err := p.crawl(name)
	if err != nil {
		return nil, err
	}
	list, err := c.Parked(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	out := make([]admin.ParkedHost, len(list))
	for i, h := range list {
		out[i] = admin.ParkedHost{Host: h.Host, Reason: h.Reason, Since: h.Since.UTC(), Requests: h.Letters}
	}
	return out, nil
}

// Park implements admin.Parker. A domain of this node follows at once.
func (p parker) Park(ctx context.Context, name string, args []string, reason string) (int, error) {
	c, hosts, err := p.read(name, args)
	if err != nil {
		return 0, err
	}
	if reason == "" {
		reason = "by hand"
	}
	n := 0
	for _, host := range hosts {
		parked, err := c.Park(ctx, host, reason)
		if err != nil {
			return n, storeError(err)
		}
		if parked {
			n++
		}
		p.n.system.Root.Send(p.n.domains, &messages.Parked{Crawl: c, Slot: host, Reason: reason, Stored: true})
	}
	return n, nil
}

// Release implements admin.Parker.
func (p parker) Release(ctx context.Context, name string, args []string) (released, requests int, err error) {
	c, hosts, err := p.read(name, args)
	if err != nil {
		return 0, 0, err
	}
	if len(args) == 0 {
		list, err := c.Parked(ctx)
		if err != nil {
			return 0, 0, storeError(err)
		}
		for _, h := range list {
			hosts = append(hosts, h.Host)
		}
	}
	for _, host := range hosts {
		back, parked, err := c.Release(ctx, host)
		requests += back
		if err != nil {
			return released, requests, storeError(err)
		}
		if parked || back > 0 {
			released++
			p.n.system.Root.Send(p.n.domains, &messages.Wake{Refs: []rqueue.HostRef{{Crawl: c, Host: host}}})
		}
	}
	return released, requests, nil
}

func (p parker) read(name string, args []string) (*rqueue.Crawl, []string, error) {
	c, err := p.crawl(name)
	if err != nil {
		return nil, nil, err
	}
	hosts, err := hostsOf(args)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", admin.ErrInvalid, err)
	}
	return c, hosts, nil
}
