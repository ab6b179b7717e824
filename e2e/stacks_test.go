package e2e

// This file owns what a wait that never ends leaves to read: where the modules'
// threads stand, and whoever else is inside of them or of the RDMA stack.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// logStacks logs the kernel stacks of both modules' threads, and of all others that
// stand in the RDMA stack.
func logStacks(t *testing.T) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		// A thread may end at any time.
		comm, _ := os.ReadFile(dir + "/comm")
		stack, _ := os.ReadFile(dir + "/stack")
		name := strings.TrimSpace(string(comm))
		if moduleThread(name) || inRDMA(string(stack)) {
			t.Logf("%s stands at\n%s", name, stack)
		}
	}
}

// inRDMA tells whether a stack is in a function of the modules or of those they
// call. A stack names the module of a function in brackets.
func inRDMA(stack string) bool {
	for _, module := range []string{"rxpost_recv", "rxpost_send", "rdma_cm", "ib_cm", "iw_cm", "ib_core", "rdma_rxe", "siw"} {
		if strings.Contains(stack, "["+module+"]") {
			return true
		}
	}
	// On a kernel with the RDMA stack built in there are no brackets.
	for _, function := range []string{" ib_", " cm_", " cma_", " rdma_", " rxe_", " siw_", " iwcm_"} {
		if strings.Contains(stack, function) {
			return true
		}
	}
	return false
}
