// This file owns what happens to generated text: writing it, or comparing it
// with what is committed.

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// output is one generated file.
type output struct {
	path string
	data []byte
}

// differs reports whether the committed file is missing or not as generated.
func (o output) differs() (bool, error) {
	have, err := os.ReadFile(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read what is committed: %w", err)
	}
	return !bytes.Equal(have, o.data), nil
}

// compare writes nothing and returns one error for each file that differs.
func compare(files []output) error {
	var errs []error
	for _, f := range files {
		changed, err := f.differs()
		if err == nil && changed {
			err = fmt.Errorf("%s is not what its spec generates: run 'make generate'", f.path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// write brings the files up to date and leaves alone, time stamps included,
// those that already are.
func write(files []output) error {
	for _, f := range files {
		changed, err := f.differs()
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
			return fmt.Errorf("write generated file: %w", err)
		}
		if err := os.WriteFile(f.path, f.data, 0o644); err != nil {
			return fmt.Errorf("write generated file: %w", err)
		}
	}
	return nil
}
