package harness

// This file owns the complaints that are a kernel's own fault. Each was seen
// without our modules, or could not be theirs, and has its place in
// docs/known-issues.md. A report is recognised by all of its trace, and only if it
// is whole and nothing else complained in the middle of it.

import (
	"regexp"
	"slices"
	"strings"
)

// knownFault is a kernel's own fault.
type knownFault struct {
	name  string         // where docs/known-issues.md has it
	first *regexp.Regexp // a report's first line
	is    func(Splat) bool
	// blinds: its report turns lockdep off, as KASAN's does and a WARNING does not
	// (6.12 mm/kasan/report.c, kernel/panic.c).
	blinds bool
}

func knownFaults() []knownFault {
	const rxe = "rxe schedules the task of a queue pair that is freed"
	// From the send of one queue pair to the schedule of the other's task; what a
	// compiler makes one function of differs from kernel to kernel.
	const sends = `rxe_sched_task (rxe_resp_queue_pkt )?(rxe_rcv )?rxe_xmit_packet rxe_requester rxe_sender (do_task (do_work )?|do_work )process_one_work `
	warned := regexp.MustCompile(`^(__reserve_if_idle )?` + sends)
	poisoned := regexp.MustCompile(`^dump_stack_lvl print_report kasan_report ` +
		`((__reserve_if_idle|__lock_acquire lock_acquire(\.part\.\d+)? _raw_spin_lock_irqsave) )?` + sends)
	// Whoever destroys a queue pair has the core free it.
	freed := regexp.MustCompile(` kfree ib_destroy_qp_user `)
	return []knownFault{{
		name:  rxe,
		first: regexp.MustCompile(`^WARNING: .*\bdrivers/infiniband/sw/rxe/rxe_task\.c:\d+ (at )?(rxe_sched_task|__reserve_if_idle)\+`),
		is:    func(s Splat) bool { return warned.MatchString(s.functions("")) },
	}, {
		name:   rxe,
		first:  regexp.MustCompile(`^BUG: KASAN: slab-use-after-free in (rxe_sched_task|__reserve_if_idle|__lock_acquire)\+`),
		blinds: true,
		is: func(s Splat) bool {
			return poisoned.MatchString(s.functions("")) && freed.MatchString(s.functions("Freed by task "))
		},
	}, {
		name:  "data races of the kernel's own code",
		first: regexp.MustCompile(`^BUG: KCSAN: data-race in `),
		is:    func(s Splat) bool { return !slices.ContainsFunc(s.Lines, mayBeOurs) },
	}}
}

// onOurBehalf are functions of the kernel that touch what is ours when nothing of
// ours is on the stack: threads and timers of kthread workers.
var onOurBehalf = regexp.MustCompile(`\bkthread_(worker_fn|delayed_work_timer_fn|queue_|mod_|insert_work)`)

// mayBeOurs says whether a line of a trace is about the modules.
func mayBeOurs(line string) bool {
	return strings.Contains(line, "[rxpost_") || onOurBehalf.MatchString(line)
}

// function is one of a trace's; the console marks what may not belong there with a
// question mark.
var function = regexp.MustCompile(`^(?:RIP: [0-9a-f]+:| )([a-zA-Z_]\w*(?:\.\w+)*)\+0x[0-9a-f]+/0x[0-9a-f]+`)

// functions returns those of the trace below the line that begins with head, the
// innermost first, or of a report's first trace for "". What an interrupt did, and
// what it interrupted, are two traces, and not what is asked for.
func (s Splat) functions(head string) string {
	var b strings.Builder
	in := head == ""
	for _, line := range s.Lines {
		switch m := function.FindStringSubmatch(line); {
		case !in:
			in = strings.HasPrefix(line, head)
		case m != nil:
			b.WriteString(m[1] + " ")
		case strings.Contains(line, "<IRQ>"), strings.Contains(line, "<NMI>"):
			return ""
		case strings.Contains(line, "</TASK>"), head != "" && line == "":
			return b.String()
		}
	}
	return b.String()
}

// known returns the name of the kernel's own fault that the report is of, or "".
func (s Splat) known() (knownFault, bool) {
	for _, k := range knownFaults() {
		if k.first.MatchString(s.Lines[0]) && k.is(s) {
			return k, true
		}
	}
	return knownFault{}, false
}
