// This file owns errors: what the kernel refused, why, and about which
// attribute.

package ctl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/mdlayher/netlink"
)

// ErrNotLoaded says that a kernel module is not loaded and that asking for it
// did not load it.
var ErrNotLoaded = errors.New("module not loaded")

// Error is a request that failed.
type Error struct {
	// Op is what was asked for, such as "add receiver r0".
	Op string
	// Message is the kernel's own sentence, empty if it gave none.
	Message string
	// Attr names the attribute that the kernel refused, as the spec does
	// ("depth-max"); empty if it named none.
	Attr string
	// Err is a syscall.Errno when the kernel refused, ErrNotLoaded without the
	// module, and otherwise what kept the request from being made or answered,
	// such as the end of its context.
	Err error
}

// Error returns the operation and, in this order of preference, the kernel's
// sentence or the text of Err.
func (e *Error) Error() string {
	text := e.Op + ": "
	if e.Message != "" {
		text += e.Message
	} else {
		text += e.Err.Error()
	}
	if e.Attr != "" {
		text += " (attribute " + e.Attr + ")"
	}
	return text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is matches os.ErrNotExist for ENODEV, which names a missing device here. The
// other errnos match by way of Err.
func (e *Error) Is(target error) bool {
	return target == os.ErrNotExist && e.Err == syscall.ENODEV
}

// Where attributes begin in a request: behind the netlink and the generic
// netlink header.
const (
	nlmsgHeaderLen = 16
	genlHeaderLen  = 4
)

// newError describes err, which answered a request made of attributes sent, of
// the set whose names are given.
func newError(ctx context.Context, op string, names []string, sent []byte, err error) *Error {
	// A receive that the end of ctx interrupted looks like a time-out.
	if cause := ctx.Err(); cause != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return &Error{Op: op, Err: cause}
	}
	e := &Error{Op: op, Err: err}
	if oe, ok := errors.AsType[*netlink.OpError](err); ok {
		e.Message = oe.Message
		e.Attr = attrAt(names, sent, oe.Offset)
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		e.Err = errno
	}
	return e
}

// attrAt names the attribute at offset, counted from the start of the request:
// the outermost one, for the names are those of one set. The kernel's 0 means
// that it named none.
func attrAt(names []string, sent []byte, offset int) string {
	at := offset - nlmsgHeaderLen - genlHeaderLen
	for at >= 0 && len(sent) >= attrHeaderLen {
		length := int(binary.NativeEndian.Uint16(sent))
		attr := int(binary.NativeEndian.Uint16(sent[2:]) &^ (netlink.Nested | netlink.NetByteOrder))
		if at < length && length <= len(sent) {
			if attr < len(names) {
				return names[attr]
			}
			return ""
		}
		// The next one begins at a multiple of four bytes.
		length = max(length+3, attrHeaderLen) &^ 3
		if length > len(sent) {
			return ""
		}
		at, sent = at-length, sent[length:]
	}
	return ""
}

// notLoaded is the error of a family that the kernel does not know.
func notLoaded(op, family string) *Error {
	module := "rxpost_recv"
	if family == sendFamilyName {
		module = "rxpost_send"
	}
	return &Error{
		Op:      op,
		Message: fmt.Sprintf("the kernel module is not loaded and did not load by itself; try modprobe %s", module),
		Err:     ErrNotLoaded,
	}
}
