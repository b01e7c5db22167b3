package extract

import (
	"bytes"
	"slices"
	"strings"

	"orbweaver/core/charset"
	"orbweaver/core/crawl"
)

// isHTML reports whether a response is HTML. As in Scrapy's ResponseTypes the
// Content-Type says so, then the name in the URL, then the body; unlike there a
// body that plainly is no text is not, whatever it is called.
func isHTML(resp *crawl.Response, url string) bool {
	body := resp.Body
	switch mediaType := mediaType(resp.Header("Content-Type")); {
	case oneOfFold(mediaType, "text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"):
		return !isBinary(body)
	case oneOfFold(mediaType, "text/xml", "application/xml"):
		return isXHTML(body)
	case oneOfFold(mediaType, "application/octet-stream", "binary/octet-stream"):
		// What servers say of files that they do not know.
		return !isAttachment(resp.Header("Content-Disposition")) && looksHTML(body)
	case strings.IndexByte(mediaType, '/') < 0, oneOfFold(mediaType, "*/*", "unknown/unknown", "application/unknown"):
		return looksHTML(body) || hasHTMLName(url) && isText(body) && !looksOther(body)
	default:
		return false
	}
}

// mediaType is the type of a Content-Type field without its parameters.
func mediaType(field string) string {
	t, _, _ := strings.Cut(field, ";")
	t = strings.TrimSpace(t)
	// "text/html charset=utf-8", without the semicolon, is seen in the wild.
	if i := strings.IndexAny(t, " ,"); i >= 0 {
		t = t[:i]
	}
	return t
}

func oneOfFold(s string, words ...string) bool {
	for _, w := range words {
		if strings.EqualFold(s, w) {
			return true
		}
	}
	return false
}

func isAttachment(disposition string) bool {
	kind, _, _ := strings.Cut(disposition, ";")
	return strings.EqualFold(strings.TrimSpace(kind), "attachment")
}

// hasHTMLName reports whether the URL's path ends like the name of an HTML file.
func hasHTMLName(url string) bool {
	if end := strings.IndexAny(url, "?#"); end >= 0 {
		url = url[:end]
	}
	dot := strings.LastIndexByte(url, '.')
	return dot >= 0 && oneOfFold(url[dot+1:], "html", "htm", "xhtml", "shtml", "xht")
}

// sniffBytes is how much of a body is looked at.
const sniffBytes = 512

// isText reports whether a body begins without bytes that text has not (MIME
// Sniffing, 7.2); an empty body is none.
func isText(body []byte) bool {
	if _, n := charset.Mark(body); n > 0 {
		return true
	}
	for _, c := range body[:min(len(body), sniffBytes)] {
		if c < ' ' && c != '\t' && c != '\n' && c != '\f' && c != '\r' && c != 0x1b {
			return false
		}
	}
	return len(body) > 0
}

// looksOther reports whether a text is of a kind that is not HTML: JSON, XML, PDF.
func looksOther(body []byte) bool {
	head := sniffed(body)
	return isBinary(body) || len(head) > 0 && (head[0] == '{' || head[0] == '[') || bytes.HasPrefix(head, []byte("<?xml"))
}

// signatures begin files that are sent as text/html by mistake (MIME Sniffing, 6).
// None of them can begin a page.
//
//nolint:gochecknoglobals // a constant table
var signatures = [...]string{
	"%PDF-", "%!PS-Adobe-", "\x89PNG\r\n\x1a\n", "GIF87a", "GIF89a", "\xff\xd8\xff", "PK\x03\x04", "\x1f\x8b\x08", "Rar!\x1a\x07",
	"7z\xbc\xaf\x27\x1c", "\xfd7zXZ\x00", "OggS\x00", "\x1aE\xdf\xa3", "wOFF", "wOF2", "\x7fELF", "II*\x00", "MM\x00*", "\x00\x00\x01\x00", "\x00asm",
	"SQLite format 3\x00",
}

// isBinary reports whether a body is a file that is no page.
func isBinary(body []byte) bool {
	if len(body) == 0 || body[0] == '<' || class[body[0]]&space != 0 {
		return false
	}
	for _, s := range signatures {
		if body[0] == s[0] && string(body[:min(len(s), len(body))]) == s {
			return true
		}
	}
	if len(body) < 12 {
		return false
	}
	return string(body[:4]) == "RIFF" && slices.Contains([]string{"WEBP", "WAVE", "AVI "}, string(body[8:12])) || string(body[4:8]) == "ftyp" && body[0] == 0
}

// isXHTML reports whether an XML body has the root element of a page.
func isXHTML(body []byte) bool {
	head := sniffed(body)
	k := bytes.Index(head, []byte("<html"))
	return k >= 0 && bytes.Contains(head[k:], []byte("http://www.w3.org/1999/xhtml"))
}

// sniffed is the beginning of a body as text, without white space before it.
func sniffed(body []byte) []byte {
	e, n := charset.Mark(body)
	head := body[n:min(len(body), n+sniffBytes)]
	if e.Wide() {
		head = e.Decode(head)
	}
	return bytes.TrimLeft(head, " \t\r\n\f")
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
	head := sniffed(body)
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
