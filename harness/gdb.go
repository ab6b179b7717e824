package harness

// This file owns debugging the guest's kernel from outside: where QEMU's stub
// listens, and what the guest says about its modules.

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// modulesVar names, in the guest, the host's folder of the built modules.
const modulesVar = "RXVM_MODULES"

// gdbDevice is QEMU's name for where a debugger connects: a port of 127.0.0.1,
// or the path of a socket, which only those who may write to it can use.
func gdbDevice(where string) (string, error) {
	if where == "" {
		return "", nil
	}
	if strings.Contains(where, "/") {
		path, err := filepath.Abs(where)
		if err == nil && strings.Contains(path, ",") {
			err = fmt.Errorf("a path without a comma is wanted, QEMU splits its options there")
		}
		if err != nil {
			return "", fmt.Errorf("--gdb %s: %w", where, err)
		}
		return "unix:" + path + ",server=on,wait=off", nil
	}
	port, err := strconv.ParseUint(where, 10, 16)
	if err != nil || port == 0 {
		return "", fmt.Errorf("--gdb %s: want a port, 1 to 65535, or the path of a socket, with a /", where)
	}
	return fmt.Sprintf("tcp:127.0.0.1:%d", port), nil
}

// gdbSymbols adds the script that prints what gdb must be told.
func (p *payload) gdbSymbols(root string) error {
	return p.archive.file("/bin/gdb-symbols", filepath.Join(root, "vm", "gdb-symbols.sh"))
}
