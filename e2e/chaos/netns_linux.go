package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"orbweaver/internal/faultproxy"
)

// namespace is a network of its own for Redis: each member reaches it by a link of
// its own, which can be taken down as a cable is pulled.
type namespace struct {
	name string
	run  string // distinguishes this run's links
}

// newNamespace makes it; its end is the testbed's. It takes root.
func newNamespace(tb *testbed) (*namespace, error) {
	id := strconv.Itoa(os.Getpid())
	ns := &namespace{name: "chaos-" + id, run: id}
	if err := ip(tb.ctx, "netns", "add", ns.name); err != nil {
		return nil, err
	}
	tb.Cleanup(func() { _ = ip(context.WithoutCancel(tb.ctx), "netns", "del", ns.name) }) // its links go with it
	return ns, ip(tb.ctx, "-n", ns.name, "link", "set", "lo", "up")
}

// ip runs the command of that name.
func ip(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput() //nolint:gosec // our own arguments
	if err != nil {
		return fmt.Errorf("chaos: ip %s: %w (%s)", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// link is one member's way into the namespace, 10.77.<id>.1 to .2.
type link struct {
	ns   *namespace
	ctx  context.Context //nolint:containedctx // the run's
	name string
	id   int
}

// connect lays a link.
func (ns *namespace) connect(ctx context.Context, id int) (*link, error) {
	l := &link{ns: ns, ctx: ctx, name: fmt.Sprintf("ch%s-%d", ns.run, id), id: id}
	inside := l.name + "r"
	for _, args := range [][]string{
		{"link", "add", l.name, "type", "veth", "peer", "name", inside, "netns", ns.name},
		{"addr", "add", l.near() + "/30", "dev", l.name},
		{"link", "set", l.name, "up"},
		{"-n", ns.name, "addr", "add", l.far() + "/30", "dev", inside},
		{"-n", ns.name, "link", "set", inside, "up"},
	} {
		if err := ip(ctx, args...); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *link) near() string { return fmt.Sprintf("10.77.%d.1", l.id) }
func (l *link) far() string  { return fmt.Sprintf("10.77.%d.2", l.id) }

// cut cuts the link as the fault says: down, or what goes one way swallowed. Errors
// show as a cut that is none.
func (l *link) cut(f faultproxy.Fault) (heal func()) {
	do := func(args ...string) { _ = ip(l.ctx, args...) }
	switch {
	case f.CutUp && f.CutDown:
		do("link", "set", l.name, "down")
		return func() { do("link", "set", l.name, "up") }
	case f.CutUp:
		do("route", "add", "blackhole", l.far()+"/32")
		return func() { do("route", "del", "blackhole", l.far()+"/32") }
	case f.CutDown:
		do("-n", l.ns.name, "route", "add", "blackhole", l.near()+"/32")
		return func() { do("-n", l.ns.name, "route", "del", "blackhole", l.near()+"/32") }
	}
	return func() {}
}
