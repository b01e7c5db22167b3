package main

// names makes host names that look like the web's: many of one domain, differing in a
// letter or two, which is what a weak hash spreads badly. Different indexes have
// different names.
type names struct {
	first                    uint64
	subdomains, words, zones []string
	consonants, vowels       string
}

func newNames(seed uint64) names {
	return names{
		first:      seed * 0x9e3779b97f4a7c15 >> 24, // 40 bits: as good as another web
		subdomains: []string{"", "www.", "blog.", "shop.", "m.", "news.", "forum.", "en."},
		words:      []string{"", "-news", "-shop", "-online", "-travel", "-media", "-group", "-tech"},
		zones: []string{
			"com", "org", "net", "de", "co.uk", "fr", "nl", "ru",
			"com.br", "co.jp", "it", "pl", "info", "io", "edu", "blogspot.com",
		},
		consonants: "bcdfghjklmnprstz",
		vowels:     "aeiou",
	}
}

// append appends the name of host i.
func (n *names) append(b []byte, i int) []byte {
	rest := n.first + uint64(i)
	digit := func(base int) uint64 {
		d := rest % uint64(base)
		rest /= uint64(base)
		return d
	}
	subdomain := n.subdomains[digit(len(n.subdomains))]
	zone := n.zones[digit(len(n.zones))]
	word := n.words[digit(len(n.words))]
	b = append(b, subdomain...)
	// The rest in syllables, two at least; their number and letters give it back.
	for syllables := 0; syllables < 2 || rest > 0; syllables++ {
		b = append(b, n.consonants[digit(len(n.consonants))], n.vowels[digit(len(n.vowels))])
	}
	b = append(b, word...)
	b = append(b, '.')
	return append(b, zone...)
}
