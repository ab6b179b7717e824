// This file owns how numbers, times and addresses are read from the command
// line.

package main

import (
	"fmt"
	"math"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/pflag"
)

// option is a flag that stays nil unless given, because the kernel owns the
// defaults.
type option[T any] struct {
	to    **T
	kind  string
	parse func(string) (T, error)
}

// optionVar adds an option to fs.
func optionVar[T any](fs *pflag.FlagSet, to **T, name, kind, usage string, parse func(string) (T, error)) {
	fs.Var(&option[T]{to: to, kind: kind, parse: parse}, name, usage)
}

// String is what help shows as the default: nothing.
func (o *option[T]) String() string { return "" }

// Type is what help calls the value.
func (o *option[T]) Type() string { return o.kind }

// Set reads the value.
func (o *option[T]) Set(text string) error {
	v, err := o.parse(text)
	if err != nil {
		return err
	}
	*o.to = &v
	return nil
}

// parseCount reads a count; k, M and G multiply by powers of 1000.
func parseCount(text string) (uint32, error) {
	n, err := parseNumber(text, 1000, math.MaxUint32)
	return uint32(n), err
}

// parseCount64 is parseCount for counts of messages.
func parseCount64(text string) (uint64, error) {
	return parseNumber(text, 1000, math.MaxUint64)
}

// parseSize reads bytes; K, M and G multiply by powers of 1024.
func parseSize(text string) (uint32, error) {
	n, err := parseNumber(text, 1024, math.MaxUint32)
	return uint32(n), err
}

// parseNumber reads digits and at most one suffix.
func parseNumber(text string, base, most uint64) (uint64, error) {
	digits := strings.TrimRight(text, "kKMG")
	factor := uint64(1)
	switch text[len(digits):] {
	case "":
	case "k", "K":
		factor = base
	case "M":
		factor = base * base
	case "G":
		factor = base * base * base
	default:
		return 0, fmt.Errorf("%q has more than one suffix", text)
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number, or none that fits; k, M and G may follow one", text)
	}
	high, low := bits.Mul64(n, factor)
	if high != 0 || low > most {
		return 0, fmt.Errorf("%q is more than %d", text, most)
	}
	return low, nil
}

// parseTime reads a time with its unit.
func parseTime(text string) (time.Duration, error) {
	if _, err := strconv.ParseFloat(text, 64); err == nil && text != "0" {
		return 0, fmt.Errorf("%q has no unit: write %sus, %sms or %ss", text, text, text, text)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no time: write a number and its unit, like 50us, 10ms or 5s", text)
	}
	return d, nil
}

// parseMicroseconds reads a time for an attribute in microseconds.
func parseMicroseconds(text string) (ctl.Microseconds, error) {
	d, err := parseTime(text)
	if err != nil {
		return 0, err
	}
	return ctl.MicrosecondsOf(d)
}

// parseMilliseconds reads a time for an attribute in milliseconds.
func parseMilliseconds(text string) (ctl.Milliseconds, error) {
	d, err := parseTime(text)
	if err != nil {
		return 0, err
	}
	return ctl.MillisecondsOf(d)
}

// parseAddr reads an address with its port.
func parseAddr(text string) (netip.AddrPort, error) {
	host, port, ok := cutPort(text)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%q has no port: write 10.9.0.1:7471 or [fd00::1]:7471", text)
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is no address: write 10.9.0.1:7471 or [fd00::1]:7471; names are not looked up", text)
	}
	if addr.Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("%q names a zone, which cannot be given to the kernel", text)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return netip.AddrPort{}, fmt.Errorf("port %q is not one of 1 to 65535", port)
	}
	return netip.AddrPortFrom(addr, uint16(n)), nil
}

// cutPort splits "host:port" and "[host]:port". An IPv6 address without
// brackets has no port.
func cutPort(text string) (host, port string, ok bool) {
	if rest, found := strings.CutPrefix(text, "["); found {
		return strings.Cut(rest, "]:")
	}
	host, port, ok = strings.Cut(text, ":")
	return host, port, ok && !strings.Contains(port, ":")
}
