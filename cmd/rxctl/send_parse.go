// This file owns how addresses and keys of a peer's memory are read.

package main

import (
	"fmt"
	"strconv"
)

// parseKey reads a number of T's width, decimal or, behind 0x, hexadecimal.
func parseKey[T uint32 | uint64](text string) (T, error) {
	v, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number: write 4096 or 0x1000", text)
	}
	if uint64(T(v)) != v {
		return 0, fmt.Errorf("%q is more than %#x", text, ^T(0))
	}
	return T(v), nil
}
