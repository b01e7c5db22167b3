package peer

import (
	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"
)

// resolve lets actors send to PIDs of other nodes.
func (p *Peer) resolve(pid *actor.PID) (actor.Process, bool) {
	if pid.Address == "" {
		return nil, false
	}
	return remoteProcess{peer: p}, true
}

// remoteProcess stands for all actors on other nodes. It is stateless: calls name
// the PID.
type remoteProcess struct{ peer *Peer }

// SendUserMessage sends as Peer.Send does, without headers and sender.
func (r remoteProcess) SendUserMessage(pid *actor.PID, message any) {
	_, inner, _ := actor.UnwrapEnvelope(message)
	if msg, ok := inner.(proto.Message); ok {
		r.peer.Send(pid.Address, pid.Id, msg)
		return
	}
	r.peer.dropped.Add(1)
}

// SendSystemMessage crosses no node border. Who watches is told at once that the
// actor is out of reach, rather than waiting for ever.
func (r remoteProcess) SendSystemMessage(pid *actor.PID, message any) {
	watch, ok := message.(*actor.Watch)
	if !ok {
		return
	}
	if watcher, ok := r.peer.system.ProcessRegistry.GetLocal(watch.Watcher.Id); ok {
		watcher.SendSystemMessage(watch.Watcher, &actor.Terminated{Who: pid, Why: actor.TerminatedReason_AddressTerminated})
	}
}

// Stop does nothing: a node stops its own actors only.
func (r remoteProcess) Stop(*actor.PID) {}
