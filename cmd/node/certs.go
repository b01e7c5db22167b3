package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"orbweaver/cluster/certs"
)

const (
	caValid   = 10 * 365 * 24 * time.Hour
	nodeValid = 365 * 24 * time.Hour
)

func newCertsCommand(t *terminal) *cobra.Command {
	var names, hosts []string
	var days int
	cmd := &cobra.Command{
		Use:   "certs DIR",
		Short: "Make a development certificate authority, and certificates of nodes",
		Long: `Make a development certificate authority in DIR, and certificates of nodes signed by it.

The authority is made when there is none (ca.pem, ca-key.pem). Each --node makes
NAME.pem and NAME-key.pem, for both ends of the connections between nodes, and valid
for the hosts given; a running node takes a new certificate up by itself. Keep
ca-key.pem away from the nodes. In production use the authority that you have.`,
		Example: `  node certs certs --node n1 --node n2 --host 127.0.0.1
  node certs certs --node n3 --host 10.0.0.7 --host n3.example.org --days 90`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringArrayVar(&names, "node", nil, "make a certificate for the node of this `NAME`; repeatable")
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "address or DNS `NAME` under which the nodes are reached; repeatable")
	cmd.Flags().IntVar(&days, "days", int(nodeValid.Hours()/24), "days for which a node's certificate is valid")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		dir := args[0]
		switch {
		case len(names) > 0 && len(hosts) == 0:
			return usage(errors.New("--host is missing: name the addresses under which the other nodes reach these"))
		case days < 1 || days > 3650:
			return usage(fmt.Errorf("--days %d: want 1 to 3650", days))
		}
		if err := makeCerts(dir, names, hosts, time.Duration(days)*24*time.Hour, t); err != nil {
			return usage(err)
		}
		return nil
	}
	return cmd
}

func makeCerts(dir string, names, hosts []string, valid time.Duration, t *terminal) error {
	say := func(name string) {
		fmt.Fprintln(t.out, filepath.Join(dir, name)) //nolint:errcheck // a list for the reader
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("certs: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ca.pem")); errors.Is(err, fs.ErrNotExist) {
		if err := certs.NewCA(dir, caValid); err != nil {
			return err
		}
		say("ca.pem")
		say("ca-key.pem")
	}
	for _, name := range names {
		if err := certs.NewNode(dir, name, hosts, valid); err != nil {
			return err
		}
		say(name + ".pem")
		say(name + "-key.pem")
	}
	return nil
}
