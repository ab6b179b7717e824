package guest

import "testing"

func TestLockdepOff(t *testing.T) {
	const stats = " lock-classes:                         1512 [max: 8192]\n in-hardirq chains: 9\n"
	for _, tt := range []struct {
		more     string
		off, bad bool
	}{
		{" debug_locks:                             1\n", false, false},
		{" debug_locks:                             0\n", true, false},
		{"", false, true},
		{" debug_locks: \n", false, true},
	} {
		off, err := isOff(stats + tt.more)
		if off != tt.off || (err != nil) != tt.bad {
			t.Errorf("%q: off %v, error %v", tt.more, off, err)
		}
	}
}
