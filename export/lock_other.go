//go:build !unix

package export

import "os"

// lock does nothing where there is no flock.
func lock(*os.File) error { return nil }

// ignoreUnsupported drops every answer: folders cannot be synced here.
func ignoreUnsupported(error) error { return nil }
