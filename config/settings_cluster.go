package config

import "time"

func clusterSettings(c *Cluster) []Setting {
	return []Setting{{
		Name: "CLUSTER_PROVIDER", Path: "cluster.provider", Default: "auto",
		Doc:   "How nodes find each other: `redis`, through the store that they share; `single`, not at all; `auto`, redis unless the store is the embedded one.",
		value: enumValue{p: &c.Provider, words: []string{"auto", "redis", "single"}},
	}, {
		Name: "CLUSTER_BIND", Path: "cluster.bind", Default: "127.0.0.1:0",
		Doc:   "HOST:PORT where the node listens for its peers; port 0 picks a free one. Another machine than this can reach it only when it is not a loopback address, and then certificates are required. Nodes that cannot reach each other work as well, a little slower.",
		value: stringValue{&c.Bind, checkHostPort},
	}, {
		Name: "CLUSTER_ADVERTISE", Path: "cluster.advertise",
		Doc:   "HOST:PORT under which the other nodes reach this one, such as a pod's address. Empty: the address that is bound.",
		value: stringValue{&c.Advertise, checkHostPort},
	}, {
		Name: "CLUSTER_WEIGHT", Path: "cluster.weight", Default: "1",
		Doc:   "The node's share of the sites, relative to the others'.",
		value: floatValue{p: &c.Weight, min: 0.01, max: 1000},
	}, {
		Name: "CLUSTER_TTL", Path: "cluster.ttl", Default: "5",
		Doc:   "A node that the store has not heard of for so long is given up by the others. It should be less than SLOT_TTL.",
		value: durationValue{&c.TTL, 500 * time.Millisecond, 10 * time.Minute},
	}, {
		Name: "CLUSTER_HEARTBEAT", Path: "cluster.heartbeat", Default: "1",
		Doc:   "Time between two signs of life, a round trip each. CLUSTER_TTL must be at least three of them.",
		value: durationValue{&c.Heartbeat, 50 * time.Millisecond, time.Minute},
	}, {
		Name: "CLUSTER_RAMP", Path: "cluster.ramp", Default: "10",
		Doc:   "A node that joins takes over its share in ten steps within this time; 0 at once.",
		value: durationValue{&c.Ramp, 0, time.Hour},
	}, {
		Name: "CLUSTER_TLS_CA", Path: "cluster.tls_ca",
		Doc:   "PEM file of the certificate authority that peers must be of. The three files are read again when they change; `node certs` makes them for development.",
		value: stringValue{p: &c.TLSCA},
	}, {
		Name: "CLUSTER_TLS_CERT", Path: "cluster.tls_cert",
		Doc:   "PEM file of the node's certificate, for both ends of a connection.",
		value: stringValue{p: &c.TLSCert},
	}, {
		Name: "CLUSTER_TLS_KEY", Path: "cluster.tls_key",
		Doc:   "PEM file of the certificate's key.",
		value: stringValue{p: &c.TLSKey},
	}, {
		Name: "CLUSTER_INSECURE", Path: "cluster.insecure", Default: "false",
		Doc:   "Listen for peers on an address that others can reach without certificates. Whoever reaches it can wake and misinform the node.",
		value: boolValue{&c.Insecure},
	}}
}
