package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// `node config` shows what is in force and where it came from: a flag beats the
// environment, that the file, that the default.
func TestConfigCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	require.NoError(t, os.WriteFile(file, []byte("throttle:\n  download_delay: 1\n  autothrottle_max_delay: 7\nfetch:\n  download_timeout: 33\n"), 0o600))
	n := startWith(t, []string{"ORBWEAVER_DOWNLOAD_TIMEOUT=44", "ORBWEAVER_DOWNLOAD_DELAY=2"},
		"config", "--config", file, "-s", "DOWNLOAD_DELAY=3").finish()
	for name, want := range map[string][]string{
		"DOWNLOAD_DELAY":         {"3", "-s"},
		"DOWNLOAD_TIMEOUT":       {"44", "ORBWEAVER_DOWNLOAD_TIMEOUT"},
		"AUTOTHROTTLE_MAX_DELAY": {"7", file},
		"RETRY_TIMES":            {"5", "default"},
	} {
		line := ""
		for l := range strings.Lines(n.out.String()) {
			if fields := strings.Fields(l); len(fields) > 0 && fields[0] == name {
				line = l
			}
		}
		for _, part := range want {
			require.Contains(t, line, part, "%s in\n%s", name, n.out.String())
		}
	}
}

// On a machine without redis-server a crawl works too, and says what it cannot keep.
func TestWithoutRedisServer(t *testing.T) {
	site := webtest.New(t, webtest.Config{Hosts: 3, Pages: 30})
	dir := t.TempDir()
	n := startWith(t, []string{"PATH=" + dir}, crawl(site.Roots(0, 3), unthrottled(), embedded(dir), []string{"-o", "-"})...).finish()
	requireExact(t, site, lines(t, n.out.String()))
	require.Contains(t, n.err.String(), "redis-server")
	require.Contains(t, n.err.String(), "memory")
}
