package resolver

import (
	"container/list"
	"time"
)

// cache remembers answers until they are too old; when it is full, the one used
// longest ago goes. The zero value of the maps is ready.
type cache struct {
	size   int
	byName map[string]*list.Element // of *entry
	recent list.List                // used last at the front
}

type entry struct {
	name   string
	answer answer
	until  time.Time
}

// get gives what is known at now, and forgets what is too old.
func (c *cache) get(name string, now time.Time) (answer, bool) {
	el := c.byName[name]
	if el == nil {
		return answer{}, false
	}
	e := el.Value.(*entry) //nolint:forcetypeassert // only *entry is put
	if !now.Before(e.until) {
		c.drop(el)
		return answer{}, false
	}
	c.recent.MoveToFront(el)
	return e.answer, true
}

func (c *cache) put(name string, a answer, until time.Time) {
	if c.size <= 0 {
		return
	}
	if old := c.byName[name]; old != nil {
		c.drop(old)
	}
	for c.recent.Len() >= c.size {
		c.drop(c.recent.Back())
	}
	if c.byName == nil {
		c.byName = map[string]*list.Element{}
	}
	c.byName[name] = c.recent.PushFront(&entry{name, a, until})
}

func (c *cache) drop(el *list.Element) {
	delete(c.byName, el.Value.(*entry).name) //nolint:forcetypeassert // only *entry is put
	c.recent.Remove(el)
}
