package throttle_test

import (
	"fmt"
	"time"

	"orbweaver/core/throttle"
)

func ExampleSlot() {
	cfg := throttle.Default()
	cfg.RandomizeDownloadDelay = false
	slot := throttle.New(cfg, nil)
	now := time.Unix(0, 0)

	for range 3 {
		d := slot.Next(now)
		if !d.OK {
			fmt.Println("wait", d.Wait, "because of", d.Reason)
			now = d.At
		}
		slot.Dispatched()
		slot.Started(now)
		now = now.Add(200 * time.Millisecond)
		slot.Done(now, throttle.Result{Status: 200, Latency: 200 * time.Millisecond, HasLatency: true})
		fmt.Println("delay", slot.Delay())
	}
	slot.Dispatched()
	slot.Started(now)
	slot.Done(now, throttle.Result{Status: 429, RetryAfter: time.Minute})
	d := slot.Next(now)
	fmt.Println("wait", d.Wait, "because of", d.Reason)
	// Output:
	// delay 2.6s
	// wait 4.8s because of delay
	// delay 1.4s
	// wait 2.4s because of delay
	// delay 800ms
	// wait 1m0s because of retry-after
}
