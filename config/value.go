package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is one field of a Config: how it is read and written. Errors of set say
// what is wrong with the value and what to write; they never repeat a secret.
type value interface {
	kind() string
	set(in input) error
	text() string // as -s takes it
	plain() any   // for JSON
}

type boolValue struct{ p *bool }

func (v boolValue) kind() string { return "bool" }
func (v boolValue) text() string { return strconv.FormatBool(*v.p) }
func (v boolValue) plain() any   { return *v.p }

// set reads what Scrapy's getbool does: 1, 0, True, False, true, false; any case.
func (v boolValue) set(in input) error {
	s, err := in.scalar()
	if err != nil {
		return err
	}
	switch strings.ToLower(s) {
	case "true", "1":
		*v.p = true
	case "false", "0":
		*v.p = false
	default:
		return fmt.Errorf("%s is not a boolean: write true or false", quote(s))
	}
	return nil
}

type intValue struct {
	p        *int
	min, max int
	note     string // added to the range error
}

func (v intValue) kind() string { return "int" }
func (v intValue) text() string { return strconv.Itoa(*v.p) }
func (v intValue) plain() any   { return *v.p }

func (v intValue) set(in input) error {
	s, err := in.scalar()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(s)
	if errors.Is(err, strconv.ErrSyntax) {
		return fmt.Errorf("%s is not a whole number: write one of %d to %d", quote(s), v.min, v.max)
	}
	if err != nil || n < v.min || n > v.max {
		return fmt.Errorf("%s is out of range: write %d to %d%s", s, v.min, v.max, v.note)
	}
	*v.p = n
	return nil
}

type floatValue struct {
	p        *float64
	min, max float64
	note     string // added to the range error
}

func (v floatValue) kind() string { return "float" }
func (v floatValue) text() string { return strconv.FormatFloat(*v.p, 'f', -1, 64) }
func (v floatValue) plain() any   { return *v.p }

func (v floatValue) set(in input) error {
	s, err := in.scalar()
	if err != nil {
		return err
	}
	f, err := parseFloat(s)
	if err != nil {
		return fmt.Errorf("%s is not a number: write one of %g to %g", quote(s), v.min, v.max)
	}
	if !(f >= v.min && f <= v.max) {
		return fmt.Errorf("%s is out of range: write %g to %g%s", s, v.min, v.max, v.note)
	}
	*v.p = f
	return nil
}

// durationValue reads seconds as Scrapy writes them (0.25), or a Go duration (250ms).
type durationValue struct {
	p        *time.Duration
	min, max time.Duration
}

func (v durationValue) kind() string { return "seconds" }
func (v durationValue) text() string { return seconds(*v.p) }
func (v durationValue) plain() any   { return v.p.Seconds() }

func (v durationValue) set(in input) error {
	s, err := in.scalar()
	if err != nil {
		return err
	}
	var d time.Duration
	if f, ferr := parseFloat(s); ferr == nil {
		if f < v.min.Seconds() || f > v.max.Seconds() {
			return v.rangeError(s)
		}
		d = time.Duration(math.Round(f * float64(time.Second)))
	} else if d, err = time.ParseDuration(s); err != nil {
		return fmt.Errorf("%s is not a duration: write seconds (0.25) or a number with its unit (250ms, 2m)", quote(s))
	}
	if d < v.min || d > v.max {
		return v.rangeError(s)
	}
	*v.p = d
	return nil
}

func (v durationValue) rangeError(s string) error {
	return fmt.Errorf("%s is out of range: write %s to %s", s, seconds(v.min), seconds(v.max))
}

// seconds writes a duration as a number of seconds with its unit, so that it
// reads well for people used to Scrapy and can be read back.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// bytesValue reads a count of bytes, plain or with KiB, MiB, GiB.
type bytesValue struct {
	p        *int64
	min, max int64
	note     string // added to the range error
}

func (v bytesValue) kind() string { return "bytes" }
func (v bytesValue) plain() any   { return *v.p }

func (v bytesValue) text() string {
	for _, u := range byteUnits() {
		if *v.p != 0 && *v.p%u.size == 0 {
			return strconv.FormatInt(*v.p/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(*v.p, 10)
}

func (v bytesValue) set(in input) error {
	s, err := in.scalar()
	if err != nil {
		return err
	}
	digits, size := s, int64(1)
	for _, u := range byteUnits() {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			digits, size = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return fmt.Errorf("%s is not a size: write bytes (1048576) or a whole number of KiB, MiB or GiB (1MiB)", quote(s))
	}
	if err != nil || n > v.max/size || n*size < v.min {
		return fmt.Errorf("%s is out of range: write %d to %d bytes%s", s, v.min, v.max, v.note)
	}
	*v.p = n * size
	return nil
}

type byteUnit struct {
	name string
	size int64
}

func byteUnits() []byteUnit { return []byteUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} }

// stringValue is text that check accepts; nil accepts any text.
type stringValue struct {
	p     *string
	check func(string) error
}

func (v stringValue) kind() string { return "text" }
func (v stringValue) text() string { return *v.p }
func (v stringValue) plain() any   { return *v.p }

func (v stringValue) set(in input) error {
	s, err := in.textScalar()
	if err != nil {
		return err
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }); i >= 0 {
		return errors.New("holds a control character or bytes that are not UTF-8: write plain text on one line")
	}
	if v.check != nil {
		if err := v.check(s); err != nil {
			return err
		}
	}
	*v.p = s
	return nil
}

// enumValue is one of a few words, in any case. Keys of also are other
// spellings, in lower case.
type enumValue struct {
	p     *string
	words []string
	also  map[string]string
}

func (v enumValue) kind() string { return strings.Join(v.words, ", ") }
func (v enumValue) text() string { return *v.p }
func (v enumValue) plain() any   { return *v.p }

func (v enumValue) set(in input) error {
	s, err := in.scalar()
	if err != nil {
		return err
	}
	for _, w := range v.words {
		if strings.EqualFold(s, w) {
			*v.p = w
			return nil
		}
	}
	if w, ok := v.also[strings.ToLower(s)]; ok {
		*v.p = w
		return nil
	}
	return fmt.Errorf("%s is not known: write one of %s%s", quote(s), strings.Join(v.words, ", "), didYouMean(s, v.words))
}

// listValue is words, each accepted by check; nil accepts any.
type listValue struct {
	p     *[]string
	check func(string) error
}

func (v listValue) kind() string { return "list" }
func (v listValue) text() string { return strings.Join(*v.p, ",") }
func (v listValue) plain() any   { return *v.p }

func (v listValue) set(in input) error {
	words, err := in.words()
	if err != nil {
		return err
	}
	for _, w := range words {
		if v.check == nil {
			break
		}
		if err := v.check(w); err != nil {
			return err
		}
	}
	*v.p = words
	return nil
}

// codesValue is a list of HTTP status codes, sorted and without repeats.
type codesValue struct{ p *[]int }

func (v codesValue) kind() string { return "list of status codes" }
func (v codesValue) plain() any   { return *v.p }

func (v codesValue) text() string {
	words := make([]string, len(*v.p))
	for i, n := range *v.p {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

func (v codesValue) set(in input) error {
	words, err := in.words()
	if err != nil {
		return err
	}
	codes := make([]int, 0, len(words))
	for _, w := range words {
		n, err := strconv.Atoi(w)
		if err != nil || n < 100 || n > 999 {
			return fmt.Errorf("%s is not an HTTP status code: write numbers of 100 to 999", quote(w))
		}
		codes = append(codes, n)
	}
	slices.Sort(codes)
	*v.p = slices.Compact(codes)
	return nil
}

// parseFloat reads a finite decimal number; NaN, Inf and hexadecimal are none.
func parseFloat(s string) (float64, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789+-.eE", r) }) {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

// quote shows a foreign value in a message: on one line and not too long.
func quote(s string) string {
	const limit = 60
	if len(s) > limit {
		return strconv.Quote(strings.ToValidUTF8(s[:limit], "")) + "..."
	}
	return strconv.Quote(s)
}
