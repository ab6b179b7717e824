package guest

// This file owns the file systems a command finds.

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

type mount struct {
	fstype, dir string
	data        string
	optional    bool // not every kernel has it
}

// mounts lists what is mounted, in order. The root is RAM already, so /tmp is
// a plain folder: a mount there would hide a test binary that go test built
// under the host's /tmp.
func mounts() []mount {
	return []mount{
		{fstype: "proc", dir: "/proc"},
		{fstype: "sysfs", dir: "/sys"},
		{fstype: "devtmpfs", dir: "/dev"},
		{fstype: "devpts", dir: "/dev/pts", data: "ptmxmode=0666"},
		{fstype: "tmpfs", dir: "/dev/shm"},
		{fstype: "tmpfs", dir: "/run"},
		{fstype: "debugfs", dir: "/sys/kernel/debug"},
		{fstype: "tracefs", dir: "/sys/kernel/tracing", optional: true},
		{fstype: "bpf", dir: "/sys/fs/bpf", optional: true},
		{fstype: "cgroup2", dir: "/sys/fs/cgroup", optional: true},
	}
}

func mountAll() error {
	for _, d := range []string{"/tmp", "/var/tmp"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(d, 0o777|os.ModeSticky); err != nil {
			return err
		}
	}
	for _, m := range mounts() {
		err := os.MkdirAll(m.dir, 0o755)
		if err == nil {
			err = unix.Mount(m.fstype, m.dir, m.fstype, 0, m.data)
		}
		if err != nil && !m.optional {
			return fmt.Errorf("mount %s: %w", m.dir, err)
		}
	}
	for link, target := range map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0",
		"/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, link); err != nil {
			return err
		}
	}
	return nil
}
