package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxFileBytes bounds the settings file; the example is a hundredth of it.
const maxFileBytes = 1 << 20

// maxProblems bounds what a file that is no settings file can put on a screen.
const maxProblems = 100

// file applies a YAML file.
func (l *loader) file(path string, required bool) {
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) && !required {
		return
	}
	if err != nil {
		l.problem(path, "", err.Error())
		return
	}
	l.yaml(path, data)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the user's own file
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read settings: %w: check the path, or leave --config out", fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", cause(err))
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", cause(err))
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("is larger than %d bytes: this cannot be a settings file", maxFileBytes)
	}
	return data, nil
}

// cause drops the path, which the problem names already.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// yaml applies the bytes of a file called name.
func (l *loader) yaml(name string, data []byte) {
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		l.problem(name, "", "is not YAML: "+err.Error())
		return
	}
	var doc, more yaml.Node
	if err := loader.Load(&doc); err != nil {
		if !errors.Is(err, io.EOF) { // EOF is an empty file, which sets nothing
			l.syntax(name, err)
		}
		return
	}
	switch err := loader.Load(&more); {
	case err == nil:
		l.problem(position(name, &more), "", "a second document begins: keep one")
	case !errors.Is(err, io.EOF):
		l.syntax(name, err)
	}
	root := &doc
	if root.Kind == yaml.DocumentNode && len(root.Content) > 0 {
		root = root.Content[0]
	}
	if root.Kind == yaml.DocumentNode || isNull(root) {
		return
	}
	l.sections(name, root)
}

// syntax reports that the file cannot be read as YAML from some place on.
func (l *loader) syntax(name string, err error) {
	var bad *yaml.LoadError
	if !errors.As(err, &bad) {
		l.problem(name, "", "is not valid YAML: "+oneLine(err.Error()))
		return
	}
	if bad.Mark.Line > 0 {
		name = fmt.Sprintf("%s:%d:%d", name, bad.Mark.Line, max(1, bad.Mark.Column))
	}
	l.problem(name, "", "is not valid YAML: "+oneLine(bad.Message))
}

// sections applies the mapping at the top.
func (l *loader) sections(name string, root *yaml.Node) {
	if root.Kind != yaml.MappingNode {
		l.problem(position(name, root), "", "the file holds "+describe(root)+": write sections, such as redis: and below it url:")
		return
	}
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(root.Content) && l.goOn(name); i += 2 {
		key, val := root.Content[i], nodeInput(root.Content[i+1]).node
		at := position(name, key)
		if key.Kind != yaml.ScalarNode {
			l.problem(at, "", "this key is "+describe(key)+": write one word")
			continue
		}
		if first := seen[key.Value]; first != nil {
			l.problem(at, clip(key.Value), fmt.Sprintf("is there twice, first on line %d: put both together", first.Line))
			continue
		}
		seen[key.Value] = key
		if !slices.ContainsFunc(sections(), func(s section) bool { return s.name == key.Value }) {
			l.problem(at, clip(key.Value), l.unknownSection(key.Value))
			continue
		}
		if isNull(val) { // all its keys are comments
			continue
		}
		if val.Kind != yaml.MappingNode {
			l.problem(position(name, root.Content[i+1]), key.Value, "is "+describe(val)+": write a mapping, its keys indented on the lines below")
			continue
		}
		l.section(name, key.Value, val)
	}
}

// goOn is false once a file has shown so many problems that it is not worth
// reading on; the last problem then says so.
func (l *loader) goOn(name string) bool {
	if len(l.problems) == maxProblems {
		l.problem(name, "", "is wrong in many places, there may be more: put these right first")
	}
	return len(l.problems) < maxProblems
}

// section applies the settings of one section.
func (l *loader) section(name, section string, node *yaml.Node) {
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(node.Content) && l.goOn(name); i += 2 {
		key, val := node.Content[i], node.Content[i+1]
		at, path := position(name, key), section+"."+key.Value
		if key.Kind != yaml.ScalarNode {
			l.problem(at, "", "this key is "+describe(key)+": write one word")
			continue
		}
		if first := seen[key.Value]; first != nil {
			l.problem(at, clip(path), fmt.Sprintf("is there twice, first on line %d: keep one", first.Line))
			continue
		}
		seen[key.Value] = key
		s := l.byPath[path]
		if s == nil {
			l.problem(at, clip(path), l.unknownKey(section, key.Value))
			continue
		}
		if val.Line > 0 {
			at = position(name, val)
		}
		if err := l.apply(s, nodeInput(val), fmt.Sprintf("%s:%d", name, key.Line)); err != nil {
			l.problem(at, path, err.Error())
		}
	}
}

// unknownSection explains a key at the top that is no section.
func (l *loader) unknownSection(key string) string {
	if s := l.byPath[key]; s != nil {
		section, rest, _ := strings.Cut(key, ".")
		return fmt.Sprintf("has to be written in two levels: %s: and below it %s:", section, rest)
	}
	if s := l.byName[key]; s != nil {
		return "is the setting's name: in the file it is " + s.Path
	}
	if advice, ok := foreignAdvice(key); ok {
		return advice
	}
	names := make([]string, 0, 11)
	for _, s := range sections() {
		names = append(names, s.name)
	}
	if near := nearest(key, names); near != "" {
		return "is no section; did you mean " + near + "?"
	}
	if path := l.pathEnding(key); path != "" {
		return "is no section; did you mean " + path + "?"
	}
	return "is no section: there are " + strings.Join(names, ", ")
}

// unknownKey explains a key that its section does not have.
func (l *loader) unknownKey(section, key string) string {
	if key == "<<" {
		return "merges another mapping, which is not supported: write the keys out"
	}
	if s := l.byName[strings.ToUpper(key)]; s != nil {
		return "is no setting; did you mean " + s.Path + "?"
	}
	if advice, ok := foreignAdvice(strings.ToUpper(key)); ok {
		return advice
	}
	if near := nearest(section+"."+key, l.paths()); near != "" {
		return "is no setting; did you mean " + near + "?"
	}
	if path := l.pathEnding(key); path != "" {
		return "is no setting; did you mean " + path + "?"
	}
	var have []string
	for i := range l.settings {
		if rest, ok := strings.CutPrefix(l.settings[i].Path, section+"."); ok {
			have = append(have, rest)
		}
	}
	return "is no setting: " + section + " has " + strings.Join(have, ", ")
}

// pathEnding is the path whose last part is key or nearly so, or "".
func (l *loader) pathEnding(key string) string {
	last := map[string]string{}
	var ends []string
	for i := range l.settings {
		path := l.settings[i].Path
		end := path[strings.IndexByte(path, '.')+1:]
		last[end] = path
		ends = append(ends, end)
	}
	return last[nearest(key, ends)]
}

func isNull(n *yaml.Node) bool {
	return n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

func position(name string, n *yaml.Node) string {
	return fmt.Sprintf("%s:%d:%d", name, n.Line, n.Column)
}

// oneLine keeps a library's message to one printable line.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "?")
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}
