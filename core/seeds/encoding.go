package seeds

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// decode gives the text of a payload; bytes that do not decode are an error.
func decode(payload []byte, name string) (string, error) {
	enc, err := lookup(name)
	if err != nil {
		return "", err
	}
	if enc == nil {
		if !utf8.Valid(payload) {
			return "", fmt.Errorf("%w (utf-8)", ErrEncoding)
		}
		return string(payload), nil
	}
	out, err := enc.NewDecoder().Bytes(payload)
	if err != nil || strings.ContainsRune(string(out), utf8.RuneError) {
		return "", fmt.Errorf("%w (%s)", ErrEncoding, name)
	}
	return string(out), nil
}

// CheckEncoding reports whether Parse knows an encoding, by its Python or HTML
// name; "" is UTF-8.
func CheckEncoding(name string) error {
	_, err := lookup(name)
	return err
}

// lookup finds an encoding; nil is UTF-8.
func lookup(name string) (encoding.Encoding, error) {
	key := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
	switch key {
	case "", "utf-8", "utf8", "ascii", "us-ascii":
		return nil, nil //nolint:nilnil // nil is UTF-8; ASCII is part of it
	case "latin-1", "latin1", "iso-8859-1", "iso8859-1", "l1": // HTML means windows-1252 by these
		return charmap.ISO8859_1, nil
	}
	for _, k := range []string{key, strings.ReplaceAll(key, "-", "_"), strings.Replace(key, "cp", "windows-", 1)} {
		if enc, err := htmlindex.Get(k); err == nil {
			return enc, nil
		}
	}
	return nil, fmt.Errorf("unknown encoding %q", name)
}
