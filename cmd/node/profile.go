package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/spf13/cobra"
)

// profiles are files to write profiles of this process to; "" writes none.
type profiles struct{ cpu, heap string }

func (p *profiles) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.cpu, "cpuprofile", "", "write a CPU profile to `FILE`")
	cmd.Flags().StringVar(&p.heap, "memprofile", "", "write a heap profile to `FILE` at the end")
	for _, name := range []string{"cpuprofile", "memprofile"} {
		cmd.Flags().Lookup(name).Hidden = true
	}
}

// start begins profiling; stop writes what was gathered.
func (p *profiles) start() (stop func() error, err error) {
	var cpu *os.File
	if p.cpu != "" {
		if cpu, err = os.Create(p.cpu); err != nil {
			return nil, fmt.Errorf("--cpuprofile: %w", err)
		}
		if err := pprof.StartCPUProfile(cpu); err != nil {
			return nil, errors.Join(fmt.Errorf("--cpuprofile: %w", err), cpu.Close())
		}
	}
	return func() error {
		var errs []error
		if cpu != nil {
			pprof.StopCPUProfile()
			errs = append(errs, cpu.Close())
		}
		if p.heap != "" {
			errs = append(errs, writeHeap(p.heap))
		}
		return errors.Join(errs...)
	}, nil
}

func writeHeap(file string) error {
	f, err := os.Create(file) //nolint:gosec // the user's own file
	if err != nil {
		return fmt.Errorf("--memprofile: %w", err)
	}
	runtime.GC()
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}
