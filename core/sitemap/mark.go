package sitemap

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// metaKey is where a request's meta says what is the product's own (see package
// seeds); under it "sitemap" is the level of the sitemap to come.
const metaKey = "orbweaver"

// Mark gives the meta of a request for a sitemap. Level 1 is one that was not
// named by another; each index adds one.
func Mark(level int) []byte {
	return []byte(`{"` + metaKey + `":{"sitemap":` + strconv.Itoa(level) + `}}`)
}

// Level is the level that a request's meta marks; 0 when it marks none.
func Level(meta []byte) int {
	if !bytes.Contains(meta, []byte(`"sitemap"`)) {
		return 0
	}
	var m struct {
		Own struct {
			Sitemap int `json:"sitemap"`
		} `json:"orbweaver"`
	}
	if json.Unmarshal(meta, &m) != nil {
		return 0
	}
	return max(m.Own.Sitemap, 0)
}
