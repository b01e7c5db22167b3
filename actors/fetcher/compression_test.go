package fetcher_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
	"orbweaver/internal/vectors"
)

// compressionCase is a case of policy.json whose kind begins with "compression_".
type compressionCase struct {
	ID, Kind string
	Request  struct {
		Method  string
		Headers [][2]string
	}
	Response *struct {
		Status  int
		Headers [][2]string
		Body    []byte `json:"body_b64"`
	}
	Expect compressionAnswer
	Newest *compressionAnswer `json:"expect_newest"`
}

type compressionAnswer struct {
	Action         string
	Status         int
	Body           []byte      `json:"body_b64"`
	AcceptEncoding [][2]string `json:"accept_encoding"`
}

func (c *compressionCase) want() compressionAnswer {
	if c.Newest != nil {
		return *c.Newest
	}
	return c.Expect
}

func (c *compressionCase) request(url string) *crawl.Request {
	req := &crawl.Request{URL: url, Method: c.Request.Method}
	for _, h := range c.Request.Headers {
		req.Headers = append(req.Headers, crawl.Header{Name: h[0], Value: h[1]})
	}
	return req
}

// wire is the response as a server sends it, framed by its length.
func (c *compressionCase) wire() string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", c.Response.Status, http.StatusText(c.Response.Status))
	for _, h := range c.Response.Headers {
		if !strings.EqualFold(h[0], "Content-Length") {
			fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
		}
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(c.Response.Body), c.Response.Body)
	return b.String()
}

// TestCompressionVectors asks for the body that Scrapy gives. Its headers stay as they
// came: what was decoded is known to who reads them.
func TestCompressionVectors(t *testing.T) {
	t.Parallel()
	raw := vectors.Read(t, "policy.json")
	var file struct{ Cases []json.RawMessage }
	require.NoError(t, json.Unmarshal(raw, &file))
	slot := newSlot(t)
	for _, r := range file.Cases {
		var head struct{ Kind string }
		require.NoError(t, json.Unmarshal(r, &head))
		if !strings.HasPrefix(head.Kind, "compression_") {
			continue
		}
		var c compressionCase
		require.NoError(t, json.Unmarshal(r, &c))
		t.Run(c.Kind+"/"+c.ID, func(t *testing.T) {
			if c.Response == nil {
				checkAcceptEncoding(t, slot, &c)
				return
			}
			want := c.want()
			got := slot.Do(context.Background(), c.request(answering(t, c.wire(), true).url()), fetcher.Permit{}, nil)
			if want.Action == "error" && got.Cause == crawl.CauseNone {
				require.True(t, c.readable(got.Body), "%q", got.Body)
				return
			}
			if want.Action == "error" {
				requireCause(t, crawl.CauseEncoding, got)
				return
			}
			if c.stacked() && bytes.Equal(want.Body, c.Response.Body) {
				require.Greater(t, len(got.Body), len(want.Body), "it is decoded all the same")
				return
			}
			require.Empty(t, got.Cause, got.Err)
			require.Equal(t, want.Status, got.Status)
			require.Equal(t, string(want.Body), string(got.Body))
		})
	}
}

// readable reports whether a body is what docs/conformance.md promises where Scrapy gives
// an error: text that no coding was applied to, or what could be decoded.
func (c *compressionCase) readable(body []byte) bool {
	if utf8.Valid(c.Response.Body) {
		return bytes.Equal(body, c.Response.Body)
	}
	return len(body) > 0 && utf8.Valid(body)
}

// stacked reports whether several codings were applied, all of them known.
func (c *compressionCase) stacked() bool {
	n := 0
	for _, h := range c.Response.Headers {
		if !strings.EqualFold(h[0], "Content-Encoding") {
			continue
		}
		for name := range strings.SplitSeq(h[1], ",") {
			n++
			if !slices.Contains([]string{"gzip", "x-gzip", "deflate", "br", "zstd", "identity"}, strings.ToLower(strings.TrimSpace(name))) {
				return false
			}
		}
	}
	return n > 1
}

func checkAcceptEncoding(t *testing.T, slot *fetcher.Slot, c *compressionCase) {
	t.Helper()
	s := answering(t, hello, true)
	slot.Do(context.Background(), c.request(s.url()), fetcher.Permit{}, nil)
	var fields [][2]string
	for line := range strings.SplitSeq(<-s.heads, "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok && strings.EqualFold(name, "Accept-Encoding") {
			fields = append(fields, [2]string{"accept-encoding", value})
		}
	}
	require.Equal(t, c.want().AcceptEncoding, fields)
}
