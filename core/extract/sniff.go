package extract

import (
	"bytes"
	"strings"

	"orbweaver/core/charset"
)

// isHTML reports whether a body is HTML: by its Content-Type, or by its first
// bytes when the header is missing or says nothing.
func isHTML(contentType string, body []byte) bool {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.TrimSpace(mediaType)
	// "text/html charset=utf-8", without the semicolon, is seen in the wild.
	if i := strings.IndexAny(mediaType, " ,"); i >= 0 {
		mediaType = mediaType[:i]
	}
	switch {
	case strings.EqualFold(mediaType, "text/html"), strings.EqualFold(mediaType, "application/xhtml+xml"):
		return true
	case strings.IndexByte(mediaType, '/') < 0,
		mediaType == "*/*",
		strings.EqualFold(mediaType, "unknown/unknown"),
		strings.EqualFold(mediaType, "application/unknown"):
		return looksHTML(body)
	default:
		return false
	}
}

// openings are the tags by which HTML is known (MIME Sniffing, 7.1).
//
//nolint:gochecknoglobals // a constant table
var openings = [...]string{
	"<!doctype html", "<html", "<head", "<script", "<iframe", "<h1", "<div", "<font", "<table", "<a",
	"<style", "<title", "<b", "<body", "<br", "<p", "<meta", "<link", "<base",
}

// looksHTML reports whether body begins as an HTML page does.
func looksHTML(body []byte) bool {
	e, n := charset.Mark(body)
	const enough = 512
	head := body[n:min(len(body), n+enough)]
	if e.Wide() {
		head = e.Decode(head)
	}
	head = bytes.TrimLeft(head, " \t\r\n\f")
	for _, o := range openings {
		if len(head) > len(o) && (head[len(o)] == ' ' || head[len(o)] == '>') && foldedPrefix(head, o) {
			return true
		}
	}
	if bytes.HasPrefix(head, []byte("<!--")) {
		return true
	}
	return bytes.HasPrefix(head, []byte("<?xml")) && bytes.Contains(bytes.ToLower(head), []byte("<html"))
}

// foldedPrefix reports whether b begins with the lower-case text in any case.
func foldedPrefix(b []byte, lower string) bool {
	return len(b) >= len(lower) && equalFold(b[:len(lower)], lower)
}
