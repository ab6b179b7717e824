package harness

// This file owns recognising a kernel's complaints on its console.

import (
	"regexp"
	"slices"
	"strings"
)

// Splat is a complaint: the rule that found it and the lines from there on.
type Splat struct {
	Rule  string
	Text  []string // what WARN() was given to say, which it prints first
	Lines []string
}

// maxSplatLines bounds one report, maxSplatText the text before it; maxSplats
// bounds a console full of them.
const (
	maxSplatLines = 160
	maxSplatText  = 10
	maxSplats     = 20
)

type splatRule struct {
	name string
	re   *regexp.Regexp
}

// Scanner finds splats in a console's lines.
type Scanner struct {
	rules  []splatRule
	benign *regexp.Regexp // messages that look like one of the rules
	traced *regexp.Regexp // messages that bring a call trace and are no fault
	end    *regexp.Regexp
	ruler  *regexp.Regexp // what ends a report that goes on behind its trace

	splats   []Splat
	known    map[string]int // how often the kernel's own faults were seen
	blinded  bool           // one of them turned lockdep off
	open     bool           // the last splat still takes lines
	cut      bool           // "cut here" was the beginning of something
	text     []string       // the lines since then
	innocent bool           // inside the trace of a traced message
}

// NewScanner returns a Scanner for one console. Rules match at the start of a
// message where they can, so that a test may log any words.
func NewScanner() *Scanner {
	rule := func(name, re string) splatRule { return splatRule{name, regexp.MustCompile(re)} }
	return &Scanner{
		rules: []splatRule{
			rule("KASAN", `\bBUG: K[AC]SAN:|\bKASAN: `),
			rule("kfence", `^BUG: KFENCE:`),
			rule("UBSAN", `^UBSAN: `),
			rule("lockdep", `possible (recursive|circular|irq) lock|suspicious RCU usage|`+
				`inconsistent lock state|bad unlock balance|held lock freed|lock held when returning|trying to register non-static key|`+
				`-safe -> .*-unsafe lock order detected|Invalid wait context|nested lock was not taken`),
			rule("soft lockup", `\bBUG: soft lockup\b`),
			rule("hard lockup", `detected hard LOCKUP on cpu`),
			rule("workqueue lockup", `\bBUG: workqueue lockup\b`),
			rule("RCU stall", `rcu.*(self-)?detected (expedited )?stalls? on CPU|rcu.*kthread starved for`),
			rule("hung task", `\bblocked( in I/O wait)? for more than \d+ seconds`),
			rule("atomic sleep", `scheduling while atomic|sleeping function called from invalid context`),
			rule("refcount", `^refcount_t: `),
			rule("list corruption", `^list_(add|del)(_valid)? ?.*corruption|^(slab|kmem_cache).*list corruption`),
			rule("DMA-API", `^(\S+ )*DMA-API: `),
			rule("leak", `^unreferenced object 0x|^kmemleak: \d+ new suspected memory leaks|^unregister_netdevice: waiting for|leaked \d+ (objects|percpu)|Objects remaining in`),
			rule("protection fault", `^(Oops: )?general protection fault`),
			rule("oops", `^Oops:? |^Internal error: |Unable to handle kernel|^invalid opcode: |^stack segment: |^double fault: |^divide error: |^unchecked MSR access`),
			rule("out of memory", `invoked oom-killer: |^Out of memory: `),
			rule("panic", `^Kernel panic - not syncing`),
			rule("BUG", `^(kernel )?BUG\b`),
			rule("WARNING", `^WARNING: `),
			rule("call trace", `^Call Trace:`),
		},
		known:  map[string]int{},
		benign: regexp.MustCompile(`^DMA-API: (preallocated|debugging|debug_dma|dma_debug)`),
		// The last two are warn_alloc()'s (mm/page_alloc.c): memory was short, or made so.
		traced: regexp.MustCompile(`^FAULT_INJECTION: forcing a failure|^sysrq: |page allocation failure: |vmalloc error: size \d+, (align 0x[0-9a-f]+, )?(failed to|vm_struct) `),
		end:    regexp.MustCompile(`^---\[ end (trace|Kernel panic)|^ ?</TASK>|^Kernel Offset:`),
		ruler:  regexp.MustCompile(`^={20,}$`),
	}
}

// stamp is what printk puts before a message: the time, then perhaps the task
// or CPU that printed.
var stamp = regexp.MustCompile(`^(?:<\d+>)?(?:\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?)?`)

// Line takes the console's next line.
func (s *Scanner) Line(line string) {
	msg := strings.TrimRight(line, "\r\n")
	msg = msg[len(stamp.FindString(msg)):]
	if s.open && s.extend(msg) {
		return
	}
	if strings.HasPrefix(msg, cutHere) {
		s.cut, s.text = true, nil
		return
	}
	if s.innocent {
		s.innocent = !s.end.MatchString(msg)
	}
	if s.traced.MatchString(msg) {
		s.innocent = true
		return
	}
	if s.benign.MatchString(msg) || len(s.splats) == maxSplats {
		return
	}
	for _, r := range s.rules {
		if r.re.MatchString(msg) && (r.name != "call trace" || !s.innocent) {
			s.splats = append(s.splats, Splat{Rule: r.name, Text: s.text, Lines: []string{msg}})
			s.open, s.cut, s.text = true, false, nil
			return
		}
	}
	s.keep(msg)
}

// cutHere begins a report. The words of a WARN() stand between it and the line
// that says WARNING.
const cutHere = "------------[ cut here"

// keep remembers a line that may turn out to be the text of a splat.
func (s *Scanner) keep(msg string) {
	if s.cut = s.cut && len(s.text) < maxSplatText; s.cut {
		s.text = append(s.text, msg)
	} else {
		s.text = nil
	}
}

// extend gives msg to the open splat, and says whether it took it.
func (s *Scanner) extend(msg string) bool {
	last := &s.splats[len(s.splats)-1]
	if strings.HasPrefix(msg, cutHere) || len(last.Lines) == maxSplatLines {
		s.open = false
		return false
	}
	last.Lines = append(last.Lines, msg)
	if s.endOf(last.Rule).MatchString(msg) {
		s.open = false
		s.judge(last)
	}
	return true
}

// judge looks at the last splat, which is whole. The kernel's own faults are only
// counted, so that many of them leave room for ours; one that has another complaint
// in its middle stays.
func (s *Scanner) judge(last *Splat) {
	fault, ok := last.known()
	if !ok || slices.ContainsFunc(last.Lines[1:], s.complains) {
		return
	}
	s.known[fault.name]++
	s.blinded = s.blinded || fault.blinds
	s.splats = s.splats[:len(s.splats)-1]
}

// complains says whether a report begins with this message; each has a call trace.
func (s *Scanner) complains(msg string) bool {
	return slices.ContainsFunc(s.rules, func(r splatRule) bool {
		return r.name != "call trace" && r.re.MatchString(msg)
	})
}

// endOf is the last line of a rule's reports. KASAN tells behind the trace who
// allocated and who freed, KCSAN what else was at it.
func (s *Scanner) endOf(rule string) *regexp.Regexp {
	if rule == "KASAN" {
		return s.ruler
	}
	return s.end
}

// Splats returns what was found so far, without the kernel's own faults.
func (s *Scanner) Splats() []Splat { return s.splats }

// Blinded says whether one of the kernel's own faults turned lockdep off.
func (s *Scanner) Blinded() bool { return s.blinded }

// Known returns how often each of the kernel's own faults was seen.
func (s *Scanner) Known() map[string]int { return s.known }
