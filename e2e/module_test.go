package e2e

// This file owns modules: loading, unloading, and keeping one from loading by
// itself.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

func modprobe(t *testing.T, module string) {
	t.Helper()
	if out, err := exec.Command("modprobe", module).CombinedOutput(); err != nil {
		t.Fatalf("modprobe %s: %v\n%s", module, err, out)
	}
}

func loaded(module string) bool {
	_, err := os.Stat("/sys/module/" + module)
	return err == nil
}

// rmmod unloads a module; receivers and runs that are left end first.
func rmmod(t *testing.T, module string) {
	t.Helper()
	bounded(t, "rmmod "+module, slack, func() error {
		out, err := exec.Command("rmmod", module).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		if loaded(module) {
			return errors.New("it is still there")
		}
		return nil
	})
}

// blacklist keeps a module from being loaded by its alias until allow is called.
func blacklist(t *testing.T, module string) (allow func()) {
	t.Helper()
	const dir = "/etc/modprobe.d"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := dir + "/" + module + ".conf"
	if err := os.WriteFile(file, []byte("blacklist "+module+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	allow = func() {
		if err := os.RemoveAll(file); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(allow)
	return allow
}
