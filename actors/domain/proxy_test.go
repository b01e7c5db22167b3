package domain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProxyMeta(t *testing.T) {
	t.Parallel()
	for meta, want := range map[string]string{
		"":                      "",
		`{"depth": 1}`:          "",
		`["proxy"]`:             "",
		`{"proxy"`:              "",
		`{"proxy": null}`:       `{"proxy":null}`,
		`{"PROXY": "http://a"}`: "",
		`{"download_maxsize": 1, "proxy": "http://a:b@c"}`: `{"proxy":"http://a:b@c"}`,
	} {
		require.Equal(t, want, string(proxyMeta([]byte(meta))), meta)
	}
}
