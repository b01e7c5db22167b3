package peer

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"orbweaver/cluster/certs"
)

// Config says where a node listens for its peers and what they may do.
type Config struct {
	// Bind is the host:port to listen at (CLUSTER_BIND). Default 127.0.0.1:0, a free
	// port that only this machine can reach.
	Bind string
	// Advertise is the host:port under which other nodes dial this one
	// (CLUSTER_ADVERTISE). Default: the bound address. Needed when Bind is
	// unspecified (0.0.0.0, ::), and when nodes are reached through another address.
	Advertise string
	// TLS is the node's identity (CLUSTER_TLS_CA, CLUSTER_TLS_CERT, CLUSTER_TLS_KEY).
	// Nil: plaintext, for loopback only.
	TLS *certs.Source
	// Insecure allows plaintext beyond loopback (CLUSTER_INSECURE): whoever reaches
	// the port may then wake and misinform this node.
	Insecure bool
	// Accept holds the full protobuf names of the messages that nodes exchange. Others
	// are neither sent nor taken. None: nothing is exchanged.
	Accept []string
	// Targets holds the ids of the well-known actors that a peer may address.
	Targets []string
}

// WithDefaults returns a copy with the defaults filled in.
func (c Config) WithDefaults() Config {
	c.Bind = cmp.Or(c.Bind, "127.0.0.1:0")
	return c
}

// Validate names everything that is wrong with the configuration.
func (c Config) Validate() error {
	return errors.Join(c.checkBind(), c.checkAdvertise(), c.checkAccept(), c.checkTargets())
}

func (c Config) checkBind() error {
	host, _, err := splitAddress(c.Bind, true)
	if err != nil {
		return fmt.Errorf("peer: check CLUSTER_BIND: %w", err)
	}
	var errs []error
	if !isLoopback(host) && c.TLS == nil && !c.Insecure {
		errs = append(errs, fmt.Errorf("peer: check CLUSTER_BIND: %s can be reached by other machines, which could then steer this node: "+
			"set CLUSTER_TLS_CA, CLUSTER_TLS_CERT and CLUSTER_TLS_KEY (`node certs` makes them), bind to 127.0.0.1, "+
			"or write CLUSTER_INSECURE: true where nobody else can reach it", c.Bind))
	}
	if isUnspecified(host) && c.Advertise == "" {
		errs = append(errs, fmt.Errorf("peer: check CLUSTER_BIND: %s is no address that another node can dial: set CLUSTER_ADVERTISE", c.Bind))
	}
	return errors.Join(errs...)
}

func (c Config) checkAdvertise() error {
	if c.Advertise == "" {
		return nil
	}
	host, port, err := splitAddress(c.Advertise, false)
	if err != nil {
		return fmt.Errorf("peer: check CLUSTER_ADVERTISE: %w", err)
	}
	if isUnspecified(host) || port == 0 {
		return fmt.Errorf("peer: check CLUSTER_ADVERTISE: %s cannot be dialled: name a host and a port", c.Advertise)
	}
	return nil
}

func (c Config) checkAccept() error {
	_, err := c.messageTypes()
	return err
}

func (c Config) checkTargets() error {
	if i := slices.Index(c.Targets, ""); i >= 0 {
		return fmt.Errorf("peer: check Targets: actor id %d is empty", i)
	}
	return nil
}

// messageTypes resolves Accept. Messages with which actors are stopped, watched or
// restarted are never acceptable.
func (c Config) messageTypes() (map[protoreflect.FullName]protoreflect.MessageType, error) {
	types := make(map[protoreflect.FullName]protoreflect.MessageType, len(c.Accept))
	var errs []error
	for _, name := range c.Accept {
		full := protoreflect.FullName(name)
		mt, err := protoregistry.GlobalTypes.FindMessageByName(full)
		if err != nil {
			errs = append(errs, fmt.Errorf("peer: check Accept: message type %q is not linked into this program: %w", name, err))
			continue
		}
		switch mt.New().Interface().(type) {
		case actor.SystemMessage, actor.AutoReceiveMessage, actor.InfrastructureMessage, actor.MailboxMessage:
			errs = append(errs, fmt.Errorf("peer: check Accept: %q steers actors, which no peer may", name))
			continue
		}
		if pkg, _, _ := strings.Cut(name, "."); pkg == "actor" || pkg == "remote" || pkg == "cluster" {
			errs = append(errs, fmt.Errorf("peer: check Accept: %q belongs to the actor library", name))
			continue
		}
		types[full] = mt
	}
	return types, errors.Join(errs...)
}

// splitAddress takes host:port apart; the host may be empty where emptyHost.
func splitAddress(address string, emptyHost bool) (host string, port uint16, err error) {
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not host:port: %w", address, err)
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q has no port number", address)
	}
	if host == "" && !emptyHost {
		return "", 0, fmt.Errorf("%q has no host", address)
	}
	return host, uint16(n), nil
}

// isLoopback says whether only this machine reaches the host. A name is taken for
// foreign, except localhost: what it resolves to may change.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func isUnspecified(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || (err == nil && ip.Unmap().IsUnspecified())
}
