package placement_test

import (
	"fmt"
	"time"

	"orbweaver/core/placement"
)

func Example() {
	two := placement.New([]placement.Member{{ID: "node-a", Weight: 1}, {ID: "node-b", Weight: 2}})
	// A third one has joined and takes over its share gradually.
	joined := func(age time.Duration) *placement.Map {
		return placement.New(append(two.Members(), placement.Member{
			ID: "node-c", Weight: placement.Ramp(1, age, 9*time.Second),
		}))
	}
	slots := []string{"g.example", "h.example", "j.example", "www.example.com"}
	for _, slot := range slots {
		fmt.Println(slot, two.Owner(slot), joined(0).Owner(slot), joined(time.Minute).Owner(slot))
	}
	// Output:
	// g.example node-a node-a node-a
	// h.example node-b node-b node-b
	// j.example node-b node-b node-c
	// www.example.com node-b node-c node-c
}
