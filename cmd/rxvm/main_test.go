package main

// This file owns the tests of the process: what it makes of output that is lost
// and of a command line that makes no sense. They need no VM.

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fullDisk is /dev/full.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, unix.ENOSPC }

func TestLostOutput(t *testing.T) {
	for _, args := range []string{"--help", "prune --help"} {
		err := execute(t.Context(), strings.Fields(args), fullDisk{})
		if !errors.Is(err, unix.ENOSPC) || exitCode(err) != exitHarness {
			t.Errorf("rxvm %s: %v", args, err)
		}
		if err := execute(t.Context(), strings.Fields(args), new(strings.Builder)); err != nil {
			t.Errorf("rxvm %s: %v", args, err)
		}
	}
}

func TestBadCommandLine(t *testing.T) {
	t.Setenv("RXPOST_CACHE", t.TempDir())
	for args, want := range map[string]string{
		"":                    "no command to run; see rxvm --help",
		"prune --unused=-1h":  "--unused -1h0m0s: want a time that is not negative, such as 12h",
		"--kernel 1.0 true":   `unknown kernel "1.0"; there are 6.1, 6.12, debug, kcsan, next`,
		"prune --unused week": `invalid argument "week" for "--unused" flag: time: invalid duration "week"`,
	} {
		err := execute(t.Context(), strings.Fields(args), new(strings.Builder))
		if err == nil || err.Error() != want {
			t.Errorf("rxvm %s: %v, want %q", args, err, want)
		}
	}
}
