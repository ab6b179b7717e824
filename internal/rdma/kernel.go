// This file owns what the netlink library lacks: a removal that needs no list,
// which its own takes first, and a list of resources with what newer kernels add.

package rdma

import (
	"fmt"

	attributes "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// kernel is the running kernel.
type kernel struct{ netlink.Handle }

// RemoveIndex removes the soft device of that number. The kernel answers EINVAL
// for a number that is no device's and for a device of hardware.
func (*kernel) RemoveIndex(index uint32) error {
	req := request(nl.RDMA_NLDEV_CMD_DELLINK, unix.NLM_F_ACK)
	req.AddData(nl.NewRtAttr(nl.RDMA_NLDEV_ATTR_DEV_INDEX, nl.Uint32Attr(index)))
	_, err := req.Execute(unix.NETLINK_RDMA, 0)
	return err
}

// RdmaResourceList counts the objects of each device. The library's own takes no
// attributes but those it knows, and 7.3 has another one.
func (*kernel) RdmaResourceList() ([]*netlink.RdmaResource, error) {
	msgs, err := request(nl.RDMA_NLDEV_CMD_RES_GET, unix.NLM_F_DUMP).Execute(unix.NETLINK_RDMA, 0)
	if err != nil {
		return nil, err
	}
	var all []*netlink.RdmaResource
	for _, msg := range msgs {
		res, err := parseResources(msg)
		if err != nil {
			return nil, fmt.Errorf("resources: %w", err)
		}
		all = append(all, res)
	}
	return all, nil
}

func request(command, flags int) *nl.NetlinkRequest {
	return nl.NewNetlinkRequest(nl.RDMA_NL_NLDEV<<nl.RDMA_NL_GET_CLIENT_SHIFT|command, flags)
}

// parseResources decodes the message of one device.
func parseResources(msg []byte) (*netlink.RdmaResource, error) {
	res := &netlink.RdmaResource{RdmaResourceSummaryEntries: map[string]uint64{}}
	ad, err := attributes.NewAttributeDecoder(msg)
	if err != nil {
		return nil, err
	}
	entry := func(ad *attributes.AttributeDecoder) error {
		var name string
		var count uint64
		for ad.Next() {
			switch ad.Type() {
			case nl.RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME:
				name = ad.String()
			case nl.RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR:
				count = ad.Uint64()
			}
		}
		res.RdmaResourceSummaryEntries[name] = count
		return nil
	}
	for ad.Next() {
		switch ad.Type() {
		case nl.RDMA_NLDEV_ATTR_DEV_INDEX:
			res.Index = ad.Uint32()
		case nl.RDMA_NLDEV_ATTR_DEV_NAME:
			res.Name = ad.String()
		case nl.RDMA_NLDEV_ATTR_RES_SUMMARY:
			ad.Nested(func(ad *attributes.AttributeDecoder) error {
				for ad.Next() {
					if ad.Type() == nl.RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY {
						ad.Nested(entry)
					}
				}
				return nil
			})
		}
	}
	return res, ad.Err()
}
