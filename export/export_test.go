package export

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func items(texts ...string) [][]byte {
	out := make([][]byte, len(texts))
	for i, t := range texts {
		out[i] = []byte(t)
	}
	return out
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path) //nolint:gosec // a test's own file
	require.NoError(t, err)
	return string(data)
}

func TestWrite(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, before string
		overwrite          bool
		batches            [][][]byte
		want               string
	}{
		{"Lines", "a.jsonl", "", false, [][][]byte{items(`{"a":1}`, `{"a":2}`), items(`{"a":3}`)}, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n"},
		{"LinesShortExtension", "a.JL", "", false, [][][]byte{items(`{"a":1}`)}, "{\"a\":1}\n"},
		{"LinesNothing", "a.jsonl", "", false, nil, ""},
		{"LinesAppend", "a.jsonl", "{\"b\":1}\n", false, [][][]byte{items(`{"a":1}`)}, "{\"b\":1}\n{\"a\":1}\n"},
		{"LinesAppendToBroken", "a.jsonl", "{\"b\":", false, [][][]byte{items(`{"a":1}`), items(`{"a":2}`)}, "{\"b\":\n{\"a\":1}\n{\"a\":2}\n"},
		{"LinesOverwrite", "a.jsonl", "{\"b\":1}\n", true, [][][]byte{items(`{"a":1}`)}, "{\"a\":1}\n"},
		{"LinesOfManyLines", "a.jsonl", "", false, [][][]byte{items("{\n  \"a\": 1\r\n}")}, "{\"a\":1}\n"},

		{"Array", "a.json", "", false, [][][]byte{items(`{"a":1}`, `{"a":2}`), items(`{"a":3}`)}, "[\n{\"a\":1},\n{\"a\":2},\n{\"a\":3}\n]\n"},
		{"ArrayNothing", "a.json", "", false, nil, "[\n]\n"},
		{"ArrayAppend", "a.json", "[\n{\"b\":1}\n]\n", false, [][][]byte{items(`{"a":1}`)}, "[\n{\"b\":1},\n{\"a\":1}\n]\n"},
		{"ArrayAppendNothing", "a.json", "[{\"b\":1}]   ", false, nil, "[{\"b\":1}]   "},
		{"ArrayAppendToEmpty", "a.json", "[]", false, [][][]byte{items(`{"a":1}`)}, "[\n{\"a\":1}\n]\n"},
		{"ArrayAppendToBlank", "a.json", " \n", false, [][][]byte{items(`{"a":1}`)}, "[\n{\"a\":1}\n]\n"},
		{"ArrayAppendToNested", "a.json", " [ [ ] , 1 ] ", false, [][][]byte{items(`{"a":1}`)}, " [ [ ] , 1,\n{\"a\":1}\n]\n"},
		{"ArrayAppendLongTail", "a.json", "[1" + strings.Repeat(" ", 2000) + "]" + strings.Repeat("\n", 3000), false, [][][]byte{items(`{"a":1}`)}, "[1,\n{\"a\":1}\n]\n"},
		{"ArrayOverwrite", "a.json", "not json", true, [][][]byte{items(`{"a":1}`)}, "[\n{\"a\":1}\n]\n"},

		{"Table", "a.csv", "", false, [][][]byte{items(`{"b":1,"a":"x"}`), items(`{"a":"y","b":2.50}`)}, "b,a\r\n1,x\r\n2.50,y\r\n"},
		{"TableNothing", "a.csv", "", false, nil, ""},
		{
			"TableValues", "a.csv", "", false,
			[][][]byte{items(
				`{"t":"a,b","q":"say \"hi\"","n":null,"b":true,"f":false,"l":["x","y"],"m":["x",1],"o":{"k": 1},"e":[],"z":["x",null]}`,
				`{"t":"line\nbreak","q":"\r","n":"ü\u0000","b":1e3}`)},
			"t,q,n,b,f,l,m,o,e,z\r\n\"a,b\",\"say \"\"hi\"\"\",,True,False,\"x,y\",\"[\"\"x\"\",1]\",\"{\"\"k\"\": 1}\",,\"[\"\"x\"\",null]\"\r\n\"line\nbreak\",\"\r\",ü\x00,1e3,,,,,,\r\n",
		},
		{"TableOneEmptyCell", "a.csv", "", false, [][][]byte{items(`{"a":null}`)}, "a\r\n\"\"\r\n"},
		{"TableMissingAndUnknown", "a.csv", "", false, [][][]byte{items(`{"a":1,"b":2}`, `{"c":3,"b":4}`)}, "a,b\r\n1,2\r\n,4\r\n"},
		{"TableRepeatedName", "a.csv", "", false, [][][]byte{items(`{"a":1,"b":2,"a":3}`)}, "a,b\r\n3,2\r\n"},
		{"TableNoFieldsAtFirst", "a.csv", "", false, [][][]byte{items(`{}`), items(`{}`, `{"a":1}`, `{}`)}, "a\r\n1\r\n\"\"\r\n"},
		{"TableAppend", "a.csv", "b,a\r\n1,2\r\n", false, [][][]byte{items(`{"a":3,"b":4}`)}, "b,a\r\n1,2\r\n4,3\r\n"},
		{"TableAppendUnixEnds", "a.csv", "\ufeff\"b\",a\n1,2", false, [][][]byte{items(`{"a":3,"b":4}`)}, "\ufeff\"b\",a\n1,2\n4,3\n"},
		{"TableAppendToHeader", "a.csv", "b,a", false, [][][]byte{items(`{"a":3,"b":4}`)}, "b,a\r\n4,3\r\n"},
		{"TableOverwrite", "a.csv", "b,a\r\n1,2\r\n", true, [][][]byte{items(`{"c":1}`)}, "c\r\n1\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), tt.file)
			if tt.before != "" {
				require.NoError(t, os.WriteFile(path, []byte(tt.before), 0o600))
			}
			w, err := Open(path, "", tt.overwrite, NoOffset)
			require.NoError(t, err)
			for _, batch := range tt.batches {
				require.NoError(t, w.Write(batch))
			}
			require.NoError(t, w.Write(nil))
			require.NoError(t, w.Close())
			require.Equal(t, tt.want, readFile(t, path))
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := []struct {
		name, file, format, before string
		resumeAt                   int64
		want                       string
	}{
		{"UnknownExtension", "a.xml", "", "", NoOffset, `unknown extension "xml": use one of .jsonl, .jl, .jsonlines, .json, .csv, or FILE:FORMAT`},
		{"NoExtension", "items", "", "", NoOffset, `unknown extension ""`},
		{"UnknownFormat", "a.json", "xml", "", NoOffset, `unknown format "xml": there are jsonl, jl, jsonlines, json, csv`},
		{"NoFolder", "no/a.json", "", "", NoOffset, "no such file or directory"},
		{"Folder", ".", "json", "", NoOffset, "is a directory"},
		{"ArrayIsObject", "obj.json", "", "{}", NoOffset, "is not one JSON array to go on in"},
		{"ArrayCut", "cut.json", "", "[{}", NoOffset, "is not one JSON array"},
		{"ArrayCutAtStart", "cut0.json", "", "[", NoOffset, "is not one JSON array"},
		{"ArrayAndMore", "more.json", "", "[] []", NoOffset, "something follows it"},
		{"ArrayComma", "comma.json", "", "[1,]", NoOffset, "is not one JSON array"},
		{"TableNoHeader", "bad.csv", "", "\"a", NoOffset, "has no CSV header to go on under"},
		{"TableHugeHeader", "huge.csv", "", strings.Repeat("a", maxHeaderBytes+1), NoOffset, "has a CSV header of more than 1 MiB"},
		{"TableHugeBlank", "blank.csv", "", strings.Repeat("\n", maxHeaderBytes+1), NoOffset, "has no CSV header in its first MiB"},
		{"ShorterThanResume", "short.jsonl", "", "{}\n", 4, "has 3 bytes, 4 were flushed before"},
		{"GoneAtResume", "gone.jsonl", "", "", 4, "has 0 bytes, 4 were flushed before"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, tt.file)
			if tt.before != "" {
				require.NoError(t, os.WriteFile(path, []byte(tt.before), 0o600))
			}
			_, err := Open(path, tt.format, false, tt.resumeAt)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "export: open "+path+": ")
			if tt.before != "" {
				require.Equal(t, tt.before, readFile(t, path), "the file was changed")
			}
		})
	}
	_, err := Open("", "", false, NoOffset)
	require.ErrorContains(t, err, "no file name given")
}

func TestItemError(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"a.json", "a.csv", "a.jsonl"} {
		path := filepath.Join(t.TempDir(), file)
		w, err := Open(path, "", false, NoOffset)
		require.NoError(t, err)
		require.NoError(t, w.Write(items(`{"a":1}`)))
		before := readFile(t, path)
		for _, bad := range []string{"{\n", "[\n1", "{\"a\":\n1", "{\"a\":1}\n,"} {
			var at *ItemError
			require.ErrorAs(t, w.Write(items(`{"a":2}`, bad)), &at, "%s: %q", file, bad)
			require.Equal(t, 1, at.Index)
			require.ErrorContains(t, at, "export: write "+path+": item 1: ")
			require.Equal(t, before, readFile(t, path))
		}
		require.NoError(t, w.Write(items(`{"a":3}`)))
		require.NoError(t, w.Close())
	}
}

func TestDropped(t *testing.T) {
	t.Parallel()
	w, err := Open(filepath.Join(t.TempDir(), "a.csv"), "", false, NoOffset)
	require.NoError(t, err)
	require.Empty(t, w.Dropped())
	require.NoError(t, w.Write(items(`{"a":1}`, `{"a":1,"b":2}`, `{"c":1,"b":2}`)))
	require.Equal(t, map[string]int64{"b": 2, "c": 1}, w.Dropped())
	for i := range 200 {
		require.NoError(t, w.Write(items(`{"f`+strings.Repeat("x", i)+`":1}`)))
	}
	require.Len(t, w.Dropped(), maxDroppedNames+1)
	require.Equal(t, int64(200-(maxDroppedNames-2)), w.Dropped()[""])
	require.NoError(t, w.Close())
}

func TestInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	w, err := Open(path, "", false, NoOffset)
	require.NoError(t, err)
	_, err = Open(path, "", false, NoOffset)
	require.ErrorIs(t, err, ErrInUse)
	require.NoError(t, w.Close())
	w, err = Open(path, "", false, NoOffset)
	require.NoError(t, err)
	require.NoError(t, w.Close())
}

func TestFullDevice(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"jsonl", "json", "csv"} {
		w, err := Open("/dev/full", format, false, NoOffset)
		require.NoError(t, err)
		for range 2 {
			err = w.Write(items(`{"a":1}`))
			require.ErrorIs(t, err, syscall.ENOSPC)
			require.EqualError(t, err, "export: write /dev/full: no space left on device")
		}
		_ = w.Close() // the array's end does not fit either
	}
}

func TestNullDevice(t *testing.T) {
	t.Parallel()
	w, err := Open("/dev/null", "json", true, 100)
	require.NoError(t, err)
	require.NoError(t, w.Write(items(`{"a":1}`)))
	at, err := w.Flush()
	require.NoError(t, err)
	require.Equal(t, NoOffset, at)
	require.NoError(t, w.Close())
}

func TestSplitFormat(t *testing.T) {
	t.Parallel()
	tests := []struct{ arg, path, format string }{
		{"a.jsonl", "a.jsonl", ""},
		{"items:CSV", "items", "csv"},
		{"-:json", "-", "json"},
		{"a:b", "a:b", ""},
		{":json", ":json", ""},
		{`C:\x.json`, `C:\x.json`, ""},
	}
	for _, tt := range tests {
		path, format := SplitFormat(tt.arg)
		require.Equal(t, []string{tt.path, tt.format}, []string{path, format})
	}
}
