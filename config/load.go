package config

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

const (
	envPrefix     = "ORBWEAVER_"
	sourceDefault = "default"
)

// Sources is where a run's settings come from; each beats the ones before it.
// The zero value gives the defaults.
type Sources struct {
	File         string            // path of a YAML file; "" is none
	FileRequired bool              // a missing file is an error rather than an empty one
	Env          []string          // NAME=VALUE as os.Environ gives it; only ORBWEAVER_ names count
	Flags        map[string]string // setting name (of -s NAME=VALUE) or flag ("--redis") -> value
}

// Load brings the sources together. Its error joins every problem found, each a
// *SettingError of one line; no Config is returned then.
func Load(from Sources) (*Config, error) {
	c := Default()
	c.origins = map[string]string{}
	l := newLoader(c)
	if from.File != "" {
		l.file(from.File, from.FileRequired)
	}
	l.env(from.Env)
	l.flags(from.Flags)
	l.problems = append(l.problems, crossCheck(c, l.bad)...)
	if len(l.problems) == 0 {
		return c, nil
	}
	errs := make([]error, len(l.problems))
	for i, p := range l.problems {
		errs[i] = p
	}
	return nil, errors.Join(errs...)
}

// loader applies sources to a Config and collects what is wrong with them.
type loader struct {
	config   *Config
	settings []Setting
	byName   map[string]*Setting // aliases too
	byPath   map[string]*Setting
	byFlag   map[string]*Setting
	problems []*SettingError
	bad      map[string]bool // names of settings whose value was refused
}

func newLoader(c *Config) *loader {
	l := &loader{
		config: c, settings: registry(c),
		byName: map[string]*Setting{}, byPath: map[string]*Setting{}, byFlag: map[string]*Setting{}, bad: map[string]bool{},
	}
	for i := range l.settings {
		s := &l.settings[i]
		l.byName[s.Name], l.byPath[s.Path] = s, s
		if s.alias != "" {
			l.byName[s.alias] = s
		}
		if s.Flag != "" {
			l.byFlag[s.Flag] = s
		}
	}
	return l
}

func (l *loader) problem(source, key, text string) {
	l.problems = append(l.problems, &SettingError{Source: source, Key: key, Text: text})
}

// apply sets a value and notes where it came from.
func (l *loader) apply(s *Setting, in input, origin string) error {
	if err := s.value.set(in); err != nil {
		l.bad[s.Name] = true
		if s.sealed {
			return errors.New("cannot be read: write text on one line, in quotes") // and nothing of it
		}
		return err
	}
	l.config.origins[s.Name] = origin
	return nil
}

// env applies the ORBWEAVER_ variables, in the order of their names so that
// problems come in the same order every time.
func (l *loader) env(environ []string) {
	vars := map[string]string{}
	for _, e := range environ {
		if rest, ok := strings.CutPrefix(e, envPrefix); ok {
			name, val, _ := strings.Cut(rest, "=")
			vars[name] = val // a later one wins, as in os.Getenv of a merged environment
		}
	}
	delete(vars, "VECTORS") // folder of conformance vectors; the tests' own, set while nodes run too
	given := map[*Setting]string{}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		l.named("env "+envPrefix+name, name, vars[name], given)
	}
}

// flags applies -s settings and flags of their own. Both for one setting is an
// error unless they agree: neither comes later.
func (l *loader) flags(flags map[string]string) {
	given := map[*Setting]string{}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if s := l.byFlag[name]; s != nil {
			l.text(name, "", s, flags[name], given)
			continue
		}
		l.named("-s "+clip(name), name, flags[name], given)
	}
}

// named applies NAME=VALUE, or says why there is no such setting.
func (l *loader) named(source, name, val string, given map[*Setting]string) {
	s := l.byName[name]
	if s == nil {
		l.problem(source, "", l.unknownName(name))
		return
	}
	l.text(source, "", s, val, given)
}

// text applies a textual value; given holds what this kind of source set so far.
func (l *loader) text(source, key string, s *Setting, val string, given map[*Setting]string) {
	if before, twice := given[s]; twice && before != val {
		l.problem(source, key, "is given another value by "+l.config.Source(s.Name)+": keep one of them")
		return
	}
	given[s] = val
	if err := l.apply(s, textInput(val), source); err != nil {
		l.problem(source, key, err.Error())
	}
}

// unknownName explains a name that is no setting: Scrapy's, or a slip.
func (l *loader) unknownName(name string) string {
	if advice, ok := foreignAdvice(name); ok {
		return advice
	}
	if s := l.byPath[name]; s != nil {
		return "is a key of the configuration file: use " + s.Name + " here"
	}
	return "is no setting" + didYouMean(name, l.names()) + " (docs/settings.md lists all)"
}

func (l *loader) names() []string { return slices.Sorted(maps.Keys(l.byName)) }
func (l *loader) paths() []string { return slices.Sorted(maps.Keys(l.byPath)) }

// clip shows a foreign name: short, and without what steers a terminal.
func clip(name string) string { return strings.ReplaceAll(quote(name), `"`, "") }
