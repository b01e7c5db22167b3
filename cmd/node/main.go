// Command node is the crawler: it crawls a site from the command line, runs a
// long-lived node, sends seeds and shows its settings. Run it without arguments
// for the list of commands.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

// version is what `node --version` and the User-Agent say.
const version = "0.1.0"

func main() {
	if os.Getenv("GOGC") == "" {
		// Ten thousand live domains are some 100 MiB that the collector would double:
		// the node has CPU to spare for a smaller heap.
		debug.SetGCPercent(70)
	}
	interrupts := make(chan os.Signal, 4)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ(), interrupts))
}

// terminal is where a command reads and writes.
type terminal struct {
	in         io.Reader
	out, err   io.Writer
	env        []string
	interrupts <-chan os.Signal
}

// run is main with everything that it touches handed in; it gives the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer, env []string, interrupts <-chan os.Signal) int {
	t := &terminal{in: in, out: out, err: errOut, env: env, interrupts: interrupts}
	root := &cobra.Command{
		Use:           "node",
		Short:         "A distributed, polite web crawler",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newCrawlCommand(t), newStartCommand(t), newSeedCommand(t), newConfigCommand(t), newNodesCommand(t), newCrawlsCommand(t), newCertsCommand(t)) //nolint:contextcheck // cobra hands ctx to them, by ExecuteContext
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(errOut)
	root.SetErr(errOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w\nRun '%s --help' for the flags", err, cmd.CommandPath()))
	})
	err := root.ExecuteContext(ctx)
	if err != nil && err.Error() != "" {
		fmt.Fprintln(errOut, "node:", err) //nolint:errcheck,forbidigo // the last thing that can be said
	}
	return codeOf(err)
}
