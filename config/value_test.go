package config

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/netguard"
)

func TestValues(t *testing.T) {
	t.Parallel()
	tests := []struct {
		setting, text string
		want          any    // value of the field; nil with wantErr
		wantErr       string // part of the error
	}{
		{"AUTOTHROTTLE_ENABLED", "False", false, ""},
		{"AUTOTHROTTLE_ENABLED", "1", true, ""},
		{"AUTOTHROTTLE_ENABLED", "0", false, ""},
		{"AUTOTHROTTLE_ENABLED", "true", true, ""},
		{"AUTOTHROTTLE_ENABLED", "yes", nil, `"yes" is not a boolean: write true or false`},
		{"AUTOTHROTTLE_ENABLED", "2", nil, "is not a boolean"},
		{"AUTOTHROTTLE_ENABLED", "", nil, "is empty"},

		{"DOWNLOAD_DELAY", "0.25", 250 * time.Millisecond, ""},
		{"DOWNLOAD_DELAY", "250ms", 250 * time.Millisecond, ""},
		{"DOWNLOAD_DELAY", "2m", 2 * time.Minute, ""},
		{"DOWNLOAD_DELAY", "1e-3", time.Millisecond, ""},
		{"DOWNLOAD_DELAY", "0", time.Duration(0), ""},
		{"DOWNLOAD_DELAY", "-1", nil, "out of range"},
		{"DOWNLOAD_DELAY", "-1s", nil, "out of range"},
		{"DOWNLOAD_DELAY", "1e300", nil, "out of range"},
		{"DOWNLOAD_DELAY", "1e999", nil, "is not a duration"},
		{"DOWNLOAD_DELAY", "NaN", nil, "is not a duration"},
		{"DOWNLOAD_DELAY", "Inf", nil, "is not a duration"},
		{"DOWNLOAD_DELAY", "0x10", nil, "is not a duration"},
		{"DOWNLOAD_DELAY", "soon", nil, "write seconds (0.25) or a number with its unit (250ms, 2m)"},
		{"SLOT_TTL", "500ms", nil, "write 1s to 600s"},

		{"RETRY_TIMES", "3", 3, ""},
		{"RETRY_TIMES", "-1", nil, "-1 is out of range: write 0 to"},
		{"RETRY_TIMES", "1.5", nil, "is not a whole number"},
		{"RETRY_TIMES", "99999999999999999999", nil, "out of range"},
		{"RETRY_PRIORITY_ADJUST", "-10", -10, ""},
		{"REDIRECT_PRIORITY_ADJUST", "+2", 2, ""},

		{"AUTOTHROTTLE_TARGET_CONCURRENCY", "2.5", 2.5, ""},
		{"AUTOTHROTTLE_TARGET_CONCURRENCY", "0", nil, "write 0.001 to 10000 (AUTOTHROTTLE_ENABLED=false turns it off)"},
		{"AUTOTHROTTLE_TARGET_CONCURRENCY", "many", nil, "is not a number"},

		{"DOWNLOAD_MAXSIZE", "1048576", int64(1 << 20), ""},
		{"DOWNLOAD_MAXSIZE", "2 MiB", int64(2 << 20), ""},
		{"DOWNLOAD_MAXSIZE", "0", nil, "a body always has a limit"},
		{"DOWNLOAD_MAXSIZE", "9223372036854775807GiB", nil, "out of range"},
		{"DOWNLOAD_MAXSIZE", "-9223372036854775808KiB", nil, "out of range"},
		{"DOWNLOAD_MAXSIZE", "2MB", nil, "is not a size"},

		{"ADDRESS_ALLOW", "10.1.2.3, 10.1.2.3/8,fd00::1/8", []netip.Prefix{netip.MustParsePrefix("10.1.2.3/32"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}, ""},
		{"ADDRESS_ALLOW", "", []netip.Prefix(nil), ""},
		{"ADDRESS_DENY", "example.org", nil, `"example.org" is no network: write an address`},
		{"ADDRESS_DENY", "fe80::1%lo", nil, "is no network"},
		{"ADDRESS_DENY", "10.0.0.0/33", nil, "is no network"},
		{"NAT64_PREFIX", "64:ff9b:1::/48", []netip.Prefix{netip.MustParsePrefix("64:ff9b:1::/48")}, ""},
		{"NAT64_PREFIX", "10.0.0.0/32", nil, "is no translator's prefix"},
		{"NAT64_PREFIX", "2001:db8::/50", nil, "is no translator's prefix"},
		{"PROXY_LIST", "http://u:p@h:1, socks5h://[::1]:2,h:3", []string{"http://u:p@h:1", "socks5h://[::1]:2", "h:3"}, ""},
		{"PROXY_LIST", "ftp://u:secret@h", nil, "has an entry with another scheme"},
		{"PROXY_LIST", "http://u:secret@h:x", nil, "has an entry that is no URL"},
		{"DNS_SERVERS", "10.0.0.53, [fd00::53]:5353,fd00::53", []string{"10.0.0.53", "[fd00::53]:5353", "fd00::53"}, ""},
		{"DOWNLOAD_TLS_MIN_VERSION", "TLSv1.3", "1.3", ""},
		{"DOWNLOAD_TLS_MIN_VERSION", "SSLv3", nil, "write one of 1.0, 1.1, 1.2, 1.3"},
		{"DOWNLOAD_VERIFY_EXCEPT", "a.test,https://b.test", nil, "is no domain"},
		{"HTTPAUTH_USER", "a:b", nil, "holds a colon"},
		{"HTTPAUTH_DOMAIN", "https://example.org", "https://example.org", ""},
		{"HTTPAUTH_DOMAIN", "https://example.org:8443", "https://example.org:8443", ""},
		{"HTTPAUTH_DOMAIN", "example.org:", nil, "is no domain"},
		{"HTTPAUTH_DOMAIN", "example.org:99999", nil, "is no domain"},
		{"HTTPAUTH_DOMAIN", "[::1]", nil, "is no domain"},
		{"HTTPAUTH_DOMAIN", "example.org/a", nil, "is no domain"},
		{"HTTPAUTH_DOMAIN", "ftp://example.org", nil, "is no domain"},
		{"HTTPAUTH_DOMAIN", "*.example.org", nil, "is no domain"},
		{"DNS_SERVERS", "dns.test", nil, "is no name server"},
		{"ALLOWED_PORTS", "80, 443,8000-8999", []netguard.PortRange{{First: 80, Last: 80}, {First: 443, Last: 443}, {First: 8000, Last: 8999}}, ""},
		{"ALLOWED_PORTS", "", []netguard.PortRange(nil), ""},
		{"ALLOWED_PORTS", "0", nil, "is no list of ports"},
		{"ALLOWED_PORTS", "9-1", nil, "is no list of ports"},
		{"ALLOWED_PORTS", "http", nil, "is no list of ports"},

		{"SCHEDULER_QUEUE_CLASS", "scrapy_redis.queue.PriorityQueue", "PriorityQueue", ""},
		{"SCHEDULER_QUEUE_CLASS", "SpiderQueue", "FifoQueue", ""},
		{"SCHEDULER_QUEUE_CLASS", "scrapy_redis.queue.SpiderStack", "LifoQueue", ""},
		{"SCHEDULER_QUEUE_CLASS", "fifoqueue", "FifoQueue", ""},
		{"SCHEDULER_QUEUE_CLASS", "FifoQeue", nil, "did you mean FifoQueue?"},
		{"LOG_LEVEL", "WARNING", "warning", ""},
		{"LOG_LEVEL", "CRITICAL", "fatal", ""},

		{"HTTPERROR_ALLOWED_CODES", "404, 403,404", []int{403, 404}, ""},
		{"HTTPERROR_ALLOWED_CODES", "", []int{}, ""},
		{"HTTPERROR_ALLOWED_CODES", "404,", nil, "entry 2 of the list is empty"},
		{"HTTPERROR_ALLOWED_CODES", "99", nil, "is not an HTTP status code"},
		{"REQUEST_FINGERPRINTER_INCLUDE_HEADERS", "Cookie,X-A", []string{"Cookie", "X-A"}, ""},
		{"REQUEST_FINGERPRINTER_INCLUDE_HEADERS", "A B", nil, "is not a header name"},

		{"DEFAULT_REQUEST_HEADERS", `{"B": "2", "A": "1"}`, []crawl.Header{{Name: "B", Value: "2"}, {Name: "A", Value: "1"}}, ""},
		{"DEFAULT_REQUEST_HEADERS", `{}`, []crawl.Header(nil), ""},
		{"DEFAULT_REQUEST_HEADERS", `{"A": 1}`, nil, "is not a mapping"},
		{"DEFAULT_REQUEST_HEADERS", `{"A": "1"} {}`, nil, "is not a mapping"},
		{"DEFAULT_REQUEST_HEADERS", `{"A": "1"`, nil, "is not a mapping"},
		{"DEFAULT_REQUEST_HEADERS", `{"A": "1", "a": "2"}`, nil, "is given twice"},
		{"DEFAULT_REQUEST_HEADERS", `{"A": "1\r\nB: 2"}`, nil, "control character"},
		{"DEFAULT_REQUEST_HEADERS", `{"A:": "1"}`, nil, "is not a header name"},
		{"DEFAULT_REQUEST_HEADERS", `{"Host": "x"}`, nil, "is set by the client itself"},
		{"DEFAULT_REQUEST_HEADERS", `{"user-agent": "x"}`, nil, "use USER_AGENT"},

		{"USER_AGENT", "me/1.0", "me/1.0", ""},
		{"USER_AGENT", "", nil, "is empty"},
		{"USER_AGENT", "me\r\nX: y", nil, "control character"},
		{"USER_AGENT", "mé", nil, "not ASCII"},
		{"USER_AGENT", "me %(mail)s", nil, "unknown placeholder"},
		{"USER_AGENT_CONTACT", "me) (x", nil, "cannot stand"},

		{"SCOPE", "Example.org, b.test", "example.org,b.test", ""},
		{"SCOPE", "any,b.test", nil, "stands alone"},
		{"SCOPE", "https://example.org/", nil, "is not a domain"},
		{"SCOPE", "", nil, "is empty"},

		{"ADMIN", "off", "", ""},
		{"ADMIN", "[::1]:0", "[::1]:0", ""},
		{"ADMIN", ":6080", ":6080", ""},
		{"ADMIN", "6080", nil, "write HOST:PORT"},
		{"ADMIN", "localhost:http", nil, "no valid port"},
		{"ADMIN", "localhost:65536", nil, "no valid port"},

		{"REDIS_URL", "", "", ""},
		{"REDIS_URL", "redis://:secret@10.0.0.1:6379/2", "redis://:secret@10.0.0.1:6379/2", ""},
		{"REDIS_URL", "redis://a:1,b:2", "redis://a:1,b:2", ""},
		{"REDIS_URL", "localhost:6379", "localhost:6379", ""},
		{"REDIS_URL", "/run/redis.sock", "/run/redis.sock", ""},
		{"REDIS_URL", "redis+sentinel://a:1,b:2/main", "redis+sentinel://a:1,b:2/main", ""},
		{"REDIS_URL", "localhost", nil, "is not a URL"},
		{"REDIS_URL", "http://localhost", nil, `has the scheme "http"`},
		{"REDIS_URL", "redis://h:port", nil, "is not a valid URL"},

		{"REDIS_START_URLS_KEY", "%(mane)s:start_urls", nil, "neither %(name)s nor %(spider)s"},
		{"REDIS_ENCODING", "latin-1", "latin-1", ""},
		{"REDIS_ENCODING", "../x", nil, "is no known encoding"},
		{"REDIS_ENCODING", "utf-9", nil, "is no known encoding"},
		{"CRAWL_NAME", "a{b", nil, "cannot name a crawl"},
		{"NODE_NAME", "a b", nil, "cannot name a node"},
		{"DATA_DIR", " ", nil, "is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.setting+"="+tt.text, func(t *testing.T) {
			t.Parallel()
			c, err := Load(Sources{Flags: map[string]string{tt.setting: tt.text}})
			if tt.wantErr != "" {
				require.ErrorContains(t, err, tt.wantErr)
				require.ErrorContains(t, err, "config: -s "+tt.setting+": ")
				require.NotContains(t, err.Error(), "\n")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, fieldOf(t, c, tt.setting))
		})
	}
}

func TestErrorsKeepSecrets(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"hunter2@host", "http://:hunter2@host", "redis://:hunter2@host:x", "redis://:hunter2 x@host", "redis://u:hun%ter2@h"} {
		_, err := Load(Sources{Flags: map[string]string{"REDIS_URL": url}})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), "ter2")
	}
}
