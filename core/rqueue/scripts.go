package rqueue

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts so
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is one Lua script with the name Redis gives it.
type script struct {
	name string
	text string
	sha  any // string, boxed once

	before, after string // the fault points of its call
}

// scripts are the scripts of a node. Acquire carries the node's id: a store that
// was started anew does not have it, so that it cannot be run there unnoticed
// (rule 7), whoever else loads scripts.
type scripts struct {
	acquire, renew, reserve, release, steer *script
	lease, recover, giveback                *script
	enqueue, commit                         *script
	seedClaim, seedRetake, seedAck          *script
	open, state, finish, due                *script
	flushBegin, flushShard, flushEnd        *script
	deleteEnd, seedHosts, audit             *script
	forget, replay, park, unpark, parked    *script
	robotsGet, robotsPut                    *script
	cookiesGet, cookiesPut                  *script
	exportRead, exportAck, exportRelease    *script

	all []*script
}

// named gives each script's place by its file's name.
func (s *scripts) named() map[string]**script {
	return map[string]**script{
		"acquire": &s.acquire, "renew": &s.renew, "reserve": &s.reserve, "release": &s.release, "steer": &s.steer,
		"lease": &s.lease, "recover": &s.recover, "giveback": &s.giveback,
		"enqueue": &s.enqueue, "commit": &s.commit,
		"seed_claim": &s.seedClaim, "seed_retake": &s.seedRetake, "seed_ack": &s.seedAck,
		"open": &s.open, "state": &s.state, "finish": &s.finish, "due": &s.due,
		"flush_begin": &s.flushBegin, "flush_shard": &s.flushShard, "flush_end": &s.flushEnd,
		"delete_end": &s.deleteEnd, "seed_hosts": &s.seedHosts, "audit": &s.audit,
		"forget": &s.forget, "replay": &s.replay, "park": &s.park, "unpark": &s.unpark, "parked": &s.parked,
		"robots_get": &s.robotsGet, "robots_put": &s.robotsPut, "cookies_get": &s.cookiesGet, "cookies_put": &s.cookiesPut,
		"export_ack":  &s.exportAck,
		"export_read": &s.exportRead, "export_release": &s.exportRelease,
	}
}

func newScripts(node string) (*scripts, error) {
	prelude, err := luaFiles.ReadFile("lua/prelude.lua")
	if err != nil {
		return nil, fmt.Errorf("rqueue: read scripts: %w", err)
	}
	s := &scripts{}
	for name, to := range s.named() {
		body, err := luaFiles.ReadFile("lua/" + name + ".lua")
		if err != nil {
			return nil, fmt.Errorf("rqueue: read scripts: %w", err)
		}
		text := string(prelude) + string(body)
		if name == "acquire" {
			text = "-- node " + node + "\n" + text
		}
		sum := sha1.Sum([]byte(text)) //nolint:gosec // Redis names scripts so
		*to = &script{
			name: name, text: text, sha: hex.EncodeToString(sum[:]),
			before: name + faultBefore, after: name + faultAfter,
		}
		s.all = append(s.all, *to)
	}
	return s, nil
}

// load makes every script known to the store.
func (s *scripts) load(ctx context.Context, rdb redis.Cmdable) error {
	pipe := rdb.Pipeline()
	for _, sc := range s.all {
		pipe.ScriptLoad(ctx, sc.text)
	}
	cmds, err := pipe.Exec(ctx)
	if err != nil {
		return fmt.Errorf("rqueue: load scripts: %w", err)
	}
	for i, c := range cmds {
		if sl, ok := c.(*redis.StringCmd); ok && sl.Val() != s.all[i].sha {
			return fmt.Errorf("rqueue: load script %s: the store calls it %s", s.all[i].name, sl.Val())
		}
	}
	return nil
}

// unknownScript reports whether a reply says NOSCRIPT.
func unknownScript(err error) bool {
	var se *StoreError
	return errors.As(err, &se) && strings.HasPrefix(se.Reply, "NOSCRIPT")
}

// processor is what runs one command: a client, or one connection of it.
type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// eval runs one script and gives its reply, loading the scripts first when the
// store does not know them. The reply is not part of a and stays valid.
func (f *Frontier) eval(ctx context.Context, p processor, s *script, a *args) (reply, error) {
	for try := 0; ; try++ {
		cmd := redis.NewRawCmd(ctx, a.command(s)...)
		f.fault(s.before)
		err := p.Process(ctx, cmd)
		f.fault(s.after)
		if err != nil {
			return reply{}, fmt.Errorf("rqueue: %s: %w", s.name, err)
		}
		r := newReply(cmd.Val())
		if r.err == nil {
			return r, nil
		}
		if try == 0 && unknownScript(r.err) {
			if err := f.reload(ctx); err != nil {
				return reply{}, err
			}
			continue
		}
		return reply{}, fmt.Errorf("rqueue: %s: %w", s.name, r.err)
	}
}

// reload loads the scripts into a store that has lost them, after looking
// whether it is another than before (rule 7).
func (f *Frontier) reload(ctx context.Context) error {
	if err := f.Ping(ctx); err != nil {
		return err
	}
	return f.scripts.load(ctx, f.rdb)
}
