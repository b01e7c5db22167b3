package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"orbweaver/admin"
)

// adminServer is the admin endpoint; nil when it is off.
type adminServer struct{ server *admin.Server }

// startAdmin starts the endpoint at ADMIN. Where that is the default and taken, by
// another crawl on this machine, any free port serves.
func startAdmin(ctx context.Context, n *Node) (*adminServer, error) {
	address := n.cfg.Admin.Listen
	if address == "" {
		return nil, nil //nolint:nilnil // off
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerMetrics(reg, n)
	listen := func(address string) (*adminServer, error) {
		s, err := admin.New(admin.Config{Address: address}, admin.Deps{
			Inspector: inspector{n}, Crawler: crawler{n}, Cluster: clusterView{n}, Parker: parker{n}, Metrics: reg,
			Log: n.log.WithField("part", "admin"), Health: n.health,
		})
		if err != nil {
			return nil, err
		}
		return &adminServer{s}, s.Listen(ctx)
	}
	a, err := listen(address)
	if err != nil && n.cfg.Source("ADMIN") == "default" {
		host, _, splitErr := net.SplitHostPort(address)
		if splitErr == nil {
			a, err = listen(net.JoinHostPort(host, "0"))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w (choose another address with --admin, or --admin off)", err)
	}
	n.log.WithField("address", "http://"+a.address()).Debug("admin endpoint is up")
	return a, nil
}

func (a *adminServer) address() string {
	if a == nil {
		return "off"
	}
	return a.server.Addr()
}

func (a *adminServer) close(log func(error)) {
	if a == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := a.server.Shutdown(ctx); err != nil {
		log(err)
	}
}

// health says why the node is not ready: its store does not answer, or it is no member.
func (n *Node) health(ctx context.Context) error {
	if err := n.store.Client().Ping(ctx).Err(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	n.mu.Lock()
	closed := n.closed
	n.mu.Unlock()
	switch {
	case closed || n.places.left.Load():
		return errors.New("the node is stopping")
	case n.places.provider.Load() == nil:
		return errors.New("the node has not joined the cluster yet")
	case time.Now().After(n.places.Fence()):
		return errors.New("the cluster has not heard of the node for long: it sends nothing")
	}
	return nil
}
