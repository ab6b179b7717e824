// Command softlink makes what the tests of rxvm need inside the VM: a dummy
// network device with an address, and an rxe device on it.
package main

import (
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "softlink:", err)
		os.Exit(1)
	}
}

func run() error {
	// Loading the module makes a dummy0 of its own, so the name is another.
	dummy := &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "net0"}}
	if err := netlink.LinkAdd(dummy); err != nil {
		return fmt.Errorf("add net0: %w", err)
	}
	addr := &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(10, 9, 0, 1), Mask: net.CIDRMask(24, 32)}}
	if err := netlink.AddrAdd(dummy, addr); err != nil {
		return fmt.Errorf("address of net0: %w", err)
	}
	if err := netlink.LinkSetUp(dummy); err != nil {
		return fmt.Errorf("net0 up: %w", err)
	}
	if err := netlink.RdmaLinkAdd("rxe0", "rxe", "net0"); err != nil {
		return fmt.Errorf("add rxe0: %w", err)
	}
	return nil
}
