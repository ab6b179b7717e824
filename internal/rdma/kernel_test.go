package rdma

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	attributes "github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
)

// A kernel may say more of each kind than how many there are: 7.3 says how many
// there may be (RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_MAX).
func TestParseResources(t *testing.T) {
	const entryMax = 118
	ae := attributes.NewAttributeEncoder()
	ae.Uint32(nl.RDMA_NLDEV_ATTR_DEV_INDEX, 3)
	ae.String(nl.RDMA_NLDEV_ATTR_DEV_NAME, "rxe0")
	ae.Nested(nl.RDMA_NLDEV_ATTR_RES_SUMMARY, func(ae *attributes.AttributeEncoder) error {
		for i, kind := range []string{"qp", "cm_id"} {
			ae.Nested(nl.RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY, func(ae *attributes.AttributeEncoder) error {
				ae.Uint64(entryMax, 1000)
				ae.String(nl.RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, kind)
				ae.Uint64(nl.RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, uint64(i+1))
				ae.Uint64(entryMax, 1000)
				return nil
			})
		}
		return nil
	})
	msg, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseResources(msg)
	if err != nil {
		t.Fatal(err)
	}
	want := &netlink.RdmaResource{Index: 3, Name: "rxe0", RdmaResourceSummaryEntries: map[string]uint64{"qp": 1, "cm_id": 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := parseResources(msg[:len(msg)-2]); err == nil {
		t.Error("a message that is cut off is taken")
	}
}
