package redisproc

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ErrNoServer says that no usable redis-server or valkey-server was found.
var ErrNoServer = errors.New("no redis-server or valkey-server of version 6.2 or later")

// OldestMajor and OldestMinor are the oldest Redis that the crawler's scripts
// run on.
const (
	OldestMajor = 6
	OldestMinor = 2
)

// versionPattern reads "Redis server v=7.0.15 sha=..." and "Valkey server v=8.0.1 ...".
var versionPattern = regexp.MustCompile(`\bv=([0-9]+\.[0-9]+\.[0-9]+)`)

// Server is an installed server program.
type Server struct {
	Path    string
	Version string // "7.0.15"
}

// Find looks for a usable server among names, each a path or a name to look up
// on PATH; no names means redis-server, then valkey-server. The error wraps
// ErrNoServer and says what was wrong with each that is there.
func Find(ctx context.Context, names ...string) (Server, error) {
	if len(names) == 0 {
		names = []string{"redis-server", "valkey-server"}
	}
	var refused []string
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			refused = append(refused, name+" is not on PATH")
			continue
		}
		version, err := versionOf(ctx, path)
		if err != nil {
			refused = append(refused, err.Error())
			continue
		}
		if TooOld(version) {
			refused = append(refused, fmt.Sprintf("%s is version %s", path, version))
			continue
		}
		return Server{Path: path, Version: version}, nil
	}
	return Server{}, fmt.Errorf("redisproc: find: %w: %s", ErrNoServer, strings.Join(refused, ", "))
}

func versionOf(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%s --version says %.80q", path, out)
	}
	return string(m[1]), nil
}

// TooOld reports whether a version ("7.0.15") is older than the oldest that
// works. A version that cannot be read counts as too old.
func TooOld(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	ma, err1 := strconv.Atoi(major)
	mi, err2 := strconv.Atoi(minor)
	if err1 != nil || err2 != nil {
		return true
	}
	return ma < OldestMajor || (ma == OldestMajor && mi < OldestMinor)
}
