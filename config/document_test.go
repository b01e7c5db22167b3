package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/settings.md and cluster.yaml anew")

// TestSettingsDoc fails when docs/settings.md or cluster.yaml is not what the
// registry says; with -update it writes them.
func TestSettingsDoc(t *testing.T) {
	var doc, example bytes.Buffer
	require.NoError(t, WriteDoc(&doc))
	require.NoError(t, WriteExample(&example))
	for path, want := range map[string][]byte{
		filepath.Join("..", "docs", "settings.md"): doc.Bytes(),
		filepath.Join("..", "cluster.yaml"):        example.Bytes(),
	} {
		if *update {
			require.NoError(t, os.WriteFile(path, want, 0o644)) //nolint:gosec // a public file
			continue
		}
		got, err := os.ReadFile(path) //nolint:gosec // fixed paths
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s is out of date: run go generate ./config", path)
	}
}

// TestExampleStatesDefaults loads cluster.yaml: every setting is in it, with its default.
func TestExampleStatesDefaults(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{File: filepath.Join("..", "cluster.yaml"), FileRequired: true})
	require.NoError(t, err)
	for _, s := range Settings() {
		require.True(t, strings.HasPrefix(c.Source(s.Name), filepath.Join("..", "cluster.yaml")+":"), "%s is missing", s.Name)
	}
	want := registry(Default())
	for i, s := range registry(c) {
		require.Equal(t, want[i].value.text(), s.value.text(), s.Name)
		require.Equal(t, reflect.TypeOf(want[i].value), reflect.TypeOf(s.value))
	}
}

func TestExplainMasksProxies(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{Flags: map[string]string{"PROXY_LIST": "http://me:word1@a:1,http://b:2,word2@c:3"}})
	require.NoError(t, err)
	var text, machine bytes.Buffer
	require.NoError(t, Explain(&text, c))
	require.NoError(t, ExplainJSON(&machine, c))
	for _, out := range []string{text.String(), machine.String()} {
		require.Contains(t, out, "http://me:***@a:1,http://b:2,***@c:3")
		require.NotContains(t, out, "word1")
		require.NotContains(t, out, "word2")
	}
}

func TestExplainSealsPasswords(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{Flags: map[string]string{"HTTPAUTH_USER": "me", "HTTPAUTH_PASS": "word", "HTTPAUTH_DOMAIN": "a.test"}})
	require.NoError(t, err)
	var text, machine bytes.Buffer
	require.NoError(t, Explain(&text, c))
	require.NoError(t, ExplainJSON(&machine, c))
	require.NotContains(t, text.String()+machine.String(), `word"`)
	require.NotRegexp(t, `HTTPAUTH_PASS +word`, text.String())
	_, problems := loadYAML(t, "fetch:\n  httpauth_pass: 424242\n")
	require.NotContains(t, strings.Join(problems, " "), "424242")
	_, err = Load(Sources{Flags: map[string]string{"HTTPAUTH_PASS": "word"}})
	require.ErrorContains(t, err, "HTTPAUTH_DOMAIN")
	require.NotContains(t, err.Error(), "word")
}

func TestExplain(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{
		Env:   []string{"ORBWEAVER_REDIS_URL=redis://me:hunter2@h:6379/1"},
		Flags: map[string]string{"DOWNLOAD_DELAY": "250ms", "DEFAULT_REQUEST_HEADERS": `{"Authorization": "Basic hunter2", "A": "<b>"}`, "ADMIN": "off"},
	})
	require.NoError(t, err)

	var text bytes.Buffer
	require.NoError(t, Explain(&text, c))
	require.NotContains(t, text.String(), "hunter2")
	require.Len(t, strings.Split(strings.TrimSpace(text.String()), "\n"), len(Settings())+1)
	rows := map[string][]string{}
	for line := range strings.Lines(text.String()) {
		f := strings.Fields(line)
		rows[f[0]] = f[1:]
	}
	require.Equal(t, []string{"env", "ORBWEAVER_REDIS_URL", "redis://me:***@h:6379/1"}, rows["REDIS_URL"])
	require.Equal(t, []string{"-s", "DOWNLOAD_DELAY", "0.25s"}, rows["DOWNLOAD_DELAY"])
	require.Equal(t, []string{"-s", "ADMIN", "off"}, rows["ADMIN"])
	require.Contains(t, text.String(), `{"Authorization": "***", "A": "<b>"}`)

	var machine bytes.Buffer
	require.NoError(t, ExplainJSON(&machine, c))
	require.NotContains(t, machine.String(), "hunter2")
	var got []map[string]any
	require.NoError(t, json.Unmarshal(machine.Bytes(), &got))
	require.Len(t, got, len(Settings()))
	for _, row := range got {
		if row["name"] == "DOWNLOAD_DELAY" {
			require.Equal(t, map[string]any{
				"name": "DOWNLOAD_DELAY", "path": "throttle.download_delay", "value": 0.25, "source": "-s DOWNLOAD_DELAY", "default": "0",
			}, row)
		}
	}
	require.Error(t, Explain(failingWriter{}, c))
	require.Error(t, ExplainJSON(failingWriter{}, c))
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestMaskURL(t *testing.T) {
	t.Parallel()
	tests := []struct{ url, want string }{
		{"", ""},
		{"redis://h:6379/1", "redis://h:6379/1"},
		{"redis://:pw@h:6379", "redis://:***@h:6379"},
		{"redis://me@h", "redis://***@h"},
		{"redis://me:p/w@w@h", "redis://me:***@h"},
		{"redis://a:pw@h:1,h:2", "redis://a:***@h:1,h:2"},
		{"redis://h?sentinel_password=pw&db=1", "redis://h?sentinel_password=***&db=1"},
		{"me:pw@h", "me:***@h"},
		{"pw@h", "***@h"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, MaskURL(tt.url))
	}
}
