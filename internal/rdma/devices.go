// Package rdma knows the RDMA devices of this host: it makes and removes soft
// ones, lists all, and reads what they count.
//
// This file owns devices and their links; the RDMA netlink messages are those
// of github.com/vishvananda/netlink.
package rdma

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
)

// Device is one RDMA device.
type Device struct {
	Name      string            `json:"ifname"`             // as `rdma -j` calls it
	Index     uint32            `json:"ifindex"`            // as `rdma -j` calls it
	State     string            `json:"state,omitempty"`    // of port 1: "ACTIVE", "DOWN", …
	Netdev    string            `json:"netdev,omitempty"`   // below port 1
	NodeGUID  string            `json:"node-guid"`          // four groups of four hex digits
	Resources map[string]uint64 `json:"resources,omitzero"` // objects that exist: pd, cq, qp, cm_id, mr, ctx, srq
}

// Devices are the RDMA devices of a host.
type Devices struct {
	sys   fs.FS // the directory /sys/class/infiniband
	links links
}

// links is what is needed of the kernel.
type links interface {
	RdmaLinkAdd(name, kind, netdev string) error
	RdmaLinkList() ([]*netlink.RdmaLink, error)
	RdmaResourceList() ([]*netlink.RdmaResource, error)
	RemoveIndex(index uint32) error
}

// Host returns the devices of this host, in this network namespace.
func Host() *Devices {
	return &Devices{sys: os.DirFS("/sys/class/infiniband"), links: &kernel{}}
}

// Add makes a soft device of one kind, "rxe" or "siw", on a network device, and
// loads the driver if need be. The error is a *LinkError, which matches
// os.ErrPermission, os.ErrExist and, for a missing network device,
// os.ErrNotExist.
func (d *Devices) Add(name, kind, netdev string) error {
	err := d.links.RdmaLinkAdd(name, kind, netdev)
	if err == nil {
		return nil
	}
	e := &LinkError{Op: fmt.Sprintf("add %s device %s on %s", kind, name, netdev), Err: err}
	switch {
	case errors.Is(err, syscall.EPERM) && kind == "rxe":
		e.Message = "this wants the capability CAP_NET_ADMIN, and no VLAN below"
	case errors.Is(err, syscall.EPERM):
		e.Message = "this wants the capability CAP_NET_ADMIN"
	case errors.Is(err, syscall.ENODEV):
		e.Message = fmt.Sprintf("there is no network device %s", netdev)
	case errors.Is(err, syscall.EINVAL):
		e.Message = fmt.Sprintf("the kernel has no driver %q, or refuses the name or the network device", kind)
	case errors.Is(err, syscall.EEXIST):
		e.Message = fmt.Sprintf("there is a device %s, or %s carries one of that kind", name, netdev)
	}
	return e
}

// Delete removes a soft device. It returns when all users have let go of the
// device, which the kernel does not bound. The error is a *LinkError.
func (d *Devices) Delete(name string) error {
	op := "remove device " + name
	all, err := d.read()
	if err != nil {
		return &LinkError{Op: op, Err: err}
	}
	l := findLink(all.links, name)
	if l == nil {
		return noDevice(op)
	}
	err = d.links.RemoveIndex(l.Attrs.Index)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPERM):
		return &LinkError{Op: op, Message: "this wants the capability CAP_NET_ADMIN", Err: err}
	case errors.Is(err, syscall.EINVAL):
		return d.notRemoved(op, name)
	}
	return &LinkError{Op: op, Err: err}
}

// noDevice is the error of a device that is not there.
func noDevice(op string) error {
	return &LinkError{Op: op, Message: "there is no such RDMA device", Err: syscall.ENODEV}
}

// notRemoved tells what EINVAL means: the device was there a moment ago.
func (d *Devices) notRemoved(op, name string) error {
	all, err := d.read()
	switch {
	case err != nil:
		return &LinkError{Op: op, Err: err}
	case findLink(all.links, name) == nil: // somebody else removed it
		return noDevice(op)
	}
	return &LinkError{Op: op, Message: "it is no soft device", Err: syscall.EINVAL}
}

// List returns all devices with what exists on each. A device that is being
// removed is not among them.
func (d *Devices) List() ([]Device, error) {
	all, err := d.read()
	if err != nil {
		return nil, &LinkError{Op: "list RDMA devices", Err: err}
	}
	devices := make([]Device, 0, len(all.links))
	for _, l := range all.links {
		dev := Device{Name: l.Attrs.Name, Index: l.Attrs.Index, Resources: all.resources[l.Attrs.Index]}
		d.readSys(&dev)
		devices = append(devices, dev)
	}
	return devices, nil
}

// reading is one complete answer of the kernel.
type reading struct {
	links     []*netlink.RdmaLink
	resources map[uint32]map[string]uint64 // by device
}

// readings is how often devices may go while they are listed.
const readings = 1000

// read lists devices, and each that is there all the while is in it. The kernel
// gives one device at a time and knows by position where it stopped (6.12
// drivers/infiniband/core/nldev.c, _nldev_get_dumpit()), so when a device goes
// that was given already, the next one is left out, and no flag says so. Devices
// are therefore listed once more: if all that were given are given again, none of
// them had gone, and nothing was left out. Otherwise all is read anew.
func (d *Devices) read() (reading, error) {
	for range readings {
		all, err := d.dump()
		if err != nil {
			return reading{}, err
		}
		again, err := d.links.RdmaLinkList()
		if err != nil {
			return reading{}, err
		}
		if includes(again, all.links) {
			return all, nil
		}
	}
	return reading{}, fmt.Errorf("devices went during each of %d readings: %w", readings, syscall.EAGAIN)
}

// dump reads once what may have gaps.
func (d *Devices) dump() (reading, error) {
	all := reading{resources: map[uint32]map[string]uint64{}}
	var err error
	if all.links, err = d.links.RdmaLinkList(); err != nil || len(all.links) == 0 {
		return all, err
	}
	resources, err := d.links.RdmaResourceList()
	for _, r := range resources {
		all.resources[r.Index] = r.RdmaResourceSummaryEntries
	}
	return all, err
}

// includes reports whether every device of some is among all. A number that was
// a device's is not given again for a long time.
func includes(all, some []*netlink.RdmaLink) bool {
	for _, l := range some {
		same := func(other *netlink.RdmaLink) bool { return other.Attrs.Index == l.Attrs.Index }
		if !slices.ContainsFunc(all, same) {
			return false
		}
	}
	return true
}

// findLink returns the device of that name, or nil.
func findLink(all []*netlink.RdmaLink, name string) *netlink.RdmaLink {
	for _, l := range all {
		if l.Attrs.Name == name {
			return l
		}
	}
	return nil
}

// readSys adds what sysfs knows. What is not there is left empty: a device may
// go at any time, and none must have all of it.
func (d *Devices) readSys(dev *Device) {
	read := func(path string) string {
		text, err := fs.ReadFile(d.sys, dev.Name+"/"+path)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	dev.NodeGUID = read("node_guid")
	dev.Netdev = read("ports/1/gid_attrs/ndevs/0")
	_, dev.State, _ = strings.Cut(read("ports/1/state"), ": ")
}
