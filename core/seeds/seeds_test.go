package seeds_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/seeds"
	"orbweaver/core/weburl"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, message string
		want          crawl.Request
	}{
		{"clean URL", "HTTP://EXAMPLE.com:80/a/../b c", crawl.Request{URL: "http://example.com/b%20c", Method: "GET"}},
		{"no path", "https://example.com", crawl.Request{URL: "https://example.com/", Method: "GET"}},
		{"form list", `{"url": "http://e.example/?x#f", "a": ["1", "2"], "b": []}`, crawl.Request{URL: "http://e.example/?a=1&a=2#f", Method: "GET"}},
		{"empty form takes the query away", `{"url": "http://e.example/?x#f", "a": []}`, crawl.Request{URL: "http://e.example/#f", Method: "GET"}},
		{"PUT has its form in the query", `{"url": "http://e.example/?x", "method": "put", "a": "1"}`, crawl.Request{URL: "http://e.example/?a=1", Method: "PUT"}},
		{"a key twice", `{"a": "1", "b": "2", "a": "3", "url": "http://e.example/"}`, crawl.Request{URL: "http://e.example/?a=3&b=2", Method: "GET"}},
		{"form escapes", `{"url": "http://e.example/", "a b": "~-_.*+&=é"}`, crawl.Request{URL: "http://e.example/?a+b=~-_.%2A%2B%26%3D%C3%A9", Method: "GET"}},
		{"meta", `{"url": "http://e.example/", "meta": { "k" : [1, {"x": null}] , "depth": 3}}`, crawl.Request{
			URL: "http://e.example/", Method: "GET", Meta: []byte(`{"k":[1,{"x":null}],"depth":3}`), Depth: 3,
		}},
		{"meta depth that is none", `{"url": "http://e.example/", "meta": {"depth": "3"}}`, crawl.Request{URL: "http://e.example/", Method: "GET", Meta: []byte(`{"depth":"3"}`)}},
		{"meta negative depth", `{"url": "http://e.example/", "meta": {"depth": -3}}`, crawl.Request{URL: "http://e.example/", Method: "GET", Meta: []byte(`{"depth":-3}`)}},
		{"meta of nothing", `{"url": "http://e.example/", "meta": { }}`, crawl.Request{URL: "http://e.example/", Method: "GET"}},
		{"our extras", `{"url": "http://e.example/", "method": "POST", "a": "1", "meta": {"orbweaver": {"priority": -5, "headers": {"X-A": "b", "content-type": "text/x"}}}}`, crawl.Request{
			URL: "http://e.example/", Method: "POST", Body: []byte("a=1"), Priority: -5,
			Meta:    []byte(`{"orbweaver":{"priority":-5,"headers":{"X-A":"b","content-type":"text/x"}}}`),
			Headers: []crawl.Header{{Name: "X-A", Value: "b"}, {Name: "content-type", Value: "text/x"}},
		}},
		{"priority at the top is a form field, as in scrapy-redis", `{"url": "http://e.example/", "priority": "9"}`, crawl.Request{URL: "http://e.example/?priority=9", Method: "GET"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := seeds.Parse([]byte(tt.message), "utf-8")
			require.NoError(t, err)
			tt.want.Seed, tt.want.DontFilter = true, true
			require.Equal(t, tt.want, *got)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, message, want string }{
		{"nothing", "", `seeds: read "": no url`},
		{"a word", "example.com", `seeds: read "example.com": url is not absolute: it begins with neither http:// nor https://`},
		{"other scheme", "ftp://e.example/", "url: not an http or https URL"},
		{"a script", "javascript:1", "url: not an http or https URL"},
		{"no host", "http://", "host is empty"},
		{"bad host", "http://a b/", "host is not valid"},
		{"bad port", "http://e.example:99999/", "port is not valid"},
		{"number", "12", "JSON, but not an object"},
		{"string", `"http://e.example/"`, "JSON, but not an object"},
		{"list", `["http://e.example/"]`, "JSON, but not an object"},
		{"broken JSON", `{"url": "http://e.example/"`, "not a URL, and not JSON: "},
		{"two objects", `{"url": "http://e.example/"}{}`, "not a URL, and not JSON: text after the object"},
		{"no url", `{"method": "GET"}`, "no url"},
		{"url null", `{"url": null}`, "no url"},
		{"url a number", `{"url": 5}`, "url is not a string"},
		{"method a number", `{"url": "http://e.example/", "method": 5}`, "method is not a string"},
		{"method with a line end", `{"url": "http://e.example/", "method": "GET / HTTP/1.1\r\nX: y"}`, "is not one of HTTP"},
		{"meta a string", `{"url": "http://e.example/", "meta": "x"}`, "meta is not an object"},
		{"meta a list", `{"url": "http://e.example/", "meta": [["a", 1]]}`, "meta is not an object"},
		{"form number", `{"url": "http://e.example/", "n": 5}`, `form field "n": neither a string nor a list of strings`},
		{"form null", `{"url": "http://e.example/", "n": null}`, `form field "n"`},
		{"form list of numbers", `{"url": "http://e.example/", "n": ["1", 2]}`, `form field "n": the list holds something other than strings`},
		{"extras unknown", `{"url": "http://e.example/", "meta": {"orbweaver": {"prioriti": 1}}}`, `meta orbweaver: json: unknown field "prioriti"`},
		{"extras priority too large", `{"url": "http://e.example/", "meta": {"orbweaver": {"priority": 3000000000}}}`, "meta orbweaver"},
		{"extras header splits", `{"url": "http://e.example/", "meta": {"orbweaver": {"headers": {"X": "a\r\nY: b"}}}}`, `header "X" is not one of HTTP`},
		{"extras header of the connection", `{"url": "http://e.example/", "meta": {"orbweaver": {"headers": {"Transfer-Encoding": "chunked"}}}}`, `header "Transfer-Encoding"`},
		{"extras header a number", `{"url": "http://e.example/", "meta": {"orbweaver": {"headers": {"X": 1}}}}`, `header "X" is not a string`},
		{"deep nesting", `{"url": "http://e.example/", "meta": ` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}", "not a URL, and not JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := seeds.Parse([]byte(tt.message), "")
			require.ErrorContains(t, err, tt.want)
			require.Less(t, len(err.Error()), 600)
		})
	}
}

func TestParseTooLong(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"http://e.example/" + strings.Repeat("x", 100_000),
		"http://e.example/" + strings.Repeat("é", 7_000),
		`{"url": "http://e.example/", "a": "` + strings.Repeat("x", 100_000) + `"}`,
		strings.Repeat("x", seeds.PayloadLimitBytes+1),
	} {
		_, err := seeds.Parse([]byte(message), "")
		require.ErrorIs(t, err, seeds.ErrTooLong)
		require.Less(t, len(err.Error()), 400)
	}
}

func TestParseEncodings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, encoding, message, want string
		err                           error
	}{
		{"not UTF-8", "", "http://e.example/\xff", "", seeds.ErrEncoding},
		{"latin-1", "latin-1", "http://e.example/\xe9", "http://e.example/%C3%A9", nil},
		{"latin-1 is not windows-1252", "ISO_8859_1", "http://e.example/\x80", "http://e.example/%C2%80", nil},
		{"python name", "cp1252", "http://e.example/\x80", "http://e.example/%E2%82%AC", nil},
		{"gbk", "gbk", "http://e.example/\xc4\xe3", "http://e.example/%E4%BD%A0", nil},
		{"not gbk", "gbk", "http://e.example/\xff", "", seeds.ErrEncoding},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, seeds.CheckEncoding(tt.encoding))
			got, err := seeds.Parse([]byte(tt.message), tt.encoding)
			if tt.err != nil {
				require.ErrorIs(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got.URL)
		})
	}
	require.ErrorContains(t, seeds.CheckEncoding("klingon"), `unknown encoding "klingon"`)
}

func TestReadLines(t *testing.T) {
	t.Parallel()
	const file = "\xef\xbb\xbfhttp://a.example/\r\n\n  # a comment\n\t http://b.example/ \n{\"url\": \"http://c.example/\"}"
	var got []string
	require.NoError(t, seeds.ReadLines(strings.NewReader(file), func(line int, payload []byte, err error) error {
		require.NoError(t, err)
		got = append(got, fmt.Sprintf("%d %s", line, payload))
		return nil
	}))
	require.Equal(t, []string{"1 http://a.example/", "4 http://b.example/", `5 {"url": "http://c.example/"}`}, got)
}

func TestReadLinesBoundsALine(t *testing.T) {
	t.Parallel()
	file := "http://a.example/\n" + strings.Repeat("x", 3<<20) + "\nhttp://b.example/\n# " + strings.Repeat("y", 2<<20) + "\n" + strings.Repeat("z", seeds.PayloadLimitBytes) + "\n"
	var got []int
	require.NoError(t, seeds.ReadLines(strings.NewReader(file), func(line int, payload []byte, err error) error {
		if line == 2 {
			require.ErrorIs(t, err, seeds.ErrTooLong)
			require.ErrorContains(t, err, "seeds: read line 2")
			require.LessOrEqual(t, len(payload), seeds.PayloadLimitBytes+1)
		} else {
			require.NoError(t, err)
		}
		got = append(got, line)
		return nil
	}))
	require.Equal(t, []int{1, 2, 3, 5}, got)
}

func TestReadLinesErrors(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	calls := 0
	err := seeds.ReadLines(strings.NewReader("a\nb\n"), func(int, []byte, error) error { calls++; return stop })
	require.Equal(t, stop, err)
	require.Equal(t, 1, calls)
	err = seeds.ReadLines(&broken{data: []byte("a\nb")}, func(int, []byte, error) error { return nil })
	require.ErrorContains(t, err, "seeds: read line 2: disk on fire")
}

// broken gives data, then fails.
type broken struct{ data []byte }

func (b *broken) Read(p []byte) (int, error) {
	if len(b.data) == 0 {
		return 0, errors.New("disk on fire")
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	return n, nil
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("http://example.com/é"), "")
	f.Add([]byte(`{"url": "http://e.example/?x#f", "method": "post", "a": ["1", {"b": 2}], "meta": {"depth": 1, "orbweaver": {"headers": {"A": "b"}}}}`), "utf-8")
	f.Add([]byte("http://e.example/\xe9"), "latin-1")
	f.Add([]byte(`{"url": "http://e.example/", "a": {"b": 1, "b": 2}}`), "gbk")
	f.Fuzz(func(t *testing.T, payload []byte, encoding string) {
		req, err := seeds.Parse(payload, encoding)
		if err != nil {
			require.Nil(t, req)
			return
		}
		clean, err := weburl.Clean(req.URL)
		require.NoError(t, err)
		require.Equal(t, clean, req.URL)
		require.LessOrEqual(t, len(req.URL), seeds.URLLimitBytes)
		for _, h := range req.Headers {
			require.False(t, strings.ContainsAny(h.Name+h.Value, "\r\n\x00"))
		}
		require.False(t, strings.ContainsAny(req.Method, " \r\n"))
	})
}

func FuzzReadLines(f *testing.F) {
	f.Add([]byte("a\n# b\r\n\n c "))
	f.Fuzz(func(t *testing.T, file []byte) {
		last := 0
		require.NoError(t, seeds.ReadLines(bytes.NewReader(file), func(line int, payload []byte, _ error) error {
			require.Greater(t, line, last)
			require.NotEmpty(t, payload)
			last = line
			return nil
		}))
		require.LessOrEqual(t, last, bytes.Count(file, []byte("\n"))+1)
	})
}
