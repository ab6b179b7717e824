package e2e

// This file owns what a wait that never ends leaves to read: where the modules'
// threads stand.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// logStacks logs the kernel stacks of both modules' threads.
func logStacks(t *testing.T) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		// A thread may end at any time.
		comm, _ := os.ReadFile(dir + "/comm")
		name := strings.TrimSpace(string(comm))
		if !strings.HasPrefix(name, "rxps/") && !strings.HasPrefix(name, "rxpost_") {
			continue
		}
		stack, _ := os.ReadFile(dir + "/stack")
		t.Logf("%s stands at\n%s", name, stack)
	}
}
