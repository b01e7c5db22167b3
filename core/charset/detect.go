package charset

import "github.com/wlynxg/chardet"

const (
	// sampleBytes is how much of a page is given to the detector, which takes some
	// 200 µs for a KiB.
	sampleBytes = 4096
	// evidenceBytes is how many bytes that are not ASCII a sample must have: the
	// statistics of a few characters say nothing.
	evidenceBytes = 32
	// confidence is what the detector must reach, of 1.
	confidence = 0.9
)

// detect finds the encoding of text that is in none of the likely ones by its
// statistics: rest is the page from its first byte on that is not ASCII. ok is false
// when there is too little text or nothing fits well.
func detect(rest []byte) (e Encoding, ok bool) {
	// The detector looks behind the end of a slice that has room.
	n := min(len(rest), sampleBytes)
	sample := rest[:n:n]
	evidence := 0
	for _, c := range sample {
		evidence += int(c >> 7)
	}
	if evidence < evidenceBytes {
		return UTF8, false
	}
	found, ok := ask(sample)
	if !ok || found.Confidence < confidence {
		return UTF8, false
	}
	e, ok = Lookup(found.Encoding)
	return e, ok && e.Readable() && !e.Wide() && e != UTF8
}

// ask gives the detector's answer. It works by unchecked tables: should a body lead
// it out of one, there is no answer.
func ask(sample []byte) (found chardet.Result, ok bool) {
	defer func() { ok = recover() == nil }()
	return chardet.Detect(sample), true
}
