package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImports is the rule of the repository.
func TestImports(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(mod), "module "+module+"\n"), "the module's name has changed")
	files, err := read(root)
	require.NoError(t, err)
	require.Greater(t, len(files), 10)
	for _, line := range check(files) {
		t.Error(line)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const actor = "github.com/asynkron/protoactor-go/actor"
	tests := []struct {
		name, file string
		imports    []string
		want       string // of the only line; "" for none
	}{
		{"core knows core", "core/policy/p.go", []string{"time", "orbweaver/core/crawl"}, ""},
		{"core knows no sibling without a rule", "core/crawl/c.go", []string{"orbweaver/core/weburl"}, "core/crawl must not import core/weburl"},
		{"core knows no actors", "core/rqueue/r.go", []string{"orbweaver/actors/domain"}, "core/rqueue must not import actors/domain"},
		{"core knows no protoactor", "core/throttle/t.go", []string{actor}, "core/throttle must not import " + actor},
		{"core knows no HTTP", "core/robots/r.go", []string{"net/http"}, "core/robots must not import net/http"},
		{"core knows no fasthttp", "core/extract/e.go", []string{"github.com/valyala/fasthttp"}, "must not import github.com/valyala/fasthttp"},
		{"only the queue knows Redis", "core/policy/p.go", []string{"github.com/redis/go-redis/v9"}, "must not import github.com/redis/go-redis/v9"},
		{"the queue knows Redis", "core/rqueue/r.go", []string{"github.com/redis/go-redis/v9"}, ""},
		{"the queue knows no HTTP", "core/rqueue/r.go", []string{"net/http/httptrace"}, "must not import net/http/httptrace"},
		{"siblings", "actors/domain/d.go", []string{"orbweaver/actors/fetcher"}, "actors/domain must not import actors/fetcher"},
		{"siblings in tests", "actors/domain/d_test.go", []string{"orbweaver/actors/fetcher"}, "actors/domain must not import actors/fetcher"},
		{"their supervision", "actors/domain/d.go", []string{"orbweaver/actors/supervise", actor}, ""},
		{"tests help themselves", "actors/domain/d_test.go", []string{"orbweaver/internal/redistest", "orbweaver/actors/domain", "orbweaver/core/rqueue", "github.com/stretchr/testify/require"}, ""},
		{"test helpers in the product", "store/s.go", []string{"orbweaver/internal/redistest"}, "store must not import internal/redistest"},
		{"testify in the product", "export/e.go", []string{"github.com/stretchr/testify/require"}, "must not import github.com/stretchr/testify/require"},
		{"config is for cmd only", "actors/pipeline/p.go", []string{"orbweaver/config"}, "actors/pipeline must not import config"},
		{"store is for cmd only", "admin/a.go", []string{"orbweaver/store"}, "admin must not import store"},
		{"cmd knows everything", "cmd/node/n.go", []string{"orbweaver/store", "orbweaver/config", actor, "net/http"}, ""},
		{"nothing imports cmd", "admin/a_test.go", []string{"orbweaver/cmd/node"}, "admin must not import cmd/node"},
		{"new package", "core/unheard/u.go", nil, "core/unheard: the package has no rule"},
		{"name alike", "core/crawl/c.go", []string{"net/httptools"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := check([]file{{path: tt.file, imports: tt.imports}})
			if tt.want == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Contains(t, got[0], tt.want)
		})
	}
}

func TestReadSkipsWhatGoSkips(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	write("a/a.go", "//go:build plan9\n\npackage a\n\nimport x \"net/http\"\n")
	write("a/testdata/b.go", "package b")
	write(".hidden/c.go", "package c")
	write("_old/d.go", "package d")
	write("a/readme.md", "text")
	got, err := read(root)
	require.NoError(t, err)
	require.Equal(t, []file{{path: "a/a.go", imports: []string{"net/http"}}}, got)
	write("a/broken.go", "pack age")
	_, err = read(root)
	require.Error(t, err)
}
