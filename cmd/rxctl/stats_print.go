// This file owns what `rxctl stats` prints for people.

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rxpost/rxpost/ctl"
)

// printStatistics prints one block a receiver.
func printStatistics(w io.Writer, all []statistics) error {
	for i, s := range all {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(w, "receiver: %s\n", s.Receiver.Name); err != nil {
			return err
		}
		if err := printTable(w, statisticsRows(s)); err != nil {
			return err
		}
	}
	return nil
}

// statisticsRows makes one row of a name and what it stands at.
func statisticsRows(s statistics) [][]string {
	c := s.Receiver.Counters
	rows := [][]string{
		{"  ledger", ledgerSum(s.Receiver.Ledger)},
		{"  slots", slotSum(s.Receiver.Ledger)},
	}
	if s.Receiver.Sends != nil {
		rows = append(rows, []string{"  answers", ledgerSum(*s.Receiver.Sends)})
	}
	return append(rows, [][]string{
		{"  received", receivedText(c)},
		{"  connections", fmt.Sprintf("accepted %d, rejected %d", c.Accepted, c.Rejected)},
		{"  posts", fmt.Sprintf("%s, %.4f calls per message", postsText(c), s.PostsPerMessage)},
		{"  chains", chainList(s.Stats.Chain)},
		{"  refused", refusedText(c)},
		{"  errors", errnoList(s.Stats.Errno)},
		{"  statuses", statusList(s.Stats.Status)},
		{"  unexpected", unexpectedText(c)},
		{"  empty", emptyText(c)},
		{"  rnr", rnrText(s)},
		{"  verified", verifiedText(c)},
		{"  polling", fmt.Sprintf("%s with completions, %s", plural(c.Polls, "poll"), plural(c.Sleeps, "sleep"))},
	}...)
}

// rnrText prints how often senders were told to wait and how long one wait is.
// The device counts for all its receivers, so no sum of waits can be told.
func rnrText(s statistics) string {
	switch wait := s.Receiver.RNREffective; {
	case s.Receiver.State == ctl.ReceiverStateNoDevice:
		return "not known, the device was removed"
	case s.Receiver.RNRRetry == nil:
		return rnrWait(s.Receiver)
	case s.DeviceRNR == nil:
		return fmt.Sprintf("not counted by the device, one wait is %v", wait)
	default:
		return fmt.Sprintf("%d sent by device %s since it was made, one wait is %v", *s.DeviceRNR, s.Receiver.Device, wait)
	}
}

// chainsShown is how many lengths of chains fit a line. JSON has all of them.
const chainsShown = 6

// chainList prints calls by the length of their chain: the most frequent
// lengths, in order, and the sum of the others.
func chainList(counts []ctl.ChainCount) string {
	counts = slices.SortedStableFunc(slices.Values(counts), func(a, b ctl.ChainCount) int { return cmp.Compare(b.Count, a.Count) })
	var others uint64
	for _, c := range counts[min(chainsShown, len(counts)):] {
		others += c.Count
	}
	counts = counts[:min(chainsShown, len(counts))]
	slices.SortFunc(counts, func(a, b ctl.ChainCount) int { return cmp.Compare(a.Length, b.Length) })
	texts := make([]string, 0, chainsShown+1)
	for _, c := range counts {
		texts = append(texts, fmt.Sprintf("%s of %d", plural(c.Count, "call"), c.Length))
	}
	if others > 0 {
		texts = append(texts, fmt.Sprintf("%s of other lengths", plural(others, "call")))
	}
	return orDash(strings.Join(texts, ", "))
}

// errnoList prints refused calls by error.
func errnoList(counts []ctl.ErrnoCount) string {
	texts := make([]string, 0, len(counts))
	for _, c := range counts {
		texts = append(texts, fmt.Sprintf("%s %d", c.Errno, c.Count))
	}
	return orDash(strings.Join(texts, ", "))
}

// orDash prints what may be empty.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
