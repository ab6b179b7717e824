// This file owns what the generated enums share.

package ctl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PollModes lists the names of all poll modes.
func PollModes() []string { return pollModeNames() }

// Sinks lists the names of all sinks.
func Sinks() []string { return sinkNames() }

// Opcodes lists the names of all opcodes.
func Opcodes() []string { return sendOpcodeNames() }

// parseEnum finds name among names and returns its place.
func parseEnum(kind string, names []string, name string) (uint32, error) {
	if i := slices.Index(names, name); i >= 0 {
		return uint32(i), nil
	}
	last := len(names) - 1
	return 0, fmt.Errorf("unknown %s %q: want %s or %s",
		kind, name, strings.Join(names[:last], ", "), names[last])
}

// unmarshalEnum reads what the String method of an enum returned: a name, or
// "kind(N)" for a number without one, which a newer module may have sent.
func unmarshalEnum(to *uint32, kind string, names []string, text string) error {
	n, err := parseEnum(kind, names, text)
	if err != nil {
		var unnamed bool
		if n, unnamed = unnamedIn(kind, text); !unnamed || int(n) < len(names) {
			return err
		}
	}
	*to = n
	return nil
}

// unnamedIn finds N in "kind(N)", written as String would.
func unnamedIn(kind, text string) (n uint32, ok bool) {
	digits := strings.TrimSuffix(strings.TrimPrefix(text, kind+"("), ")")
	v, err := strconv.ParseUint(digits, 10, 32)
	return uint32(v), err == nil && text == fmt.Sprintf("%s(%d)", kind, v)
}
