package charset_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"

	"orbweaver/core/charset"
)

// BenchmarkOf is what it costs to tell the encoding of a page of 8 KiB.
func BenchmarkOf(b *testing.B) {
	plain := strings.Repeat("<p>A plain paragraph of filler text.</p>\n", 200)
	benchmarks := []struct{ name, contentType, body string }{
		{"header", "text/html; charset=utf-8", plain},
		{"header latin1", "text/html; charset=ISO-8859-1", plain},
		{"meta", "text/html", `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">` + plain},
		{"undeclared ASCII", "text/html", plain},
		{"undeclared UTF-8", "text/html", "é" + plain},
		{"undeclared windows-1252", "text/html", "\xe9" + plain},
		{"statistics", "text/html", strings.Repeat("\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x81\x42", 800)},
	}
	for _, bb := range benchmarks {
		b.Run(bb.name, func(b *testing.B) {
			body := []byte(bb.body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				charset.Of(bb.contentType, body)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	russian, err := charmap.Windows1251.NewEncoder().String(strings.Repeat("<p>Обычная страница, на которой есть текст.</p>\n", 200))
	require.NoError(b, err)
	sjis, err := japanese.ShiftJIS.NewEncoder().String(strings.Repeat("<p>日本語のページです。</p>\n", 300))
	require.NoError(b, err)
	benchmarks := []struct{ name, label, body string }{
		{"ASCII", "latin1", strings.Repeat("<p>A plain paragraph of filler text.</p>\n", 200)},
		{"windows-1251", "cp1251", russian},
		{"Shift_JIS", "shift_jis", sjis},
		{"Shift_JIS with a bad byte", "shift_jis", sjis + "\x81\xff"},
		{"UTF-8 with a bad byte", "utf-8", strings.Repeat("<p>Обычная страница.</p>\n", 200) + "\xff"},
	}
	for _, bb := range benchmarks {
		b.Run(bb.name, func(b *testing.B) {
			e, ok := charset.Lookup(bb.label)
			require.True(b, ok)
			body := []byte(bb.body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				e.Decode(body)
			}
		})
	}
}
