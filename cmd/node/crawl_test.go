package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/config"
	"orbweaver/core/netguard"
	"orbweaver/core/weburl"
	"orbweaver/export"
	"orbweaver/store"
)

func TestGatherSeeds(t *testing.T) {
	t.Parallel()
	private := config.Default()
	private.Fetch.AllowPrivate = true
	for _, tc := range []struct {
		name    string
		cfg     *config.Config
		args    []string
		file    string // content of --seeds; "" gives none
		want    []cliSeed
		wantErr []string // all of them, in one error
	}{
		{name: "arguments", args: []string{"HTTP://A.example", "http://b.example/x?q#f"}, want: []cliSeed{
			{url: "http://a.example/", host: "a.example"}, {url: "http://b.example/x?q#f", host: "b.example"},
		}},
		{name: "the same twice", args: []string{"http://a.example", "http://a.example/", "HTTP://A.EXAMPLE:80"}, want: []cliSeed{
			{url: "http://a.example/", host: "a.example"},
		}},
		{
			name: "file", file: "# seeds\n\n  http://b.example/  \r\nhttp://a.example/\n", args: []string{"http://a.example/"},
			want: []cliSeed{{url: "http://a.example/", host: "a.example"}, {url: "http://b.example/", host: "b.example"}},
		},
		{name: "none", wantErr: []string{"no seeds: give URLs, or --seeds FILE"}},
		{name: "only remarks", file: "# nothing\n", wantErr: []string{"no seeds"}},
		{
			name: "every bad one is named", args: []string{"a.example", "http://good.example/"},
			file:    "http://good.example/2\n\nftp://files.example/\nhttp://10.1.2.3/\n",
			wantErr: []string{"seed a.example: ", "FILE:3: ftp://files.example/: ", "FILE:4: http://10.1.2.3/: "},
		},
		{name: "private refused", args: []string{"http://127.0.0.1:8080/"}, wantErr: []string{"seed http://127.0.0.1:8080/: "}},
		{name: "private allowed", cfg: private, args: []string{"http://127.0.0.1:8080/"}, want: []cliSeed{
			{url: "http://127.0.0.1:8080/", host: "127.0.0.1"},
		}},
		{
			name: "sitemaps come last", cfg: withSitemaps("http://b.example/s.xml", "robots", "http://a.example/"), args: []string{"http://a.example/"},
			want: []cliSeed{{url: "http://a.example/", host: "a.example"}, {url: "http://b.example/s.xml", host: "b.example", sitemap: true}},
		},
		{name: "robots needs a seed", cfg: withSitemaps("robots"), wantErr: []string{"no seeds"}},
		{name: "line too long", file: "http://a.example/" + strings.Repeat("x", 1<<20) + "\n", wantErr: []string{"--seeds FILE: ", "too long"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg, file := tc.cfg, ""
			if cfg == nil {
				cfg = config.Default()
			}
			if tc.file != "" {
				file = filepath.Join(t.TempDir(), "seeds.txt")
				require.NoError(t, os.WriteFile(file, []byte(tc.file), 0o600))
			}
			got, err := gatherSeeds(cfg, tc.args, file, &terminal{})
			for _, want := range tc.wantErr {
				require.ErrorContains(t, err, strings.ReplaceAll(want, "FILE:", file+":"))
			}
			if tc.wantErr == nil {
				require.NoError(t, err)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestGatherSeedsErrors(t *testing.T) {
	t.Parallel()
	_, err := gatherSeeds(config.Default(), []string{"ftp://a.example/", "http://192.168.0.1/"}, "", &terminal{})
	require.ErrorIs(t, err, weburl.ErrScheme)
	var forbidden *netguard.HostError
	require.ErrorAs(t, err, &forbidden)
	require.Equal(t, "192.168.0.1", forbidden.Host)
	_, err = gatherSeeds(config.Default(), nil, filepath.Join(t.TempDir(), "missing"), &terminal{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "--seeds")
}

func TestGatherSeedsFromStandardInput(t *testing.T) {
	t.Parallel()
	in := &terminal{in: strings.NewReader("http://a.example/\nnonsense\n")}
	_, err := gatherSeeds(config.Default(), nil, "-", in)
	require.ErrorContains(t, err, "-:2: nonsense: ")

	in = &terminal{in: strings.NewReader("http://a.example/")}
	got, err := gatherSeeds(config.Default(), nil, "-", in)
	require.NoError(t, err)
	require.Equal(t, []cliSeed{{url: "http://a.example/", host: "a.example"}}, got)
}

func TestOutputOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		opt     crawlOptions
		want    *output
		wantErr string
	}{
		{name: "none"},
		{name: "append", opt: crawlOptions{output: "a.jsonl"}, want: &output{path: "a.jsonl"}},
		{name: "overwrite", opt: crawlOptions{overwrite: "a.csv"}, want: &output{path: "a.csv", overwrite: true}},
		{name: "format named", opt: crawlOptions{output: "out.dat:csv"}, want: &output{path: "out.dat", format: "csv"}},
		{name: "standard output", opt: crawlOptions{output: "-"}, want: &output{path: export.Stdout}},
		{name: "both", opt: crawlOptions{output: "a.jsonl", overwrite: "b.jsonl"}, wantErr: "-o and -O exclude each other"},
		{name: "unknown format", opt: crawlOptions{output: "a.docx"}, wantErr: "a.docx"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := outputOf(tc.opt)
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestOutputName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "-", (&output{path: export.Stdout}).name())
	name := (&output{path: "a.jsonl"}).name()
	require.True(t, filepath.IsAbs(name), name)
	require.Equal(t, name, (&output{path: name}).name())
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		want int
	}{
		{"none", nil, 0},
		{"nothing fetched", &exitError{exitNothing, errors.New("x")}, 1},
		{"usage", usage(errors.New("x")), 2},
		{"store settings", fmt.Errorf("open: %w", store.ErrConfig), 2},
		{"any other, as of a flag", errors.New("unknown command"), 2},
		{"store", &exitError{exitStore, errors.New("x")}, 3},
		{"export", &exitError{exitExport, errors.New("x")}, 4},
		{"interrupted", &exitError{exitInterrupted, nil}, 130},
		{"wrapped", fmt.Errorf("more: %w", &exitError{exitStore, errors.New("x")}), 3},
		{"joined", errors.Join(&exitError{exitInterrupted, nil}, errors.New("profile not written")), 130},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, codeOf(tc.err))
		})
	}
}

func TestExitErrorWithoutMessage(t *testing.T) {
	t.Parallel()
	require.Empty(t, (&exitError{exitInterrupted, nil}).Error())
	cause := errors.New("cause")
	require.ErrorIs(t, usage(cause), cause)
	require.EqualError(t, usage(cause), "cause")
}

func withSitemaps(names ...string) *config.Config {
	cfg := config.Default()
	cfg.Crawl.Sitemap = names
	return cfg
}
