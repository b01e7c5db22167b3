package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"orbweaver/core/sitemap"
	"orbweaver/core/weburl"
)

const redisForms = "write redis://HOST:PORT/DB, rediss://..., redis+sentinel://..., unix:///PATH, or HOST:PORT"

// checkRedisURL accepts "" and what looks like one of the store's forms; the
// store itself reads them. Its errors hold no part of a password.
func checkRedisURL(s string) error {
	if s == "" {
		return nil
	}
	if strings.ContainsAny(s, " \t") {
		return errors.New("holds a blank: percent-encode it")
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		if _, _, err := net.SplitHostPort(s); err != nil && !strings.HasPrefix(s, "/") {
			return errors.New("is not a URL: " + redisForms)
		}
		return nil
	}
	switch strings.ToLower(scheme) {
	case "redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel":
	default:
		return fmt.Errorf("has the scheme %s: %s", quote(scheme), redisForms)
	}
	if strings.Contains(rest, ",") { // several addresses are no URL for net/url
		return nil
	}
	if _, err := url.Parse(s); err != nil {
		return errors.New("is not a valid URL: write / # ? @ : % in a password as %2F %23 %3F %40 %3A %25, and check the port")
	}
	return nil
}

// checkEncoding accepts the encodings that URLs and seeds can be read in.
func checkEncoding(s string) error {
	if err := checkNotEmpty(s); err != nil {
		return err
	}
	if _, err := weburl.SafeURL("http://h/", s); err != nil { // a clean URL: only the encoding can be wrong
		return fmt.Errorf("%s is no known encoding: write one such as utf-8 or latin-1", quote(s))
	}
	return nil
}

// checkKeyTemplate accepts a Redis key with %(name)s or %(spider)s for the crawl's name.
func checkKeyTemplate(s string) error {
	if err := checkNotEmpty(s); err != nil {
		return err
	}
	if i := strings.IndexByte(Key(s, ""), '%'); i >= 0 {
		return fmt.Errorf("%s holds a %% that is neither %%(name)s nor %%(spider)s: those stand for the crawl's name", quote(s))
	}
	return nil
}

// checkCrawlName accepts "" and what can start a Redis key in every layout:
// braces would move the key's hash tag, a colon would end the name.
func checkCrawlName(s string) error {
	const limit = 200
	if strings.ContainsAny(s, "{}:% \t/\\") || len(s) > limit {
		return fmt.Errorf("%s cannot name a crawl: at most %d bytes, without blanks and any of { } : %% / \\", quote(s), limit)
	}
	return nil
}

// checkNodeName accepts "" and what can stand in keys and member ids.
func checkNodeName(s string) error {
	const limit = 100
	if strings.ContainsAny(s, "{}|:% \t/\\") || len(s) > limit {
		return fmt.Errorf("%s cannot name a node: at most %d bytes, without blanks and any of { } | : %% / \\", quote(s), limit)
	}
	return nil
}

func checkNotEmpty(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("is empty: give a value")
	}
	return nil
}

// checkUserAgent accepts a field value of ASCII with known placeholders.
func checkUserAgent(s string) error {
	if err := checkNotEmpty(s); err != nil {
		return fmt.Errorf("%w (a site must be able to tell who visits)", err)
	}
	if rest := strings.NewReplacer("%(version)s", "", "%(contact)s", "").Replace(s); strings.Contains(rest, "%(") {
		return fmt.Errorf("%s has an unknown placeholder: there are %%(version)s and %%(contact)s", quote(s))
	}
	return checkASCII(s)
}

// checkContact accepts "" and text that can stand in a header's comment.
func checkContact(s string) error {
	if strings.ContainsAny(s, "()%") {
		return fmt.Errorf("%s holds ( ) or %%, which cannot stand in a User-Agent's comment: take them out", quote(s))
	}
	return checkASCII(s)
}

// checkAuthUser accepts what can be a user in HTTP basic authentication.
func checkAuthUser(s string) error {
	if strings.Contains(s, ":") {
		return errors.New("holds a colon, which would end the user's name: take it out")
	}
	return nil
}

// checkAuthDomain accepts "" and a host name, with or without a scheme and a port.
func checkAuthDomain(s string) error {
	if s == "" {
		return nil
	}
	scheme, host, ok := strings.Cut(strings.ToLower(s), "://")
	if !ok {
		scheme, host = "http", s
	}
	host, port, ok := strings.Cut(host, ":")
	if n, err := strconv.ParseUint(port, 10, 16); ok && (err != nil || n == 0 || port[0] == '0') {
		scheme = ""
	}
	if scheme != "http" && scheme != "https" || strings.ContainsAny(host, "/?#@*, \t") || strings.Trim(host, ".") == "" {
		return fmt.Errorf("%s is no domain: write example.org, or https://example.org for https alone, or https://example.org:8443 for that port", quote(s))
	}
	return nil
}

func checkASCII(s string) error {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fmt.Errorf("%s holds a character that is not ASCII, which cannot stand in a header: take it out", quote(s))
	}
	return nil
}

// checkSitemap accepts "robots" and what can be fetched.
func checkSitemap(s string) error {
	if s == "robots" {
		return nil
	}
	if _, err := weburl.Clean(s); err != nil {
		return fmt.Errorf("%s is no sitemap: write http or https URLs, or robots", quote(s))
	}
	return nil
}

// checkDate accepts "" and the dates that sitemaps have.
func checkDate(s string) error {
	if _, ok := sitemap.ParseTime(s); s != "" && !ok {
		return fmt.Errorf("%s is not a date: write it as 2026-11-30 or 2026-11-30T12:00:00Z", quote(s))
	}
	return nil
}

// scopeValue is "seeds", "any" or domains; a YAML list of domains will do.
type scopeValue struct{ p *string }

func (v scopeValue) kind() string { return "seeds, any or domains" }
func (v scopeValue) text() string { return *v.p }
func (v scopeValue) plain() any   { return *v.p }

func (v scopeValue) set(in input) error {
	words, err := in.words()
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return errors.New("is empty: write seeds, any, or domains with commas between")
	}
	for i, w := range words {
		words[i] = strings.ToLower(w)
		if len(words) > 1 && (words[i] == "seeds" || words[i] == "any") {
			return fmt.Errorf("%s stands alone: write it without domains", quote(w))
		}
		if strings.ContainsAny(w, "/?#@*%{}\"'\\ \t") {
			return fmt.Errorf("%s is not a domain: write names such as example.org, without scheme, path or wildcard", quote(w))
		}
	}
	*v.p = strings.Join(words, ",")
	return nil
}

// adminValue is an address to listen on, or "off", which is stored as "".
type adminValue struct{ p *string }

func (v adminValue) kind() string { return "HOST:PORT or off" }
func (v adminValue) plain() any   { return v.text() }

func (v adminValue) text() string {
	if *v.p == "" {
		return "off"
	}
	return *v.p
}

func (v adminValue) set(in input) error {
	s, err := in.scalar()
	if err != nil {
		return err
	}
	if strings.EqualFold(s, "off") || strings.EqualFold(s, "false") { // YAML 1.1 writers may turn off into false
		*v.p = ""
		return nil
	}
	if _, _, err := net.SplitHostPort(s); err != nil {
		return fmt.Errorf("%s is not an address: write HOST:PORT, such as 127.0.0.1:6080, or off", quote(s))
	}
	if err := checkHostPort(s); err != nil {
		return err
	}
	*v.p = s
	return nil
}

// checkHostPort refuses what is neither empty nor HOST:PORT.
func checkHostPort(s string) error {
	if s == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%s is not an address: write HOST:PORT, such as 127.0.0.1:7080", quote(s))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%s has no valid port: write a number of 0 to 65535", quote(s))
	}
	if strings.ContainsAny(host, " \t/@") {
		return fmt.Errorf("%s has no valid host: write a name or an address", quote(s))
	}
	return nil
}

// crossCheck finds values that are each in range but do not go together. It
// leaves out settings that were refused, for their defaults were not chosen.
func crossCheck(c *Config, refused map[string]bool) []*SettingError {
	var found []*SettingError
	bad := func(name, format string, args ...any) {
		found = append(found, &SettingError{Source: c.Source(name), Key: name, Text: fmt.Sprintf(format, args...)})
	}
	fine := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return refused[name] })
	}
	if c.Redis.StartURLsAsSet && c.Redis.StartURLsAsZSet {
		bad("REDIS_START_URLS_AS_SET", "is on together with REDIS_START_URLS_AS_ZSET (%s): switch one off", c.Source("REDIS_START_URLS_AS_ZSET"))
	}
	if c.Fetch.TLSMinVersion > c.Fetch.TLSMaxVersion && fine("DOWNLOAD_TLS_MIN_VERSION", "DOWNLOAD_TLS_MAX_VERSION") {
		bad("DOWNLOAD_TLS_MIN_VERSION", "%s is more than DOWNLOAD_TLS_MAX_VERSION, %s (%s): lower it or raise the other",
			c.Fetch.TLSMinVersion, c.Fetch.TLSMaxVersion, c.Source("DOWNLOAD_TLS_MAX_VERSION"))
	}
	if c.Fetch.AuthDomain == "" && c.Fetch.AuthUser+c.Fetch.AuthPass != "" && fine("HTTPAUTH_DOMAIN") {
		bad("HTTPAUTH_DOMAIN", "is not set, but HTTPAUTH_USER or HTTPAUTH_PASS is: name the site that may see them")
	}
	if c.Fetch.ProxyBackoffBase > c.Fetch.ProxyBackoffMax && fine("PROXY_BACKOFF_BASE", "PROXY_BACKOFF_MAX") {
		bad("PROXY_BACKOFF_BASE", "%s is more than PROXY_BACKOFF_MAX, %s (%s): lower it or raise the other",
			seconds(c.Fetch.ProxyBackoffBase), seconds(c.Fetch.ProxyBackoffMax), c.Source("PROXY_BACKOFF_MAX"))
	}
	if c.Throttle.BackoffBase > c.Throttle.BackoffMax && fine("BACKOFF_BASE", "BACKOFF_MAX") {
		bad("BACKOFF_BASE", "%s is more than BACKOFF_MAX, %s (%s): lower it or raise the other",
			seconds(c.Throttle.BackoffBase), seconds(c.Throttle.BackoffMax), c.Source("BACKOFF_MAX"))
	}
	if c.Retry.BackoffBase > c.Retry.BackoffMax && fine("RETRY_BACKOFF_BASE", "RETRY_BACKOFF_MAX") {
		bad("RETRY_BACKOFF_BASE", "%s is more than RETRY_BACKOFF_MAX, %s (%s): lower it or raise the other",
			seconds(c.Retry.BackoffBase), seconds(c.Retry.BackoffMax), c.Source("RETRY_BACKOFF_MAX"))
	}
	if c.Throttle.CircuitOpen > c.Throttle.CircuitOpenMax && fine("CIRCUIT_OPEN", "CIRCUIT_OPEN_MAX") {
		bad("CIRCUIT_OPEN", "%s is more than CIRCUIT_OPEN_MAX, %s (%s): lower it or raise the other",
			seconds(c.Throttle.CircuitOpen), seconds(c.Throttle.CircuitOpenMax), c.Source("CIRCUIT_OPEN_MAX"))
	}
	if s := c.Scheduler; s.SlotRenew+s.SlotMargin >= s.SlotTTL && fine("SLOT_TTL", "SLOT_RENEW", "SLOT_MARGIN") {
		bad("SLOT_TTL", "%s leaves no time to renew: it must be more than SLOT_RENEW, %s (%s), plus SLOT_MARGIN, %s (%s)",
			seconds(s.SlotTTL), seconds(s.SlotRenew), c.Source("SLOT_RENEW"), seconds(s.SlotMargin), c.Source("SLOT_MARGIN"))
	}
	k := c.Cluster
	if 3*k.Heartbeat > k.TTL && fine("CLUSTER_TTL", "CLUSTER_HEARTBEAT") {
		bad("CLUSTER_HEARTBEAT", "%s is too seldom for CLUSTER_TTL, %s (%s): write a third of it at most",
			seconds(k.Heartbeat), seconds(k.TTL), c.Source("CLUSTER_TTL"))
	}
	if given := (k.TLSCA != "") == (k.TLSCert != "") && (k.TLSCert != "") == (k.TLSKey != ""); !given {
		bad("CLUSTER_TLS_CERT", "goes with CLUSTER_TLS_CA and CLUSTER_TLS_KEY: set all three, or none")
	}
	return found
}
