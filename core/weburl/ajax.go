package weburl

import "strings"

const ajaxParameter = "_escaped_fragment_"

// escapeAjax is what Scrapy up to 2.8 did to "#!state" when it made a Request:
// the state becomes the query argument _escaped_fragment_.
func escapeAjax(url string) string {
	before, state, ok := strings.Cut(url, "#!")
	if !ok || strings.IndexByte(before, '#') >= 0 {
		return url
	}
	p, err := split(before)
	if err != nil {
		return url
	}
	if path, params, has := cutParams(p); has && params == "" {
		p.path = path // Python's urldefrag loses the ';' of empty params
	}
	var b []byte
	argument := func(key, value string) {
		if len(b) > 0 {
			b = append(b, '&')
		}
		b = append(appendPlus(b, []byte(key)), '=')
		b = appendPlus(b, []byte(value))
	}
	found := false
	for piece := range strings.SplitSeq(p.query, "&") {
		if piece == "" {
			continue
		}
		k, v, _ := strings.Cut(piece, "=")
		key := strings.ToValidUTF8(string(unplus(k)), "\uFFFD")
		switch {
		case key != ajaxParameter:
			argument(key, strings.ToValidUTF8(string(unplus(v)), "\uFFFD"))
		case !found:
			argument(key, state)
			found = true
		}
	}
	if !found {
		argument(ajaxParameter, state)
	}
	p.query = string(b)
	return p.join()
}
