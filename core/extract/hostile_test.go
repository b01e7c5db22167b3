package extract

import (
	"strings"
	"testing"
)

// BenchmarkHostile is a megabyte each of what costs the scanner most.
func BenchmarkHostile(b *testing.B) {
	inside := "<div hidden>" + strings.Repeat("<b>", hiddenDepthLimit-2)
	for name, piece := range map[string][2]string{
		"voids": {inside, "<hr>"}, "ends": {inside, "</p>"}, "styles": {"", `<p style="&amp;">`}, "hidden": {"", "<p hidden></p>"},
		"metas": {"", `<meta name=x content=noindex>`}, "declarations": {"", `<i style="` + strings.Repeat(";:", 50) + `">`},
	} {
		page := []byte(piece[0] + strings.Repeat(piece[1], (1<<20)/len(piece[1])))
		b.Run(name, func(b *testing.B) {
			var s scanner
			b.SetBytes(int64(len(page)))
			for b.Loop() {
				s.reset(page)
				s.run()
			}
		})
	}
}
