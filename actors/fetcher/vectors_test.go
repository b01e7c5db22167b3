package fetcher_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
	"orbweaver/internal/vectors"
)

// wildAnswer is what a client made of a response in http_wild.json. A body of
// null is none.
type wildAnswer struct {
	Exit    int
	Error   string
	Status  int
	Headers []json.RawMessage // curl: lines; Scrapy: pairs
	Body    json.RawMessage   // a name, a text, or {"b64": bytes}
}

type wildCase struct {
	ID, Kind, Label, Method string
	ServerCloses            bool   `json:"server_closes"`
	Response                []byte `json:"response_b64"`
	Expect                  struct {
		Curl      wildAnswer
		Scrapy    wildAnswer
		Undecoded *wildAnswer `json:"scrapy_no_decompression"`
	}
}

type wildFile struct {
	Header struct {
		Count     int
		PlainText string `json:"plain_text"`
	}
	Cases []wildCase
}

func (a *wildAnswer) given() bool { return a != nil && a.Exit == 0 && a.Error == "" && a.Status > 0 }

func (a *wildAnswer) body(t *testing.T) string {
	t.Helper()
	var coded struct{ B64 []byte }
	if json.Unmarshal(a.Body, &coded) == nil {
		return string(coded.B64)
	}
	var text string
	require.NoError(t, json.Unmarshal(a.Body, &text))
	if text == "PLAIN_TEXT" {
		return strings.Repeat("hello wild world\n", 8)
	}
	return text
}

// fields are the headers as comparable lines: folded lines joined, names in lower
// case, white space and bare CR as one space, bytes as Latin-1, without those
// that Scrapy takes away.
func (a *wildAnswer) fields(t *testing.T) (lines []string) {
	t.Helper()
	for _, raw := range a.Headers {
		var line string
		var pair [2]string
		if json.Unmarshal(raw, &pair) == nil {
			line = pair[0] + ":" + pair[1]
		} else {
			require.NoError(t, json.Unmarshal(raw, &line))
		}
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			lines[len(lines)-1] += " " + line
			continue
		}
		lines = append(lines, line)
	}
	return fieldLines(lines)
}

func fieldLines(lines []string) (out []string) {
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		name = strings.ToLower(strings.TrimSpace(name))
		switch name {
		case "content-encoding", "transfer-encoding", "connection":
			continue
		}
		out = append(out, name+": "+strings.Join(strings.Fields(value), " "))
	}
	slices.Sort(out)
	return out
}

func latin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

// TestVectors asks for a page wherever curl or Scrapy gives one. Where both do
// and differ, curl's is the better, unless it stopped at an interim response.
// Where none does, a refusal or the body as it came is right. An answer that the
// connection cut in its header is none, whatever curl says (docs/conformance.md).
func TestVectors(t *testing.T) {
	t.Parallel()
	raw := vectors.Read(t, "http_wild.json")
	var file wildFile
	require.NoError(t, json.Unmarshal(raw, &file))
	require.NotEmpty(t, file.Cases)
	require.Len(t, file.Cases, file.Header.Count)
	slot := newSlot(t)
	for _, c := range file.Cases {
		t.Run(c.Kind+"/"+c.ID, func(t *testing.T) {
			checkWild(t, slot, &c)
		})
	}
}

func checkWild(t *testing.T, slot *fetcher.Slot, c *wildCase) {
	t.Helper()
	site := answering(t, string(c.Response), !c.ServerCloses)
	got := slot.Do(context.Background(), &crawl.Request{URL: site.url(), Method: c.Method}, fetcher.Permit{}, nil)
	want := &c.Expect.Scrapy
	whole := bytes.Contains(c.Response, []byte("\n\r\n")) || bytes.Contains(c.Response, []byte("\n\n"))
	switch curl := &c.Expect.Curl; {
	case !whole:
		requireCause(t, crawl.CauseReset, got)
		return
	case curl.given() && (curl.Status >= 200 || !want.given()):
		want = curl
	case !want.given():
		if undecoded := c.Expect.Undecoded; got.Cause == "" && undecoded.given() {
			require.Equal(t, undecoded.body(t), string(got.Body), c.Label)
			return
		}
		require.NotEmpty(t, got.Cause, c.Label)
		return
	}
	require.Empty(t, got.Cause, "%s: %s", c.Label, got.Err)
	require.Equal(t, want.Status, got.Status, c.Label)
	require.Equal(t, want.body(t), string(got.Body), c.Label)
	if want.Headers != nil && got.Status != 204 && got.Status != 304 {
		var lines []string
		for _, f := range got.Headers {
			lines = append(lines, latin1(f.Name+":"+f.Value))
		}
		require.Equal(t, want.fields(t), fieldLines(lines), c.Label)
	}
}
