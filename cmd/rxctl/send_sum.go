// This file owns the sum of several runs.

package main

import (
	"slices"

	"github.com/rxpost/rxpost/ctl"
)

// sumRuns adds up runs that did the same: what they were asked for, and every
// counter. Their time is the longest of theirs, their state that of the one that
// is least far. There must be one.
func sumRuns(runs []ctl.Run) ctl.Run {
	sum := runs[0]
	sum.Status = slices.Clone(sum.Status)
	if sum.RoundTrips != nil {
		sum.RoundTrips = new(*sum.RoundTrips)
	}
	for _, r := range runs[1:] {
		sum.State = min(sum.State, r.State)
		sum.Elapsed = max(sum.Elapsed, r.Elapsed)
		sum.Count += r.Count
		sum.Posted += r.Posted
		sum.Completed += r.Completed
		sum.Flushed += r.Flushed
		sum.Failed += r.Failed
		sum.Reclaimed += r.Reclaimed
		sum.Outstanding += r.Outstanding
		sum.Bytes += r.Bytes
		sum.PostCalls += r.PostCalls
		sum.Status = sumStatus(sum.Status, r.Status)
		if sum.RoundTrips != nil && r.RoundTrips != nil {
			addRoundTrips(sum.RoundTrips, *r.RoundTrips)
		}
	}
	return sum
}

// sumStatus adds more to sum, in the order of statuses.
func sumStatus(sum, more []ctl.StatusCount) []ctl.StatusCount {
	for _, m := range more {
		i, found := slices.BinarySearchFunc(sum, m, func(a, b ctl.StatusCount) int { return int(a.Status) - int(b.Status) })
		if found {
			sum[i].Count += m.Count
		} else {
			sum = slices.Insert(sum, i, m)
		}
	}
	return sum
}

// addRoundTrips adds more to sum.
func addRoundTrips(sum *ctl.RoundTrips, more ctl.RoundTrips) {
	if more.Answers > 0 && (sum.Answers == 0 || more.Min < sum.Min) {
		sum.Min = more.Min
	}
	sum.Max = max(sum.Max, more.Max)
	sum.Sum += more.Sum
	sum.Answers += more.Answers
	sum.Unanswered += more.Unanswered
	sum.Unmatched += more.Unmatched
	sum.Damaged += more.Damaged
	sum.Foreign += more.Foreign
	addLedger(&sum.Receives, more.Receives)
}

// addLedger adds more to sum; a sum of balanced ledgers is balanced.
func addLedger(sum *ctl.Ledger, more ctl.Ledger) {
	sum.Posted += more.Posted
	sum.Completed += more.Completed
	sum.Flushed += more.Flushed
	sum.Failed += more.Failed
	sum.Reclaimed += more.Reclaimed
	sum.Outstanding += more.Outstanding
	sum.Held += more.Held
	sum.Free += more.Free
	sum.Slots += more.Slots
}
