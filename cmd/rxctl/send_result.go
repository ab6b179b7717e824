// This file owns what `rxctl send` prints of finished runs, and how it says that
// they failed.

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

// namedQPs is how many QPs with one failure are named.
const namedQPs = 8

// printRuns prints finished runs and returns how they failed, if they did.
func (env *environment) printRuns(w io.Writer, results []runResult) error {
	var err error
	if env.wantJSON() {
		objects := make([]runObject, 0, len(results))
		for _, r := range results {
			objects = append(objects, runObject{r.run, summarize(r)})
		}
		err = printJSON(env, w, objects...)
	} else {
		_, err = io.WriteString(w, runsBlock(results))
	}
	return errors.Join(err, runsFailure(results))
}

// runObject is a finished run in JSON.
type runObject struct {
	ctl.Run
	RTT *rttSummary `json:"rtt,omitempty"`
}

// runFailure returns an error for a run that did not go as asked.
func runFailure(r ctl.Run) error {
	if err := r.Err(); err != nil {
		return err
	}
	if r.Failed > 0 {
		return fmt.Errorf("%s completed in error", plural(r.Failed, "send"))
	}
	if r.RoundTrips != nil {
		return r.RoundTrips.Err()
	}
	return nil
}

// runsFailure returns an error with all that went wrong. What went wrong in the
// same words on several QPs is said once, with the QPs it went wrong on, counted
// from 0.
func runsFailure(results []runResult) error {
	if len(results) == 1 {
		if err := runFailure(results[0].run); err != nil {
			return failedError{err}
		}
		return nil
	}
	var sentences []string
	qps := map[string][]int{}
	for i, r := range results {
		err := runFailure(r.run)
		if err == nil {
			continue
		}
		text := err.Error()
		if r.run.Reason != "" { // without the number of the run, which differs
			text = r.run.Reason
		}
		if qps[text] == nil {
			sentences = append(sentences, text)
		}
		qps[text] = append(qps[text], i)
	}
	var errs []error
	for _, text := range sentences {
		errs = append(errs, fmt.Errorf("%s of %d: %s", qpList(qps[text]), len(results), text))
	}
	if errs == nil {
		return nil
	}
	return failedError{errors.Join(errs...)}
}

// qpList names QPs, and of many the first.
func qpList(qps []int) string {
	if len(qps) == 1 {
		return fmt.Sprintf("QP %d", qps[0])
	}
	var names []string
	for _, qp := range qps[:min(len(qps), namedQPs)] {
		names = append(names, strconv.Itoa(qp))
	}
	if rest := len(qps) - len(names); rest > 0 {
		return fmt.Sprintf("QPs %s and %d more", strings.Join(names, ", "), rest)
	}
	return "QPs " + strings.Join(names, ", ")
}

// runsBlock describes finished runs by their sum.
func runsBlock(results []runResult) string {
	runs := make([]ctl.Run, 0, len(results))
	for _, r := range results {
		runs = append(runs, r.run)
	}
	sum := sumRuns(runs)
	var b strings.Builder
	speed := sum.MessagesPerSecond()
	fmt.Fprintf(&b, "sent %s of %s (%s)%s in %v: %.0f messages/s, %s/s\n",
		plural(sum.Completed, noun(sum.Opcode)), size(uint64(sum.Size)), size(sum.Bytes), overQPs(len(runs)),
		sum.Elapsed.Round(time.Millisecond), speed, size(uint64(speed*float64(sum.Size))))
	if len(runs) > 1 {
		b.WriteString(spreadLine(runs))
	}
	fmt.Fprintf(&b, "  ledger: posted %d = completed %d + flushed %d + failed %d + reclaimed %d + outstanding %d\n",
		sum.Posted, sum.Completed, sum.Flushed, sum.Failed, sum.Reclaimed, sum.Outstanding)
	if sum.PostCalls > 0 {
		fmt.Fprintf(&b, "  posts: %s, %.1f sends each\n", plural(sum.PostCalls, "call"), float64(sum.Posted)/float64(sum.PostCalls))
	}
	if len(sum.Status) > 0 {
		fmt.Fprintf(&b, "  statuses: %s\n", statusList(sum.Status))
	}
	if sum.RoundTrips != nil {
		b.WriteString(roundTripLines(*sum.RoundTrips, sumRTT(results)))
	}
	if reason := orderlyEnd(runs); reason != "" {
		fmt.Fprintf(&b, "  ended: %s\n", reason)
	}
	return b.String()
}

// noun is what a message of an opcode is called.
func noun(op ctl.Opcode) string {
	if op == ctl.OpcodeSend {
		return "message"
	}
	return op.String() + " message"
}

func overQPs(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" over %d QPs", n)
}

// spreadLine says how far the QPs are apart.
func spreadLine(runs []ctl.Run) string {
	var rates []float64
	var total float64
	for _, r := range runs {
		rates = append(rates, r.MessagesPerSecond())
		total += r.MessagesPerSecond()
	}
	return fmt.Sprintf("  each QP: min %.0f, mean %.0f, max %.0f messages/s\n",
		slices.Min(rates), total/float64(len(rates)), slices.Max(rates))
}

// orderlyEnd returns why runs ended that did so as asked but before their time.
func orderlyEnd(runs []ctl.Run) string {
	for _, r := range runs {
		if r.Reason != "" && r.Errno == nil {
			return r.Reason
		}
	}
	return ""
}

// statusList prints completions by status.
func statusList(counts []ctl.StatusCount) string {
	texts := make([]string, 0, len(counts))
	for _, c := range counts {
		texts = append(texts, fmt.Sprintf("%s %d", c.Status, c.Count))
	}
	return orDash(strings.Join(texts, ", "))
}
