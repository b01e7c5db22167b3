package main

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/config"
)

func TestWithoutUserInfo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                     "",
		"a@b":                                  "a@b",
		"http://a/@b":                          "http://a/@b",
		"http://a?x=y@b":                       "http://a?x=y@b",
		"http://me:word@a":                     "http://***@a",
		"http://me@a:80/x@y":                   "http://***@a:80/x@y",
		"ftp://me:w@rd@a/ and http://u:p@b/":   "ftp://***@a/ and http://***@b/",
		`get "http://me:word@a": no route`:     `get "http://***@a": no route`,
		"://@":                                 "://***@",
		"http://a http://me:word@b?next=x://c": "http://a http://***@b?next=x://c",
	} {
		require.Equal(t, want, withoutUserInfo(text))
	}
}

func TestNoPasswordIsLogged(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		cfg, err := config.Load(config.Sources{Flags: map[string]string{"LOG_FORMAT": format, "LOG_LEVEL": "debug"}})
		require.NoError(t, err)
		var out bytes.Buffer
		log := newLogger(cfg, &out)
		fields := log.WithField("url", "http://me:word@a/").WithField("n", 1)
		fields.WithField("err", errors.New("get http://me:word@a/")).Debug("gone http://me:word@a/")
		require.NotContains(t, out.String(), "word")
		require.Contains(t, out.String(), "***@a/")
		require.Equal(t, "http://me:word@a/", fields.Data["url"], "the caller's is as it was")
	}
}
