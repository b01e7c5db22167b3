package charset_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"orbweaver/core/charset"
)

func FuzzHeader(f *testing.F) {
	for _, s := range []string{
		"text/html; charset=utf-8", `text/html; charset="gbk"; x=y`, `a; x="\"; charset=a"; charset=b`, "charset=;charset", `;="`, "text/html; charset=utf-8, a/b; charset=c",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, ok := charset.Header(s)
		require.True(t, ok || e == charset.UTF8)
		if !ok {
			return
		}
		again, ok := charset.Lookup(e.String())
		require.True(t, ok)
		require.Equal(t, e, again, "a codec's own name is one of its labels")
		other, ok := charset.Header("text/html;x=y;" + s)
		require.True(t, ok, "a parameter before does not matter")
		require.Equal(t, e, other)
	})
}

// FuzzPage reads whole pages: the search for a declaration, the guess, the decoding.
func FuzzPage(f *testing.F) {
	for _, body := range []string{
		"", "<meta charset=gbk>\xc4\xe3", "< meta x=\"charset = 'koi8-r", "<?xml encoding=euc-jp?>\x8f\xb0\xa1", "<!-- --><me<!--x-->ta charset=big5>\x88\x62", "<meta x <body <!-- --> charset=koi8-r>",
		"\xff\xfe\x00\xd8a", "\x00\x00\xfe\xff\x00\x11\x00\x00", "\xef\xbb\xbf\xe2\x82", "<meta charset=gb18030>\x95\x32\x82\x36\x80\x84\x31\xa4\x37",
		"<meta charset=shift_jis>\xf0\x40\xfd\x81", "<meta charset=iso-2022-jp>\x1b$BF|\x1b(", "<meta charset=hz>~{<:~}~", "\x81\x8d\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x83\x79\x81\x5b\x83\x57",
	} {
		f.Add("text/html", []byte(body))
	}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		before := bytes.Clone(body)
		e, mark := charset.Of(contentType, body)
		require.True(t, e.Readable())
		text := e.Decode(body[mark:])
		require.Equal(t, before, body, "the page was written to")
		require.True(t, utf8.Valid(text))
		require.LessOrEqual(t, len(text), 3*len(body))
		if bare := uncommented(body); len(body) <= 4096 && !bytes.Contains(bare, []byte("<!--")) {
			want, found := charset.InBody(bare)
			got, ok := charset.InBody(body)
			require.Equal(t, want, got, "a comment changed the declaration")
			require.Equal(t, found, ok)
		}
		if !e.Wide() {
			plain := bytes.IndexFunc(body, func(r rune) bool { return r >= utf8.RuneSelf || r == 0x1b || r == '~' })
			if plain < 0 {
				plain = len(body)
			}
			require.True(t, bytes.HasPrefix(text, body[mark:max(mark, plain)]), "ASCII is not itself")
		}
	})
}

// uncommented is a page without its comments.
func uncommented(page []byte) []byte {
	var out []byte
	for {
		text, comment, ok := bytes.Cut(page, []byte("<!--"))
		out = append(out, text...)
		if !ok {
			return out
		}
		_, page, _ = bytes.Cut(comment, []byte("-->"))
	}
}
