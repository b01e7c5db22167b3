// Package seeds reads where crawls start: the messages of a start_urls key, as
// scrapy-redis reads them (Parse), and seed files (ReadLines). It stores and
// fetches nothing.
package seeds

import (
	"errors"
	"fmt"
	"strings"

	"orbweaver/core/crawl"
	"orbweaver/core/weburl"
)

// Bounds of foreign input.
const (
	PayloadLimitBytes = 1 << 20  // one message, one line of a seed file
	URLLimitBytes     = 16 << 10 // a seed's URL; servers take 8 KiB or so
)

// Why a message is no seed. Other errors of Parse say what is wrong in words.
var (
	ErrTooLong  = errors.New("longer than a seed may be")
	ErrEncoding = errors.New("not in the encoding of the seeds")
	ErrNoURL    = errors.New("no url")
)

// Parse reads one start_urls message by the rules of scrapy-redis: text that is
// not JSON is a URL; JSON is an object with these keys.
//
//   - url, required
//   - method, default GET
//   - meta, an object that goes with the request. Its depth counts as the
//     request's, its keys that policy knows (dont_retry, ...) are obeyed, and
//     under "orbweaver" it may hold {"priority": N, "headers": {NAME: VALUE}}:
//     anywhere else they would be form fields to scrapy-redis.
//   - every other key is a form field: a string, a list of strings, or an object,
//     which stands for its keys. For POST they are the urlencoded body, for other
//     methods the query in place of the URL's own.
//
// encoding is the one of the payload (REDIS_ENCODING), by its Python or HTML
// name; "" is UTF-8. The request has a clean http or https URL (see
// weburl.Clean), Seed and DontFilter set, and no ID.
func Parse(payload []byte, encoding string) (*crawl.Request, error) {
	if len(payload) > PayloadLimitBytes {
		return nil, fmt.Errorf("seeds: read message of %d bytes: %w", len(payload), ErrTooLong)
	}
	text, err := decode(payload, encoding)
	if err != nil {
		return nil, fmt.Errorf("seeds: read message: %w", err)
	}
	req, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("seeds: read %s: %w", clip(text), err)
	}
	return req, nil
}

func parse(text string) (*crawl.Request, error) {
	fields, isObject, err := topLevel(text)
	if err != nil {
		return nil, err
	}
	if isObject {
		return fromObject(fields)
	}
	u, err := cleanURL(text)
	if err != nil {
		return nil, err
	}
	return &crawl.Request{URL: u, Method: "GET", Seed: true, DontFilter: true}, nil
}

// cleanURL gives the URL to request.
func cleanURL(raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return "", ErrNoURL
	}
	if len(raw) > URLLimitBytes {
		return "", fmt.Errorf("url of %d bytes: %w", len(raw), ErrTooLong)
	}
	u, err := weburl.Clean(raw)
	switch {
	case errors.Is(err, weburl.ErrRelative):
		return "", errors.New("url is not absolute: it begins with neither http:// nor https://")
	case err != nil:
		return "", fmt.Errorf("url: %w", reason(err))
	case len(u) > URLLimitBytes:
		return "", fmt.Errorf("url of %d bytes when escaped: %w", len(u), ErrTooLong)
	}
	return u, nil
}

// reason is the innermost error: the text around it repeats the URL.
func reason(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// clip quotes the beginning of a message for an error text.
func clip(s string) string {
	const limitBytes = 100
	if len(s) <= limitBytes {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q...", s[:limitBytes])
}
