// This file owns what the netlink library lacks: a removal that needs no
// list, which its own takes first.

package rdma

import (
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// kernel is the running kernel.
type kernel struct{ netlink.Handle }

// RemoveIndex removes the soft device of that number. The kernel answers EINVAL
// for a number that is no device's and for a device of hardware.
func (*kernel) RemoveIndex(index uint32) error {
	req := nl.NewNetlinkRequest(nl.RDMA_NL_NLDEV<<nl.RDMA_NL_GET_CLIENT_SHIFT|nl.RDMA_NLDEV_CMD_DELLINK, unix.NLM_F_ACK)
	req.AddData(nl.NewRtAttr(nl.RDMA_NLDEV_ATTR_DEV_INDEX, nl.Uint32Attr(index)))
	_, err := req.Execute(unix.NETLINK_RDMA, 0)
	return err
}
