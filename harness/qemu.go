package harness

// This file owns QEMU's command line.

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// qemuProgram is the one architecture that is supported.
const qemuProgram = "qemu-system-x86_64"

// Accel is how the guest's instructions are run.
type Accel string

// The accelerators. ICount is TCG with a clock that counts instructions, so
// that a run's figures repeat.
const (
	KVM    Accel = "kvm"
	TCG    Accel = "tcg"
	ICount Accel = "icount"
)

// Scale stretches a deadline that was chosen with KVM in mind.
func (a Accel) Scale(d time.Duration) time.Duration {
	switch a {
	case TCG:
		return 4 * d
	case ICount:
		return 20 * d
	}
	return d
}

// machine is what the command line is made from. File descriptors are QEMU's.
type machine struct {
	accel   Accel
	smp     int
	memory  int // MiB
	kernel  string
	initrd  int // 0 for none
	serials []int
	kargs   []string
	gdb     string // device for the debugger stub; "" for none
}

// qemuArgs is the command line after the program's name.
func qemuArgs(m machine) []string {
	args := []string{
		"-machine", "q35", "-cpu", "max",
		"-nodefaults", "-no-user-config", "-nic", "none", "-no-reboot", "-display", "none",
		"-m", strconv.Itoa(m.memory) + "M",
	}
	switch m.accel {
	case KVM:
		args = append(args, "-accel", "kvm", "-smp", strconv.Itoa(m.smp))
	case TCG:
		args = append(args, "-accel", "tcg,thread=multi", "-smp", strconv.Itoa(m.smp))
	case ICount:
		args = append(args, "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-smp", strconv.Itoa(m.smp))
	}
	for i, fd := range m.serials {
		id := fmt.Sprintf("serial%d", i)
		args = append(args, "-chardev", fmt.Sprintf("socket,id=%s,fd=%d", id, fd), "-serial", "chardev:"+id)
	}
	if m.gdb != "" {
		args = append(args, "-gdb", m.gdb)
	}
	if m.initrd != 0 {
		args = append(args, "-initrd", fmt.Sprintf("/proc/self/fd/%d", m.initrd))
	}
	return append(args, "-kernel", m.kernel, "-append", strings.Join(kernelArgs(m), " "))
}

// kernelArgs puts the caller's arguments last, so that they win.
func kernelArgs(m machine) []string {
	args := []string{
		"console=ttyS0", // the log is evidence: never quiet
		"panic=-1",      // with -no-reboot, a panic ends QEMU at once
		"oops=panic",    // nothing after an oops can be believed
	}
	if m.gdb != "" {
		// Symbols are where the kernel was linked to be.
		args = append(args, "nokaslr")
	}
	if m.accel != KVM {
		// The kernel gives its timer a few milliseconds of real time to
		// tick in, and panics; an emulated CPU may get none on a busy host.
		args = append(args, "no_timer_check")
	}
	if m.accel == TCG && m.smp > 1 {
		// Before 8.1, QEMU's translator may keep a stale copy of code that
		// another CPU is patching, and the kernel patches itself a lot while
		// it boots: one boot in forty died of a breakpoint that was long
		// gone. So one CPU boots, and the guest's init starts the others.
		args = append(args, "maxcpus=1")
	}
	return append(args, m.kargs...)
}
