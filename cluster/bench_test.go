package cluster

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
)

// BenchmarkHeartbeat is one heartbeat among so many members, the round trip and the
// store's work included.
func BenchmarkHeartbeat(b *testing.B) {
	for _, members := range []int{1, 5, 60} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			rdb := redistest.New(b).Client()
			nodes := make([]*Redis, members)
			for i := range nodes {
				r, err := NewRedis(rdb, Config{Self: self(fmt.Sprintf("n%d", i))}, quiet())
				require.NoError(b, err)
				require.NoError(b, r.join(b.Context()))
				nodes[i] = r
			}
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, nodes[0].beat(b.Context()))
			}
		})
	}
}
