package admin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"

	"orbweaver/core/seeds"
)

// seedResult answers a POST of seeds.
type seedResult struct {
	Error    *errorDetail   `json:"error,omitempty"` // when none was accepted
	Accepted int            `json:"accepted"`
	Refused  int            `json:"refused"`  // how many were not accepted
	Rejected []rejectedSeed `json:"rejected"` // the first of them, by position
}

// listedRejects bounds the list of an answer.
const listedRejects = 1000

// rejectedSeed is a seed that was not taken.
type rejectedSeed struct {
	Position int    `json:"position"` // in the array, from 0; in a text, the line, from 1
	Seed     string `json:"seed"`     // its beginning
	Reason   string `json:"reason"`
}

// seedBatch is the seeds of a body: those that seeds.Parse reads, and the others.
type seedBatch struct {
	payloads  [][]byte
	positions []int // of payloads
	rejected  []rejectedSeed
	refused   int
}

// add takes one seed; bad is why it is none already.
func (b *seedBatch) add(position int, payload []byte, bad error) {
	if bad == nil {
		_, bad = seeds.Parse(payload, "")
	}
	if bad != nil {
		b.reject(position, payload, bad)
		return
	}
	b.payloads = append(b.payloads, payload)
	b.positions = append(b.positions, position)
}

func (b *seedBatch) reject(position int, payload []byte, err error) {
	b.refused++
	if len(b.rejected) >= listedRejects {
		return
	}
	b.rejected = append(b.rejected, rejectedSeed{Position: position, Seed: clip(string(payload)), Reason: err.Error()})
}

func (s *Server) seed(w http.ResponseWriter, r *http.Request) {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/json" && mediaType != "text/plain" {
		writeError(w, http.StatusUnsupportedMediaType, "content_type",
			"want Content-Type application/json (an array of seeds) or text/plain (one seed a line)")
		return
	}
	body := http.MaxBytesReader(w, r.Body, s.cfg.SeedLimitBytes)
	var batch seedBatch
	if mediaType == "text/plain" {
		err = seeds.ReadLines(body, func(line int, payload []byte, bad error) error {
			batch.add(line, bytes.Clone(payload), bad)
			return nil
		})
	} else {
		err = readSeedArray(body, &batch)
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		writeError(w, http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body is over %d bytes: send it in parts", tooLarge.Limit))
		return
	case err != nil:
		writeError(w, http.StatusBadRequest, "body", err.Error())
		return
	}
	s.answerSeeds(w, r, &batch)
}

// answerSeeds hands the batch to the crawl and says what became of it.
func (s *Server) answerSeeds(w http.ResponseWriter, r *http.Request, batch *seedBatch) {
	accepted := len(batch.payloads)
	if accepted > 0 {
		refused, err := s.deps.Crawler.Seed(r.Context(), r.PathValue("name"), batch.payloads)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		for i, err := range refused {
			if err != nil {
				accepted--
				batch.reject(batch.positions[i], batch.payloads[i], err)
			}
		}
	}
	slices.SortStableFunc(batch.rejected, func(a, b rejectedSeed) int { return cmp.Compare(a.Position, b.Position) })
	result := seedResult{Accepted: accepted, Refused: batch.refused, Rejected: orEmpty(batch.rejected)}
	status := http.StatusOK
	if accepted == 0 {
		status = http.StatusUnprocessableEntity
		result.Error = &errorDetail{Code: "no_seeds", Message: "no seed was accepted"}
	}
	writeJSON(w, status, result)
}

// readSeedArray reads an array of strings (URLs, or messages) and objects.
func readSeedArray(r io.Reader, batch *seedBatch) error {
	dec := json.NewDecoder(r)
	open, err := dec.Token()
	if err != nil {
		return wrapJSON(err)
	}
	if open != json.Delim('[') {
		return errors.New("the body is not a JSON array of seeds")
	}
	for i := 0; dec.More(); i++ {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return wrapJSON(err)
		}
		var text string
		switch {
		case raw[0] == '{':
			batch.add(i, raw, nil)
		case json.Unmarshal(raw, &text) == nil && raw[0] == '"':
			batch.add(i, []byte(text), nil)
		default:
			batch.reject(i, raw, errors.New("a seed is a string or an object"))
		}
	}
	if _, err := dec.Token(); err != nil {
		return wrapJSON(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("text after the array")
		}
		return wrapJSON(err)
	}
	return nil
}

func wrapJSON(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the body is not a JSON array of seeds: %w", err)
}
