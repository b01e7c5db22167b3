package throttle

import "strings"

// SlotKey names the slot of a request, by Scrapy's rule: the name given with the
// request (download_slot) if any; else the address that lookup knows for the host,
// when CONCURRENT_REQUESTS_PER_IP makes slots of addresses (lookup is not nil);
// else the host. authority is a URL's host part: user information, port and the
// brackets of an IPv6 address are dropped, letters are lower-cased.
func SlotKey(authority, named string, lookup func(host string) (address string, known bool)) string {
	if named != "" {
		return named
	}
	host := hostOf(authority)
	if lookup != nil {
		if address, known := lookup(host); known {
			return address
		}
	}
	return host
}

func hostOf(authority string) string {
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	if strings.HasPrefix(authority, "[") {
		authority, _, _ = strings.Cut(authority[1:], "]")
	} else {
		authority, _, _ = strings.Cut(authority, ":")
	}
	return strings.ToLower(authority)
}
