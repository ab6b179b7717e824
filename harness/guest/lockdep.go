package guest

// This file owns whether the kernel still checked its locks at the end of a run.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

const lockdepFile = "/proc/lockdep_stats"

// lockdepOff reads whether lockdep has turned itself off. It does for good at the
// first report, its own or KASAN's: what runs after that is not checked. A kernel
// without lockdep has nothing to turn off.
func lockdepOff() (bool, error) {
	text, err := os.ReadFile(lockdepFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lockdep: %w", err)
	}
	return isOff(string(text))
}

func isOff(stats string) (bool, error) {
	for line := range strings.Lines(stats) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "debug_locks:" {
			return f[1] == "0", nil
		}
	}
	return false, fmt.Errorf("lockdep: %s does not say debug_locks", lockdepFile)
}
