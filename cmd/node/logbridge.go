package main

import (
	"context"
	"log/slog"

	"github.com/sirupsen/logrus"
)

// logBridge is a slog.Handler that hands protoactor's records to logrus, one level
// lower: what it calls Info is its own bookkeeping.
type logBridge struct {
	log    logrus.FieldLogger
	prefix string
}

func newLogBridge(log *logrus.Logger) *slog.Logger {
	return slog.New(&logBridge{log: log.WithField("lib", "protoactor")})
}

// Enabled implements slog.Handler.
func (b *logBridge) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// Handle implements slog.Handler.
func (b *logBridge) Handle(_ context.Context, r slog.Record) error {
	fields := logrus.Fields{}
	r.Attrs(func(a slog.Attr) bool {
		fields[b.prefix+a.Key] = a.Value.String()
		return true
	})
	entry := b.log.WithFields(fields)
	switch {
	case r.Level >= slog.LevelError:
		entry.Warn(r.Message)
	default:
		entry.Debug(r.Message)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (b *logBridge) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := logrus.Fields{}
	for _, a := range attrs {
		fields[b.prefix+a.Key] = a.Value.String()
	}
	return &logBridge{log: b.log.WithFields(fields), prefix: b.prefix}
}

// WithGroup implements slog.Handler.
func (b *logBridge) WithGroup(name string) slog.Handler {
	return &logBridge{log: b.log, prefix: b.prefix + name + "."}
}
