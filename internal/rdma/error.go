// This file owns the errors of this package.

package rdma

import (
	"os"
	"syscall"
)

// LinkError is a request about devices that failed.
type LinkError struct {
	Op      string // what was asked for
	Message string // what is known of the cause, may be empty
	Err     error
}

// Error returns the operation and the message or, without one, the text of Err.
func (e *LinkError) Error() string {
	if e.Message != "" {
		return e.Op + ": " + e.Message
	}
	return e.Op + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *LinkError) Unwrap() error { return e.Err }

// Is matches os.ErrNotExist for ENODEV; other errnos match by way of Err.
func (e *LinkError) Is(target error) bool {
	return target == os.ErrNotExist && e.Err == syscall.ENODEV
}
