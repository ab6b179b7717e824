// This file owns the one line that shows progress.

package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// plainPeriods is how many periods pass between two lines where a line cannot
// be written over.
const plainPeriods = 5

// progress is a line on stderr that is written over and over; where stderr is
// no terminal, now and then a line of its own. Disabled, it does nothing.
type progress struct {
	w       io.Writer
	enabled bool
	plain   bool
	mu      sync.Mutex // protects what follows, and turns at w
	shown   bool
}

// newProgress makes a line that nothing shows on yet.
func (env *environment) newProgress(enabled bool) *progress {
	return &progress{w: env.stderr, enabled: enabled, plain: !env.terminal}
}

// show replaces the line. Progress is a courtesy: if it cannot be written, the
// work goes on.
func (p *progress) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.enabled || text == "":
	case p.plain:
		fmt.Fprintln(p.w, text)
	default:
		fmt.Fprintf(p.w, "\r\033[K%s", text)
		p.shown = true
	}
}

// clear removes the line.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\033[K")
		p.shown = false
	}
}

// every shows what text returns, once a period, until stop is called. stop
// returns after the last call of text did.
func (p *progress) every(period time.Duration, text func() string) (stop func()) {
	if !p.enabled {
		return func() {}
	}
	if p.plain {
		period *= plainPeriods
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				p.show(text())
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
