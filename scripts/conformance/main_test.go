package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	t.Parallel()
	const (
		pass   = `{"Action":"pass","Package":"p","Test":"TestVectors/kind/a1"}`
		fail   = `{"Action":"fail","Package":"p","Test":"TestVectors/kind/b2"}`
		passB  = `{"Action":"pass","Package":"q","Test":"TestOther/b2"}`
		whole  = `{"Action":"fail","Package":"p"}`
		build  = `{"Action":"build-output","Output":"x.go:1: oops\n"}`
		noisy  = `{"Action":"output","Package":"p","Test":"TestVectors/kind/a1","Output":"PASS b2\n"}`
		chatty = `FAIL p [setup failed]`
	)
	tests := []struct {
		name   string
		events []string
		ok     bool
		want   string
	}{
		{"all", []string{noisy, pass, passB}, true, "v.json                      2 passed    0 failed    0 not run of 2\n"},
		{"one failed", []string{pass, passB, fail, whole}, false, "v.json                      1 passed    1 failed    0 not run of 2\n"},
		{"one not run", []string{pass}, true, "v.json                      1 passed    0 failed    1 not run of 2\n"},
		{"build error", []string{build, whole}, false, "x.go:1: oops\np: no result\nv.json                      0 passed    0 failed    2 not run of 2\n"},
		{"no JSON", []string{chatty, pass, passB}, false, chatty + "\nv.json                      2 passed    0 failed    0 not run of 2\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "v.json"), []byte(`{"cases":[{"id":"a1"},{"id":"b2"}]}`), 0o600))
			var out strings.Builder
			ok, err := report(&out, strings.NewReader(strings.Join(tt.events, "\n")), dir)
			require.NoError(t, err)
			require.Equal(t, tt.ok, ok)
			require.Equal(t, tt.want, out.String())
		})
	}
	_, err := report(&strings.Builder{}, strings.NewReader(""), t.TempDir())
	require.ErrorContains(t, err, "no vectors")
}
