// This file owns the histograms of a receiver.

package ctl

import (
	"fmt"
	"strconv"
	"syscall"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Stats are the histograms of one receiver, over all its connections, past and
// present; attribute set "stats". They are sparse: what never happened is left
// out.
type Stats struct {
	ReceiverID   uint32        `json:"receiver-id"`   // receiver-id
	ReceiverName string        `json:"receiver-name"` // receiver-name
	Chain        []ChainCount  `json:"chain"`         // chain: lengths of the chains handed to ib_post_recv
	Status       []StatusCount `json:"status"`        // status: completions by status
	Errno        []ErrnoCount  `json:"errno"`         // errno: refused posts by error
}

// ChainCount is how many calls of ib_post_recv handed over a chain of one
// length; attribute set "bucket".
type ChainCount struct {
	Length uint32 `json:"length"` // key: receives in the chain
	Count  uint64 `json:"count"`  // count: calls
}

// ErrnoCount is how many calls of ib_post_recv failed with one error; attribute
// set "bucket".
type ErrnoCount struct {
	Errno Errno  `json:"errno"` // key, by name
	Count uint64 `json:"count"` // count: calls
}

// Errno is an error number whose text is its C name, "ENOMEM".
type Errno syscall.Errno

// String returns the C name, or the number when there is none.
func (e Errno) String() string {
	if name := unix.ErrnoName(syscall.Errno(e)); name != "" {
		return name
	}
	return strconv.Itoa(int(e))
}

// MarshalText is [Errno.String].
func (e Errno) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText takes a text that [Errno.String] returns.
func (e *Errno) UnmarshalText(text []byte) error {
	// The kernel keeps numbers up to 4095 for errors.
	for n := Errno(1); n < 4096; n++ {
		if n.String() == string(text) {
			*e = n
			return nil
		}
	}
	// One without a name is written as its number.
	n, err := strconv.ParseUint(string(text), 10, 32)
	if err != nil || Errno(n).String() != string(text) {
		return fmt.Errorf("unknown error name %q", text)
	}
	*e = Errno(n)
	return nil
}

// decodeStats reads one answer about histograms.
func decodeStats(b []byte) (Stats, error) {
	// Empty and not nil, so that JSON says [] for a receiver without traffic.
	s := Stats{Chain: []ChainCount{}, Status: []StatusCount{}, Errno: []ErrnoCount{}}
	err := decode(b, func(ad *netlink.AttributeDecoder) {
		switch ad.Type() {
		case attrStatsReceiverID:
			s.ReceiverID = ad.Uint32()
		case attrStatsReceiverName:
			s.ReceiverName = ad.String()
		case attrStatsChain:
			b := decodeBucket(ad)
			s.Chain = append(s.Chain, ChainCount{Length: b.key, Count: b.count})
		case attrStatsStatus:
			b := decodeBucket(ad)
			s.Status = append(s.Status, StatusCount{Status: WCStatus(b.key), Count: b.count})
		case attrStatsErrno:
			b := decodeBucket(ad)
			s.Errno = append(s.Errno, ErrnoCount{Errno: Errno(b.key), Count: b.count})
		}
	})
	if err != nil {
		return Stats{}, fmt.Errorf("decode stats: %w", err)
	}
	return s, nil
}
