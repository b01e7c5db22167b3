package redistest

import (
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// mini is a miniredis on a loopback port.
type mini struct {
	m       *miniredis.Miniredis
	running bool
	address string // kept over Kill

	mu     sync.Mutex
	paused chan struct{} // guarded by mu; nil while answering, closed by resume
}

func newMini() *mini {
	m := &mini{m: miniredis.NewMiniRedis()}
	m.m.ClockTTL(true)
	return m
}

func (m *mini) network() string { return "tcp" }
func (m *mini) addr() string    { return m.address }

func (m *mini) kill() error {
	if !m.running {
		return nil
	}
	if err := m.resume(); err != nil { // Close waits for commands under way
		return err
	}
	m.m.Close()
	m.running = false
	return nil
}

func (m *mini) pause() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paused == nil {
		m.paused = make(chan struct{})
	}
	return nil
}

func (m *mini) resume() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paused != nil {
		close(m.paused)
		m.paused = nil
	}
	return nil
}

// hold delays every command while the server is paused.
func (m *mini) hold(*server.Peer, string, ...string) bool {
	m.mu.Lock()
	paused := m.paused
	m.mu.Unlock()
	if paused != nil {
		<-paused
	}
	return false
}

func (m *mini) restart() error {
	if err := m.kill(); err != nil {
		return err
	}
	if err := m.m.Restart(); err != nil {
		return err
	}
	m.m.Server().SetPreHook(m.hold)
	m.running, m.address = true, m.m.Addr()
	return nil
}

func (m *mini) close() error { return m.kill() }
