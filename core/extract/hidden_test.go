package extract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/spider"
)

// followed gives the paths of the links that the default rule takes, without the folder.
func followed(t *testing.T, html string) string {
	t.Helper()
	var names []string
	for _, u := range read("text/html", html).Doc.AppendLinks(nil, spider.LinkRule{}) {
		names = append(names, strings.TrimPrefix(u, "http://example.com/dir/"))
	}
	return strings.Join(names, " ")
}

func TestInvisibleLinks(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, html, want string }{
		{"hidden link", `<a hidden href=x></a><a href=y></a>`, "y"},
		{"hidden with a value", `<a hidden="hidden" href=x></a><a href=x1 hidden=""></a><a href=y></a>`, "y"},
		{"hidden until found", `<div hidden=until-found><a href=x></a></div>`, "x"},
		{"display none", `<a style="display:none" href=x></a><a STYLE=" color:red ; DISPLAY : None !important;" href=x></a><a href=y></a>`, "y"},
		{"visibility hidden", `<a style="visibility:hidden" href=x></a><a style='visibility:collapse' href=x></a><a href=y></a>`, "y"},
		{"references in the style", `<a style="display&#58;none" href=x></a>`, ""},
		{"later declaration", `<a style="display:none;display:block" href=x></a><a style="display:inline;display:none" href=y></a>`, "x"},
		{"no such style", `<a style="display:nonesuch; x-display:none; visibility:visible; none" href=x></a>`, "x"},
		{"aria and class are not enough", `<a aria-hidden=true class=hidden href=x></a><div aria-hidden="true" data-hidden><a href=y></a></div>`, "x y"},
		{"inside a hidden element", `<div style="display:none"><p>a<p>b <a href=x></a><br><img src=i></div><a href=y></a>`, "y"},
		{"nested elements of one name", `<div hidden><div><a href=x1></a></div><a href=x2></a></div><a href=y></a>`, "y"},
		{"deep", `<div hidden>` + strings.Repeat("<b>", 50) + `<a href=x></a>` + strings.Repeat("</b>", 50) + `</div><a href=y></a>`, "y"},
		{"too deep", `<div hidden>` + strings.Repeat("<b>", 600) + `<a href=y></a>`, "y"},
		{"hidden in hidden", `<div hidden><span hidden><a href=x></a></span><a href=x2></a></div><a href=y></a>`, "y"},
		{"any case", `<DIV HIDDEN><A HREF=x></A></dIV><a href=y></a>`, "y"},
		{"empty elements", `<input hidden><img style="display:none"><br hidden><a href=y></a>`, "y"},
		{"closed in itself", `<svg><path style="display:none"/></svg><a href=y></a>`, "y"},
		{"empty ones inside", `<div hidden><input><hr><link><path/><a href=x></a></div><a href=y></a>`, "y"},
		{"body and html", `<html hidden><body style="display:none"><a href=y></a>`, "y"},
		{"paragraph without end", `<p hidden>a<a href=x></a><p>b<a href=y></a>`, "y"},
		{"paragraph ended by what is around it", `<div><p hidden><a href=x></a></div><a href=y></a>`, "y"},
		{"paragraph ended by a list", `<p hidden><a href=x></a><ul><li><a href=y></a></ul>`, "y"},
		{"item without end", `<ul><li hidden><a href=x></a><li><a href=y></a></ul>`, "y"},
		{"item with a list in it", `<ul><li hidden><ul><li><a href=x1></a><li><a href=x2></a></ul><a href=x3></a><li><a href=y></a></ul>`, "y"},
		{"row and cell without end", `<table><tr hidden><td><a href=x></a><tr><td hidden><a href=x></a><td><a href=y></a></table>`, "y"},
		{"table in a hidden cell", `<table><tr><td hidden><table><tr><td><a href=x></a><td><a href=x></a></table><a href=x></a><td><a href=y></a></table>`, "y"},
		{"definitions", `<dl><dt hidden><a href=x></a><dd><a href=y></a></dl>`, "y"},
		{"links that are never closed", `<div hidden><a href=x1><a href=x2></div><a href=y>`, "y"},
		{"end tag of a paragraph that is not open", `<div hidden></p></br><a href=x></a></div><a href=y></a>`, "y"},
		{"end tag of something around", `<section><span hidden><a href=x></a></section><a href=y></a>`, "y"},
		{"script inside", `<div hidden><script>"</div><a href=1>"</script><a href=x></a></div><a href=y></a>`, "y"},
		{"hidden script", `<script hidden>"<a href=1>"</script><a href=y></a><textarea hidden><a href=2></textarea><a href=z></a>`, "y z"},
		{"attribute of an end tag", `<div></div hidden><a href=y></a>`, "y"},
		{"commented out", `<!-- <div hidden> --><a href=y></a>`, "y"},
		{"in a value", `<div title="hidden style=display:none"><a href=y></a></div>`, "y"},
		{"visible where one of two is", `<a hidden href=y></a><a href=y></a>`, "y"},
		{"never closed", `<div hidden><a href=x>`, ""},
		{"cut off", `<div hidden><a href=x></a><a href=y`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, followed(t, tt.html))
		})
	}
}

func TestInvisibleLinksWhereWanted(t *testing.T) {
	t.Parallel()
	got := read("text/html", `<div hidden><a href=/x></a></div><a style=display:none href=/y>`).Doc.AppendLinks(nil, spider.LinkRule{Invisible: true})
	require.Equal(t, []string{"http://example.com/x", "http://example.com/y"}, got)
}

// FuzzInvisible: whatever hides, the links that are left out are some of all, in
// their order, and none is found that is not there.
func FuzzInvisible(f *testing.F) {
	f.Add(`<div hidden><a href=x><p style="display:none"><a href=y></div><li hidden><a href=z><li><a href=w>`)
	f.Add(`<table hidden><tr><td><a href=1></table></div><a href=2><span style=visibility:hidden></section><a href=3>`)
	f.Fuzz(func(t *testing.T, page string) {
		doc := read("text/html", page).Doc
		all := doc.AppendLinks(nil, spider.LinkRule{Invisible: true, Repeats: true})
		for _, u := range doc.AppendLinks(nil, spider.LinkRule{Repeats: true}) {
			for len(all) > 0 && all[0] != u {
				all = all[1:]
			}
			require.NotEmpty(t, all, "%q is not among all links", u)
			all = all[1:]
		}
	})
}
