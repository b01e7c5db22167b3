package policy

import (
	"strconv"

	"orbweaver/core/crawl"
)

// Stat is an addition to one counter.
type Stat struct {
	Name string
	N    int64
}

// Counter names, Scrapy's where it has the counter, that more than one part of the
// crawler uses.
const (
	StatItemScraped       = "item_scraped_count"
	StatResponseReceived  = "response_received_count"
	StatDupeFiltered      = "dupefilter/filtered"
	StatOffsiteFiltered   = "offsite/filtered"
	StatURLLengthIgnored  = "urllength/request_ignored_count"
	StatRobotsForbidden   = "robotstxt/forbidden"
	StatMetaNoindex       = "metarobots/noindex"  // pages of which no item was made because they asked so
	StatMetaNofollow      = "metarobots/nofollow" // pages whose links were not followed because they asked so
	StatRequestDepthMax   = "request_depth_max"   // a maximum, not a sum
	StatRequestDepthCount = "request_depth_count/"
)

const (
	statRequests       = "downloader/request_count"
	statRequestBytes   = "downloader/request_bytes"
	statMethod         = "downloader/request_method_count/"
	statMethodGet      = statMethod + "GET"
	statResponses      = "downloader/response_count"
	statResponseBytes  = "downloader/response_bytes"
	statStatus         = "downloader/response_status_count/"
	statExceptions     = "downloader/exception_count"
	statExceptionType  = "downloader/exception_type_count/"
	statRetries        = "retry/count"
	statRetryReason    = "retry/reason_count/"
	statRetryMax       = "retry/max_reached"
	statIgnored        = "httperror/response_ignored_count"
	statIgnoredStatus  = "httperror/response_ignored_status_count/"
	statRobotsRequests = "robotstxt/request_count"
	statRobotsAnswers  = "robotstxt/response_count"
	statRobotsStatus   = "robotstxt/response_status_count/"
	statRobotsFailure  = "robotstxt/exception_count/"
)

func (p *Policy) nameStatuses() {
	for s := 100; s < statusLimit; s++ {
		p.statusNames[s] = statStatus + strconv.Itoa(s)
	}
}

func (p *Policy) statusName(status int) string {
	if status >= 100 && status < statusLimit {
		return p.statusNames[status]
	}
	return statStatus + strconv.Itoa(status)
}

// AppendStats appends to dst what the fetch of req, which wrote requestBytes to
// the site, ended in resp and was decided as a, adds to the counters. The names
// are Scrapy's; where Scrapy puts the class of an exception stands the cause.
// The page that most fetches bring costs no allocation beyond dst.
func (p *Policy) AppendStats(dst []Stat, req *crawl.Request, resp *crawl.Response, requestBytes int64, a Action) []Stat {
	if wasRequested(resp) {
		method := statMethodGet
		if m := req.MethodOrGet(); m != "GET" {
			method = statMethod + m
		}
		dst = append(dst, Stat{statRequests, 1}, Stat{method, 1}, Stat{statRequestBytes, requestBytes})
	}
	if resp.Cause != crawl.CauseNone {
		if a.Kind != Giveback {
			dst = append(dst, Stat{statExceptions, 1}, Stat{statExceptionType + string(resp.Cause), 1})
		}
	} else {
		dst = append(dst, Stat{statResponses, 1}, Stat{p.statusName(resp.Status), 1}, Stat{statResponseBytes, resp.Wire})
		if a.Kind != Retry && a.Kind != Redirect && a.Cause != crawl.CauseRedirects {
			dst = append(dst, Stat{StatResponseReceived, 1})
		}
	}
	if a.Kind == Retry {
		dst = append(dst, Stat{statRetries, 1}, Stat{statRetryReason + a.Reason, 1})
	}
	if a.exhausted {
		dst = append(dst, Stat{statRetryMax, 1})
	}
	for _, name := range resp.Counted {
		dst = append(dst, Stat{name, 1})
	}
	if a.Kind == Ignore && resp.Cause == crawl.CauseNone || a.Kind == Dead && a.Cause == crawl.CauseStatus {
		dst = append(dst, Stat{statIgnored, 1}, Stat{statIgnoredStatus + strconv.Itoa(resp.Status), 1})
	}
	return dst
}

// wasRequested reports whether the fetch counts as a request of the downloader:
// it was at least begun.
func wasRequested(resp *crawl.Response) bool {
	switch resp.Cause {
	case crawl.CauseForbidden, crawl.CauseBadURL, crawl.CauseCancelled, crawl.CauseTooLate, crawl.CauseRobots, crawl.CauseMissing:
		return !resp.SentAt.IsZero()
	default:
		return true
	}
}

// AppendRobotsStats appends what a fetch of robots.txt adds to the counters, on
// top of what AppendStats gives for any fetch.
func AppendRobotsStats(dst []Stat, resp *crawl.Response) []Stat {
	dst = append(dst, Stat{statRobotsRequests, 1})
	if resp.Cause != crawl.CauseNone {
		return append(dst, Stat{statRobotsFailure + string(resp.Cause), 1})
	}
	return append(dst, Stat{statRobotsAnswers, 1}, Stat{statRobotsStatus + strconv.Itoa(resp.Status), 1})
}
