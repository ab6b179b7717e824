// This file owns what is printed of round trips.

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

// rttSummary is how long round trips took, in nanoseconds. Percentiles are at
// most 1 % too short.
type rttSummary struct {
	Min   time.Duration `json:"min-ns"`
	Mean  time.Duration `json:"mean-ns"`
	P50   time.Duration `json:"p50-ns"`
	P90   time.Duration `json:"p90-ns"`
	P99   time.Duration `json:"p99-ns"`
	P999  time.Duration `json:"p99.9-ns"`
	P9999 time.Duration `json:"p99.99-ns"`
	Max   time.Duration `json:"max-ns"`
}

// summarize returns nil for a run without answers.
func summarize(r runResult) *rttSummary {
	if r.run.RoundTrips == nil || r.run.RoundTrips.Answers == 0 {
		return nil
	}
	return new(summaryOf(*r.run.RoundTrips, r.rtt))
}

// summaryOf reads percentiles from buckets. A percentile is never below the
// minimum, as the lower edge of the minimum's bucket may be.
func summaryOf(t ctl.RoundTrips, buckets []ctl.RTTBucket) rttSummary {
	at := func(percent float64) time.Duration { return max(t.Min, ctl.Percentile(buckets, percent)) }
	return rttSummary{
		Min: t.Min, Mean: t.Mean(), Max: t.Max,
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), P9999: at(99.99),
	}
}

// sumRTT adds up the round trips of several runs.
func sumRTT(results []runResult) []ctl.RTTBucket {
	all := make([][]ctl.RTTBucket, 0, len(results))
	for _, r := range results {
		all = append(all, r.rtt)
	}
	return ctl.MergeRTT(all...)
}

// roundTripLines describes what came back.
func roundTripLines(t ctl.RoundTrips, buckets []ctl.RTTBucket) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  answers: %d, missing %d, unmatched %d, damaged %d, foreign %d\n",
		t.Answers, t.Unanswered, t.Unmatched, t.Damaged, t.Foreign)
	if t.Answers > 0 {
		s := summaryOf(t, buckets)
		fmt.Fprintf(&b, "  round trip: min %v, P50 %v, P90 %v, P99 %v, P99.9 %v, P99.99 %v, max %v, mean %v\n",
			brief(s.Min), brief(s.P50), brief(s.P90), brief(s.P99), brief(s.P999), brief(s.P9999), brief(s.Max), brief(s.Mean))
	}
	l := t.Receives
	fmt.Fprintf(&b, "  receives: posted %d = completed %d + flushed %d + failed %d + reclaimed %d + outstanding %d\n",
		l.Posted, l.Completed, l.Flushed, l.Failed, l.Reclaimed, l.Outstanding)
	return b.String()
}

// brief rounds a time to three digits or four.
func brief(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 10000*unit {
			return d.Round(unit)
		}
	}
}
