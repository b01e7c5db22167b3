package sitemap

import (
	"bytes"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Open gives the XML of a response that may be a sitemap, by the rule of Scrapy's
// SitemapSpider: what is XML by its Content-Type, else by its URL's extension or
// its first bytes, as it is; else what begins as a gzip file does, unpacked while
// it is read; else what is named .xml or .xml.gz, as it is. ok is false for
// anything else. Of a damaged gzip file the reader gives what can be read.
func Open(url, contentType string, body []byte) (r io.Reader, gzipped, ok bool) {
	switch {
	case isXML(url, contentType, body):
		return bytes.NewReader(body), false, true
	case bytes.HasPrefix(body, []byte("\x1f\x8b\x08")):
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return bytes.NewReader(nil), true, true
		}
		return z, true, true
	case strings.HasSuffix(url, ".xml"), strings.HasSuffix(url, ".xml.gz"):
		return bytes.NewReader(body), false, true
	default:
		return nil, false, false
	}
}

// isXML says what scrapy.responsetypes does of XmlResponse.
func isXML(url, contentType string, body []byte) bool {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	switch mediaType {
	case "application/xml", "text/xml", "application/atom+xml", "application/rdf+xml", "application/rss+xml":
		return true
	case "application/xhtml+xml", "application/vnd.wap.xhtml+xml", "application/json", "application/x-json",
		"application/javascript", "application/x-javascript", "application/json-amazonui-streaming":
		return false
	}
	if strings.HasPrefix(mediaType, "text/") {
		return false
	}
	switch name := url[strings.LastIndexByte(url, '/')+1:]; strings.ToLower(name[strings.LastIndexByte(name, '.')+1:]) {
	case "xml", "xsl", "rdf", "rss", "atom", "wsdl", "xpdl":
		return strings.IndexByte(name, '.') >= 0
	case "html", "htm", "xhtml", "txt", "json", "js", "css", "csv":
		if strings.IndexByte(name, '.') >= 0 {
			return false
		}
	}
	return beginsXML(body)
}

// beginsXML reports whether text holds an XML declaration near its beginning.
func beginsXML(body []byte) bool {
	const enough = 5000
	head := body[:min(len(body), enough)]
	for _, c := range head {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != 0 { // a NUL may be UTF-16
			return false
		}
	}
	head = bytes.ToLower(head)
	return bytes.Contains(head, []byte("<?xml")) && !bytes.Contains(head, []byte("<html>"))
}
