package harness

// This file owns the complaints that are a kernel's own fault: each was produced
// without our modules, has its place in docs/known-issues.md, and is recognised
// by its whole trace, so that nothing else passes for it. Of data races, which a
// kernel has many of its own, those are ours that one of our functions has a part
// in, on either side.

import (
	"regexp"
	"slices"
	"strings"
)

// knownFault is a kernel's own fault.
type knownFault struct {
	name  string         // where docs/known-issues.md has it
	first *regexp.Regexp // a report's first line
	trace *regexp.Regexp // its functions, the innermost first; nil: none of ours anywhere
}

func knownFaults() []knownFault {
	return []knownFault{{
		name: "rxe schedules the task of a queue pair that is freed",
		first: regexp.MustCompile(`^WARNING: .*\bdrivers/infiniband/sw/rxe/rxe_task\.c:\d+ (at )?(rxe_sched_task|__reserve_if_idle)\+|` +
			`^BUG: KASAN: slab-use-after-free in (rxe_sched_task|__reserve_if_idle|__lock_acquire)\+`),
		trace: regexp.MustCompile(`(^| )rxe_sched_task (rxe_rcv )?rxe_xmit_packet rxe_requester rxe_sender do_(task|work) process_one_work `),
	}, {
		name:  "data races of the kernel's own code",
		first: regexp.MustCompile(`^BUG: KCSAN: data-race in `),
	}}
}

// ours is how a trace marks a function of the modules.
const ours = "[rxpost_"

// hasOurs says whether the report mentions a function of the modules.
func (s Splat) hasOurs() bool {
	return slices.ContainsFunc(s.Lines, func(line string) bool { return strings.Contains(line, ours) })
}

// frame is a function of a trace; the console marks what may not belong there
// with a question mark.
var frame = regexp.MustCompile(`^(?:RIP: [0-9a-f]+:| )([a-zA-Z_]\w*(?:\.\w+)*)\+0x[0-9a-f]+/0x[0-9a-f]+`)

// trace returns the functions of a report's first trace, the innermost first.
func (s Splat) trace() string {
	var b strings.Builder
	for _, line := range s.Lines {
		if strings.Contains(line, "</TASK>") {
			break
		}
		if m := frame.FindStringSubmatch(line); m != nil {
			b.WriteString(m[1] + " ")
		}
	}
	return b.String()
}

// known returns the name of the kernel's own fault that the report is of, or "".
func (s Splat) known() string {
	for _, k := range knownFaults() {
		if !k.first.MatchString(s.Lines[0]) {
			continue
		}
		if k.trace != nil && k.trace.MatchString(s.trace()) || k.trace == nil && !s.hasOurs() {
			return k.name
		}
	}
	return ""
}
