package spider

import "strconv"

// Default is the spider of a crawl that names none: it follows the links of an
// HTML page, and it keeps one item a page with the keys url, status, title,
// depth and fetched_at (UTC, milliseconds), in that order. A page may ask for
// neither by meta robots elements and X-Robots-Tag fields.
type Default struct {
	Links        LinkRule // which links are followed
	RobotsToken  string   // our product token in the page's directives (robots.Token); "" is none
	IgnoreRobots bool     // do not obey them
}

// Parse implements Spider; it never fails.
func (d Default) Parse(p *Page, out *Result) error {
	if !d.IgnoreRobots {
		out.Asked = p.Doc.Robots(d.RobotsToken)
	}
	if !out.Asked.Nofollow {
		out.Links = p.Doc.AppendLinks(out.Links, d.Links)
	}
	if !out.Asked.Noindex {
		out.Items = append(out.Items, item(p))
	}
	return nil
}

func item(p *Page) []byte {
	url := p.Response.URL
	if url == "" {
		url = p.Request.URL
	}
	title := p.Doc.Title()
	// One allocation an item: the bytes leave with the item.
	b := make([]byte, 0, 112+len(url)+len(title))
	b = append(b, `{"url": `...)
	b = appendString(b, url)
	b = append(b, `, "status": `...)
	b = strconv.AppendInt(b, int64(p.Response.Status), 10)
	b = append(b, `, "title": `...)
	b = appendString(b, title)
	b = append(b, `, "depth": `...)
	b = strconv.AppendInt(b, int64(p.Request.Depth), 10)
	b = append(b, `, "fetched_at": "`...)
	b = p.FetchedAt().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	return append(b, `"}`...)
}
