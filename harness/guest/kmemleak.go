package guest

// This file owns the search for memory that the command's run left behind, on
// kernels that can look for it.

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

const kmemleakFile = "/sys/kernel/debug/kmemleak"

// kmemleakAge is how old an allocation must be before the kernel reports it
// (mm/kmemleak.c, MSECS_MIN_AGE), and a little more.
const kmemleakAge = 6 * time.Second

// kmemleak gives the detector an order, if the kernel has one.
func kmemleak(order string) error {
	f, err := os.OpenFile(kmemleakFile, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("kmemleak: %w", err)
	}
	defer f.Close()
	if _, err := f.WriteString(order); err != nil {
		return fmt.Errorf("kmemleak %s: %w", order, err)
	}
	return nil
}

// reportLeaks looks for leaks and prints them on the console, where the host
// takes them for what they are. A leak counts once two scans find no pointer to
// it and the same content.
func reportLeaks() error {
	if _, err := os.Stat(kmemleakFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	time.Sleep(kmemleakAge)
	for range 2 {
		if err := kmemleak("scan"); err != nil {
			return err
		}
	}
	report, err := os.ReadFile(kmemleakFile)
	if err != nil {
		return fmt.Errorf("kmemleak: %w", err)
	}
	if len(bytes.TrimSpace(report)) == 0 {
		return nil
	}
	console, err := os.OpenFile("/dev/console", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("kmemleak: %w", err)
	}
	defer console.Close()
	if _, err := console.Write(report); err != nil {
		return fmt.Errorf("kmemleak: %w", err)
	}
	return drain(console)
}
