package main

import "github.com/spf13/cobra"

func newSeedCommand(t *terminal) *cobra.Command { return &cobra.Command{Use: "seed"} }
