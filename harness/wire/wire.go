// Package wire is what the host and the guest's init say to each other. This
// file owns the messages: the Spec that travels inside the initramfs, and the
// JSON lines on the control port. Frames on the payload port are in frame.go.
package wire

import "syscall"

// SpecPath is where the guest's init finds its Spec.
const SpecPath = "/rxvm/spec.json"

// The guest's serial ports, in the order of QEMU's -serial options. The first
// one, ttyS0, is the kernel's console.
const (
	PayloadPort = "/dev/ttyS1"
	ControlPort = "/dev/ttyS2"
)

// Spec tells the guest's init what to do.
type Spec struct {
	Args    []string `json:"args"`
	Dir     string   `json:"dir"`
	Env     []string `json:"env"`
	TTY     bool     `json:"tty,omitempty"`
	Size    Size     `json:"size"`
	CPUs    int      `json:"cpus"`              // to be online before the command runs
	Modules []string `json:"modules,omitempty"` // loaded in this order
	Mkdirs  []string `json:"mkdirs,omitempty"`
	Outputs []string `json:"outputs,omitempty"` // files or directories of files

	Coverage *Coverage `json:"coverage,omitempty"`
}

// Coverage tells init to send what the kernel has counted in the modules.
type Coverage struct {
	Objects string `json:"objects"` // where they were built, which is how the kernel knows them
	Dir     string `json:"dir"`     // the folder that the counts are sent as files of
}

// Size is a terminal's size.
type Size struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// Order is a line from the host to the guest. One field is set.
type Order struct {
	Signal syscall.Signal `json:"signal,omitempty"` // deliver to the command
	Resize *Size          `json:"resize,omitempty"`
	SysRq  string         `json:"sysrq,omitempty"` // letters for /proc/sysrq-trigger
}

// Event is a line from the guest to the host. One field is set.
type Event struct {
	Ready  bool    `json:"ready,omitempty"`  // init is up; the command starts now
	Dumped bool    `json:"dumped,omitempty"` // the SysRq order is done
	Failed string  `json:"failed,omitempty"` // init itself could not do its part
	Status *Status `json:"status,omitempty"` // the command has ended
}

// Status is how the command ended.
type Status struct {
	Code   int            `json:"code"`
	Signal syscall.Signal `json:"signal,omitempty"`
	// LockdepOff: the kernel has lockdep, and it had turned itself off.
	LockdepOff bool `json:"lockdep_off,omitempty"`
}

// ExitCode is the status as a shell would report it.
func (s Status) ExitCode() int {
	if s.Signal != 0 {
		return 128 + int(s.Signal)
	}
	return s.Code
}
