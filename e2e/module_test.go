package e2e

// This file owns modules: loading, unloading, and keeping one from loading by
// itself or at all.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
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
	return writeFile(t, "/etc/modprobe.d/"+module+".conf", "blacklist "+module+"\n")
}

// uninstall takes a module away from where modprobe looks until install is
// called.
func uninstall(t *testing.T, module string) (install func()) {
	t.Helper()
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		t.Fatal(err)
	}
	file := fmt.Sprintf("/lib/modules/%s/updates/%s.ko", unix.ByteSliceToString(uts.Release[:]), module)
	away := "/tmp/" + module + ".ko"
	move(t, file, away)
	install = func() { move(t, away, file) }
	t.Cleanup(func() {
		if _, err := os.Stat(away); err == nil {
			install() // the test ended early
		}
	})
	return install
}

// move moves a module and tells modprobe.
func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	depmod := exec.Cmd{Path: "/bin/kmod", Args: []string{"depmod", "-a"}}
	if out, err := depmod.CombinedOutput(); err != nil {
		t.Fatalf("depmod: %v\n%s", err, out)
	}
}

// writeFile writes a file that is removed by the call of remove, or when the test
// ends.
func writeFile(t *testing.T, name, text string) (remove func()) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	remove = func() {
		if err := os.RemoveAll(name); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(remove)
	return remove
}
