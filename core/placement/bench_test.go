package placement

import (
	"fmt"
	"testing"
)

func BenchmarkOwner(b *testing.B) {
	slots := make([]string, 1024)
	for i := range slots {
		slots[i] = fmt.Sprintf("www.shop-%d.example.com", i)
	}
	for _, weights := range [][]float64{{1}, {1, 1, 2, 4}} {
		for _, n := range []int{5, 100} {
			members := make([]Member, n)
			for i := range members {
				members[i] = Member{fmt.Sprintf("node-%d", i), weights[i%len(weights)]}
			}
			m := New(members)
			kind := "equal"
			if len(weights) > 1 {
				kind = "weighted"
			}
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if m.Owner(slots[i%len(slots)]) == "" {
						b.Fatal("no owner")
					}
				}
			})
		}
	}
}
