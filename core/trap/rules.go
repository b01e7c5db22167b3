package trap

import "strings"

// maxSegments is how many segments of a path are compared with each other.
const maxSegments = 64

// longestNumber is more digits than any identifier in use has.
const longestNumber = 32

// inspect judges a URL by itself and gives its shape.
func (c *Config) inspect(url string) (shape, Kind) {
	s := shapeOf(url)
	if c.PathDepth > 0 && s.segments > c.PathDepth {
		return s, PathDepth
	}
	if c.RepeatedSegments > 0 && s.segments > c.RepeatedSegments && c.repeats(s.path) {
		return s, RepeatedSegments
	}
	if s.query != "" {
		if c.QueryParams > 0 && s.params > c.QueryParams {
			return s, QueryParams
		}
		if c.RepeatedParams > 0 && s.params > 1 && c.repeatsParams(s.query) {
			return s, RepeatedParams
		}
	}
	if c.RepeatedSegments > 0 && isNested(url) {
		return s, Nested
	}
	if c.RepeatedSegments > 0 && hasLongNumber(url) {
		return s, LongNumber
	}
	return s, None
}

// isNested reports whether something in the URL was percent-encoded four times
// over, as the target in a link to a log-in page that is itself such a target.
func isNested(url string) bool { return strings.Contains(url, "%252525") }

func hasLongNumber(url string) bool {
	if len(url) <= longestNumber {
		return false
	}
	run := 0
	for i := range len(url) {
		if !isDigit(url[i]) {
			run = 0
		} else if run++; run > longestNumber {
			return true
		}
	}
	return false
}

// repeats reports whether a path repeats itself, with n RepeatedSegments:
//
//   - a segment stands more than n times in a row, or more than 2n times anywhere;
//   - a group of two or more segments stands n times in a row, or more.
//
// Segments of digits, and of one character, are numbers of a level or shard rather
// than names: for them alone it is more than 2n in a row.
func (c *Config) repeats(path string) bool {
	var hash [maxSegments]uint64
	var weak [maxSegments]bool
	n := 0
	for rest := path; rest != "" && n < maxSegments; {
		var segment string
		segment, rest = nextSegment(rest)
		if segment == "" {
			continue
		}
		hash[n] = hashSegment(segment)
		weak[n] = len(segment) == 1 || allDigits(segment)
		n++
	}
	limit := c.RepeatedSegments
	for period := 1; period <= n/2; period++ {
		same, strong := 0, false // segments in a row that stand one period before, too
		for i := period; i < n; i++ {
			if hash[i] != hash[i-period] {
				same, strong = 0, false
				continue
			}
			same++
			strong = strong || !weak[i]
			times := same/period + 1
			switch {
			case times > 2*limit, period == 1 && strong && times > limit, period > 1 && times >= max(limit, 2) && (strong || period > 1 && !sameInside(hash[i-period+1:i+1])):
				return true
			}
		}
	}
	if n > 2*limit {
		for i := range n {
			times := 0
			for j := range i + 1 {
				if hash[j] == hash[i] {
					times++
				}
			}
			if times > 2*limit && !weak[i] {
				return true
			}
		}
	}
	return false
}

// sameInside reports whether all of a group are the same segment: then it is no group.
func sameInside(group []uint64) bool {
	for _, h := range group {
		if h != group[0] {
			return false
		}
	}
	return true
}

func hashSegment(s string) uint64 {
	h := uint64(len(s))
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return mix(h)
}

// maxPairs is how many parameters are compared with each other.
const maxPairs = 128

// repeatsParams reports whether one parameter name stands more often than
// RepeatedParams, or one name with one value more than three times. Names that
// differ in digits are one.
func (c *Config) repeatsParams(query string) bool {
	var names, pairs [maxPairs]uint64
	n := 0
	for rest := query; rest != "" && n < maxPairs; n++ {
		name, value := "", ""
		name, value, rest = nextParam(rest)
		names[n] = foldName(name)
		pairs[n] = hashSegment(name) ^ mix(hashSegment(value))
		sameName, samePair := 0, 0
		for i := range n + 1 {
			if names[i] == names[n] {
				sameName++
			}
			if pairs[i] == pairs[n] {
				samePair++
			}
		}
		if sameName > c.RepeatedParams || samePair > 3 {
			return true
		}
	}
	return false
}
