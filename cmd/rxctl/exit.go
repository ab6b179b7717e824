// This file owns how a command ends: the sentence on stderr and the exit status.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

// Exit statuses; they are part of the interface for scripts.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitForbidden = 3
	exitNotLoaded = 4
	exitNoObject  = 5
)

// usageError is a command line that makes no sense.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usagef makes a usageError.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// failedError is an operation that was carried out and failed, whatever errno
// it failed with: a sender's ENODEV is not a missing object of ours.
type failedError struct{ err error }

func (e failedError) Error() string { return e.err.Error() }
func (e failedError) Unwrap() error { return e.err }

// exitStatus sorts an error into a status.
func exitStatus(err error) int {
	if err == nil {
		return exitDone
	}
	if _, ok := errors.AsType[failedError](err); ok {
		return exitFailed
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	switch {
	case errors.Is(err, ctl.ErrNotLoaded):
		return exitNotLoaded
	case errors.Is(err, os.ErrPermission):
		return exitForbidden
	case errors.Is(err, os.ErrNotExist):
		return exitNoObject
	}
	return exitFailed
}

// sentence says what went wrong. What the kernel said comes in its own words,
// with the flag of cmd that fills the attribute it refused.
func sentence(cmd *cobra.Command, err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted: " + err.Error()
	}
	e, ok := errors.AsType[*ctl.Error](err)
	switch {
	case ok && e.Message == "" && errors.Is(err, os.ErrPermission):
		return e.Op + ": this wants the capability CAP_NET_ADMIN"
	case ok && e.Message != "":
		return e.Op + ": " + e.Message + flagHint(cmd, e.Attr)
	}
	return err.Error()
}

// flagHint names the flag of cmd that fills an attribute. It is empty when the
// attribute is filled in another way, as a name is by an argument.
func flagHint(cmd *cobra.Command, attr string) string {
	if attr == "" || cmd.Flags().Lookup(flagOf(attr)) == nil {
		return ""
	}
	return " (--" + flagOf(attr) + ")"
}

// flagOf names the flag that fills an attribute, if one does.
func flagOf(attr string) string {
	switch attr {
	case "port":
		return "addr"
	case "receiver-name":
		return "recv"
	case "index":
		return "conn"
	case "slot-size", "segment":
		return "slot"
	case "poll-mode":
		return "poll"
	case "opcode":
		return "op"
	}
	return strings.TrimSuffix(strings.TrimSuffix(attr, "-us"), "-ms")
}

// report prints on one line what went wrong with cmd.
func report(w io.Writer, cmd *cobra.Command, err error) {
	lines := strings.FieldsFunc(sentence(cmd, err), func(r rune) bool { return r == '\n' })
	fmt.Fprintln(w, "rxctl: "+strings.Join(lines, "; "))
}
