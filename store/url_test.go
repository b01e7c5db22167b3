package store

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, url string
		addrs     []string
		display   string
		check     func(t *testing.T, got *target)
	}{
		{"host and port", "redis://h:1", []string{"h:1"}, "redis://h:1", nil},
		{"defaults", "redis://", []string{"localhost:6379"}, "redis://", nil},
		{"bare", "h:1", []string{"h:1"}, "h:1", nil},
		{"bare name", "h", []string{"h:6379"}, "h", nil},
		{"ipv6", "redis://[::1]:7/2", []string{"[::1]:7"}, "redis://[::1]:7/2", func(t *testing.T, got *target) {
			require.Equal(t, 2, got.options.DB)
		}},
		{"credentials", "redis://u:p%2Fw@h:1", []string{"h:1"}, "redis://u:***@h:1", func(t *testing.T, got *target) {
			require.Equal(t, "u", got.options.Username)
			require.Equal(t, "p/w", got.options.Password)
		}},
		{"password only", "redis://:secret@h", []string{"h:6379"}, "redis://:***@h", nil},
		{"lone user is hidden", "redis://secret@h", []string{"h:6379"}, "redis://***@h", nil},
		{"tls", "rediss://h:1", []string{"h:1"}, "rediss://h:1", func(t *testing.T, got *target) {
			require.Equal(t, "h", got.options.TLSConfig.ServerName)
		}},
		{"socket", "unix:///run/r.sock?db=3", []string{"/run/r.sock"}, "unix:///run/r.sock?db=3", func(t *testing.T, got *target) {
			require.Equal(t, 3, got.options.DB)
			require.Equal(t, "unix", got.options.Network)
		}},
		{"bare socket", "/run/r.sock", []string{"/run/r.sock"}, "/run/r.sock", nil},
		{"cluster", "redis://u:p@a:1,b:2,c", []string{"a:1", "b:2", "c:6379"}, "redis://u:***@a:1,b:2,c", func(t *testing.T, got *target) {
			require.True(t, got.cluster)
			require.IsType(t, &redis.ClusterClient{}, got.newClient(Config{}.WithDefaults()))
		}},
		{"bare cluster", "a:1,b:2", []string{"a:1", "b:2"}, "a:1,b:2", nil},
		{
			"sentinel", "redis+sentinel://:p@a,b:2/mymaster/4?sentinel_password=s",
			[]string{"a:26379", "b:2"},
			"redis+sentinel://:***@a,b:2/mymaster/4?sentinel_password=***", func(t *testing.T, got *target) {
				require.Equal(t, "mymaster", got.master)
				require.Equal(t, "s", got.sentinelPassword)
				require.Equal(t, "p", got.options.Password)
				require.Equal(t, 4, got.options.DB)
				require.False(t, got.cluster)
				c := got.newClient(Config{}.WithDefaults())
				require.NoError(t, c.Close())
			},
		},
		{
			"settings of the URL stay", "redis://h?pool_size=3&read_timeout=2s&max_retries=9",
			[]string{"h:6379"},
			"redis://h?pool_size=3&read_timeout=2s&max_retries=9", func(t *testing.T, got *target) {
				c := got.newClient(Config{}.WithDefaults()).(*redis.Client)
				defer c.Close()
				require.Equal(t, 3, c.Options().PoolSize)
				require.Equal(t, "2s", c.Options().ReadTimeout.String())
				require.Equal(t, 0, c.Options().MaxRetries, "a retry is the crawler's, not the client's")
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseURL(tt.url)
			require.NoError(t, err)
			require.Equal(t, tt.addrs, got.addrs)
			require.Equal(t, tt.display, got.String())
			if tt.check != nil {
				tt.check(t, got)
			}
		})
	}
}

func TestParseURLRefuses(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"other scheme":       "http://h",
		"unix sentinel":      "unix+sentinel:///s",
		"no socket":          "unix://",
		"port":               "redis://h:port",
		"database":           "redis://h/x",
		"path":               "redis://h/1/2",
		"unknown option":     "redis://h?nonsense=1",
		"bad option":         "redis://h?pool_size=many",
		"no master":          "redis+sentinel://h",
		"cluster database":   "redis://a,b/1",
		"empty address":      "redis://a,,b",
		"fragment":           "redis://h#x",
		"control character":  "redis://h\n",
		"slash in password":  "redis://:secr/et@h",
		"slash, comma":       "redis://:12,secr/et@h",
		"digits, slash":      "redis://:12/secret@h",
		"question mark":      "redis://:12?secret@h",
		"hash in password":   "redis://:12#secret@h",
		"sentinel, password": "redis+sentinel://h?sentinel_password=secret",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseURL(raw)
			require.ErrorIs(t, err, ErrConfig)
			require.NotContains(t, err.Error(), "secr")
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// FuzzParseURL: no panic, and a password never shows.
func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{
		"redis://:PASSWORD@h:1/0", "redis://u:PASSWORD@a,b", "redis+sentinel://:PASSWORD@h/m?sentinel_password=PASSWORD",
		"unix://u:PASSWORD@/s", "redis://:PASS/WORD@h", "rediss://[::1]:PASSWORD", "a@b:c@d?x=@", "redis://h/#PASSWORD@", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := parseURL(raw)
		if err != nil {
			require.ErrorIs(t, err, ErrConfig)
			return
		}
		require.NotEmpty(t, got.addrs)
		for _, secret := range []string{got.options.Password, got.sentinelPassword} {
			// A short secret may be part of the host's name by chance.
			if len(secret) >= 8 && strings.Count(raw, secret) == 1 {
				require.NotContains(t, got.display, secret)
			}
		}
	})
}
