package peer

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"orbweaver/cluster/certs"
)

const (
	probe     = "probe"
	childEnv  = "ORBWEAVER_PEER_CHILD" // the kind of node that a child process runs
	childBind = "ORBWEAVER_PEER_BIND"
	soon      = 5 * time.Second
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(childEnv); kind != "" {
		runChild(kind, os.Getenv(childBind))
		return
	}
	goleak.VerifyTestMain(m,
		// protoactor's log throttle of each actor system's dead letters sleeps out its
		// interval, whatever stops.
		goleak.IgnoreAnyFunction("github.com/asynkron/protoactor-go/actor.NewThrottle.func1"),
	)
}

// testNode is an actor system with a peer and an actor `probe`.
type testNode struct {
	*Peer
	system *actor.ActorSystem
	got    chan string
	log    *logtest.Hook
}

func newSystem() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
}

func startNode(t *testing.T, cfg Config) *testNode {
	t.Helper()
	cfg.Accept = append(cfg.Accept, "google.protobuf.StringValue", "google.protobuf.Struct")
	cfg.Targets = append(cfg.Targets, probe)
	log, hook := logtest.NewNullLogger()
	n := &testNode{system: newSystem(), got: make(chan string, 4096), log: hook}
	p, err := Start(n.system, cfg, log)
	require.NoError(t, err)
	n.Peer = p
	t.Cleanup(func() {
		n.Close()
		n.system.Shutdown()
	})
	_, err = n.system.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
		if m, ok := ctx.Message().(*wrapperspb.StringValue); ok {
			n.got <- m.Value
		}
	}), probe)
	require.NoError(t, err)
	return n
}

func (n *testNode) say(to, text string) { n.Send(to, probe, wrapperspb.String(text)) }

// hears waits for a text.
func (n *testNode) hears(t *testing.T, text string) {
	t.Helper()
	timeout := time.After(soon)
	for {
		select {
		case got := <-n.got:
			if got == text {
				return
			}
		case <-timeout:
			require.FailNow(t, "not heard", "%q, peer %+v", text, n.Stats())
		}
	}
}

// reaches sends again and again, hints being hints, until one arrives.
func reaches(t *testing.T, from *testNode, to string, arrived func(text string) bool) {
	t.Helper()
	i := 0
	require.Eventually(t, func() bool {
		i++
		text := fmt.Sprintf("%s %d", t.Name(), i)
		from.say(to, text)
		return arrived(t.Name())
	}, 2*soon, 50*time.Millisecond, "%+v", from.Stats())
}

// startsWith says whether something that starts so was heard, without waiting.
func (n *testNode) startsWith(prefix string) bool {
	for {
		select {
		case got := <-n.got:
			if strings.HasPrefix(got, prefix) {
				return true
			}
		default:
			return false
		}
	}
}

// lines counts the log lines of that text.
func (n *testNode) lines(text string) int {
	count := 0
	for _, e := range n.log.AllEntries() {
		if e.Message == text {
			count++
		}
	}
	return count
}

// authority is a folder with a CA.
func authority(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, certs.NewCA(dir, time.Hour))
	return dir
}

// identity issues and loads a certificate for 127.0.0.1.
func identity(t *testing.T, dir, name string) *certs.Source {
	t.Helper()
	require.NoError(t, certs.NewNode(dir, name, []string{"127.0.0.1"}, time.Hour))
	log, _ := logtest.NewNullLogger()
	s, err := certs.Load(certs.Files{
		CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, name+".pem"), Key: filepath.Join(dir, name+"-key.pem"),
	}, log)
	require.NoError(t, err)
	return s
}

// child is a node in a process of its own.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	address string
	lines   chan string
	done    chan struct{} // closed when its output ended
}

// kill ends the process as kill -9 does, and waits until its port is free.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
	_ = c.cmd.Wait()
}

func startChild(t *testing.T, kind, bind string) *child {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	c := &child{cmd: exec.Command(exe), lines: make(chan string, 4096), done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), childEnv+"="+kind, childBind+"="+bind)
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	go func() {
		defer close(c.done)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			select {
			case c.lines <- sc.Text():
			default:
			}
		}
	}()
	t.Cleanup(c.kill)
	select {
	case line := <-c.lines:
		c.address = strings.TrimPrefix(line, "ready ")
		require.NotEqual(t, line, c.address, "%q", line)
	case <-time.After(2 * soon):
		require.FailNow(t, "child did not start")
	}
	return c
}

// heard says whether the child printed a text that starts so, without waiting.
func (c *child) heard(prefix string) bool {
	for {
		select {
		case line := <-c.lines:
			if strings.HasPrefix(line, "got "+prefix) {
				return true
			}
		default:
			return false
		}
	}
}

// runChild runs a node until its standard input ends.
func runChild(kind, bind string) {
	system := newSystem()
	var address string
	switch kind {
	case "ours":
		log := logrus.New()
		log.SetOutput(io.Discard)
		p, err := Start(system, Config{Bind: bind, Accept: []string{"google.protobuf.StringValue"}, Targets: []string{probe}}, log)
		if err != nil {
			fmt.Println(err) //nolint:forbidigo // the other process reads it
			os.Exit(1)
		}
		address = p.Address()
	case "library":
		address = startLibrary(system, bind)
	}
	_, err := system.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
		m, ok := ctx.Message().(*wrapperspb.StringValue)
		if !ok {
			return
		}
		fmt.Println("got", m.Value) //nolint:forbidigo // the other process reads it
		if to, ok := strings.CutPrefix(m.Value, "answer "); ok {
			ctx.Send(actor.NewPID(to, probe), wrapperspb.String("answer of the library"))
		}
	}), probe)
	if err != nil {
		fmt.Println(err) //nolint:forbidigo // the other process reads it
		os.Exit(1)
	}
	fmt.Println("ready", address) //nolint:forbidigo // the other process reads it
	_, _ = io.Copy(io.Discard, os.Stdin)
}
