package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"orbweaver/actors/fetcher"
	"orbweaver/config"
)

// maxProxies bounds the list.
const maxProxies = 100_000

// proxyConfig gathers the proxies of the settings and of the environment.
func proxyConfig(cfg *config.Config, env []string) (fetcher.ProxyConfig, error) {
	f := cfg.Fetch
	c := fetcher.ProxyConfig{Resolves: f.ProxyResolves, BackoffBase: f.ProxyBackoffBase, BackoffMax: f.ProxyBackoffMax}
	if !f.ProxyEnabled {
		return c, nil
	}
	c.HTTP, c.HTTPS, c.No = environment(env, "http_proxy"), environment(env, "https_proxy"), environment(env, "no_proxy")
	c.List = append(c.List, f.ProxyList...)
	if f.ProxyListFile == "" {
		return c, nil
	}
	file, err := os.Open(f.ProxyListFile)
	if err != nil {
		return c, fmt.Errorf("node: PROXY_LIST_FILE: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	listed, err := readProxies(file)
	if err == nil && len(listed) == 0 {
		err = errors.New("there is no proxy in it")
	}
	if err != nil {
		return c, fmt.Errorf("node: PROXY_LIST_FILE %s: %w", f.ProxyListFile, err)
	}
	c.List = append(c.List, listed...)
	return c, nil
}

// environment gives a variable that may be written in small letters or, less
// strongly, in capitals, as Python's getproxies reads it.
func environment(env []string, name string) string {
	value, found := "", false
	for _, entry := range env {
		key, v, _ := strings.Cut(entry, "=")
		if key == name {
			return v // "" too: it takes the other back
		}
		if !found && strings.EqualFold(key, name) {
			value, found = v, true
		}
	}
	return value
}

// readProxies reads one proxy a line. Blank lines and comments are passed over.
func readProxies(r io.Reader) ([]string, error) {
	var out []string
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		if len(out) == maxProxies {
			return nil, fmt.Errorf("there are more than %d proxies in it", maxProxies)
		}
		out = append(out, text)
	}
	return out, lines.Err()
}
