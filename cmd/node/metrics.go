package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"orbweaver/cluster/peer"
	"orbweaver/core/invariant"
)

// registerMetrics registers what a node counts. No URL or domain is a label.
func registerMetrics(reg prometheus.Registerer, n *Node) {
	counter := func(name, help string, value func() int64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "orbweaver_" + name, Help: help},
			func() float64 { return float64(value()) }))
	}
	gauge := func(name, help string, value func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "orbweaver_" + name, Help: help}, value))
	}
	c := n.counters
	counter("pages_total", "Pages committed.", c.Pages.Load)
	counter("items_total", "Items stored.", c.Items.Load)
	counter("fetches_total", "Fetches that the site ended.", c.Requests.Load)
	counter("response_bytes_total", "Bytes read from sites.", c.Bytes.Load)
	counter("retries_total", "Requests to be tried again.", c.Retries.Load)
	counter("dead_total", "Requests given up.", c.Dead.Load)
	counter("store_restarts_total", "Times the embedded redis-server was started again.", n.store.Restarts)
	gauge("in_flight", "Requests from fetch to commit.", func() float64 { return float64(n.table.InFlight()) })
	gauge("domains", "Live domain actors.", func() float64 { return float64(n.table.Live()) })
	gauge("domains_cap", "Most live domain actors.", func() float64 { return float64(n.cfg.Scheduler.MaxDomains) })
	gauge("store_last_reply_seconds", "Since the store last answered.", func() float64 { return n.frontier.Health().LastReply.Seconds() })
	gauge("cluster_members", "Nodes in the cluster, as this one sees it.", func() float64 {
		if p := n.places.provider.Load(); p != nil {
			return float64(len((*p).Topology().Members))
		}
		return 0
	})
	for _, name := range invariant.Names() {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "orbweaver_invariant_violations_total", Help: "Times that something did not hold which always must.",
			ConstLabels: prometheus.Labels{"invariant": string(name)},
		}, func() float64 { return float64(n.checks.Count(name)) }))
	}
	if p := n.places.peer; p != nil {
		peers := func(name, help string, value func(peer.Stats) uint64) {
			counter("peer_"+name, help, func() int64 { return int64(value(p.Stats())) }) //nolint:gosec // a count
		}
		peers("connections_refused_total", "Connections without a valid certificate, or with garbage.", func(s peer.Stats) uint64 { return s.ConnectionsRefused })
		peers("streams_refused_total", "Streams reset over something that no peer may send.", func(s peer.Stats) uint64 { return s.StreamsRefused + s.VersionsRefused })
		peers("panics_recovered_total", "Panics over what a peer sent.", func(s peer.Stats) uint64 { return s.PanicsRecovered })
		peers("messages_received_total", "Messages of peers.", func(s peer.Stats) uint64 { return s.Received })
		peers("messages_sent_total", "Messages to peers.", func(s peer.Stats) uint64 { return s.Sent })
		peers("messages_dropped_total", "Messages that will reach nobody.", func(s peer.Stats) uint64 { return s.Dropped })
	}
	reg.MustRegister(waits{n: n, desc: prometheus.NewDesc("orbweaver_domains_waiting", "Live domains that wait, by reason.", []string{"reason"}, nil)})
}

// waits is a gauge for each reason to wait.
type waits struct {
	n    *Node
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (w waits) Describe(ch chan<- *prometheus.Desc) { ch <- w.desc }

// Collect implements prometheus.Collector.
func (w waits) Collect(ch chan<- prometheus.Metric) {
	for reason, n := range w.n.table.Waits() {
		ch <- prometheus.MustNewConstMetric(w.desc, prometheus.GaugeValue, float64(n), string(reason))
	}
}
