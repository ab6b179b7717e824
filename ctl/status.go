// This file owns the names of completion statuses, which the kernel gives as
// numbers.

package ctl

import (
	"fmt"
)

// WCStatus is how a work request completed: the kernel's enum ib_wc_status. Its
// text is the kernel's name in kebab case, without the IB_WC prefix:
// "success", "wr-flush-err", "loc-len-err".
type WCStatus uint32

// WCSuccess and WCFlushed are the two statuses of a receive that went well:
// completed, or given back because its connection ended.
const (
	WCSuccess WCStatus = 0
	WCFlushed WCStatus = 5
)

// wcStatusNames lists enum ib_wc_status, which is part of the uverbs ABI and so
// never renumbered.
func wcStatusNames() []string {
	return []string{
		"success", "loc-len-err", "loc-qp-op-err", "loc-eec-op-err", "loc-prot-err",
		"wr-flush-err", "mw-bind-err", "bad-resp-err", "loc-access-err", "rem-inv-req-err",
		"rem-access-err", "rem-op-err", "retry-exc-err", "rnr-retry-exc-err", "loc-rdd-viol-err",
		"rem-inv-rd-req-err", "rem-abort-err", "inv-eecn-err", "inv-eec-state-err", "fatal-err",
		"resp-timeout-err", "general-err",
	}
}

// String returns the name of s, or "wc-status(N)" for an unknown one.
func (s WCStatus) String() string {
	if names := wcStatusNames(); int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("wc-status(%d)", uint32(s))
}

// MarshalText is [WCStatus.String].
func (s WCStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes a text that [WCStatus.String] returns.
func (s *WCStatus) UnmarshalText(text []byte) error {
	return unmarshalEnum((*uint32)(s), "wc-status", wcStatusNames(), string(text))
}

// StatusCount is how many completions had one status; attribute set "bucket".
type StatusCount struct {
	Status WCStatus `json:"status"` // key, by name
	Count  uint64   `json:"count"`  // count: completions
}
