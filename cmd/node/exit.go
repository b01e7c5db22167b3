package main

import "errors"

// Exit codes of the node command.
const (
	exitOK          = 0
	exitNothing     = 1   // nothing could be fetched
	exitUsage       = 2   // usage or configuration
	exitStore       = 3   // the store cannot be reached or used
	exitExport      = 4   // the crawl is over, but items could not be written to -o
	exitEvicted     = 5   // the other nodes have given this one up; a supervisor starts it again
	exitInterrupted = 130 // SIGINT or SIGTERM
)

// exitError is an error that says which code the process ends with. A nil Err
// ends it without a message.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error { return &exitError{exitUsage, err} }

// codeOf is the exit code of an error that main was given.
func codeOf(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	default:
		return exitUsage
	}
}
