package peer

import (
	"testing"

	"github.com/stretchr/testify/require"
	_ "google.golang.org/protobuf/types/known/wrapperspb"

	"orbweaver/cluster/certs"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		conf Config
		want []string // parts of the error, none: valid
	}{
		{"default", Config{}, nil},
		{"loopback", Config{Bind: "127.0.7.3:7000"}, nil},
		{"loopback 6", Config{Bind: "[::1]:0"}, nil},
		{"localhost", Config{Bind: "localhost:0"}, nil},
		{"LAN", Config{Bind: "10.0.0.1:7000"}, []string{"CLUSTER_BIND", "CLUSTER_TLS_CERT", "CLUSTER_INSECURE"}},
		{"LAN, insecure", Config{Bind: "10.0.0.1:7000", Insecure: true}, nil},
		{"LAN, TLS", Config{Bind: "10.0.0.1:7000", TLS: &certs.Source{}}, nil},
		{"a name", Config{Bind: "node.test:7000"}, []string{"CLUSTER_TLS_CERT"}},
		{"all addresses", Config{Bind: "0.0.0.0:7000", Insecure: true}, []string{"CLUSTER_ADVERTISE"}},
		{"all addresses 6", Config{Bind: "[::]:7000"}, []string{"CLUSTER_ADVERTISE", "CLUSTER_INSECURE"}},
		{"no host", Config{Bind: ":7000", TLS: &certs.Source{}}, []string{"CLUSTER_ADVERTISE"}},
		{"all addresses, advertised", Config{Bind: "0.0.0.0:7000", Advertise: "n1.test:7000", TLS: &certs.Source{}}, nil},
		{"no port", Config{Bind: "127.0.0.1"}, []string{"CLUSTER_BIND", "host:port"}},
		{"port too large", Config{Bind: "127.0.0.1:70000"}, []string{"CLUSTER_BIND", "port"}},
		{"advertise without port", Config{Advertise: "n1"}, []string{"CLUSTER_ADVERTISE"}},
		{"advertise port 0", Config{Advertise: "n1:0"}, []string{"CLUSTER_ADVERTISE"}},
		{"advertise no host", Config{Advertise: ":7000"}, []string{"CLUSTER_ADVERTISE"}},
		{"advertise anything", Config{Advertise: "0.0.0.0:7000"}, []string{"CLUSTER_ADVERTISE"}},
		{"a message", Config{Accept: []string{"google.protobuf.StringValue"}}, nil},
		{"unknown message", Config{Accept: []string{"no.Such"}}, []string{"no.Such", "not linked"}},
		{"stop", Config{Accept: []string{"actor.Stop"}}, []string{"actor.Stop", "steers"}},
		{"poison", Config{Accept: []string{"actor.PoisonPill"}}, []string{"actor.PoisonPill", "steers"}},
		{"spawn", Config{Accept: []string{"remote.ActorPidRequest"}}, []string{"remote.ActorPidRequest"}},
		{"empty target", Config{Targets: []string{"domains", ""}}, []string{"Targets"}},
		{"all at once", Config{Bind: "x", Advertise: "y", Accept: []string{"z"}}, []string{"CLUSTER_BIND", "CLUSTER_ADVERTISE", "Accept"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.conf.WithDefaults().Validate()
			if len(tt.want) == 0 {
				require.NoError(t, err)
			}
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}
