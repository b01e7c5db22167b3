package config

import (
	"fmt"
	"strings"
)

// SettingError is one thing that is wrong with the settings. Load joins all it finds.
type SettingError struct {
	Source string // "cluster.yaml:12:5" (line and column in bytes from 1), "env ORBWEAVER_X", "-s X", "--redis"
	Key    string // key path in the file, or setting name; "" when the whole source is meant
	Text   string // what is wrong and what to do
}

// Error is one line: where, which setting, what is wrong and what to do.
func (p *SettingError) Error() string {
	if p.Key == "" {
		return fmt.Sprintf("config: %s: %s", p.Source, p.Text)
	}
	return fmt.Sprintf("config: %s: %s %s", p.Source, p.Key, p.Text)
}

// didYouMean is "; did you mean X?" for the candidate nearest to s, or "".
func didYouMean(s string, candidates []string) string {
	if near := nearest(s, candidates); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// nearest is the candidate that a slip of the keyboard away from s, or "".
func nearest(s string, candidates []string) string {
	const longest = 80 // no name of ours is longer; bounds the work on foreign text
	if len(s) > longest {
		return ""
	}
	best, bestAt := "", 1+max(1, min(3, len(s)/4))
	low := strings.ToLower(strings.ReplaceAll(s, "-", "_"))
	for _, c := range candidates {
		if d := distance(low, strings.ToLower(c)); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, changes and swaps of
// neighbours (each place once) that make a from b.
func distance(a, b string) int {
	older, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			change := prev[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], older[j-2]+1)
			}
		}
		older, prev, cur = prev, cur, older
	}
	return prev[len(b)]
}
