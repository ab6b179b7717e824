// This file owns the counters that a device keeps of itself.

package rdma

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Counters returns the hardware counters of a device's port 1, by the driver's
// own names. rxe counts as "send_rnr_err" the times it told a sender that no
// receive was posted, and as "rcvd_rnr_err" the times it was told so. The error
// matches os.ErrNotExist if the device is not there or counts nothing.
func (d *Devices) Counters(name string) (map[string]uint64, error) {
	dir := name + "/ports/1/hw_counters"
	entries, err := fs.ReadDir(d.sys, dir)
	if err != nil {
		return nil, fmt.Errorf("counters of device %s: %w", name, err)
	}
	counters := make(map[string]uint64, len(entries))
	for _, e := range entries {
		n, err := readCounter(d.sys, dir+"/"+e.Name())
		if errors.Is(err, strconv.ErrSyntax) {
			continue // "lifespan" and the like are settings
		}
		if err != nil {
			return nil, fmt.Errorf("counters of device %s: %w", name, err)
		}
		counters[e.Name()] = n
	}
	return counters, nil
}

// readCounter reads one number.
func readCounter(sys fs.FS, path string) (uint64, error) {
	text, err := fs.ReadFile(sys, path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}
