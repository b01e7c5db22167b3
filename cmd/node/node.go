package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/actors/domain"
	"orbweaver/actors/fetcher"
	"orbweaver/actors/pipeline"
	"orbweaver/actors/scheduler"
	"orbweaver/actors/supervise"
	"orbweaver/cluster"
	"orbweaver/config"
	"orbweaver/core/invariant"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
	"orbweaver/store"
)

// Node is one process of the crawler: the store, the actors and the admin
// endpoint. Make it with startNode, end it with Close.
type Node struct {
	cfg      *config.Config
	log      *logrus.Logger
	id       string // member id, of this start of the process
	store    *store.Store
	frontier *rqueue.Frontier
	system   *actor.ActorSystem
	registry *supervise.Registry
	table    *domain.Table
	client   *fetcher.Client
	counters *pipeline.Counters
	admin    *adminServer
	checks   *invariant.Checks
	places   *places
	provider cluster.Provider // nil before the node has joined

	following sync.WaitGroup
	left      chan struct{} // closed when the placement is no longer followed

	scheduler, domains, pipeline *actor.PID

	jobs sync.Map // *rqueue.Crawl -> *pipeline.Job
	jars sync.Map // *rqueue.Crawl -> *crawlJars, stored before its job

	crawlsChanged chan struct{} // a hint that a crawl was made

	mu        sync.Mutex
	exporters map[*rqueue.Crawl]*actor.PID // guarded by mu
	closed    bool                         // guarded by mu
}

// startNode starts the parts in order; who is fed by whom is said beside each.
// Close stops them in the reverse order. only is the one crawl that the node works for, ""
// for all.
func startNode(ctx context.Context, cfg *config.Config, log *logrus.Logger, only string) (*Node, error) {
	n := &Node{
		cfg: cfg, log: log, id: memberID(cfg), left: make(chan struct{}), registry: supervise.NewRegistry(), counters: &pipeline.Counters{},
		table: domain.NewTable(cfg.Fetch.ConcurrentRequests), exporters: map[*rqueue.Crawl]*actor.PID{},
		crawlsChanged: make(chan struct{}, 1),
	}
	n.checks = invariant.New(func(name invariant.Name, detail string) {
		log.WithFields(logrus.Fields{"invariant": string(name), "detail": detail}).Error("invariant violated")
	})
	var err error
	if n.client, err = newClient(cfg); err != nil {
		return nil, usage(err)
	}
	// 1. The store: all that must survive.
	n.store, err = store.Open(ctx, store.Config{URL: cfg.Redis.URL, DataDir: cfg.Node.DataDir, Server: cfg.Redis.Server, Fsync: cfg.Redis.AppendFsync, Log: log})
	if err != nil {
		if errors.Is(err, store.ErrConfig) {
			return nil, usage(err)
		}
		return nil, &exitError{exitStore, err}
	}
	log.WithField("store", n.store.Describe()).Info("store is open")
	// 2. The frontier: the node's door to it.
	frontierCfg := rqueueConfig(cfg, n.id, n.store.Embedded())
	frontierCfg.Checks = n.checks
	n.frontier, err = rqueue.Open(ctx, n.store.Client(), frontierCfg)
	if err != nil {
		return nil, errors.Join(&exitError{exitStore, err}, n.store.Close())
	}
	// 3. The door for other nodes, before the actors, whose addresses have it.
	// 4. The actors. The scheduler feeds domains with leases, domains feed their
	// fetchers, fetchers the pipeline, the pipeline the frontier.
	n.system = actor.NewActorSystemWithConfig(actor.Configure(actor.WithLoggerFactory(
		func(*actor.ActorSystem) *slog.Logger { return newLogBridge(log) })))
	if err := n.startPeer(); err != nil { //nolint:contextcheck // peers are served as long as the node lives
		return nil, errors.Join(err, n.store.Close())
	}
	if err := n.startActors(); err != nil {
		n.places.close()
		return nil, errors.Join(err, n.store.Close())
	}
	// 5. The admin endpoint asks all of them.
	if n.admin, err = startAdmin(ctx, n); err != nil {
		n.Close() //nolint:contextcheck // what runs is stopped also when ctx is over
		return nil, usage(err)
	}
	// 6. The cluster: from now on slots are this node's.
	if err := n.join(ctx, only); err != nil {
		n.Close() //nolint:contextcheck // as above
		return nil, err
	}
	return n, nil
}

func (n *Node) startActors() error {
	root := n.system.Root
	strategy := supervise.NewStrategy(n.log, n.registry.Failed)
	domainsPID := n.system.NewLocalPID(messages.DomainsName)
	domainCfg := domainConfig(n.cfg, n.store.Embedded())
	if err := domainCfg.Validate(); err != nil {
		return usage(err)
	}
	spawn := func(name string, producer actor.Producer) (*actor.PID, error) {
		pid, err := root.SpawnNamed(n.registry.Props(name, producer, actor.WithGuardian(strategy)), name)
		if err != nil {
			return nil, fmt.Errorf("node: start %s: %w", name, err)
		}
		return pid, nil
	}
	var err error
	n.scheduler, err = spawn(messages.SchedulerName, func() actor.Actor {
		return scheduler.New(schedulerConfig(n.cfg), scheduler.Deps{
			Frontier: n.frontier, Domains: domainsPID,
			Room: func() int { return n.table.Room(domainCfg.MaxDomains) }, Mine: n.places.Mine, Log: n.log,
		})
	})
	if err != nil {
		return err
	}
	session := n.frontier.NewSession()
	n.pipeline, err = spawn(messages.PipelineName, func() actor.Actor {
		return pipeline.New(pipelineConfig(n.cfg), pipeline.Deps{
			Session: session, Domains: domainsPID, Jobs: n.job,
			Release: n.client.Release, Exporter: n.exporter, Counters: n.counters, Registry: n.registry, Log: n.log,
		})
	})
	if err != nil {
		return err
	}
	cache, err := httpCache(n.cfg)
	if err != nil {
		return err
	}
	fetcherProps := fetcher.Props(fetcher.Deps{Pipeline: n.pipeline, Client: n.client, Cache: cache, Log: n.log})
	n.domains, err = spawn(messages.DomainsName, func() actor.Actor {
		return domain.NewSupervisor(domainCfg, domain.Deps{
			Scheduler: n.scheduler, Pipeline: n.pipeline, Fetcher: fetcherProps,
			NewConns: n.client.Conns, StoreChanges: n.frontier.StoreChanges, Table: n.table, Log: n.log,
			Places: n.places, Crawl: n.crawlOf, Cookies: n.cookiesOf, Checks: n.checks,
		})
	})
	return err
}

func (n *Node) job(c *rqueue.Crawl) *pipeline.Job {
	if j, ok := n.jobs.Load(c); ok {
		return j.(*pipeline.Job) //nolint:forcetypeassert // only jobs are stored
	}
	return nil
}

// exporter is the actor that exports a crawl's items, or nil.
func (n *Node) exporter(c *rqueue.Crawl) *actor.PID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.exporters[c]
}

// ask requests an answer of type T from an actor.
func ask[T any](n *Node, pid *actor.PID, msg any, timeout time.Duration) (T, error) {
	var zero T
	res, err := n.system.Root.RequestFuture(pid, msg, timeout).Result()
	if err != nil {
		return zero, fmt.Errorf("node: ask %s: %w", pid.Id, err)
	}
	v, ok := res.(T)
	if !ok {
		if f, failed := res.(*pipeline.Failed); failed {
			return zero, f.Err
		}
		return zero, fmt.Errorf("node: ask %s: answer is %T", pid.Id, res)
	}
	return v, nil
}

// drain leaves the cluster, stops the intake and brings everything that is in flight to its end: the
// domains give back what they have not sent and release their slots, the pipeline
// commits, the exporters write. With now, fetches are cut off. It is bounded by
// SHUTDOWN_TIMEOUT.
func (n *Node) drain(now bool) error {
	deadline := time.Now().Add(n.cfg.Node.ShutdownTimeout)
	left := func() time.Duration { return max(time.Second, time.Until(deadline)) }
	n.leave()
	_, err := ask[*messages.Drained](n, n.domains, &messages.Drain{Now: now}, left())
	if err != nil && !now { // slow bodies: cut them off
		_, err = ask[*messages.Drained](n, n.domains, &messages.Drain{Now: true}, 5*time.Second)
	}
	errs := []error{err}
	_, err = ask[*messages.Drained](n, n.pipeline, &messages.Drain{}, left())
	errs = append(errs, err)
	_, err = ask[*messages.Drained](n, n.scheduler, &messages.Drain{}, left())
	return errors.Join(append(errs, err)...)
}

// drainExports writes what is left of a crawl's items; nil when it has no exporter.
func (n *Node) drainExports(c *rqueue.Crawl) error {
	pid := n.exporter(c)
	if pid == nil {
		return nil
	}
	_, err := ask[*messages.Drained](n, pid, &messages.Drain{}, max(30*time.Second, n.cfg.Node.ShutdownTimeout))
	return err
}

// Close stops everything that still runs. It waits a bounded time and may be
// called twice.
func (n *Node) Close() {
	n.mu.Lock()
	closed := n.closed
	n.closed = true
	exporters := n.exporters
	n.mu.Unlock()
	if closed {
		return
	}
	close(n.left)
	n.following.Wait()
	n.admin.close(func(err error) { n.log.WithField("err", err).Debug("admin endpoint not closed in time") })
	stop := func(pid *actor.PID) {
		if pid == nil {
			return
		}
		if err := n.system.Root.StopFuture(pid).Wait(); err != nil {
			n.log.WithFields(logrus.Fields{"actor": pid.Id, "err": err}).Debug("actor did not stop in time")
		}
	}
	stop(n.domains)
	stop(n.pipeline)
	for _, pid := range exporters {
		stop(pid)
	}
	stop(n.scheduler)
	if n.provider != nil {
		n.provider.Close()
	}
	n.places.close()
	if err := n.store.Close(); err != nil {
		n.log.WithField("err", err).Warn("store not closed")
	}
}

// memberID names this process start; an id is never used twice.
func memberID(cfg *config.Config) string {
	name := cfg.Node.Name
	if name == "" {
		name = hostName()
	}
	return safeName(name) + "-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
}

// safeName keeps letters, digits, '-' and '_'.
func safeName(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			continue
		}
		b[i] = '_'
	}
	return string(b)
}
