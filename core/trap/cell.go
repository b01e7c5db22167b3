package trap

import "math/bits"

// Signature is a page's text in short. The zero value is a page without text.
type Signature struct {
	Words uint64 // simhash over the distinct words and numbers
	Title uint64 // the title's letters; 0: no title
}

// nearBits is how many bits of Words near-duplicates may differ in: about one in
// a hundred distinct words. See Manku, Jain, Das Sarma: Detecting Near-Duplicates
// for Web Crawling (WWW 2007).
const nearBits = 3

// near reports whether two pages say the same, but for a few words; a number in
// the title makes no difference.
func (s Signature) near(o Signature) bool {
	return s.Title == o.Title && bits.OnesCount64(s.Words^o.Words) <= nearBits
}

// ring keeps the latest signatures that were new.
type ring struct {
	kept []Signature
	next int
}

func (r *ring) knows(s Signature) bool {
	for i := range r.kept {
		if r.kept[i].near(s) {
			return true
		}
	}
	return false
}

// keep stores s in place of the oldest of n, and says how many bytes that took.
func (r *ring) keep(s Signature, n int) int64 {
	if len(r.kept) < n {
		before := cap(r.kept)
		r.kept = append(r.kept, s)
		return int64(cap(r.kept)-before) * signatureBytes
	}
	r.kept[r.next] = s
	r.next = (r.next + 1) % n
	return 0
}

func (r *ring) bytes() int64 { return int64(cap(r.kept)) * signatureBytes }

// cell is the growth of one pattern, family or host against its content. Pages are
// looked at in blocks: while blocks bring new content ever fewer pages are looked
// at; blocks of duplicates in a row make a run, and a run of a whole window, during
// which the URLs grew too, closes the cell.
type cell struct {
	closed       bool
	pages, links uint32 // since the start
	stride, skip uint8  // one page in stride is looked at; 0 is 1

	block, blockDups uint16 // pages looked at in the block, and near-duplicates of earlier ones among them
	run, runDups     uint32 // in the blocks of the run that are over
	runPages         uint32 // pages and links when the run began
	runLinks         uint32
	ring             ring
}

const (
	blockPages = 8
	maxStride  = 64
)

// visit counts a page and says whether to look at it. The first half window of a
// pattern is not: most sites have no more pages of it.
func (c *cell) visit(window int) bool {
	c.pages++
	if window == 0 || c.closed || int(c.pages) <= window/2 {
		return false
	}
	if c.skip > 0 {
		c.skip--
		return false
	}
	return true
}

// judge takes the text of a page and reports whether the cell is closed by it. It
// adds what that took in memory to grown.
func (c *cell) judge(text Signature, window, percent int, grown *int64) bool {
	if c.closed {
		return false
	}
	c.skip = max(c.stride, 1) - 1
	if c.block == 0 && c.run == 0 {
		c.rest()
	}
	if c.block++; c.ring.knows(text) {
		c.blockDups++
	} else {
		*grown += c.ring.keep(text, window)
	}
	if c.block < blockPages {
		return false
	}
	if !c.endBlock(uint32(window), uint32(percent)) { //nolint:gosec // within their limits
		return false
	}
	*grown -= c.ring.bytes()
	c.ring = ring{}
	return true
}

// endBlock joins the block to the run, or ends the run.
func (c *cell) endBlock(window, percent uint32) bool {
	block, dups := uint32(c.block), uint32(c.blockDups)
	c.block, c.blockDups = 0, 0
	if 4*dups < 3*block {
		c.rest()
		if c.stride = max(c.stride, 1); 2*dups < block {
			c.stride = min(2*c.stride, maxStride)
		} else {
			c.stride = 1
		}
		return false
	}
	c.stride, c.skip = 1, 0
	c.run, c.runDups = c.run+block, c.runDups+dups
	if c.run < window {
		return false
	}
	grows := 2*(c.links-c.runLinks) >= c.pages-c.runPages
	c.closed = grows && 100*c.runDups >= percent*c.run
	c.rest()
	return c.closed
}

// rest begins a new run.
func (c *cell) rest() {
	c.run, c.runDups = 0, 0
	c.runPages, c.runLinks = c.pages, c.links
}
