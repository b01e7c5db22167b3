package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fieldOf is the value of the field that a setting is bound to.
func fieldOf(t *testing.T, c *Config, name string) any {
	t.Helper()
	for _, s := range registry(c) {
		if s.Name == name {
			p := reflect.ValueOf(s.value).FieldByName("p")
			return reflect.NewAt(p.Type().Elem(), p.UnsafePointer()).Elem().Interface()
		}
	}
	t.Fatalf("no setting %s", name)
	return nil
}

// loadYAML loads text as a file called cluster.yaml in a folder of its own and
// takes that folder out of the errors.
func loadYAML(t *testing.T, text string) (*Config, []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	c, err := Load(Sources{File: path, FileRequired: true})
	if err == nil {
		return c, nil
	}
	require.Nil(t, c)
	return nil, strings.Split(strings.ReplaceAll(err.Error(), path, "cluster.yaml"), "\n")
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	require.NoError(t, os.WriteFile(path, []byte("throttle:\n  download_delay: 1\nretry:\n  times: 1\n  busy_times: 1\nlog:\n  level: error\n"), 0o600))
	c, err := Load(Sources{
		File:  path,
		Env:   []string{"HOME=/", "ORBWEAVER_RETRY_TIMES=2", "ORBWEAVER_LOG_LEVEL=debug", "ORBWEAVER_RETRY_BUSY_TIMES=2", "ORBWEAVER_VECTORS=/v"},
		Flags: map[string]string{"RETRY_BUSY_TIMES": "3", "--log-level": "warning"},
	})
	require.NoError(t, err)
	require.Equal(t, time.Second, c.Throttle.DownloadDelay)
	require.Equal(t, path+":2", c.Source("DOWNLOAD_DELAY"))
	require.Equal(t, 2, c.Retry.Times)
	require.Equal(t, "env ORBWEAVER_RETRY_TIMES", c.Source("RETRY_TIMES"))
	require.Equal(t, 3, c.Retry.BusyTimes)
	require.Equal(t, "-s RETRY_BUSY_TIMES", c.Source("RETRY_BUSY_TIMES"))
	require.Equal(t, "warning", c.Log.Level)
	require.Equal(t, "--log-level", c.Source("LOG_LEVEL"))
	require.Equal(t, "default", c.Source("LOG_FORMAT"))
}

func TestFile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, yaml string
		want       []string // errors; nil when the file is fine
	}{
		{"Empty", "", nil},
		{"OnlyComments", "# nothing\n\n", nil},
		{"EmptyDocument", "---\n", nil},
		{"EmptySection", "redis:\n  # url: x\nlog:\n", nil},
		{"Lists", "retry:\n  http_codes: [500, \"503\"]\ncrawl:\n  httperror_allowed_codes: 404,410\n  scope: [a.org, b.org]\n", nil},
		{"Alias", "retry:\n  http_codes: &c [500]\ncrawl:\n  httperror_allowed_codes: *c\n", nil},
		{"Quoted", "retry:\n  times: \"7\"\nscheduler:\n  request_fingerprinter_implementation: 2.6\nadmin:\n  listen: off\n", nil},
		{"Headers", "fetch:\n  default_request_headers:\n    X-B: b\n    X-A: \"1\"\n", nil},
		{"EmptyHeaders", "fetch:\n  default_request_headers: {}\n", nil},

		{"NotAMapping", "- redis\n", []string{"config: cluster.yaml:1:1: the file holds a list: write sections, such as redis: and below it url:"}},
		{"Scalar", "redis", []string{"config: cluster.yaml:1:1: the file holds text: write sections, such as redis: and below it url:"}},
		{"SectionNotAMapping", "redis: redis://x\n", []string{"config: cluster.yaml:1:8: redis is text: write a mapping, its keys indented on the lines below"}},
		{"UnknownSection", "redsi:\n  url: x\n", []string{"config: cluster.yaml:1:1: redsi is no section; did you mean redis?"}},
		{"UnknownSectionFar", "zebra:\n", []string{"config: cluster.yaml:1:1: zebra is no section: there are redis, crawl, trap, scheduler, throttle, fetch, httpcache, robots, retry, pipeline, admin, log, cluster, node"}},
		{"KeyAtTop", "download_delay: 1\n", []string{"config: cluster.yaml:1:1: download_delay is no section; did you mean throttle.download_delay?"}},
		{"NameAtTop", "DOWNLOAD_DELAY: 1\n", []string{"config: cluster.yaml:1:1: DOWNLOAD_DELAY is the setting's name: in the file it is throttle.download_delay"}},
		{"DottedAtTop", "redis.url: x\n", []string{"config: cluster.yaml:1:1: redis.url has to be written in two levels: redis: and below it url:"}},
		{"ForeignAtTop", "FEEDS:\n  a: b\n", []string{"config: cluster.yaml:1:1: FEEDS is a setting of Scrapy that is not supported here: use -o FILE or -O FILE"}},
		{"UnknownKey", "redis:\n  urll: x\n", []string{"config: cluster.yaml:2:3: redis.urll is no setting; did you mean redis.url?"}},
		{"WrongSection", "fetch:\n  download_delay: 1\n", []string{"config: cluster.yaml:2:3: fetch.download_delay is no setting; did you mean throttle.download_delay?"}},
		{"WrongSectionShort", "throttle:\n  http_codes: [1]\n", []string{"config: cluster.yaml:2:3: throttle.http_codes is no setting; did you mean retry.http_codes?"}},
		{"ForeignKey", "fetch:\n  memdebug_enabled: true\n", []string{"config: cluster.yaml:2:3: fetch.memdebug_enabled is a setting of Scrapy that is not supported here: take it out"}},
		{"FarKey", "robots:\n  zebra: 1\n", []string{"config: cluster.yaml:2:3: robots.zebra is no setting: robots has obey, user_agent, cache_max, cache_min, obey_meta"}},
		{"MergeKey", "redis: &r\n  url: unix:///s\nlog:\n  <<: *r\n", []string{"config: cluster.yaml:4:3: log.<< merges another mapping, which is not supported: write the keys out"}},
		{"DuplicateKey", "retry:\n  times: 1\n  times: 2\n", []string{"config: cluster.yaml:3:3: retry.times is there twice, first on line 2: keep one"}},
		{"DuplicateSection", "retry:\n  times: 1\nretry:\n  enabled: true\n", []string{"config: cluster.yaml:3:1: retry is there twice, first on line 1: put both together"}},
		{"WrongType", "retry:\n  times: [1]\n", []string{"config: cluster.yaml:2:10: retry.times is a list: write one value"}},
		{"WrongTypeMap", "retry:\n  http_codes: {a: b}\n", []string{"config: cluster.yaml:2:15: retry.http_codes is a mapping: write a list"}},
		{"NumberForText", "crawl:\n  name: 2024\n", []string{`config: cluster.yaml:2:9: crawl.name "2024" is a number, not text: put it in quotes`}},
		{"NoValue", "retry:\n  times:\n", []string{"config: cluster.yaml:2:9: retry.times has no value: write one value, or take the line out for the default"}},
		{"NestedList", "retry:\n  http_codes: [500, [1]]\n", []string{"config: cluster.yaml:2:15: retry.http_codes entry 2 of the list is a list: write one value"}},
		{"HeaderNumber", "fetch:\n  default_request_headers:\n    A: 1\n", []string{`config: cluster.yaml:3:5: fetch.default_request_headers value of "A": "1" is a number, not text: put it in quotes`}},
		{"Tag", "log:\n  level: !mine debug\n", []string{`config: cluster.yaml:2:10: log.level has the tag "!mine", which is not supported: take it out`}},
		{"TwoDocuments", "log:\n  level: info\n---\nredis:\n", []string{"config: cluster.yaml:3:1: a second document begins: keep one"}},
		{"ComplexKey", "? [a]\n: b\n", []string{"config: cluster.yaml:1:3: this key is a list: write one word"}},
		{"ComplexSettingKey", "redis:\n  {a: b}: c\n", []string{"config: cluster.yaml:2:3: this key is a mapping: write one word"}},
		{"NotAloneWhenBad", "throttle:\n  backoff_base: 700\n  backoff_max: x\n", []string{
			`config: cluster.yaml:3:16: throttle.backoff_max "x" is not a duration: write seconds (0.25) or a number with its unit (250ms, 2m)`,
		}},
		{"AllAtOnce", "redis:\n  urll: x\nretry:\n  times: -1\n  enabled: maybe\nnope: 1\n", []string{
			"config: cluster.yaml:2:3: redis.urll is no setting; did you mean redis.url?",
			"config: cluster.yaml:4:10: retry.times -1 is out of range: write 0 to 1000000",
			`config: cluster.yaml:5:12: retry.enabled "maybe" is not a boolean: write true or false`,
			"config: cluster.yaml:6:1: nope is no section; did you mean node?",
		}},
		{"DoesNotGoTogether", "throttle:\n  backoff_max: 0.5\n", []string{
			"config: default: BACKOFF_BASE 1s is more than BACKOFF_MAX, 0.5s (cluster.yaml:2): lower it or raise the other",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, got := loadYAML(t, tt.yaml)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestFileSyntax(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a: [", "\tredis:", "a: b: c", "\x00", "a: \xff", "redis: *nowhere", "%YAML 9", "redis:\n  url: 'x\n", strings.Repeat("[", 20000)} {
		_, got := loadYAML(t, text)
		require.NotEmpty(t, got, "%q", text)
		require.Contains(t, got[0], "config: cluster.yaml", "%q", text)
		require.Contains(t, got[0], "is not valid YAML: ", "%q", text)
	}
}

// TestFileHopeless gives up in good time on a file that is wrong all over.
func TestFileHopeless(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"%d: x\n", "redis%d: x\n"} {
		var b strings.Builder
		for i := 0; b.Len() < maxFileBytes/2; i++ {
			fmt.Fprintf(&b, line, i)
		}
		for _, text := range []string{b.String(), "redis:\n " + strings.ReplaceAll(b.String(), "\n", "\n ")} {
			_, got := loadYAML(t, text)
			require.Len(t, got, maxProblems+1)
			require.Contains(t, got[maxProblems], "there may be more")
		}
	}
}

func TestFileUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()

	_, err := Load(Sources{File: filepath.Join(dir, "no.yaml")})
	require.NoError(t, err)

	_, err = Load(Sources{File: filepath.Join(dir, "no.yaml"), FileRequired: true})
	require.ErrorContains(t, err, filepath.Join(dir, "no.yaml")+": read settings: file does not exist")

	_, err = Load(Sources{File: dir})
	require.ErrorContains(t, err, "is a directory")

	big := filepath.Join(dir, "big.yaml")
	require.NoError(t, os.WriteFile(big, []byte("#"+strings.Repeat(" ", maxFileBytes)), 0o600))
	_, err = Load(Sources{File: big})
	require.ErrorContains(t, err, "is larger than")

	_, err = Load(Sources{File: "/dev/zero"})
	require.ErrorContains(t, err, "is larger than")
}

func TestNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		from Sources
		want string
	}{
		{"EnvSlip", Sources{Env: []string{"ORBWEAVER_DOWNLOAD_DELY=1"}}, "config: env ORBWEAVER_DOWNLOAD_DELY: is no setting; did you mean DOWNLOAD_DELAY?"},
		{"EnvValue", Sources{Env: []string{"ORBWEAVER_RETRY_TIMES=x"}}, `config: env ORBWEAVER_RETRY_TIMES: "x" is not a whole number`},
		{"Slip", Sources{Flags: map[string]string{"LOG_LEVEL_": "x"}}, "config: -s LOG_LEVEL_: is no setting; did you mean LOG_LEVEL?"},
		{"Case", Sources{Flags: map[string]string{"log_level": "x"}}, "did you mean LOG_LEVEL?"},
		{"Path", Sources{Flags: map[string]string{"log.level": "x"}}, "config: -s log.level: is a key of the configuration file: use LOG_LEVEL here"},
		{"Unknown", Sources{Flags: map[string]string{"ZEBRA": "x"}}, "config: -s ZEBRA: is no setting (docs/settings.md lists all)"},
		{"UnknownFlag", Sources{Flags: map[string]string{"--zebra": "x"}}, "config: -s --zebra: is no setting"},
		{"Scrapy", Sources{Flags: map[string]string{"TELNETCONSOLE_ENABLED": "1"}}, "is a setting of Scrapy that is not supported here: use the admin endpoint (ADMIN)"},
		{"ScrapyRedis", Sources{Flags: map[string]string{"REDIS_HOST": "h"}}, "is a setting of scrapy-redis that is not supported here: use REDIS_URL"},
		{"Terminal", Sources{Flags: map[string]string{"\x1b[2J\"": "x"}}, `config: -s \x1b[2J\: is no setting`},
		{"Huge", Sources{Flags: map[string]string{strings.Repeat("A", 1e6): "x"}}, "..."},
		{"FlagAndSetting", Sources{Flags: map[string]string{"--redis": "redis://a", "REDIS_URL": "redis://b"}}, "config: -s REDIS_URL: is given another value by --redis: keep one of them"},
		{"Alias", Sources{Flags: map[string]string{"DUPEFILTER_KEY": "a", "SCHEDULER_DUPEFILTER_KEY": "b"}}, "is given another value by -s DUPEFILTER_KEY"},
		{"SetAndZSet", Sources{Flags: map[string]string{"REDIS_START_URLS_AS_SET": "1", "REDIS_START_URLS_AS_ZSET": "1"}}, "config: -s REDIS_START_URLS_AS_SET: REDIS_START_URLS_AS_SET is on together with REDIS_START_URLS_AS_ZSET (-s REDIS_START_URLS_AS_ZSET)"},
		{"SlotTimes", Sources{Env: []string{"ORBWEAVER_SLOT_RENEW=7"}}, "SLOT_TTL 8s leaves no time to renew: it must be more than SLOT_RENEW, 7s (env ORBWEAVER_SLOT_RENEW), plus SLOT_MARGIN, 1.5s (default)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := Load(tt.from)
			require.Nil(t, c)
			require.ErrorContains(t, err, tt.want)
			require.Less(t, len(err.Error()), 400)
			var p *SettingError
			require.ErrorAs(t, err, &p)
		})
	}

	c, err := Load(Sources{Flags: map[string]string{"--redis": "redis://a", "REDIS_URL": "redis://a"}})
	require.NoError(t, err, "the same value twice is no conflict")
	require.Equal(t, "redis://a", c.Redis.URL)
	c, err = Load(Sources{Flags: map[string]string{"SCHEDULER_DUPEFILTER_KEY": "seen"}})
	require.NoError(t, err)
	require.Equal(t, "seen", c.Scheduler.DupeFilterKey)
}

func FuzzYAML(f *testing.F) {
	for _, s := range []string{"", "redis:\n  url: redis://h\n", "retry: {http_codes: [500, *a]}", "a: &a [*a]", "&a {redis: *a}", "? {a: b}\n: c\n", "!!binary x", "redis: !!set {url}", "---\n---\n", "fetch: {default_request_headers: {? [] : x}}"} {
		f.Add([]byte(s))
	}
	var example strings.Builder
	require.NoError(f, WriteExample(&example))
	f.Add([]byte(example.String()))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Default()
		c.origins = map[string]string{}
		l := newLoader(c)
		l.yaml("f.yaml", data)
		for _, p := range l.problems {
			require.NotContains(t, p.Error(), "\n")
			require.True(t, strings.HasPrefix(p.Error(), "config: f.yaml"), p.Error())
		}
		again := registry(&Config{})
		for i, s := range registry(c) { // whatever was taken can be written and read again
			require.NoError(t, again[i].value.set(textInput(s.value.text())), s.Name)
		}
	})
}
