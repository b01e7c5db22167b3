package config

import (
	"strings"

	"orbweaver/core/spider"
)

func linkSettings(c *Crawl) []Setting {
	return []Setting{{
		Name: "FOLLOW_NOFOLLOW", Path: "crawl.follow_nofollow", Default: "false",
		Doc:   "Follow links marked rel=nofollow too, as Scrapy does. Without it they are left out: the site asked for that.",
		value: boolValue{&c.FollowNofollow},
	}, {
		Name: "FOLLOW_INVISIBLE", Path: "crawl.follow_invisible", Default: "false",
		Doc:   "Follow links that no visitor can see too, as Scrapy does: in an element with the attribute `hidden`, or with `display: none` or `visibility: hidden` in its style attribute. Most of them are traps for crawlers, some are menus that a script opens.",
		value: boolValue{&c.FollowInvisible},
	}, {
		Name: "IGNORED_EXTENSIONS", Path: "crawl.ignored_extensions", Default: strings.Join(spider.IgnoredExtensions(), ","), Scrapy: "the same (scrapy.linkextractors.IGNORED_EXTENSIONS)",
		Doc:   "Links whose path ends with one of these are not followed. Seeds and redirects are. Empty: all are followed.",
		value: listValue{p: &c.IgnoredExtensions},
	}}
}
