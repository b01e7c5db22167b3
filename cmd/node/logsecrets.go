package main

import (
	"strings"

	"github.com/sirupsen/logrus"
)

// logSecrets takes the user info out of every URL that is logged: a seed's URL may
// hold a password, and it is in the fields and errors of whatever happens to it.
type logSecrets struct{}

// Levels implements logrus.Hook.
func (logSecrets) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements logrus.Hook. The entry is the logger's own copy.
func (logSecrets) Fire(e *logrus.Entry) error {
	e.Message = withoutUserInfo(e.Message)
	for key, value := range e.Data {
		switch v := value.(type) {
		case string:
			e.Data[key] = withoutUserInfo(v)
		case error:
			if text := v.Error(); withoutUserInfo(text) != text {
				e.Data[key] = withoutUserInfo(text)
			}
		}
	}
	return nil
}

// withoutUserInfo is a text with *** for the user info of the URLs in it.
func withoutUserInfo(text string) string {
	if strings.IndexByte(text, '@') < 0 {
		return text
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "://")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString("://")
		end := strings.IndexAny(rest, "/?# \t\r\n\"'")
		if end < 0 {
			end = len(rest)
		}
		if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
			out.WriteString("***")
			rest = rest[at:]
		}
		text = rest
	}
}
