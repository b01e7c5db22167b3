package charset_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"

	"orbweaver/core/charset"
)

func TestHeader(t *testing.T) {
	t.Parallel()
	tests := []struct{ header, want string }{
		{"", ""},
		{"text/html", ""},
		{"text/html; charset=utf-8", "utf-8"},
		{"text/html;CHARSET=UTF8 ; x=y", "utf-8"},
		{"charset=latin1", "cp1252"},
		{"text/html; charset=utf-8, text/html; charset=gbk", "utf-8"},
		{`text/html; charset="gbk"`, "gb18030"},
		{`text/html; charset="gbk"x`, ""},
		{`text/html; x="; charset=gbk"; charset=koi8-r`, "koi8-r"},
		{`text/html; x="a\"; charset=gbk "; charset=koi8-r`, "koi8-r"},
		{`text/html; x="open; charset=gbk`, "gb18030"},
		{"text/html; charset=no such; charset=gbk", ""},
		{"text/html; charset==; charset=gbk", "gb18030"},
		{"text/html; x=charset=gbk", ""},
		{"text/html charset=gbk", ""},
		{"text/html; charset = gbk", ""},
		{"text/html; charset='gbk'", ""},
		{"text/html; xcharset=gbk", ""},
		{strings.Repeat(";", 1000) + "charset=gbk", "gb18030"},
	}
	for _, tt := range tests {
		t.Run(tt.header, func(t *testing.T) {
			t.Parallel()
			e, ok := charset.Header(tt.header)
			require.Equal(t, tt.want != "", ok)
			if ok {
				require.Equal(t, tt.want, e.String())
			}
		})
	}
}

func TestInBody(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, body, want string }{
		{"meta", `<meta charset=gbk>`, "gb18030"},
		{"blanks and case", "< META\n x CharSet = ' gbk", "gb18030"},
		{"http-equiv", `<meta http-equiv=Content-Type content="text/html; charset=koi8-r">`, "koi8-r"},
		{"a word in a value", `<meta name=d content="our charset"><meta charset=gbk>`, "gb18030"},
		{"the second word of a tag", `<meta name="charset" content="x" charset=gbk>`, "gb18030"},
		{"the first declaration decides", `<meta charset=nonsense><meta charset=gbk>`, ""},
		{"no blank behind the name", `<metacharset=gbk>`, ""},
		{"behind the end of the tag", `<meta x> charset=gbk`, ""},
		{"XML", `<?xml version="1.0" encoding="koi8-r"?>`, "koi8-r"},
		{"XML, the last of two", `<?xml encoding="gbk" encoding="koi8-r"?>`, "koi8-r"},
		{"XML in an unclosed tag, then meta", `<?xml x <meta charset=gbk>`, "gb18030"},
		{"comment", `<!-- <meta charset=gbk> --><meta charset=koi8-r>`, "koi8-r"},
		{"comment in a tag", `<me<!-- -->ta charset=koi8-r>`, "koi8-r"},
		{"comment in a value", `<meta charset=koi8<!-- x -->-r>`, "koi8-r"},
		{"comment behind", `<meta charset=gbk><!-- <meta charset=koi8-r> -->`, "gb18030"},
		{"comment before the end of XML", `<?xml encoding="gbk" <!-- x --> encoding="koi8-r"?>`, "koi8-r"},
		{"comment that ends a tag early", `<meta x <body <!-- --> charset=koi8-r>`, "koi8-r"},
		{"open comment", `<!-- <meta charset=gbk>`, ""},
		{"body", `<body><meta charset=gbk>`, ""},
		{"too far", strings.Repeat(" ", 4080) + `<meta charset=gbk>`, ""},
		{"cut off in the label", strings.Repeat(" ", 4080) + `<meta charset=cp1251>`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, ok := charset.InBody([]byte(tt.body))
			require.Equal(t, tt.want != "", ok, e)
			if ok {
				require.Equal(t, tt.want, e.String())
			}
		})
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		"Latin-1": "cp1252", "/ISO 8859 -- 2/": "iso8859-2", "x_sjis": "cp932", "KS_C_5601-1987": "cp949", "utf_8_sig": "utf-8-sig",
		"punycode": "punycode", "cp037": "cp037", "UTF-16": "utf-16", "u8": "utf-8", "utf8": "utf-8", "mac": "", "cp.1252": "", "": "",
		strings.Repeat("a", 1000): "", "utf-8\x00": "utf-8",
	} {
		e, ok := charset.Lookup(label)
		require.Equal(t, want != "", ok, label)
		if ok {
			require.Equal(t, want, e.String())
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	sjis := encoded(t, japanese.ShiftJIS, "日本語のページです。天気と都市について、書かれています。")
	tests := []struct{ name, contentType, body, want string }{
		{"UTF-16 by header is big endian", "text/html; charset=utf-16", "\x00a", "utf-16-be"},
		{"UTF-32 by header is big endian", "text/html; charset=utf-32", "\x00\x00\x00a", "utf-32-be"},
		{"UTF-16 cannot be read in a meta element", "", "<meta charset=utf-16>", "utf-8"},
		{"not readable by header, then meta", "text/html; charset=hex", "<meta charset=gbk>", "gb18030"},
		{"not readable at all", "text/html; charset=utf-7", "<meta charset=cp037>", "cp1252"},
		{"browsers' label in the header", "text/html; charset=windows-949", "\xc7\xd1", "cp949"},
		{"browsers' label in the page", "", "<meta charset=iso-8859-8-i>\xf9", "iso8859-8"},
		{"browsers' label on a page in UTF-8", "text/html; charset=x-gbk", "é", "utf-8"},
		{"browsers' label of UTF-16", "text/html; charset=unicode", "\xe9", "cp1252"},
		{"statistics", "text/html", "<p>" + sjis, "cp932"},
		{"too little for statistics", "text/html", sjis[:20], "ascii"},
		{"noise", "text/html", strings.Repeat("\xff\x81\x01\xfe\x90", 50), "ascii"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, mark := charset.Of(tt.contentType, []byte(tt.body))
			require.Equal(t, tt.want, e.String())
			require.Zero(t, mark)
		})
	}
}

func encoded(t *testing.T, enc encoding.Encoding, s string) string {
	t.Helper()
	out, err := enc.NewEncoder().String(s)
	require.NoError(t, err)
	return out
}

func TestDecode(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, label, body, want string }{
		{"nothing", "gbk", "", ""},
		{"ASCII", "gbk", "abc", "abc"},
		{"UTF-8 cut off", "utf-8", "a\xe2\x82", "a\ufffd"},
		{"UTF-8 parts", "utf-8", "\xe2\x82b\xf0\x9f\x98\xe9\xc0\xaf\xed\xa0\x80\xf4\x90", "\ufffdb\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd"},
		{"windows-1252 without a character", "cp1252", "\x80\x81\xa0", "€\ufffd\u00a0"},
		{"Latin-2 controls", "latin2", "\x85\xb1", "\u0085ą"},
		{"Shift_JIS bad trail byte", "shift_jis", "\x93\xfa\x81\x20\x93", "日\ufffd \ufffd"},
		{"Shift_JIS private", "shift_jis", "\xf0\x40\x80\xa0\xb1\xff", "\ue000\u0080\uf8f0ｱ\uf8f3"},
		{"GB18030 euro", "gbk", "\x80\xc4\xe3\xff", "€你\ufffd"},
		{"GB18030 four bytes", "gb18030", "\x95\x32\x82\x36\x84\x31\xa4\x37\xff", "𠀀\ufffd\ufffd"},
		{"GB18030 four bytes cut off", "gb18030", "\x95\x32\x82", "\ufffd"},
		{"GB18030 four bytes broken", "gb18030", "\x95\x32\x20\x36", "\ufffd2 6"},
		{"EUC-JP three bytes", "euc-jp", "\x8f\xb0\xa1\x8f\xff\xa1\x8f\xb0", "丂\ufffd\ufffd\ufffd\ufffd"},
		{"EUC-KR", "euc-kr", "\xc7\xd1\xc7", "한\ufffd"},
		{"Big5 of two characters", "big5", "\x88\x62\xa7\x41\xff", "Ê̄你\ufffd"},
		{"ISO-2022-JP", "iso-2022-jp", "a\x1b$BF|\x1b(Bb", "a日b"},
		{"UTF-16 halves", "utf-16-le", "\x00\xd8a\x00\x00\xdc\x3d\xd8\x00\xde\x3d\xd8", "\ufffda\ufffd😀\ufffd"},
		{"UTF-16 odd", "utf-16-be", "\x00a\x00", "a\ufffd"},
		{"UTF-32", "utf-32-be", "\x00\x01\xf6\x00\x00\x00\xd8\x00\x00\x11\x00\x00\xff\xff\xff\xff\x00", "😀\ufffd\ufffd\ufffd\ufffd"},
		{"no text", "hex", "\xff", "\xff"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, ok := charset.Lookup(tt.label)
			require.True(t, ok)
			body := []byte(tt.body)
			require.Equal(t, tt.want, string(e.Decode(body)))
			require.Equal(t, tt.body, string(body), "the body was written to")
		})
	}
	require.Equal(t, "a\ufffd\ufffd", string(charset.ASCII.Decode([]byte("aé"))))
}

// TestEncodingsWriteWhatTheyRead goes over all of Chinese and Japanese that a page
// may hold: Decode must read what Text writes.
func TestEncodingsWriteWhatTheyRead(t *testing.T) {
	t.Parallel()
	text := "日本語のページ、天気 ｱ 你好，世界 abc"
	for _, e := range []charset.Encoding{charset.UTF8, charset.ShiftJIS, charset.EUCJP, charset.GB18030, charset.Windows1252} {
		enc := e.Text()
		if enc == nil {
			require.Equal(t, charset.UTF8, e)
			continue
		}
		want := text
		raw, err := encoding.ReplaceUnsupported(enc.NewEncoder()).String(text)
		require.NoError(t, err)
		if e != charset.GB18030 {
			want, err = enc.NewDecoder().String(raw)
			require.NoError(t, err)
		}
		require.Equal(t, want, string(e.Decode([]byte(raw))), e)
	}
	require.Nil(t, charset.UTF16LE.Text())
	require.Equal(t, simplifiedchinese.GB18030, charset.GB18030.Text())
}
