package admin

import (
	"context"
	"log"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler is everything that the endpoint serves.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", allow(http.MethodGet, s.health))
	mux.HandleFunc("/livez", allow(http.MethodGet, s.live))
	mux.HandleFunc("/readyz", allow(http.MethodGet, s.health))
	mux.HandleFunc("/metrics", allow(http.MethodGet, promhttp.HandlerFor(s.deps.Metrics, promhttp.HandlerOpts{
		ErrorLog:            log.New(logWriter{s.deps.Log}, "", 0),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
	}).ServeHTTP))
	mux.HandleFunc("/api/v1/actors", allow(http.MethodGet, s.actors))
	mux.HandleFunc("/api/v1/nodes", allow(http.MethodGet, s.nodes))
	mux.HandleFunc("/api/v1/domains", allow(http.MethodGet, s.domains))
	mux.HandleFunc("/api/v1/domains/{slot}", allow(http.MethodGet, s.domain))
	mux.HandleFunc("/api/v1/crawls", allow(http.MethodGet, s.crawls))
	mux.HandleFunc("/api/v1/crawls/{name}/seeds", allow(http.MethodPost, s.seed))
	mux.HandleFunc("/api/v1/crawls/{name}/parked", allow(http.MethodGet, s.parked))
	mux.HandleFunc("/api/v1/crawls/{name}/park", allow(http.MethodPost, s.park))
	mux.HandleFunc("/api/v1/crawls/{name}/release", allow(http.MethodPost, s.release))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "not_found", "no such path: "+clip(r.URL.Path))
	})
	return s.guard(s.recovered(s.bounded(mux)))
}

// bounded ends the context of a request when the node takes too long.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	if s.deps.Health != nil {
		if err := s.deps.Health(r.Context()); err != nil {
			writeError(w, http.StatusServiceUnavailable, "unhealthy", err.Error())
			return
		}
	}
	writeJSON(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}

// live answers as long as the process does.
func (s *Server) live(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}

func (s *Server) nodes(w http.ResponseWriter, r *http.Request) {
	list, err := s.deps.Cluster.Nodes(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Nodes []Node `json:"nodes"`
	}{orEmpty(list)})
}

func (s *Server) actors(w http.ResponseWriter, r *http.Request) {
	list, err := s.deps.Inspector.Actors(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	at := make(map[string]int, len(list))
	for i := range list {
		at[list[i].ID] = i
		list[i].Children = []string{}
	}
	for i := range list {
		if p, ok := at[list[i].Parent]; ok && p != i {
			list[p].Children = append(list[p].Children, list[i].ID)
		}
	}
	writeJSON(w, http.StatusOK, struct {
		Actors []Actor `json:"actors"`
	}{orEmpty(list)})
}

func (s *Server) domains(w http.ResponseWriter, r *http.Request) {
	q, err := readDomainQuery(r.URL.Query())
	if err != nil {
		writeError(w, http.StatusBadRequest, "query", err.Error())
		return
	}
	page, err := s.deps.Inspector.Domains(r.Context(), q)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page.Domains = orEmpty(page.Domains)
	writeJSON(w, http.StatusOK, page)
}

func (s *Server) domain(w http.ResponseWriter, r *http.Request) {
	d, err := s.deps.Inspector.Domain(r.Context(), r.PathValue("slot"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, d)
}

func (s *Server) crawls(w http.ResponseWriter, r *http.Request) {
	list, err := s.deps.Crawler.Crawls(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Crawls []Crawl `json:"crawls"`
	}{orEmpty(list)})
}

// orEmpty makes JSON show a list where there is none.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
