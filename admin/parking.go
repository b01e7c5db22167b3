package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"
)

// Parker leaves hosts of a crawl alone, and lets them go on. A crawl that the node
// does not serve is ErrNotFound.
type Parker interface {
	Parked(ctx context.Context, crawl string) ([]ParkedHost, error)
	// Park reports how many of the hosts were not parked before.
	Park(ctx context.Context, crawl string, hosts []string, reason string) (int, error)
	// Release lets the requests of the hosts wait again; no hosts: of all that are
	// parked. It reports how many hosts and requests that were.
	Release(ctx context.Context, crawl string, hosts []string) (released, requests int, err error)
}

// ParkedHost is a host that is left alone.
type ParkedHost struct {
	Host     string    `json:"host"`
	Reason   string    `json:"reason"`
	Since    time.Time `json:"since"`
	Requests int64     `json:"requests"` // that wait for its release
}

// parkOrder is the body of a POST.
type parkOrder struct {
	Hosts  []string `json:"hosts"`
	All    bool     `json:"all"`    // release only
	Reason string   `json:"reason"` // park only
}

// maxParkOrder bounds the hosts of one order, and its bytes.
const (
	maxParkOrder      = 1000
	maxParkOrderBytes = 1 << 20
)

func (s *Server) parked(w http.ResponseWriter, r *http.Request) {
	if s.deps.Parker == nil {
		s.fail(w, r, fmt.Errorf("%w: this node does not park", ErrNotFound))
		return
	}
	hosts, err := s.deps.Parker.Parked(r.Context(), r.PathValue("name"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Hosts []ParkedHost `json:"hosts"`
	}{orEmpty(hosts)})
}

func (s *Server) park(w http.ResponseWriter, r *http.Request) {
	order, ok := s.readParkOrder(w, r)
	if !ok {
		return
	}
	if len(order.Hosts) == 0 || order.All {
		writeError(w, http.StatusBadRequest, "body", "want hosts, by name")
		return
	}
	n, err := s.deps.Parker.Park(r.Context(), r.PathValue("name"), order.Hosts, order.Reason)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Parked int `json:"parked"`
	}{n})
}

func (s *Server) release(w http.ResponseWriter, r *http.Request) {
	order, ok := s.readParkOrder(w, r)
	if !ok {
		return
	}
	if order.All == (len(order.Hosts) > 0) {
		writeError(w, http.StatusBadRequest, "body", "want hosts, or all")
		return
	}
	hosts, requests, err := s.deps.Parker.Release(r.Context(), r.PathValue("name"), order.Hosts)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Hosts    int `json:"hosts"`
		Requests int `json:"requests"`
	}{hosts, requests})
}

// readParkOrder reads the body; false: it has answered.
func (s *Server) readParkOrder(w http.ResponseWriter, r *http.Request) (order parkOrder, ok bool) {
	if s.deps.Parker == nil {
		s.fail(w, r, fmt.Errorf("%w: this node does not park", ErrNotFound))
		return order, false
	}
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		writeError(w, http.StatusUnsupportedMediaType, "content_type", "want Content-Type application/json")
		return order, false
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxParkOrderBytes))
	dec.DisallowUnknownFields()
	err := dec.Decode(&order)
	if err == nil && dec.More() {
		err = errors.New("text after the object")
	}
	if err == nil && len(order.Hosts) > maxParkOrder {
		err = fmt.Errorf("over %d hosts: send them in parts", maxParkOrder)
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, "body", err.Error())
		return order, false
	}
	return order, true
}
