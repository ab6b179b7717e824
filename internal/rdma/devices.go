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

// links is what is needed of the netlink library.
type links interface {
	RdmaLinkAdd(name, kind, netdev string) error
	RdmaLinkDel(name string) error
	RdmaLinkList() ([]*netlink.RdmaLink, error)
	RdmaResourceList() ([]*netlink.RdmaResource, error)
}

// Host returns the devices of this host, in this network namespace.
func Host() *Devices {
	return &Devices{sys: os.DirFS("/sys/class/infiniband"), links: &netlink.Handle{}}
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
	all, err := d.links.RdmaLinkList()
	if err != nil {
		return &LinkError{Op: op, Err: err}
	}
	if findLink(all, name) == nil {
		return &LinkError{Op: op, Message: "there is no such RDMA device", Err: syscall.ENODEV}
	}
	err = d.links.RdmaLinkDel(name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPERM):
		return &LinkError{Op: op, Message: "this wants the capability CAP_NET_ADMIN", Err: err}
	case errors.Is(err, syscall.EINVAL):
		return &LinkError{Op: op, Message: "it is no soft device", Err: err}
	}
	return &LinkError{Op: op, Err: err}
}

// List returns all devices with what exists on each.
func (d *Devices) List() ([]Device, error) {
	all, err := d.links.RdmaLinkList()
	if err != nil {
		return nil, &LinkError{Op: "list RDMA devices", Err: err}
	}
	devices := make([]Device, 0, len(all))
	if len(all) == 0 {
		return devices, nil
	}
	resources, err := d.links.RdmaResourceList()
	if err != nil {
		return nil, &LinkError{Op: "list RDMA resources", Err: err}
	}
	for _, l := range all {
		dev := Device{Name: l.Attrs.Name, Index: l.Attrs.Index}
		d.readSys(&dev)
		for _, r := range resources {
			if r.Index == l.Attrs.Index {
				dev.Resources = r.RdmaResourceSummaryEntries
			}
		}
		devices = append(devices, dev)
	}
	return devices, nil
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
