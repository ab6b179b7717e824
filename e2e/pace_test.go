package e2e

// This file owns how fast, how long and with which dice the tests run, which the
// kernel and RXPOST_* variables decide (rxvm hands those to the guest).

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

var (
	// Longest a test may take; far above what any needs without KVM.
	testTime = slowed(5 * time.Minute)
	// Longest that things on their way to an end may take.
	settleTime = slowed(30 * time.Second)
	// slack is what emulation and a busy machine may add to a bound of the
	// modules' own.
	slack = slowed(10 * time.Second)
	// How often a race is tried: 50 times on a kernel at full speed, and for hours
	// in a soak.
	rounds = atLeastOne("RXPOST_ROUNDS", usualRounds())
)

// instrumented says whether the kernel watches every access to memory, which
// makes it several times slower.
func instrumented() bool {
	k := os.Getenv("RXVM_KERNEL")
	return k == "debug" || k == "kcsan"
}

// slowed is a bound on a kernel of full speed, as it is on this one.
func slowed(d time.Duration) time.Duration {
	if instrumented() {
		return 6 * d
	}
	return d
}

func usualRounds() int {
	if instrumented() {
		return 2
	}
	return 50
}

// fewer is how many messages stand for n of them at full speed.
func fewer(n uint64) uint64 {
	if instrumented() {
		return n / 4
	}
	return n
}

// number is a variable's value; a value that is no number stops all tests.
func number(name string, unset int) int {
	s := os.Getenv(name)
	if s == "" {
		return unset
	}
	n, err := strconv.ParseUint(s, 0, 31)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	return int(n)
}

func atLeastOne(name string, unset int) int {
	n := number(name, unset)
	if n == 0 {
		panic(name + ": 0 would prove nothing")
	}
	return n
}

// lasting is how long a test with dice goes on: RXPOST_SOAK if that is set, or
// short.
func lasting(short time.Duration) time.Duration {
	s := os.Getenv("RXPOST_SOAK")
	if s == "" {
		return short
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(fmt.Sprintf("RXPOST_SOAK: %v", err))
	}
	return d
}

// dice returns the test's own random numbers, which RXPOST_SEED decides, and says
// how to have the same again.
func dice(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(number("RXPOST_SEED", 1))
	t.Logf("RXPOST_SEED=%d repeats this", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// diceOf are those of one thing among several: each has its own row of numbers.
func diceOf(t *testing.T, name string) *rand.Rand {
	t.Helper()
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(uint64(number("RXPOST_SEED", 1)), h.Sum64()))
}

// figure reports how often something was done. `make soak` adds the figures of a
// name up.
func figure(t *testing.T, name string, n int) {
	t.Helper()
	t.Logf("figure: %s: %d", name, n)
}
