// Package guest is the VM's first process: it sets the machine up, runs one
// command, reports how it ended and powers off. This file owns the order of
// those steps.
package guest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/harness/wire"
)

// Main is all PID 1 does. It does not return.
func Main() {
	if err := session(); err != nil {
		// The host shows the console's tail when no status comes.
		fmt.Fprintln(os.Stderr, "init:", err)
	}
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	// PID 1 must not return: that would be a panic with a misleading name.
	select {}
}

// session is everything between boot and power-off.
func session() error {
	if err := mountAll(); err != nil {
		return err
	}
	ports, err := openPorts()
	if err != nil {
		return err
	}
	status, err := ports.work()
	if err != nil {
		ports.event(wire.Event{Failed: err.Error()})
		return err
	}
	if err := ports.finish(); err != nil {
		return err
	}
	return ports.event(wire.Event{Status: status})
}

// work sets up what the Spec asks for and runs its command.
func (p *ports) work() (*wire.Status, error) {
	spec, err := readSpec()
	if err != nil {
		return nil, err
	}
	if err := setUp(spec); err != nil {
		return nil, err
	}
	procs := newReaper()
	for _, m := range spec.Modules {
		if err := procs.modprobe(m); err != nil {
			return nil, err
		}
	}
	// What the boot left is no leak of the command's.
	if err := kmemleak("clear"); err != nil {
		return nil, err
	}
	if err := p.event(wire.Event{Ready: true}); err != nil {
		return nil, err
	}
	status, err := p.run(procs, spec)
	if err != nil {
		return nil, err
	}
	if err := reportLeaks(); err != nil {
		return nil, err
	}
	if status.LockdepOff, err = lockdepOff(); err != nil {
		return nil, err
	}
	for _, o := range spec.Outputs {
		if err := p.sendOutput(o); err != nil {
			return nil, err
		}
	}
	if err := p.sendCoverage(spec.Coverage); err != nil {
		return nil, err
	}
	return status, nil
}

func readSpec() (wire.Spec, error) {
	var s wire.Spec
	data, err := os.ReadFile(wire.SpecPath)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s: %w", wire.SpecPath, err)
	}
	return s, nil
}

// setUp makes the folders and the network that a command may count on.
func setUp(s wire.Spec) error {
	for _, d := range append(s.Mkdirs, s.Dir, "/root") {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := syscall.Sethostname([]byte("rxvm")); err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	if err := startCPUs(s.CPUs); err != nil {
		return err
	}
	return loopbackUp()
}

// startCPUs starts those of the n CPUs that do not run yet. The first one
// always does, and has no switch.
func startCPUs(n int) error {
	for i := 1; i < n; i++ {
		name := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/online", i)
		state, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(state)) == "1" {
			continue
		}
		if err := os.WriteFile(name, []byte("1"), 0); err != nil {
			return err
		}
	}
	return nil
}

// loopbackUp is "ip link set lo up".
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	return nil
}

// sendOutput sends a result file, or the files of a folder. A command that
// failed may not have written it.
func (p *ports) sendOutput(name string) error {
	fi, err := os.Stat(name)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	files := []string{name}
	if fi.IsDir() {
		if files, err = filepath.Glob(filepath.Join(name, "*")); err != nil {
			return err
		}
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if err := p.file(f, data); err != nil {
			return err
		}
	}
	return nil
}
