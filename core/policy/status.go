package policy

import "strconv"

// statusLimit is one past the greatest status there is.
const statusLimit = 1000

// statusSet is a set of HTTP statuses.
type statusSet [(statusLimit + 63) / 64]uint64

func (s *statusSet) add(codes []int) {
	for _, c := range codes {
		s[c/64] |= 1 << (c % 64)
	}
}

func (s *statusSet) has(status int) bool {
	return status >= 0 && status < statusLimit && s[status/64]&(1<<(status%64)) != 0
}

// statusReason is the status as Scrapy's counters and logs write it, with the
// names of Twisted: what it does not know is "Unknown Status" there (429 too).
func statusReason(status int) string {
	text := "Unknown Status"
	switch status {
	case 301:
		text = "Moved Permanently"
	case 302:
		text = "Found"
	case 303:
		text = "See Other"
	case 304:
		text = "Not Modified"
	case 307:
		text = "Temporary Redirect"
	case 308:
		text = "Permanent Redirect"
	case 400:
		text = "Bad Request"
	case 401:
		text = "Unauthorized"
	case 402:
		text = "Payment Required"
	case 403:
		text = "Forbidden"
	case 404:
		text = "Not Found"
	case 405:
		text = "Method Not Allowed"
	case 406:
		text = "Not Acceptable"
	case 408:
		text = "Request Time-out"
	case 409:
		text = "Conflict"
	case 410:
		text = "Gone"
	case 500:
		text = "Internal Server Error"
	case 501:
		text = "Not Implemented"
	case 502:
		text = "Bad Gateway"
	case 503:
		text = "Service Unavailable"
	case 504:
		text = "Gateway Time-out"
	}
	return strconv.Itoa(status) + " " + text
}
