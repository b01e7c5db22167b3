package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/config"
)

func TestProxyConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "proxies")
	require.NoError(t, os.WriteFile(file, []byte("# mine\nhttp://c\n\n  socks5://d  \n"), 0o600))
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	env := []string{"HTTP_PROXY=http://upper", "http_proxy=http://lower", "HTTPS_PROXY=http://tls", "NO_PROXY=a", "no_proxy="}
	tests := []struct {
		name   string
		change func(*config.Fetch)
		want   fetcher.ProxyConfig // without the back-off
		err    string
	}{
		{"environment", func(*config.Fetch) {}, fetcher.ProxyConfig{HTTP: "http://lower", HTTPS: "http://tls"}, ""},
		{"off", func(f *config.Fetch) { f.ProxyEnabled = false }, fetcher.ProxyConfig{}, ""},
		{
			"list and file", func(f *config.Fetch) {
				f.ProxyList, f.ProxyListFile, f.ProxyResolves = []string{"http://b"}, file, true
			},
			fetcher.ProxyConfig{HTTP: "http://lower", HTTPS: "http://tls", List: []string{"http://b", "http://c", "socks5://d"}, Resolves: true},
			"",
		},
		{"no file", func(f *config.Fetch) { f.ProxyListFile = file + "x" }, fetcher.ProxyConfig{}, "PROXY_LIST_FILE"},
		{"empty file", func(f *config.Fetch) { f.ProxyListFile = empty }, fetcher.ProxyConfig{}, "there is no proxy in it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			tt.change(&cfg.Fetch)
			got, err := proxyConfig(cfg, env)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			tt.want.BackoffBase, tt.want.BackoffMax = cfg.Fetch.ProxyBackoffBase, cfg.Fetch.ProxyBackoffMax
			require.Equal(t, tt.want, got)
		})
	}
}
