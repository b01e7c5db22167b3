package faultproxy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDelay(t *testing.T) {
	t.Parallel()
	require.Zero(t, Fault{}.delay(chunkBytes))
	require.Zero(t, Fault{}.pace(chunkBytes))
	require.Equal(t, 2*time.Second, Fault{Rate: 500}.pace(1000))
	require.Equal(t, rto*(1<<mostResends-1), Fault{Loss: 1}.delay(1), "every resend is lost")
	late := 0
	for range 10_000 {
		d := Fault{Loss: 0.05, Latency: time.Millisecond, Jitter: time.Millisecond}.delay(100)
		if d >= rto {
			late++
		} else {
			require.GreaterOrEqual(t, d, time.Millisecond)
			require.LessOrEqual(t, d, 2*time.Millisecond)
		}
	}
	require.InDelta(t, 500, late, 150)
}

func TestWith(t *testing.T) {
	t.Parallel()
	got := Fault{CutUp: true, Loss: 0.1, Rate: 5, Latency: 1}.with(Fault{CutDown: true, Loss: 0.2, Rate: 3, Latency: 2, Jitter: 4})
	require.Equal(t, Fault{CutUp: true, CutDown: true, Loss: 0.2, Rate: 3, Latency: 3, Jitter: 4}, got)
	require.Equal(t, 3, Fault{}.with(Fault{Rate: 3}).Rate)
}
