package fetcher

import (
	"encoding/base64"
	"errors"
	"strings"
)

// Auth is a user and a password for the sites of one domain (Scrapy's
// HttpAuthMiddleware). The zero value is none.
type Auth struct {
	User, Password string
	// Domain is who gets them: this host and those below it, by http and https; or
	// with a scheme before it (https://example.org) or a port after it by those alone.
	// Without it there is no one to whom they may go, so it is required.
	Domain string
}

// credentials are an Auth made ready.
type credentials struct {
	value  string // of the Authorization field; "" for none
	scheme string // "" for both
	domain string // in lower case
	port   string // "" for all
}

func (a Auth) ready() (credentials, error) {
	if a.User == "" && a.Password == "" {
		return credentials{}, nil
	}
	c := credentials{domain: strings.ToLower(strings.TrimSpace(a.Domain))}
	if scheme, host, ok := strings.Cut(c.domain, "://"); ok {
		c.scheme, c.domain = scheme, host
	}
	if host, port, ok := strings.Cut(c.domain, ":"); ok && !strings.Contains(port, ":") {
		c.domain, c.port = host, port
	}
	c.domain = strings.Trim(c.domain, ".")
	switch {
	case c.scheme != "" && c.scheme != "http" && c.scheme != "https", !validHost(c.domain):
		return c, errors.New("fetcher: config: auth domain: want a host name, or http:// or https:// and one")
	case strings.Contains(a.User, ":"):
		return c, errors.New("fetcher: config: auth user: holds a colon, which would end it") // RFC 7617 section 2
	}
	c.value = "Basic " + base64.StdEncoding.EncodeToString([]byte(a.User+":"+a.Password))
	return c, nil
}

// forTarget is the value of the Authorization field for t, "" for none.
func (c *credentials) forTarget(t *target) string {
	if c.value == "" || c.scheme == "http" && t.tls || c.scheme == "https" && !t.tls || c.port != "" && c.port != t.port {
		return ""
	}
	if !under(strings.TrimSuffix(strings.ToLower(t.host), "."), c.domain) {
		return ""
	}
	return c.value
}
