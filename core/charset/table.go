package charset

import (
	"strings"
	"sync"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// form is how an encoding is decoded.
type form uint8

const (
	unreadable form = iota
	utf8Form
	asciiOnly
	wideForm
	single   // one byte a character
	iso      // single; 0x80 to 0x9f are the control characters of these numbers
	windows  // single; a control character stands for a byte that is not in use
	pairs    // one byte below 0x80, else two
	shiftJIS // pairs, with single bytes for half-width kana
	eucJP    // pairs, and three bytes after 0x8f
	fourByte // pairs, and four bytes where the second is a digit
	stateful // escape sequences
)

// codec is one row of the table.
type codec struct {
	name   string
	form   form
	enc    encoding.Encoding
	labels string // further names, normalized, one blank between them
}

// table holds the codecs of Python 3.11 with their aliases (encodings/aliases.py)
// after w3lib's translation of what browsers read as another encoding: Latin-1 and
// ASCII are cp1252, GB2312 and GBK are gb18030, and so on. The first rows stand in
// the order of the constants.
//
//nolint:gochecknoglobals // a constant table
var table = [...]codec{
	UTF8:        {"utf-8", utf8Form, nil, "cp65001 u8 utf utf8 utf8_ucs2 utf8_ucs4"},
	ASCII:       {"ascii", asciiOnly, nil, ""},
	Windows1252: {"cp1252", windows, charmap.Windows1252, "1252 646 8859 ansi_x3_4_1968 ascii cp367 cp819 csascii csisolatin1 ibm367 ibm819 iso646_us iso8859 iso8859_1 iso_8859_1 iso_8859_1_1987 iso_ir_100 iso_ir_6 l1 latin latin1 latin_1 us us_ascii windows_1252"},
	UTF16:       {"utf-16", wideForm, nil, "u16 utf16"},
	UTF16LE:     {"utf-16-le", wideForm, nil, "unicodelittleunmarked utf_16le"},
	UTF16BE:     {"utf-16-be", wideForm, nil, "unicodebigunmarked utf_16be"},
	UTF32:       {"utf-32", wideForm, nil, "u32 utf32"},
	UTF32LE:     {"utf-32-le", wideForm, nil, "utf_32le"},
	UTF32BE:     {"utf-32-be", wideForm, nil, "utf_32be"},
	ShiftJIS:    {"cp932", shiftJIS, japanese.ShiftJIS, "932 csshiftjis ms932 ms_kanji mskanji s_jis shift_jis shiftjis sjis win_31j windows_31j x_mac_japanese x_sjis"},
	EUCJP:       {"euc_jp", eucJP, japanese.EUCJP, "eucjp u_jis ujis"},
	GB18030:     {"gb18030", fourByte, simplifiedchinese.GB18030, "936 chinese cp936 csiso58gb231280 euc_cn euccn eucgb2312_cn gb18030_2000 gb2312 gb2312_1980 gb2312_80 gb_2312_80 gbk iso_ir_58 ms936 x_mac_simp_chinese zh_cn"},
	Big5:        {"big5hkscs", pairs, traditionalchinese.Big5, "big5 big5_hkscs big5_tw csbig5 hkscs x_mac_trad_chinese"},
	EUCKR:       {"cp949", pairs, korean.EUCKR, "949 euc_kr euckr korean ks_c_5601 ks_c_5601_1987 ks_x_1001 ksc5601 ksx1001 ms949 uhc x_mac_korean"},

	{"utf-8-sig", utf8Form, nil, ""},
	{"cp437", single, charmap.CodePage437, "437 cspc8codepage437 ibm437"},
	{"cp850", single, charmap.CodePage850, "850 cspc850multilingual ibm850"},
	{"cp852", single, charmap.CodePage852, "852 cspcp852 ibm852"},
	{"cp855", single, charmap.CodePage855, "855 csibm855 ibm855"},
	{"cp858", single, charmap.CodePage858, "858 csibm858 ibm858"},
	{"cp860", single, charmap.CodePage860, "860 csibm860 ibm860"},
	{"cp862", single, charmap.CodePage862, "862 cspc862latinhebrew ibm862"},
	{"cp863", single, charmap.CodePage863, "863 csibm863 ibm863"},
	{"cp865", single, charmap.CodePage865, "865 csibm865 ibm865"},
	{"cp866", single, charmap.CodePage866, "866 csibm866 ibm866"},
	{"cp874", windows, charmap.Windows874, "iso8859_11 iso_8859_11 iso_8859_11_2001 iso_ir_166 thai tis620 tis_620 tis_620_0 tis_620_2529_0 tis_620_2529_1 win_874 windows_874"},
	{"cp1250", windows, charmap.Windows1250, "1250 windows_1250"},
	{"cp1251", windows, charmap.Windows1251, "1251 win_1251 windows_1251"},
	{"cp1253", windows, charmap.Windows1253, "1253 windows_1253"},
	{"cp1254", windows, charmap.Windows1254, "1254 csisolatin5 iso8859_9 iso_8859_9 iso_8859_9_1989 iso_ir_148 l5 latin5 windows_1254"},
	{"cp1255", windows, charmap.Windows1255, "1255 windows_1255"},
	{"cp1256", windows, charmap.Windows1256, "1256 windows_1256"},
	{"cp1257", windows, charmap.Windows1257, "1257 windows_1257"},
	{"cp1258", windows, charmap.Windows1258, "1258 windows_1258"},
	{"iso8859-2", iso, charmap.ISO8859_2, "csisolatin2 iso_8859_2 iso_8859_2_1987 iso_ir_101 l2 latin2"},
	{"iso8859-3", iso, charmap.ISO8859_3, "csisolatin3 iso_8859_3 iso_8859_3_1988 iso_ir_109 l3 latin3"},
	{"iso8859-4", iso, charmap.ISO8859_4, "csisolatin4 iso_8859_4 iso_8859_4_1988 iso_ir_110 l4 latin4"},
	{"iso8859-5", iso, charmap.ISO8859_5, "csisolatincyrillic cyrillic iso_8859_5 iso_8859_5_1988 iso_ir_144"},
	{"iso8859-6", iso, charmap.ISO8859_6, "arabic asmo_708 csisolatinarabic ecma_114 iso_8859_6 iso_8859_6_1987 iso_ir_127"},
	{"iso8859-7", iso, charmap.ISO8859_7, "csisolatingreek ecma_118 elot_928 greek greek8 iso_8859_7 iso_8859_7_1987 iso_ir_126"},
	{"iso8859-8", iso, charmap.ISO8859_8, "csisolatinhebrew hebrew iso_8859_8 iso_8859_8_1988 iso_ir_138"},
	{"iso8859-10", iso, charmap.ISO8859_10, "csisolatin6 iso_8859_10 iso_8859_10_1992 iso_ir_157 l6 latin6"},
	{"iso8859-13", iso, charmap.ISO8859_13, "iso_8859_13 l7 latin7"},
	{"iso8859-14", iso, charmap.ISO8859_14, "iso_8859_14 iso_8859_14_1998 iso_celtic iso_ir_199 l8 latin8"},
	{"iso8859-15", iso, charmap.ISO8859_15, "iso_8859_15 l9 latin9"},
	{"iso8859-16", iso, charmap.ISO8859_16, "iso_8859_16 iso_8859_16_2001 iso_ir_226 l10 latin10"},
	{"koi8-r", single, charmap.KOI8R, "cskoi8r"},
	{"koi8-u", single, charmap.KOI8U, ""},
	{"mac-cyrillic", single, charmap.MacintoshCyrillic, "maccyrillic"},
	{"mac-roman", single, charmap.Macintosh, "macintosh macroman"},
	{"shift_jis_2004", shiftJIS, japanese.ShiftJIS, "s_jis_2004 shiftjis2004 sjis_2004"},
	{"shift_jisx0213", shiftJIS, japanese.ShiftJIS, "s_jisx0213 shiftjisx0213 sjisx0213"},
	{"euc_jisx0213", eucJP, japanese.EUCJP, "eucjisx0213"},
	{"euc_jis_2004", eucJP, japanese.EUCJP, "euc_jis2004 eucjis2004 jisx0213"},
	{"cp950", pairs, traditionalchinese.Big5, "950 ms950"},
	{"iso2022_jp", stateful, japanese.ISO2022JP, "csiso2022jp iso2022jp iso_2022_jp"},
	{"iso2022_jp_1", stateful, japanese.ISO2022JP, "iso2022jp_1 iso_2022_jp_1"},
	{"iso2022_jp_ext", stateful, japanese.ISO2022JP, "iso2022jp_ext iso_2022_jp_ext"},
	{"hz", stateful, simplifiedchinese.HZGB2312, "hz_gb hz_gb_2312 hzgb"},

	// Known by name only.
	{"base64", unreadable, nil, "base64_codec base_64"},
	{"bz2", unreadable, nil, "bz2_codec"},
	{"charmap", unreadable, nil, ""},
	{"cp037", unreadable, nil, "037 csibm037 ebcdic_cp_ca ebcdic_cp_nl ebcdic_cp_us ebcdic_cp_wt ibm037 ibm039"},
	{"cp1006", unreadable, nil, ""},
	{"cp1026", unreadable, nil, "1026 csibm1026 ibm1026"},
	{"cp1125", unreadable, nil, "1125 cp866u ibm1125 ruscii"},
	{"cp1140", unreadable, nil, "1140 ibm1140"},
	{"cp273", unreadable, nil, "273 csibm273 ibm273"},
	{"cp424", unreadable, nil, "424 csibm424 ebcdic_cp_he ibm424"},
	{"cp500", unreadable, nil, "500 csibm500 ebcdic_cp_be ebcdic_cp_ch ibm500"},
	{"cp720", unreadable, nil, ""},
	{"cp737", unreadable, nil, ""},
	{"cp775", unreadable, nil, "775 cspc775baltic ibm775"},
	{"cp856", unreadable, nil, ""},
	{"cp857", unreadable, nil, "857 csibm857 ibm857"},
	{"cp861", unreadable, nil, "861 cp_is csibm861 ibm861"},
	{"cp864", unreadable, nil, "864 csibm864 ibm864"},
	{"cp869", unreadable, nil, "869 cp_gr csibm869 ibm869"},
	{"cp875", unreadable, nil, ""},
	{"hex", unreadable, nil, "hex_codec"},
	{"hp-roman8", unreadable, nil, "cp1051 ibm1051 r8 roman8"},
	{"idna", unreadable, nil, ""},
	{"iso2022_jp_2", unreadable, nil, "iso2022jp_2 iso_2022_jp_2"},
	{"iso2022_jp_2004", unreadable, nil, "iso2022jp_2004 iso_2022_jp_2004"},
	{"iso2022_jp_3", unreadable, nil, "iso2022jp_3 iso_2022_jp_3"},
	{"iso2022_kr", unreadable, nil, "csiso2022kr iso2022kr iso_2022_kr"},
	{"johab", unreadable, nil, "cp1361 ms1361"},
	{"koi8-t", unreadable, nil, ""},
	{"kz1048", unreadable, nil, "kz_1048 rk1048 strk1048_2002"},
	{"mac-arabic", unreadable, nil, ""},
	{"mac-croatian", unreadable, nil, ""},
	{"mac-farsi", unreadable, nil, ""},
	{"mac-greek", unreadable, nil, "macgreek"},
	{"mac-iceland", unreadable, nil, "maciceland"},
	{"mac-latin2", unreadable, nil, "mac_centeuro maccentraleurope maclatin2"},
	{"mac-romanian", unreadable, nil, ""},
	{"mac-turkish", unreadable, nil, "macturkish"},
	{"palmos", unreadable, nil, ""},
	{"ptcp154", unreadable, nil, "cp154 csptcp154 cyrillic_asian pt154"},
	{"punycode", unreadable, nil, ""},
	{"quopri", unreadable, nil, "quopri_codec quoted_printable quotedprintable"},
	{"raw-unicode-escape", unreadable, nil, ""},
	{"rot-13", unreadable, nil, "rot13"},
	{"undefined", unreadable, nil, ""},
	{"unicode-escape", unreadable, nil, ""},
	{"utf-7", unreadable, nil, "u7 unicode_1_1_utf_7 utf7"},
	{"uu", unreadable, nil, "uu_codec"},
	{"zlib", unreadable, nil, "zip zlib_codec"},
}

// labels finds the rows of the table by their normalized names. Built when first
// needed: most pages are in UTF-8, which needs no table.
//
//nolint:gochecknoglobals // a constant table
var labels = sync.OnceValue(func() map[string]Encoding {
	m := make(map[string]Encoding, 512)
	for i, c := range table {
		if Encoding(i) == ASCII {
			continue // a page that calls itself ASCII is read as Windows1252
		}
		m[strings.ReplaceAll(c.name, "-", "_")] = Encoding(i)
		for label := range strings.FieldsSeq(c.labels) {
			m[label] = Encoding(i)
		}
	}
	return m
})

// longestLabel is more than the longest name in the table.
const longestLabel = 32

// Lookup finds an encoding by a name of Python's, as w3lib resolves labels: case
// does not matter, and any run of other characters than letters and digits is one
// underscore. ok is false for a name that Python does not know; not all that it
// knows is readable.
func Lookup[T string | []byte](label T) (e Encoding, ok bool) {
	var norm [longestLabel]byte
	n, gap := 0, false
	for i := range len(label) {
		c := label[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c |= 0x20
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case c == '.': // part of a name in Python, and of none that is known
			return UTF8, false
		default:
			gap = true
			continue
		}
		if n+2 > len(norm) {
			return UTF8, false
		}
		if gap && n > 0 {
			norm[n] = '_'
			n++
		}
		norm[n], gap = c, false
		n++
	}
	switch string(norm[:n]) {
	case "utf_8", "utf8":
		return UTF8, true
	}
	e, ok = labels()[string(norm[:n])]
	return e, ok
}
