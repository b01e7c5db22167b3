package weburl

import (
	"errors"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

var errIDNA = errors.New("not an IDNA 2003 name")

const maxLabelBytes = 63

// idna2003 is Python's codec "idna" (RFC 3490 and 3491), which Scrapy's URLs go
// through. It differs from what browsers do: "ß" becomes "ss", symbols are
// allowed. Unicode is that of x/text instead of 3.2.
func idna2003(host string) (string, error) {
	ascii := isASCII(host)
	if !ascii {
		host = strings.NewReplacer("\u3002", ".", "\uFF0E", ".", "\uFF61", ".").Replace(host)
	}
	name, trailing := strings.CutSuffix(host, ".")
	if name == "" && !trailing {
		return "", nil
	}
	if ascii {
		for label := range strings.SplitSeq(name, ".") {
			if label == "" || len(label) > maxLabelBytes {
				return "", errIDNA
			}
		}
		return host, nil
	}
	var b strings.Builder
	for label := range strings.SplitSeq(name, ".") {
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		a, err := asciiLabel(label)
		if err != nil {
			return "", err
		}
		b.WriteString(a)
	}
	if trailing {
		b.WriteByte('.')
	}
	return b.String(), nil
}

// asciiLabel is ToASCII of RFC 3490 section 4.1, without the rules of STD 3.
func asciiLabel(label string) (string, error) {
	if !isASCII(label) {
		var err error
		if label, err = nameprep(label); err != nil {
			return "", err
		}
	}
	if !isASCII(label) {
		if strings.HasPrefix(label, "xn--") {
			return "", errIDNA
		}
		var err error
		if label, err = idna.Punycode.ToASCII(label); err != nil {
			return "", errIDNA
		}
	}
	if label == "" || len(label) > maxLabelBytes {
		return "", errIDNA
	}
	return label, nil
}

// nameprep is RFC 3491: map, normalise, prohibit, check direction.
func nameprep(label string) (string, error) {
	label = strings.Map(func(r rune) rune {
		if mappedToNothing(r) {
			return -1
		}
		return r
	}, label)
	fold := cases.Fold()
	label = norm.NFKC.String(fold.String(norm.NFKC.String(fold.String(label))))
	return label, checkProhibited(label)
}

// mappedToNothing is table B.1 of RFC 3454.
func mappedToNothing(r rune) bool {
	switch r {
	case 0xAD, 0x34F, 0x1806, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF:
		return true
	}
	return 0x180B <= r && r <= 0x180D || 0xFE00 <= r && r <= 0xFE0F
}

func checkProhibited(label string) error {
	var left, right, firstRight, lastRight bool
	for i, r := range label {
		if prohibited(r) {
			return errIDNA
		}
		p, _ := bidi.LookupRune(r)
		lastRight = false
		switch p.Class() {
		case bidi.L:
			left = true
		case bidi.R, bidi.AL:
			right, lastRight = true, true
			firstRight = firstRight || i == 0
		}
	}
	if right && (left || !firstRight || !lastRight) {
		return errIDNA
	}
	return nil
}

// prohibited is tables C.1.2, C.2.2 and C.3 to C.9 of RFC 3454.
func prohibited(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r <= 0x9F, r == unicode.ReplacementChar:
		return true
	case unicode.Is(unicode.Zs, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Noncharacter_Code_Point, r):
		return true
	case r == 0x6DD, r == 0x70F, r == 0x180E, r == 0x340, r == 0x341, r == 0xE0001:
		return true
	case r == 0x200C, r == 0x200D, r == 0x200E, r == 0x200F, r == 0xFEFF:
		return true
	case 0x2028 <= r && r <= 0x202E, 0x2060 <= r && r <= 0x2063, 0x206A <= r && r <= 0x206F:
		return true
	case 0x2FF0 <= r && r <= 0x2FFB, 0xFFF9 <= r && r <= 0xFFFC:
		return true
	case 0x1D173 <= r && r <= 0x1D17A, 0xE0020 <= r && r <= 0xE007F:
		return true
	}
	return false
}
