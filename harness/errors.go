package harness

// This file owns the ways a run can fail that are not the command's own.

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// LostError means that the VM ended, or had to be ended, without the command's
// exit status. It says nothing about the command.
type LostError struct {
	Reason string
	Tail   []string // the console's last lines
	QEMU   string   // what QEMU wrote to stderr
}

func (e *LostError) Error() string {
	return "VM lost: " + e.Reason + tail(e.Tail) + indent("QEMU said", e.QEMU)
}

// DeadlineError means that the command was still running when its time was up.
type DeadlineError struct {
	After time.Duration
	Tail  []string
}

func (e *DeadlineError) Error() string {
	return fmt.Sprintf("deadline exceeded: the command still ran after %v", e.After) + tail(e.Tail)
}

// fullSplats is how many splats are shown whole.
const fullSplats = 2

// SplatError means that the kernel complained on its console.
type SplatError struct {
	Splats []Splat
	Ended  string // how the command itself ended
}

func (e *SplatError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel splat: %d on the console (%s)", len(e.Splats), e.Ended)
	for i, s := range e.Splats {
		fmt.Fprintf(&b, "\n--- %s", s.Rule)
		if i >= fullSplats {
			// The first ones are the cause; what follows is often their echo.
			s.Lines = s.Lines[:1]
		}
		for _, l := range append(slices.Clone(s.Text), s.Lines...) {
			b.WriteString("\n  " + l)
		}
	}
	return b.String()
}

// CommandError means that a program on the host failed.
type CommandError struct {
	Args   []string
	Output string
	Err    error
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("%s: %v", e.Args[0], e.Err) + indent(strings.Join(e.Args, " "), e.Output)
}

func (e *CommandError) Unwrap() error { return e.Err }

func tail(lines []string) string {
	if len(lines) == 0 {
		return "\nthe console is empty"
	}
	return indent("end of the console", strings.Join(lines, "\n"))
}

func indent(title, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "\n" + title + ":\n  " + strings.ReplaceAll(text, "\n", "\n  ")
}
