package harness

// This file owns reading the guest's console.

import (
	"bufio"
	"io"
	"maps"
	"strings"
	"sync"
)

// tailLines is how much of the console a failure shows: the stacks of a few
// tasks and of every CPU must fit, or what came before them is gone.
const tailLines = 200

// console reads lines to the end, scans them and keeps the last.
type console struct {
	mu      sync.Mutex // protects what follows
	tail    []string
	scanner *Scanner
}

func newConsole() *console { return &console{scanner: NewScanner()} }

// read takes r's lines until it ends, and copies them to tee, if there is one.
func (c *console) read(r io.Reader, tee io.Writer) {
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadString('\n')
		if line != "" {
			c.line(strings.TrimRight(line, "\r\n"))
			if tee != nil {
				io.WriteString(tee, line)
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *console) line(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scanner.Line(line)
	if c.tail = append(c.tail, line); len(c.tail) > tailLines {
		c.tail = c.tail[1:]
	}
}

func (c *console) last() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.tail...)
}

func (c *console) splats() []Splat {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Splat(nil), c.scanner.Splats()...)
}

// blinded says whether one of the kernel's own faults turned lockdep off.
func (c *console) blinded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.scanner.Blinded()
}

// known returns the kernel's own faults, each with how often it was seen.
func (c *console) known() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.scanner.Known())
}
