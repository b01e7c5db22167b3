// Package archtest fails the build when an import points the wrong way. Its test
// reads the imports of every Go file of the module, whatever its build tags, and
// holds them against the table below. A package that is not in the table is an
// error too: whoever adds one says what it may know.
package archtest

// module is the module path in go.mod.
const module = "orbweaver"

// anything, in a rule, allows every package of ours.
const anything = "..."

// rules say which packages of ours each package may import outside its tests.
// "core/..." means core/ and everything below it. Adapters meet in cmd/node only,
// so a package that stands in no other rule (config, store, export, admin) is
// imported by nothing else.
func rules() map[string][]string {
	return map[string][]string{
		// Pure decisions.
		"core/charset":   {},
		"core/crawl":     {},
		"core/blocked":   {"core/crawl"},
		"core/invariant": {},
		"core/placement": {},
		"core/netguard":  {"core/weburl"},
		"core/robots":    {},
		"core/throttle":  {},
		"core/trap":      {},
		"core/weburl":    {"core/crawl"},
		"core/cookies":   {"core/weburl"},
		"core/spider":    {"core/crawl", "core/robots", "core/weburl"},
		"core/seeds":     {"core/crawl", "core/weburl"},
		"core/policy":    {"core/crawl", "core/weburl", "core/throttle"},
		"core/extract":   {"core/charset", "core/crawl", "core/robots", "core/weburl", "core/spider"},
		"core/rqueue":    {"core/crawl", "core/invariant"},
		"core/httpcache": {"core/crawl"},
		"core/sitemap":   {"core/crawl", "core/weburl"},

		// Sockets, for whoever dials.
		"core/sockio": {},

		// What crosses a border: local messages carry core values.
		"messages": {"core/..."},

		// Behaviour. Siblings never import each other; supervise knows no actor.
		"actors/supervise": {},
		"actors/domain":    {"core/...", "messages", "actors/supervise"},
		"actors/fetcher":   {"core/...", "messages", "actors/supervise"},
		"actors/pipeline":  {"core/...", "messages", "actors/supervise"},
		"actors/scheduler": {"core/...", "messages", "actors/supervise"},

		// Adapters.
		"config":          {"core/...", "actors/..."},
		"store":           {"store/redisproc", "core/sockio"},
		"store/redisproc": {},
		"resolver":        {},
		"cluster":         {"core/placement"},
		"cluster/certs":   {},
		"cluster/peer":    {"cluster/certs"},
		"export":          {"core/crawl"},
		"admin":           {"core/...", "messages"},
		"cmd/node":        {anything},

		// Tools of the repository.
		"scripts/conformance": {},
		"scripts/placement":   {"core/placement"},
		"scripts/wakelag":     {"core/..."},

		// For tests.
		"internal/actortest": {"core/...", "messages"},
		"internal/archtest":  {},
		"internal/redistest": {"core/...", "messages", "store/redisproc"},
		"internal/webtest":   {"core/...", "messages"},
		"internal/vectors":   {},

		"internal/faultproxy": {},
		"internal/leasecheck": {},
		"e2e":                 {anything},
		"e2e/chaos":           {"internal/..."},
		"e2e/chaos/cmd":       {"e2e/chaos", "internal/..."},
	}
}

// testsMay is what the tests of every package may import on top of its rule.
func testsMay() []string { return []string{"core/...", "messages", "internal/..."} }

// foreign says, for packages of others (and all below them), which packages of
// ours may import them outside tests. What is not listed is free.
func foreign() map[string][]string {
	actors := []string{"actors/...", "messages", "admin", "cluster/peer", "cmd/node", "internal/actortest", "e2e"}
	tests := []string{"internal/...", "e2e/..."}
	return map[string][]string{
		"github.com/asynkron/protoactor-go": actors,
		"github.com/valyala/fasthttp":       {"actors/fetcher", "cmd/node", "internal/webtest", "e2e"},
		"github.com/redis/go-redis":         {"core/rqueue", "cluster", "store", "cmd/node", "scripts/wakelag", "internal/redistest", "e2e/..."},
		"github.com/alicebob/miniredis":     {"store", "internal/redistest"},
		"github.com/miekg/dns":              {"resolver"},
		"net/http":                          {"actors/...", "admin", "export", "cmd/...", "internal/...", "e2e/..."},
		"github.com/stretchr/testify":       tests,
		"go.uber.org/goleak":                tests,
		"pgregory.net/rapid":                tests,
		"testing":                           tests,
	}
}
