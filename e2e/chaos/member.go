package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"orbweaver/internal/faultproxy"
)

// member is a place in the cluster: an address with its proxies, and the process
// that runs there, one after another. It is confined to the run's loop.
type member struct {
	id    int
	dir   string
	redis *faultproxy.Proxy // between the member and Redis, when it has no link
	link  *link             // to Redis's namespace; nil: none
	peers *faultproxy.Proxy // between the other members and this one; nil: no cluster
	bind  string            // host:port of its own listener for peers
	// others are the peers' proxies of all other members.
	others []*faultproxy.Proxy

	wanted     bool // a process should run
	held       bool // the fault under way starts the process itself
	busy       bool // a fault is under way
	generation int
	proc       *process // nil: none runs
}

func (m *member) ip() string { return "127.0.7." + strconv.Itoa(m.id) }

// life is a process that ran, for the judge.
type life struct {
	agent    string
	leases   string // its lease history
	killedNS int64  // CLOCK_MONOTONIC; 0: it ended by itself
	// evictedNS is when it ended because the others had given it up, at once: what it
	// had under way was never written down either.
	evictedNS int64
}

// newMember sets up place id, without a process.
func (r *run) newMember(id int) (*member, error) {
	m := &member{id: id, dir: filepath.Join(r.cfg.Dir, "node-"+strconv.Itoa(id))}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return nil, fmt.Errorf("chaos: make a node's folder: %w", err)
	}
	var err error
	if m.redis, err = faultproxy.Listen(r.ctx, "127.0.0.1:0", r.store.addr()); err != nil {
		return nil, err
	}
	if r.ns != nil {
		if m.link, err = r.ns.connect(r.ctx, id); err != nil {
			return nil, err
		}
	}
	if !r.cluster {
		return m, nil
	}
	port, err := freePort(m.ip())
	if err != nil {
		return nil, err
	}
	m.bind = net.JoinHostPort(m.ip(), strconv.Itoa(port))
	if m.peers, err = faultproxy.Listen(r.ctx, net.JoinHostPort("127.0.8."+strconv.Itoa(id), "0"), m.bind); err != nil {
		return nil, err
	}
	return m, nil
}

// launch starts a fresh process of a member.
func (r *run) launch(m *member) error {
	m.generation++
	agent := fmt.Sprintf("chaos-%d.%d", m.id, m.generation)
	base := filepath.Join(m.dir, strconv.Itoa(m.generation))
	if err := os.WriteFile(base+".clock", []byte("0\n"), 0o600); err != nil {
		return fmt.Errorf("chaos: start %s: %w", agent, err)
	}
	redisAt := m.redis.Addr()
	if m.link != nil {
		redisAt = r.store.at(m.link)
	}
	args := []string{"start", "--redis", "redis://" + redisAt, "--name", crawlName, "--scope", "any", "--allow-private", "--admin", "127.0.0.1:0"}
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	set := []string{
		"AUTOTHROTTLE_ENABLED=false", "DOWNLOAD_DELAY=" + seconds(r.cfg.Delay), "RANDOMIZE_DOWNLOAD_DELAY=false",
		"CONCURRENT_REQUESTS_PER_DOMAIN=" + strconv.Itoa(r.cfg.Concurrency),
		"SLOT_TTL=" + seconds(r.cfg.TTL), "SLOT_RENEW=" + seconds(r.cfg.TTL/4), "SLOT_MARGIN=" + seconds(r.cfg.TTL/5),
		"USER_AGENT=" + agent, "ROBOTSTXT_USER_AGENT=chaos",
	}
	if r.cluster {
		set = append(set, "CLUSTER_BIND="+m.bind, "CLUSTER_ADVERTISE="+m.peers.Addr())
	}
	for _, kv := range append(set, r.cfg.Set...) {
		args = append(args, "-s", kv)
	}
	l := &life{agent: agent, leases: base + ".leases"}
	env := append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.dir, "TMPDIR=" + os.TempDir(), "GORACE=halt_on_error=1 exitcode=66",
		"ORBWEAVER_TEST_LEASE_LOG=" + l.leases, "ORBWEAVER_TEST_CLOCK=" + base + ".clock",
	}, r.cfg.Env...)
	p, err := startProcess(agent, m.dir, base+".log", env, func(p *process) {
		r.post(func() { r.ended(m, p) })
	}, r.cfg.Node, args...)
	if err != nil {
		return err
	}
	m.proc = p
	r.lives[p] = l
	return nil
}

// clockFile holds by how many seconds the clock of a member's process is off.
func (m *member) clockFile() string {
	return filepath.Join(m.dir, strconv.Itoa(m.generation)+".clock")
}

// kill is kill -9, noted for the judge of the lease histories.
func (r *run) kill(p *process) {
	if p.alive() {
		r.lives[p].killedNS = monotonicNS()
		p.signal(syscall.SIGKILL)
	}
}

// knows asks the program which settings it knows.
func knows(ctx context.Context, node string) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "config", "--json") //nolint:gosec // the program under test
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("chaos: ask the node for its settings: %w (%s)", err, errs.String())
	}
	var settings []struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(out.Bytes(), &settings); err != nil {
		return nil, fmt.Errorf("chaos: ask the node for its settings: %w", err)
	}
	names := map[string]bool{}
	for _, s := range settings {
		names[s.Name] = true
	}
	return names, nil
}

// Build builds the program under test in dir, with the race detector when asked to,
// and gives its path.
func Build(ctx context.Context, dir string, race bool) (string, error) {
	path := filepath.Join(dir, "node")
	args := []string{"build", "-o", path}
	if race {
		args = append(args, "-race")
	}
	out, err := exec.CommandContext(ctx, "go", append(args, "orbweaver/cmd/node")...).CombinedOutput() //nolint:gosec // our own
	if err != nil {
		return "", fmt.Errorf("chaos: build the node: %w\n%s", err, out)
	}
	return path, nil
}
