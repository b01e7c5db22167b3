package cookies

// Bytes is what the jars hold, counted anew, and as they count it.
func (j *Jars) Bytes() (counted, kept int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for e := j.recent.Front(); e != nil; e = e.Next() {
		for _, c := range e.Value.(*bucket).cookies {
			counted += c.bytes()
		}
	}
	return counted, j.bytes
}
