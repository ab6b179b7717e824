// This file owns what `rxctl send` prints of a finished run.

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

// printRun prints a finished run and returns how it failed, if it did.
func (env *environment) printRun(w io.Writer, r ctl.Run) error {
	var err error
	if env.wantJSON() {
		err = printJSON(env, w, r)
	} else {
		_, err = io.WriteString(w, runBlock(r))
	}
	return errors.Join(err, runFailure(r))
}

// runFailure returns an error for a run that did not go as asked.
func runFailure(r ctl.Run) error {
	if err := r.Err(); err != nil {
		return failedError{err}
	}
	if r.Failed > 0 {
		return failedError{fmt.Errorf("%s completed in error", plural(r.Failed, "send"))}
	}
	return nil
}

// runBlock describes a finished run.
func runBlock(r ctl.Run) string {
	var b strings.Builder
	speed := r.MessagesPerSecond()
	fmt.Fprintf(&b, "sent %s of %s (%s) in %v: %.0f messages/s, %s/s\n",
		plural(r.Completed, "message"), size(uint64(r.Size)), size(r.Bytes),
		r.Elapsed.Round(time.Millisecond), speed, size(uint64(speed*float64(r.Size))))
	fmt.Fprintf(&b, "  ledger: posted %d = completed %d + flushed %d + failed %d + reclaimed %d + outstanding %d\n",
		r.Posted, r.Completed, r.Flushed, r.Failed, r.Reclaimed, r.Outstanding)
	if r.PostCalls > 0 {
		fmt.Fprintf(&b, "  posts: %s, %.1f sends each\n", plural(r.PostCalls, "call"), float64(r.Posted)/float64(r.PostCalls))
	}
	if len(r.Status) > 0 {
		fmt.Fprintf(&b, "  statuses: %s\n", statusList(r.Status))
	}
	if r.Reason != "" && r.Errno == nil {
		fmt.Fprintf(&b, "  ended: %s\n", r.Reason)
	}
	return b.String()
}

// statusList prints completions by status.
func statusList(counts []ctl.StatusCount) string {
	texts := make([]string, 0, len(counts))
	for _, c := range counts {
		texts = append(texts, fmt.Sprintf("%s %d", c.Status, c.Count))
	}
	return orDash(strings.Join(texts, ", "))
}
