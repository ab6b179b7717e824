package guest

// This file owns the counts of executed code that the kernel keeps for modules
// that were built for it, unloaded ones included.

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rxpost/rxpost/harness/wire"
)

const gcovDir = "/sys/kernel/debug/gcov"

// sendCoverage sends a file for each object that was loaded at some time.
func (p *ports) sendCoverage(c *wire.Coverage) error {
	if c == nil {
		return nil
	}
	root := filepath.Join(gcovDir, c.Objects)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		// Beside the counts there are links to the compiler's notes.
		if err != nil || filepath.Ext(name) != ".gcda" {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return p.file(filepath.Join(c.Dir, rel), data)
	})
	if err != nil {
		return fmt.Errorf("coverage: %w", err)
	}
	return nil
}
