package harness

// This file owns the tests of how programs are run on the host.

import (
	"errors"
	"strings"
	"testing"
)

// What a program said on either output is in the error, whichever was faster.
func TestCommandErrorHasAllOutput(t *testing.T) {
	for range 50 {
		out, err := run(t.Context(), "", "sh", "-c", "echo one; echo two >&2; echo three; exit 3")
		e, ok := errors.AsType[*CommandError](err)
		if !ok || out != "" {
			t.Fatalf("%q, error %v", out, err)
		}
		for _, want := range []string{"one\n", "two\n", "three\n"} {
			if !strings.Contains(e.Output, want) {
				t.Fatalf("output %q, want %q in it", e.Output, want)
			}
		}
	}
}
