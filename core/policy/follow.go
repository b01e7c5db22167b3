package policy

import "orbweaver/core/crawl"

// Refusal is why a link is not followed; "" means that it is.
type Refusal string

// The refusals. Scope and duplicates are judged elsewhere.
const (
	Followed Refusal = ""
	TooDeep  Refusal = "depth"     // past DEPTH_LIMIT
	TooLong  Refusal = "urllength" // past URLLENGTH_LIMIT
)

// Follow makes found, of which the spider set URL and maybe more, the index-th
// request that the page of parent produced: it sets ID, Depth and Referer and
// adjusts Priority. referrers is Referrers of that page. When it refuses, found is as
// it was.
func (p *Policy) Follow(parent *crawl.Request, referrers ReferrerPolicy, index uint32, found *crawl.Request) Refusal {
	depth := parent.Depth + 1
	if p.cfg.DepthLimit > 0 && int(depth) > p.cfg.DepthLimit {
		return TooDeep
	}
	if p.cfg.URLLengthLimit > 0 && len(found.URL) > p.cfg.URLLengthLimit {
		return TooLong
	}
	found.ID = crawl.DeriveID(parent.ID, index)
	found.Depth = depth
	found.Referer = p.referer(referrers, parent.URL, found.URL, found.Meta)
	if p.cfg.DepthPriority != 0 {
		found.Priority = addPriority(found.Priority, -int(depth)*p.cfg.DepthPriority)
	}
	return Followed
}
