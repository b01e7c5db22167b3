package spider

import (
	"regexp"
	"slices"
	"strings"

	"orbweaver/core/weburl"
)

// LinkRule says which links of a page are wanted, as the arguments of Scrapy's
// LinkExtractor do. The zero value is the product's default. A rule is not
// changed once in use; it may be used concurrently.
type LinkRule struct {
	// Nofollow also takes links marked rel=nofollow, as Scrapy does. Default
	// false: the site asked not to follow them.
	Nofollow bool
	// Invisible also takes links that a visitor cannot see, as Scrapy does: the
	// element or one around it has the attribute hidden, or display:none or
	// visibility:hidden in its style attribute. Default false: such links are
	// mostly there to catch crawlers.
	Invisible bool

	// Tags and Attrs are the elements and attributes, in lower case, whose
	// values are links. Nil: a and area, and href. Others than the default cost
	// a second reading of the page.
	Tags, Attrs []string

	// Allow and Deny are searched for in the absolute URL: one of Allow must be
	// found, none of Deny may. Empty Allow allows all.
	Allow, Deny []*regexp.Regexp
	// AllowDomains and DenyDomains hold for the domains, in lower case, and all
	// below them. Empty AllowDomains allows all.
	AllowDomains, DenyDomains []string
	// DenyExtensions refuses URLs by the end of their path. Nil: Scrapy's list,
	// IgnoredExtensions; one that is empty but not nil refuses none.
	DenyExtensions Extensions

	// Canonicalize gives URLs in w3lib's canonical form. Default false: sites
	// exist that answer another spelling otherwise.
	Canonicalize bool
	// KeepFragments gives URLs with their fragments, and links to the page
	// itself too, as Scrapy does. Two links that differ by fragment are two.
	KeepFragments bool
	// Repeats gives a link each time that it stands on the page.
	Repeats bool
}

// Admits reports whether the rule's filters let the absolute URL of a link pass.
func (r *LinkRule) Admits(url string) bool {
	if len(r.Allow) > 0 || len(r.Deny) > 0 {
		found := func(re *regexp.Regexp) bool { return re.MatchString(url) }
		if len(r.Allow) > 0 && !slices.ContainsFunc(r.Allow, found) || slices.ContainsFunc(r.Deny, found) {
			return false
		}
	}
	if len(r.AllowDomains) > 0 || len(r.DenyDomains) > 0 {
		host := weburl.Host(url)
		below := func(domain string) bool {
			return strings.HasSuffix(host, domain) && (len(host) == len(domain) || host[len(host)-len(domain)-1] == '.')
		}
		if len(r.AllowDomains) > 0 && !slices.ContainsFunc(r.AllowDomains, below) || slices.ContainsFunc(r.DenyDomains, below) {
			return false
		}
	}
	extensions := r.DenyExtensions
	if extensions == nil {
		extensions = ignored
	}
	return !extensions.End(url)
}

// Extensions is a set of file name extensions, without the leading dot, in lower
// case. A nil set is empty.
type Extensions map[string]struct{}

// NewExtensions makes the set of the names, which may be in any case and may
// begin with a dot. It is never nil.
func NewExtensions(names []string) Extensions {
	e := make(Extensions, len(names))
	for _, n := range names {
		if n = strings.ToLower(strings.TrimPrefix(n, ".")); n != "" {
			e[n] = struct{}{}
		}
	}
	return e
}

// longestExtension bounds what is looked at of a URL's end; longer names in the
// set match nothing.
const longestExtension = 16

// End reports whether the path of an absolute http or https URL ends with a dot
// and one of the extensions, in any case: "/a.tar.gz" with "tar.gz" and with "gz".
func (e Extensions) End(url string) bool {
	if len(e) == 0 || len(url) < len("https://") {
		return false
	}
	path := url[len("https://"):] // or one byte into the host
	slash := strings.IndexByte(path, '/')
	if slash < 0 {
		return false // "http://a.zip" has no path
	}
	if path = path[slash:]; strings.IndexByte(path, '.') < 0 {
		return false
	}
	if end := strings.IndexAny(path, "?#"); end >= 0 {
		path = path[:end]
	}
	var lower [longestExtension]byte
	for i, n := len(path)-1, 0; i >= 0 && n < len(lower); i-- {
		switch c := path[i]; c {
		case '/':
			return false
		case '.':
			if _, ok := e[string(lower[len(lower)-n:])]; ok {
				return true
			}
			fallthrough
		default:
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			n++
			lower[len(lower)-n] = c
		}
	}
	return false
}

//nolint:gochecknoglobals // a constant table
var ignored = NewExtensions(IgnoredExtensions())

// IgnoredExtensions is Scrapy's list of what is not followed: archives, images,
// sound, video, office documents and programs (scrapy.linkextractors.IGNORED_EXTENSIONS).
func IgnoredExtensions() []string {
	return strings.Fields(`
		7z 7zip bz2 rar tar tar.gz xz zip
		mng pct bmp gif jpg jpeg png pst psp tif tiff ai drw dxf eps ps svg cdr ico webp
		mp3 wma ogg wav ra aac mid au aiff
		3gp asf asx avi mov mp4 mpg qt rm swf wmv m4a m4v flv webm
		xls xlsm xlsx xltm xltx potm potx ppt pptm pptx pps doc docb docm docx dotm dotx odt ods odg odp
		css pdf exe bin rss dmg iso apk jar sh rb js hta bat cpl msi msp py`)
}
