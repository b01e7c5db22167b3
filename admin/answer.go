package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// errorBody is every answer that is an error.
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Code    string `json:"code"` // for programs
	Message string `json:"message"`
	Node    *Node  `json:"node,omitempty"` // who should be asked instead
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, errorBody{errorDetail{Code: code, Message: message}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only a number that JSON cannot hold
		status, body = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer cannot be written as JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client went away: nobody to tell
}

// fail answers with an error of the backend, and logs what is not the client's doing.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var elsewhere *ElsewhereError
	switch {
	case errors.As(err, &elsewhere):
		writeJSON(w, http.StatusNotFound, errorBody{errorDetail{Code: "elsewhere", Message: err.Error(), Node: &elsewhere.Owner}})
		return
	case errors.Is(err, ErrNotFound):
		writeError(w, http.StatusNotFound, "not_found", err.Error())
		return
	case errors.Is(err, ErrInvalid):
		writeError(w, http.StatusBadRequest, "invalid", err.Error())
		return
	case errors.Is(err, ErrUnavailable):
		writeError(w, http.StatusServiceUnavailable, "unavailable", err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		writeError(w, http.StatusGatewayTimeout, "timeout", "the node did not answer in time")
	default:
		writeError(w, http.StatusInternalServerError, "internal", err.Error())
	}
	s.deps.Log.WithField("path", r.URL.Path).WithField("err", err).Warn("admin request failed")
}

// allow lets only the given method pass; GET lets HEAD pass too.
func allow(method string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
			w.Header().Set("Allow", method)
			writeError(w, http.StatusMethodNotAllowed, "method", "use "+method)
			return
		}
		next(w, r)
	}
}

// recovered answers for a handler that panics, so that the client learns of it.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				s.deps.Log.WithField("path", r.URL.Path).WithField("panic", p).Error("admin request panicked")
				writeError(w, http.StatusInternalServerError, "internal", "the request failed")
			}
		}()
		next.ServeHTTP(w, r)
	})
}
