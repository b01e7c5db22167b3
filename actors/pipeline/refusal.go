package pipeline

import (
	"errors"
	"strings"

	"orbweaver/core/rqueue"
)

// refusesAll reports whether the store refused a page for a reason that holds for
// every page: it is full, read-only, loading, or does not let this node in. Such a
// refusal says nothing about the page.
func refusesAll(err error) bool {
	var refusal *rqueue.StoreError
	if !errors.As(err, &refusal) {
		return false
	}
	for _, word := range [...]string{
		"OOM", "READONLY", "MISCONF", "LOADING", "BUSY", "MASTERDOWN", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "NOAUTH", "NOPERM",
	} {
		// Older servers put a script's error into a sentence: "ERR ... -OOM command not ...".
		if strings.HasPrefix(refusal.Reply, word+" ") || strings.Contains(refusal.Reply, "-"+word+" ") {
			return true
		}
	}
	return false
}
