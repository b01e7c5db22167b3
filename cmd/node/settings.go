package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"orbweaver/config"
)

// settingFlags are the flags that are settings under another name.
type settingFlags struct {
	file   string
	set    []string
	values map[string]*string // flag with dashes -> value
	cmd    *cobra.Command
}

// addSettings adds --config, -s and every setting's own flag.
func addSettings(cmd *cobra.Command) *settingFlags {
	f := &settingFlags{values: map[string]*string{}, cmd: cmd}
	cmd.Flags().StringVar(&f.file, "config", "", "read settings from this YAML `file`")
	cmd.Flags().StringArrayVarP(&f.set, "set", "s", nil, "set any setting, as `NAME=VALUE` (docs/settings.md); repeatable")
	for _, s := range config.Settings() {
		if s.Flag == "" {
			continue
		}
		name := strings.TrimPrefix(s.Flag, "--")
		v := new(string)
		f.values[s.Flag] = v
		cmd.Flags().StringVar(v, name, "", firstSentence(s.Doc)+" ("+s.Name+")")
		if s.Type() == "bool" {
			cmd.Flags().Lookup(name).NoOptDefVal = "true"
		}
	}
	return f
}

func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i > 0 {
		return s[:i]
	}
	return strings.TrimSuffix(s, ".")
}

// load brings the settings together; an error exits with exitUsage.
func (f *settingFlags) load(env []string) (*config.Config, error) {
	flags := map[string]string{}
	for _, kv := range f.set {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, usage(fmt.Errorf("-s %s: want NAME=VALUE", kv))
		}
		flags[strings.TrimSpace(name)] = value
	}
	for flag, v := range f.values {
		if f.cmd.Flags().Changed(strings.TrimPrefix(flag, "--")) {
			flags[flag] = *v
		}
	}
	cfg, err := config.Load(config.Sources{File: f.file, FileRequired: f.file != "", Env: withoutTestHooks(env), Flags: flags})
	if err != nil {
		return nil, usage(err)
	}
	return cfg, nil
}

// newLogger is the process's logger, on standard error.
func newLogger(cfg *config.Config, w io.Writer) *logrus.Logger {
	log := logrus.New()
	log.SetOutput(w)
	if cfg.Log.Format == "json" {
		log.SetFormatter(&logrus.JSONFormatter{})
	} else {
		log.SetFormatter(&logrus.TextFormatter{FullTimestamp: true, TimestampFormat: "15:04:05", DisableColors: !isTerminal(w)})
	}
	level, err := logrus.ParseLevel(cfg.Log.Level)
	if err != nil { // the registry lets only logrus's names through
		level = logrus.InfoLevel
	}
	log.SetLevel(level)
	log.AddHook(logSecrets{})
	return log
}

func newConfigCommand(t *terminal) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the effective settings and where each came from",
		Args:  cobra.NoArgs,
	}
	flags := addSettings(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	cmd.RunE = func(*cobra.Command, []string) error {
		cfg, err := flags.load(t.env)
		if err != nil {
			return err
		}
		if asJSON {
			return config.ExplainJSON(t.out, cfg)
		}
		return config.Explain(t.out, cfg)
	}
	return cmd
}

// hostName is the machine's name, for member ids.
func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "node"
	}
	return name
}
