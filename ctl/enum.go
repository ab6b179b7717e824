// This file owns what the generated enums share.

package ctl

import (
	"fmt"
	"slices"
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
