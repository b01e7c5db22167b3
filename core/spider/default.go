package spider

import "strconv"

// Default is the spider of a crawl that names none: it follows every link of an
// HTML page that is not marked nofollow, and it keeps one item a page with the
// keys url, status, title, depth and fetched_at (UTC, milliseconds), in that order.
type Default struct{}

// Parse implements Spider; it never fails.
func (Default) Parse(p *Page, out *Result) error {
	out.Links = p.Doc.AppendLinks(out.Links, LinkRule{})
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
	b = append(b, `"}`...)
	out.Items = append(out.Items, b)
	return nil
}
