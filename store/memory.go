package store

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Bounds of the pause between two ageings of the keys' times to live.
const (
	shortestTick = 100 * time.Millisecond
	longestTick  = 5 * time.Second
	// tickShare keeps the work of ageing under 1% of a CPU: the pause is at
	// least this many times as long as the last ageing took.
	tickShare = 100
)

// memory is a miniredis in this process. Its TIME is the wall clock; times to
// live move only when told, so a goroutine moves them on (ClockTTL would walk
// all keys at every command).
type memory struct {
	mini *miniredis.Miniredis
	stop chan struct{}
	done chan struct{}
	once sync.Once
}

// startMemory listens on a loopback port behind a random password: other users
// of the machine have no business there.
func startMemory(cfg Config) (*memory, redis.UniversalClient, error) {
	m := &memory{mini: miniredis.NewMiniRedis(), stop: make(chan struct{}), done: make(chan struct{})}
	password := rand.Text()
	m.mini.RequireAuth(password)
	if err := m.mini.StartAddr("127.0.0.1:0"); err != nil {
		return nil, nil, fmt.Errorf("store: start miniredis: %w: %w", ErrServerFailed, err)
	}
	o := &redis.Options{Network: "tcp", Addr: m.mini.Addr(), Password: password}
	cfg.apply(o)
	go m.age()
	return m, redis.NewClient(o), nil
}

// age lets time pass for the keys until close.
func (m *memory) age() {
	defer close(m.done)
	pause, last := shortestTick, time.Now()
	for {
		select {
		case <-m.stop:
			return
		case <-time.After(pause):
		}
		now := time.Now()
		m.mini.FastForward(now.Sub(last))
		last = now
		pause = min(max(shortestTick, tickShare*time.Since(now)), longestTick)
	}
}

func (m *memory) close() {
	m.once.Do(func() {
		close(m.stop)
		<-m.done
		m.mini.Close()
	})
}
