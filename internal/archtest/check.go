package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// file is a Go file and what it imports.
type file struct {
	path    string   // slash-separated, from the module's root
	imports []string // import paths
}

// pkg is the folder of the file, from the module's root.
func (f file) pkg() string { return path.Dir(f.path) }

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// read finds every Go file below root. Folders that the go tool skips (testdata
// and names that start with . or _) are skipped.
func read(root string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && (base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_') {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(base) != ".go" || base[0] == '.' || base[0] == '_' {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("archtest: read imports: %w", err)
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return fmt.Errorf("archtest: read imports: %w", err)
		}
		f := file{path: filepath.ToSlash(rel)}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("archtest: read imports of %s: %w", rel, err)
			}
			f.imports = append(f.imports, imported)
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// check returns a line for each broken rule, sorted.
func check(files []file) []string {
	ours, foreign := rules(), foreign()
	seen := make(map[string]bool)
	var broken []string
	for _, f := range files {
		may, known := ours[f.pkg()]
		if !known {
			if !seen[f.pkg()] {
				broken = append(broken, fmt.Sprintf("%s: the package has no rule in internal/archtest/rules.go: add what it may import", f.pkg()))
				seen[f.pkg()] = true
			}
			continue
		}
		if f.isTest() {
			may = append(append([]string{f.pkg()}, testsMay()...), may...)
		}
		for _, imported := range f.imports {
			if inner, isOurs := strings.CutPrefix(imported, module+"/"); isOurs {
				if !matches(inner, may) {
					broken = append(broken, fmt.Sprintf("%s: %s must not import %s", f.path, f.pkg(), inner))
				}
				continue
			}
			if f.isTest() {
				continue
			}
			for theirs, importers := range foreign {
				if below(imported, theirs) && !matches(f.pkg(), importers) {
					broken = append(broken, fmt.Sprintf("%s: %s must not import %s", f.path, f.pkg(), imported))
				}
			}
		}
	}
	sort.Strings(broken)
	return broken
}

// matches reports whether a package is one of the patterns.
func matches(pkg string, patterns []string) bool {
	for _, p := range patterns {
		if p == anything || p == pkg {
			return true
		}
		if parent, ok := strings.CutSuffix(p, "/..."); ok && below(pkg, parent) {
			return true
		}
	}
	return false
}

func below(pkg, parent string) bool {
	return pkg == parent || strings.HasPrefix(pkg, parent+"/")
}
