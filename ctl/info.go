// This file owns what the receiver module says of itself.

package ctl

import (
	"fmt"

	"github.com/mdlayher/netlink"
)

// Info is the receiver module's version, bounds and totals; attribute set
// "info".
type Info struct {
	ABI            uint32 `json:"abi"`             // abi: revision of the netlink interface
	Version        string `json:"version"`         // version: of the module
	Memory         uint64 `json:"memory"`          // memory: bytes of slot memory in use by all receivers
	MemoryLimit    uint64 `json:"memory-limit"`    // memory-limit: bound of it, a module parameter
	Mappings       uint64 `json:"mappings"`        // mappings: DMA mappings live in all receivers
	Receivers      uint32 `json:"receivers"`       // receivers: that exist, closing ones included
	MemoryReserved uint64 `json:"memory-reserved"` // memory-reserved: bytes set aside for all connections that receivers may admit
}

// decodeInfo reads the answer of info-get.
func decodeInfo(b []byte) (Info, error) {
	var i Info
	err := decode(b, func(ad *netlink.AttributeDecoder) {
		switch ad.Type() {
		case attrInfoABI:
			i.ABI = ad.Uint32()
		case attrInfoVersion:
			i.Version = ad.String()
		case attrInfoMemory:
			i.Memory = ad.Uint64()
		case attrInfoMemoryLimit:
			i.MemoryLimit = ad.Uint64()
		case attrInfoMappings:
			i.Mappings = ad.Uint64()
		case attrInfoReceivers:
			i.Receivers = ad.Uint32()
		case attrInfoMemoryReserved:
			i.MemoryReserved = ad.Uint64()
		}
	})
	if err != nil {
		return Info{}, fmt.Errorf("decode info: %w", err)
	}
	return i, nil
}
