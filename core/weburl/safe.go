package weburl

import (
	"fmt"
	"strings"

	"golang.org/x/text/encoding"
)

// SafeURL is w3lib's safe_url_string (2.4): the URL with every byte escaped that
// some standard finds unsafe, existing escapes kept, host and scheme in lower
// case, the host through IDNA 2003 where that takes it. encoding is that of the
// page, for query and fragment, by its Python or HTML name; "" is UTF-8.
//
// Errors: a port that is no number (ErrPort), a character that the encoding
// does not have (ErrEncoding), an unknown encoding, brackets without partner.
// A clean URL costs no allocation.
func SafeURL(url, encoding string) (string, error) {
	return safeURL(url, encoding, newest)
}

func safeURL(url, encodingName string, d dialect) (string, error) {
	enc, err := findEncoding(encodingName)
	if err != nil {
		return "", fmt.Errorf("weburl: clean %q: %w", clip(url), err)
	}
	if isPlain(url) && !changesASCII(enc) {
		return url, nil
	}
	p, err := safeParts(url, enc, d)
	if err != nil {
		return "", fmt.Errorf("weburl: clean %q: %w", clip(url), err)
	}
	return p.join(), nil
}

// changesASCII reports whether ASCII text is something else in the encoding.
func changesASCII(enc encoding.Encoding) bool {
	if enc == nil {
		return false
	}
	const sample = "?a=1&b~\\"
	out, err := encode(sample, enc)
	return err != nil || out != sample
}

func safeParts(url string, enc encoding.Encoding, d dialect) (parts, error) {
	url = strip(url)
	if d == newest {
		url = forwardSlashes(url)
	}
	p, err := split(url)
	if err != nil {
		return p, err
	}
	if p.netloc, err = safeNetloc(p.netloc, d); err != nil {
		return p, err
	}
	p.path = quote(p.path, safePath)
	keep := safePath
	if isSpecial(p.scheme) {
		keep = safeQuery
	}
	if p.query, err = quoteIn(p.query, enc, keep); err != nil {
		return p, err
	}
	p.fragment, err = quoteIn(p.fragment, enc, safePath)
	return p, err
}

// forwardSlashes turns the backslashes before query and fragment of a special
// scheme's URL, as browsers do.
func forwardSlashes(url string) string {
	scheme, _, ok := cutScheme(url)
	if !ok || !isSpecial(strings.ToLower(scheme)) {
		return url
	}
	end := strings.IndexAny(url, "?#")
	if end < 0 {
		end = len(url)
	}
	if strings.IndexByte(url[:end], '\\') < 0 {
		return url
	}
	return strings.ReplaceAll(url[:end], `\`, "/") + url[end:]
}

func safeNetloc(s string, d dialect) (string, error) {
	n, err := splitNetloc(s, d)
	if err != nil {
		return "", err
	}
	var buf [stackBytes]byte
	b := buf[:0]
	if n.hasUser {
		b = appendQuoted(b, unquoted(n.user), safeUser)
		if n.hasPassword {
			b = append(b, ':')
			b = appendQuoted(b, unquoted(n.password), safeUser)
		}
		b = append(b, '@')
	}
	if d == newest && strings.IndexByte(n.host, ':') >= 0 {
		b = append(b, '[')
		b = append(b, n.host...)
		b = append(b, ']')
	} else if host, err := idna2003(n.host); err == nil {
		b = append(b, host...)
	} else {
		b = append(b, n.host...)
	}
	if n.port >= 0 {
		b = appendInt(append(b, ':'), n.port)
	}
	return string(b), nil
}

// quote escapes what keep does not name; s itself when there is nothing to do.
func quote(s string, keep uint16) string {
	for i := range len(s) {
		if class[s[i]]&keep == 0 {
			return string(appendQuoted(make([]byte, 0, len(s)+16), s, keep))
		}
	}
	return s
}

func quoteIn(s string, enc encoding.Encoding, keep uint16) (string, error) {
	s, err := encode(s, enc)
	if err != nil {
		return "", err
	}
	return quote(s, keep), nil
}
