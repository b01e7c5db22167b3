package cluster

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// scripts are the actions on the list of members.
type scripts struct{ join, heartbeat, evict, leave *redis.Script }

func newScripts() (*scripts, error) {
	prelude, err := luaFiles.ReadFile("lua/prelude.lua")
	if err != nil {
		return nil, fmt.Errorf("cluster: read scripts: %w", err)
	}
	s := &scripts{}
	for name, to := range map[string]**redis.Script{
		"join": &s.join, "heartbeat": &s.heartbeat, "evict": &s.evict, "leave": &s.leave,
	} {
		body, err := luaFiles.ReadFile("lua/" + name + ".lua")
		if err != nil {
			return nil, fmt.Errorf("cluster: read scripts: %w", err)
		}
		*to = redis.NewScript(string(prelude) + string(body))
	}
	return s, nil
}

// reply is what every script returns; rest is what follows its first three.
type reply struct {
	how  string
	now  int64  // Redis's clock, unix ms
	born string // the list's, as Redis writes it
	rest []any
}

// row is a member in the list.
type row struct {
	id     string
	joined int64  // Redis's clock, unix ms
	alive  bool   // its STRING exists
	record string // the STRING; "" when it is gone or was not asked for
}

var errReply = errors.New("reply makes no sense")

// run runs one script in one round trip, two when the store does not know it.
func run(ctx context.Context, rdb redis.Scripter, s *redis.Script, keys []string, args []any) (reply, error) {
	values, err := s.Run(ctx, rdb, keys, args...).Slice()
	if err != nil {
		return reply{}, err
	}
	return parseReply(values)
}

func parseReply(values []any) (reply, error) {
	if len(values) < 3 {
		return reply{}, errReply
	}
	r := reply{rest: values[3:]}
	var ok [3]bool
	r.how, ok[0] = values[0].(string)
	r.now, ok[1] = values[1].(int64)
	r.born, ok[2] = values[2].(string)
	if !ok[0] || !ok[1] || !ok[2] {
		return reply{}, errReply
	}
	return r, nil
}

// rows reads what follows as members.
func (r reply) rows() ([]row, error) {
	if len(r.rest)%4 != 0 {
		return nil, errReply
	}
	rows := make([]row, 0, len(r.rest)/4)
	for v := r.rest; len(v) > 0; v = v[4:] {
		id, ok1 := v[0].(string)
		joined, ok2 := v[1].(string)
		alive, ok3 := v[2].(int64)
		record, ok4 := v[3].(string)
		if !ok1 || !ok2 || !ok3 || !ok4 {
			return nil, errReply
		}
		rows = append(rows, row{id: id, joined: parseScore(joined), alive: alive == 1, record: record})
	}
	return rows, nil
}

// ids reads what follows as ids.
func (r reply) ids() ([]string, error) {
	ids := make([]string, len(r.rest))
	for i, v := range r.rest {
		id, ok := v.(string)
		if !ok {
			return nil, errReply
		}
		ids[i] = id
	}
	return ids, nil
}

// maxScore is the largest number that a score holds exactly.
const maxScore = 1 << 53

// parseScore reads a joined time; what is none is 0, a member of great age.
func parseScore(s string) int64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(math.Abs(f) <= maxScore) { //nolint:staticcheck // refuses not-a-number too
		return 0
	}
	return int64(f)
}
