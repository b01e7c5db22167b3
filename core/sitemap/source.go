package sitemap

import (
	"bytes"
	"io"
)

// bufferBytes is the window on the document: no name, reference or markup that
// must be seen whole is longer.
const bufferBytes = 32 << 10

// source is a document's text in UTF-8, of which a window is in memory. A NUL
// ends it, as it does for libxml2.
type source struct {
	r        io.Reader
	err      error // why nothing follows what is in the window
	buf      []byte
	pos, end int
}

// fill makes at least n bytes available, unless the document ends before, and
// reports whether they are. n is at most bufferBytes.
func (s *source) fill(n int) bool {
	if s.end-s.pos >= n {
		return true
	}
	if s.buf == nil {
		s.buf = make([]byte, bufferBytes)
	}
	if s.err == nil {
		s.end = copy(s.buf, s.buf[s.pos:s.end])
		s.pos = 0
	}
	for empty := 0; s.end-s.pos < n && s.err == nil; {
		k, err := s.r.Read(s.buf[s.end:])
		if i := bytes.IndexByte(s.buf[s.end:s.end+k], 0); i >= 0 {
			k, err = i, io.EOF
		}
		s.end += k
		if empty++; k > 0 {
			empty = 0
		}
		if err == nil && empty > 100 {
			err = io.ErrNoProgress
		}
		s.err = err
	}
	return s.end-s.pos >= n
}

// window is what is available, at least one byte; nil at the end.
func (s *source) window() []byte {
	if !s.fill(1) {
		return nil
	}
	return s.buf[s.pos:s.end]
}

// byte is the next byte, 0 at the end. It stays.
func (s *source) byte() byte {
	if !s.fill(1) {
		return 0
	}
	return s.buf[s.pos]
}

// at reports whether text follows.
func (s *source) at(text string) bool {
	return s.fill(len(text)) && string(s.buf[s.pos:s.pos+len(text)]) == text
}

// take skips text and reports whether it followed.
func (s *source) take(text string) bool {
	if !s.at(text) {
		return false
	}
	s.pos += len(text)
	return true
}

// blanks skips white space and reports whether there was any.
func (s *source) blanks() bool {
	skipped := false
	for isBlank(s.byte()) {
		s.pos++
		skipped = true
	}
	return skipped
}

// through skips to behind the next text, or to the end. seen, unless nil, is
// given what is skipped, piece by piece, but for text itself.
func (s *source) through(text string, seen func([]byte)) {
	for s.fill(len(text)) {
		w := s.buf[s.pos:s.end]
		i := bytes.Index(w, []byte(text))
		n := i
		if i < 0 {
			n = len(w) - len(text) + 1
		}
		if seen != nil {
			seen(w[:n])
		}
		s.pos += n
		if i >= 0 {
			s.pos += len(text)
			return
		}
	}
	s.pos = s.end
}

// name skips an XML name and gives it, nil when none follows or it is longer than
// any has to be. It may be used until the next call.
func (s *source) name() []byte {
	const limitBytes = 1 << 10
	s.fill(limitBytes)
	w := s.buf[s.pos:s.end]
	if len(w) == 0 || !isNameStart(w[0]) {
		return nil
	}
	n := 1
	for n < len(w) && n < limitBytes && isNameByte(w[n]) {
		n++
	}
	s.pos += n
	if n == limitBytes {
		return nil
	}
	return w[:n]
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// isNameStart takes every byte of characters past ASCII: which of them are
// letters does not matter here.
func isNameStart(c byte) bool {
	return c|0x20-'a' < 26 || c == '_' || c == ':' || c >= 0x80
}

func isNameByte(c byte) bool { return isNameStart(c) || c-'0' < 10 || c == '-' || c == '.' }
