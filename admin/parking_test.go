package admin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"orbweaver/admin"
)

// lot is a Parker that notes what it is told.
type lot struct{ told []string }

func (l *lot) known(crawl string) error {
	if crawl != "x" {
		return fmt.Errorf("crawl %q: %w", crawl, admin.ErrNotFound)
	}
	return nil
}

func (l *lot) Parked(_ context.Context, crawl string) ([]admin.ParkedHost, error) {
	return []admin.ParkedHost{{Host: "a.example", Reason: "challenge", Since: time.Unix(0, 0).UTC(), Requests: 7}}, l.known(crawl)
}

func (l *lot) Park(_ context.Context, crawl string, hosts []string, reason string) (int, error) {
	if hosts[0] == "bad" {
		return 0, fmt.Errorf("host: %w", admin.ErrInvalid)
	}
	l.told = append(l.told, "park "+strings.Join(hosts, " ")+": "+reason)
	return len(hosts), l.known(crawl)
}

func (l *lot) Release(_ context.Context, crawl string, hosts []string) (released, requests int, err error) {
	l.told = append(l.told, "release "+strings.Join(hosts, " "))
	return 1, 7, l.known(crawl)
}

func TestParking(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, path, body string
		status                   int
		want, told               string
	}{
		{"list", "GET", "x/parked", "", 200, `{"hosts": [{"host": "a.example", "reason": "challenge", "since": "1970-01-01T00:00:00Z", "requests": 7}]}`, ""},
		{"list of no crawl", "GET", "y/parked", "", 404, "", ""},
		{"park", "POST", "x/park", `{"hosts": ["a", "b"], "reason": "why"}`, 200, `{"parked": 2}`, "park a b: why"},
		{"park nobody", "POST", "x/park", `{}`, 400, "", ""},
		{"park all", "POST", "x/park", `{"hosts": ["a"], "all": true}`, 400, "", ""},
		{"park no host", "POST", "x/park", `{"hosts": ["bad"]}`, 400, "", ""},
		{"park by GET", "GET", "x/park", "", 405, "", ""},
		{"release", "POST", "x/release", `{"hosts": ["a"]}`, 200, `{"hosts": 1, "requests": 7}`, "release a"},
		{"release all", "POST", "x/release", `{"all": true}`, 200, `{"hosts": 1, "requests": 7}`, "release "},
		{"release both", "POST", "x/release", `{"hosts": ["a"], "all": true}`, 400, "", ""},
		{"release nothing", "POST", "x/release", `{}`, 400, "", ""},
		{"no JSON", "POST", "x/release", `hosts`, 400, "", ""},
		{"unknown key", "POST", "x/release", `{"host": "a"}`, 400, "", ""},
		{"two objects", "POST", "x/release", `{"all": true}{}`, 400, "", ""},
		{"too many", "POST", "x/release", `{"hosts": [` + strings.Repeat(`"a",`, 1000) + `"a"]}`, 400, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := &lot{}
			w := park(t, l, tt.method, tt.path, tt.body, "application/json")
			require.Equal(t, tt.status, w.Code, w.Body.String())
			if tt.want != "" {
				require.JSONEq(t, tt.want, w.Body.String())
			}
			require.Equal(t, tt.told, strings.Join(l.told, ";"))
		})
	}
	require.Equal(t, 415, park(t, &lot{}, "POST", "x/release", `{"all": true}`, "text/plain").Code)
	require.Equal(t, 404, call(t, &backend{}, "GET", "/api/v1/crawls/x/parked", "", nil).Code, "a node that does not park")
	require.Equal(t, 404, call(t, &backend{}, "POST", "/api/v1/crawls/x/park", `{"hosts": ["a"]}`, nil).Code)
}

func park(t *testing.T, l *lot, method, path, body, contentType string) *httptest.ResponseRecorder {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	b := &backend{}
	s, err := admin.New(admin.Config{Address: "127.0.0.1:0"}, admin.Deps{
		Inspector: b, Crawler: b, Cluster: b, Parker: l, Metrics: prometheus.NewRegistry(), Log: log,
	})
	require.NoError(t, err)
	r := httptest.NewRequest(method, "/api/v1/crawls/"+path, strings.NewReader(body))
	r.Host = "127.0.0.1:6080"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}
