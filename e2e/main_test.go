package e2e

// This file owns whether the tests run at all: in a VM, and only there.

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("RXVM") != "1" {
		// They load kernel modules: never on the machine of whoever
		// types "go test ./...". `make e2e` runs them all.
		fmt.Fprintln(os.Stderr, "e2e: these tests run in a VM: make e2e")
		os.Exit(0)
	}
	if job := os.Getenv(strangerVariable); job != "" {
		os.Exit(beStranger(job))
	}
	if err := leaveOut(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
