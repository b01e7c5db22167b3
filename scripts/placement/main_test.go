package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse([]string{"-nodes", "7", "-hosts", "12", "-weights", "1, 0.5,2", "-seed", "3", "-ramp", "0s", "-ttl", "5s"})
	require.NoError(t, err)
	require.Positive(t, got.workers)
	got.workers = 0
	require.Equal(t, settings{nodes: 7, hosts: 12, weights: []float64{1, 0.5, 2}, seed: 3, ttl: 5 * time.Second}, got)

	tests := []struct {
		name string
		args []string
		want string
	}{
		{"argument", []string{"x"}, "no flags"},
		{"unknown flag", []string{"-x"}, "parse flags"},
		{"one node", []string{"-nodes", "1"}, "nodes must be between"},
		{"too many nodes", []string{"-nodes", "10001"}, "nodes must be between"},
		{"no hosts", []string{"-hosts", "0"}, "hosts must be above 0"},
		{"weight is no number", []string{"-weights", "1,x"}, `"x" is not a number above 0`},
		{"weight of nothing", []string{"-weights", ""}, "not a number above 0"},
		{"weight zero", []string{"-weights", "1,0"}, "not a number above 0"},
		{"weight below zero", []string{"-weights", "-1"}, "not a number above 0"},
		{"weight NaN", []string{"-weights", "NaN"}, "not a number above 0"},
		{"weight infinite", []string{"-weights", "Inf"}, "not a number above 0"},
		{"ramp below zero", []string{"-ramp", "-1s"}, "ramp must be"},
		{"ramp in no time", []string{"-ramp", "1s"}, "ramp must be"},
		{"ttl too long", []string{"-ttl", "2h"}, "ttl must be"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(tt.args)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestRunSaysWhatIsBroken(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	// Chance spreads a hundred hosts unevenly.
	ok, err := run(&out, []string{"-nodes", "10", "-hosts", "100"})
	require.NoError(t, err)
	require.False(t, ok)
	require.Contains(t, out.String(), "100 hosts on 10 nodes of weights [1 1 2 4], seed 1, ramp 10s\n\n"+header+"\n")
	require.Contains(t, out.String(), "  BROKEN: balance is ")
}

func TestRunOfFewNodesKeepsThePromises(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	ok, err := run(&out, []string{"-nodes", "3", "-hosts", "30000", "-weights", "1,2", "-ramp", "0s"})
	require.NoError(t, err)
	require.True(t, ok, out.String())
}
