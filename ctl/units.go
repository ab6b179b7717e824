// This file owns the units of time in messages. The kernel counts microseconds
// and milliseconds; so do the types here and their JSON, exactly.

package ctl

import (
	"fmt"
	"math"
	"time"
)

// Microseconds is a time in the unit of the kernel's "-us" attributes. As JSON
// it is a plain number.
type Microseconds uint32

// MicrosecondsOf converts d. What is negative, longer than 71 minutes or not a
// whole number of microseconds is an error and never rounded.
func MicrosecondsOf(d time.Duration) (Microseconds, error) {
	n, err := units(d, time.Microsecond)
	return Microseconds(n), err
}

// Duration converts us.
func (us Microseconds) Duration() time.Duration { return time.Duration(us) * time.Microsecond }

// String prints us as [time.Duration] does.
func (us Microseconds) String() string { return us.Duration().String() }

// Milliseconds is a time in the unit of the kernel's "-ms" attributes. As JSON
// it is a plain number.
type Milliseconds uint32

// MillisecondsOf converts d. What is negative, longer than 49 days or not a
// whole number of milliseconds is an error and never rounded.
func MillisecondsOf(d time.Duration) (Milliseconds, error) {
	n, err := units(d, time.Millisecond)
	return Milliseconds(n), err
}

// Duration converts ms.
func (ms Milliseconds) Duration() time.Duration { return time.Duration(ms) * time.Millisecond }

// String prints ms as [time.Duration] does.
func (ms Milliseconds) String() string { return ms.Duration().String() }

// units counts unit in d, for an attribute of 32 bits.
func units(d, unit time.Duration) (uint32, error) {
	switch {
	case d < 0:
		return 0, fmt.Errorf("%v is negative", d)
	case d%unit != 0:
		return 0, fmt.Errorf("%v is not a whole multiple of %v", d, unit)
	case d/unit > math.MaxUint32:
		return 0, fmt.Errorf("%v is longer than %v", d, math.MaxUint32*unit)
	}
	return uint32(d / unit), nil
}
