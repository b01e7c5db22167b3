package fetcher

import (
	"strings"

	"orbweaver/core/crawl"
	"orbweaver/core/throttle"
)

// rateLimitBytes is how much of a repeated field is kept.
const rateLimitBytes = 1024

// rateLimit gathers what a response's fields say of a limit on requests; nil, as with
// most: nothing.
func rateLimit(headers []crawl.Header) *throttle.RateLimitFields {
	var f *throttle.RateLimitFields
	for i := range headers {
		name := headers[i].Name
		if name == "" || name[0]|0x20 != 'r' && name[0]|0x20 != 'x' {
			continue
		}
		part, x, ok := rateLimitPart(name)
		if !ok {
			continue
		}
		if f == nil {
			f = &throttle.RateLimitFields{}
		}
		to := (*string)(nil)
		switch {
		case part == "" && !x:
			to = &f.RateLimit
		case strings.EqualFold(part, "-Policy") && !x:
			to = &f.Policy
		case strings.EqualFold(part, "-Limit"):
			to = &f.Limit
		case strings.EqualFold(part, "-Remaining"):
			to = &f.Remaining
		case strings.EqualFold(part, "-Reset"):
			to = &f.Reset
		default:
			continue
		}
		switch value := headers[i].Value; {
		case *to == "":
			*to = value
		case (to == &f.RateLimit || to == &f.Policy) && len(*to)+len(value) < rateLimitBytes:
			*to += ", " + value
		}
	}
	return f
}

// rateLimitPart is what follows RateLimit or X-RateLimit in a field's name.
func rateLimitPart(name string) (part string, x, ok bool) {
	const current, old = "RateLimit", "X-RateLimit"
	switch {
	case len(name) >= len(old) && strings.EqualFold(name[:len(old)], old):
		return name[len(old):], true, true
	case len(name) >= len(current) && strings.EqualFold(name[:len(current)], current):
		return name[len(current):], false, true
	}
	return "", false, false
}
