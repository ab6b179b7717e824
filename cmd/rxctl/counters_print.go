// This file owns how counters read, of a receiver and of a connection alike.

package main

import (
	"fmt"

	"github.com/rxpost/rxpost/ctl"
)

func receivedText(c ctl.Counters) string {
	return fmt.Sprintf("%s, %s, %d with immediate data, of them %s",
		plural(c.Messages, "message"), size(c.Bytes), c.Imm, plural(c.WriteImm, "write"))
}

func postsText(c ctl.Counters) string {
	return fmt.Sprintf("%s, %s", plural(c.PostCalls, "call"), plural(c.PostWRs, "receive"))
}

func refusedText(c ctl.Counters) string {
	return fmt.Sprintf("%s, %s; skipped %d", plural(c.RefusedCalls, "call"), plural(c.RefusedWRs, "receive"), c.PostSkipped)
}

func unexpectedText(c ctl.Counters) string {
	return fmt.Sprintf("stale %d, bogus %d", c.Stale, c.Bogus)
}

func emptyText(c ctl.Counters) string {
	return fmt.Sprintf("%s, lowest %s", plural(c.Empty, "time"), lowest(c))
}

func verifiedText(c ctl.Counters) string {
	return fmt.Sprintf("%d, gaps %d, repeats %d, damaged %d, unrecognised %d",
		c.Verified, c.Gaps, c.Repeats, c.Damaged, c.Unrecognised)
}

// lowest prints the fewest receives that were outstanding, if that is known.
func lowest(c ctl.Counters) string {
	if c.Lowest == nil {
		return "-"
	}
	return number(*c.Lowest)
}
