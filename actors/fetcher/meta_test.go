package fetcher_test

import (
	"context"
	"net"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

func TestMetaLimits(t *testing.T) {
	t.Parallel()
	page := answering(t, hello, true)
	packed := answering(t, "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello", true)
	silent := newSite(t, func(_ *site, _ net.Conn, next func() bool) {
		for next() {
		}
	})
	tests := []struct {
		name  string
		site  *site
		meta  string
		cause crawl.Cause
	}{
		{"none", page, "", crawl.CauseNone},
		{"others", page, `{"depth": 1, "download_slot": "x"}`, crawl.CauseNone},
		{"smaller", page, `{"download_maxsize": 4}`, crawl.CauseTooLarge},
		{"smaller, decoded", packed, `{"download_maxsize": 4}`, crawl.CauseTooLarge},
		{"escaped key", page, `{"\u0064ownload_maxsize": 4}`, crawl.CauseTooLarge},
		{"exact", page, `{"download_maxsize": 5}`, crawl.CauseNone},
		{"larger", page, `{"download_maxsize": 5000000}`, crawl.CauseNone},
		{"zero", page, `{"download_maxsize": 0}`, crawl.CauseNone},
		{"negative", page, `{"download_maxsize": -1}`, crawl.CauseNone},
		{"huge", page, `{"download_maxsize": 1e300, "download_timeout": 1e300}`, crawl.CauseNone},
		{"text", page, `{"download_maxsize": "4", "download_timeout": "0.001"}`, crawl.CauseNone},
		{"other types", page, `{"download_maxsize": [4], "download_timeout": null, "download_warnsize": {}}`, crawl.CauseNone},
		{"no object", page, `["download_maxsize"]`, crawl.CauseNone},
		{"no JSON", page, `{"download_maxsize"`, crawl.CauseNone},
		{"other case", page, `{"DOWNLOAD_MAXSIZE": 4, "download_Maxsize": 4}`, crawl.CauseNone},
		{"time", silent, `{"download_timeout": 0.05}`, crawl.CauseTimeout},
		{"whole seconds, longer", page, `{"download_timeout": 600}`, crawl.CauseNone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			slot := newSlot(t)
			requireCause(t, tt.cause, slot.Do(context.Background(), &crawl.Request{URL: tt.site.url(), Meta: []byte(tt.meta)}, fetcher.Permit{}, nil))
		})
	}
}

func TestMetaWarnSize(t *testing.T) {
	t.Parallel()
	s := answering(t, hello, true)
	client := newClient(t)
	b := newActor(t, client)
	conns := client.Conns()
	defer conns.Close()
	b.send(&messages.Fetch{Lease: rqueue.Leased{Request: &crawl.Request{URL: s.url(), Meta: []byte(`{"download_warnsize": 4}`)}}, Conns: conns})
	expect[*messages.Page](t, b.pipeline)
	require.Equal(t, logrus.WarnLevel, b.logs.LastEntry().Level)
}
