package blocked

// triggers are words of which every page that a body sign holds for has one, in
// lower case; at least three bytes.
var triggers = [...]string{ //nolint:gochecknoglobals // constant table
	"captcha", "challenge", "just a moment", "attention required", "access denied", "incapsula", "sucuri", "ddos-guard",
	"acw_sc__", "kpsdk", "perfdrive", "request rejected", "vercel security", "awswaf", "bm-verify", "sec-if-cpt", "sec-cpt-if",
	"_cf_chl_opt", "unusual", "automat", "human", "a robot", "robot check", "a bot", "checking your browser", "turnstile",
	"your connection", "security check", "bot verification", "cookies to continue", "site connection",
}

// starts finds the triggers that may begin with three bytes: a bit for each in the
// place that hash gives.
var starts = triggerStarts() //nolint:gochecknoglobals // constant table

func triggerStarts() (table [1 << 12]uint32) {
	for i, t := range triggers {
		table[startOf(uint32(fold(t[0]))<<16|uint32(fold(t[1]))<<8|uint32(fold(t[2])))] |= 1 << i
	}
	return table
}

// startOf spreads the last three bytes over the table.
func startOf(three uint32) uint32 { return three * 2654435761 >> 20 }

// fold makes letters lower case, and other bytes something that stays the same.
func fold(c byte) byte { return c | 0x20 }

// suspicious reports whether a body holds a trigger. It reads the body once.
func suspicious(body []byte) bool {
	three := uint32(0)
	for i, c := range body {
		three = (three<<8 | uint32(fold(c))) & 0xffffff
		bits := starts[startOf(three)]
		if bits == 0 || i < 2 {
			continue
		}
		for t := 0; bits != 0; t, bits = t+1, bits>>1 {
			if bits&1 != 0 && begins(body[i-2:], triggers[t]) {
				return true
			}
		}
	}
	return false
}

// begins reports whether b begins with a word, in either case.
func begins(b []byte, word string) bool {
	if len(b) < len(word) {
		return false
	}
	for i := range len(word) {
		if fold(b[i]) != fold(word[i]) {
			return false
		}
	}
	return true
}
