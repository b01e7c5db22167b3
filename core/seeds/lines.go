package seeds

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ReadLines gives each seed of a seed file to fn: a line, without the white
// space around it. Blank lines and lines that begin with "#" are left out; lines
// are numbered from 1. A line longer than PayloadLimitBytes comes with an error
// that wraps ErrTooLong and with its beginning. payload may be kept only until fn
// returns. An error of fn ends the reading and is given back as it is.
func ReadLines(r io.Reader, fn func(line int, payload []byte, err error) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var buf []byte
	for line := 1; ; line++ {
		var tooLong bool
		var err error
		buf, tooLong, err = readLine(br, buf[:0])
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return fmt.Errorf("seeds: read line %d: %w", line, err)
		}
		text := buf
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		}
		text = bytes.TrimSpace(text)
		if len(text) > 0 && text[0] != '#' {
			var bad error
			if tooLong {
				bad = fmt.Errorf("seeds: read line %d: %w", line, ErrTooLong)
			}
			if err := fn(line, text, bad); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
	}
}

// readLine appends the next line to buf, as far as a seed may go, and skips the
// rest of a longer one.
func readLine(br *bufio.Reader, buf []byte) (line []byte, tooLong bool, err error) {
	for {
		part, err := br.ReadSlice('\n')
		if room := PayloadLimitBytes + 1 - len(buf); len(part) > room {
			part, tooLong = part[:room], true
		}
		buf = append(buf, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, tooLong, err
		}
	}
}
