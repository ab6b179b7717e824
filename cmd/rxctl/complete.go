// This file owns what the shell offers at the Tab key: words of the live system.
//
// Looking must change nothing and never gets in the way. What cannot be found
// out is not offered: without the module there are no receivers to name, and
// asking does not load it.

package main

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rxpost/rxpost/ctl"
	"github.com/spf13/cobra"
)

// completeTime is how long a user at the Tab key is kept waiting.
const completeTime = time.Second

// source finds words for what is being typed. The shell takes those that begin
// so.
type source func(cmd *cobra.Command, typed string) []cobra.Completion

// register completes the value of a flag of cmd.
func register(cmd *cobra.Command, flag string, from source) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, typed string) (
		[]cobra.Completion, cobra.ShellCompDirective,
	) {
		return from(cmd, typed), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // cmd has no such flag, or it is registered already
	}
}

// onlyArg completes the one argument that a command takes.
func onlyArg(from source) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return from(cmd, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeWords offers some words.
func completeWords(words ...string) source {
	return func(*cobra.Command, string) []cobra.Completion { return words }
}

// completeReceiver offers the names of receivers.
func (env *environment) completeReceiver(cmd *cobra.Command, _ string) []cobra.Completion {
	var names []string
	for _, r := range env.peekReceivers(cmd) {
		names = append(names, r.Name)
	}
	return names
}

// completeListening offers the addresses at which receivers listen.
func (env *environment) completeListening(cmd *cobra.Command, _ string) []cobra.Completion {
	var addrs []string
	for _, r := range env.peekReceivers(cmd) {
		if r.State == ctl.ReceiverStateListening {
			addrs = append(addrs, cobra.CompletionWithDesc(r.AddrPort().String(), r.Name))
		}
	}
	return addrs
}

// completeConn offers the indexes of the connections of --recv.
func (env *environment) completeConn(cmd *cobra.Command, _ string) []cobra.Completion {
	name := cmd.Flag("recv").Value.(*textFlag)
	if *name.to == "" {
		return nil
	}
	var indexes []string
	env.peek(cmd, func(ctx context.Context, c client) error {
		conns, err := c.Conns(ctx, *name.to)
		for _, conn := range conns {
			indexes = append(indexes, cobra.CompletionWithDesc(number(conn.Index), conn.State.String()+" "+conn.Peer().String()))
		}
		return err
	})
	return indexes
}

// peekReceivers lists the receivers, if the module is loaded.
func (env *environment) peekReceivers(cmd *cobra.Command) (all []ctl.Receiver) {
	env.peek(cmd, func(ctx context.Context, c client) (err error) {
		all, err = c.Receivers(ctx)
		return err
	})
	return all
}

// peek asks the kernel with a client that loads nothing. Errors are for whoever
// reads cobra's completion log; a shell has no place for them.
func (env *environment) peek(cmd *cobra.Command, ask func(context.Context, client) error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
	defer cancel()
	c, err := env.passive()
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return
	}
	defer c.Close()
	if err := ask(ctx, c); err != nil {
		cobra.CompDebugln(err.Error(), false)
	}
}

// completeDevice offers the names of RDMA devices. It reads sysfs: a question by
// netlink would load the RDMA stack.
func (env *environment) completeDevice(_ *cobra.Command, _ string) []cobra.Completion {
	return env.entries("class/infiniband")
}

// completeNetdev offers the names of network devices.
func (env *environment) completeNetdev(_ *cobra.Command, _ string) []cobra.Completion {
	return env.entries("class/net")
}

// firstPort is offered where no receiver has it.
const firstPort = 7471

// completeListenAddr offers the addresses of RDMA devices' network devices, each
// with a port at which no receiver listens.
func (env *environment) completeListenAddr(cmd *cobra.Command, _ string) []cobra.Completion {
	taken := map[netip.AddrPort]bool{}
	for _, r := range env.peekReceivers(cmd) {
		taken[r.AddrPort()] = true
	}
	var words []string
	for _, p := range env.rdmaPrefixes() {
		free := netip.AddrPortFrom(p.Addr(), firstPort)
		for taken[free] {
			free = netip.AddrPortFrom(free.Addr(), free.Port()+1)
		}
		words = append(words, free.String())
	}
	return words
}

// completeAllow offers the networks of RDMA devices, behind what was typed of
// the list.
func (env *environment) completeAllow(_ *cobra.Command, typed string) []cobra.Completion {
	var words []string
	for _, p := range env.rdmaPrefixes() {
		words = append(words, p.Masked().String())
	}
	return inList(typed, words)
}

// completeCPUs offers the CPUs that are online, behind what was typed of the
// list.
func (env *environment) completeCPUs(_ *cobra.Command, typed string) []cobra.Completion {
	text, err := fs.ReadFile(env.sys, "devices/system/cpu/online")
	if err != nil {
		return nil
	}
	return inList(typed, cpuNumbers(strings.TrimSpace(string(text))))
}

// cpuNumbers reads the kernel's form of a list, "0-3,8".
func cpuNumbers(text string) []string {
	var words []string
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil {
			return nil
		}
		for n := first; n <= last; n++ {
			words = append(words, strconv.FormatUint(n, 10))
		}
	}
	return words
}

// inList puts what was typed of a list, up to its last comma, in front of each
// word that it does not have yet. "any" is offered for all of a list.
func inList(typed string, words []string) []string {
	at := strings.LastIndexByte(typed, ',') + 1
	if at == 0 {
		words = append(words, anyText)
	}
	has := strings.Split(typed[:at], ",")
	var all []string
	for _, w := range words {
		if !slices.Contains(has, w) {
			all = append(all, typed[:at]+w)
		}
	}
	return all
}

// gidsRead is how many GIDs of a device are looked at for their network device.
// The table of rxe has 1024, nearly all unused, and a user waits.
const gidsRead = 32

// rdmaPrefixes lists the addresses below RDMA devices at which a receiver can
// listen, with their networks.
func (env *environment) rdmaPrefixes() []netip.Prefix {
	netdevs := map[string]bool{}
	for _, device := range env.entries("class/infiniband") {
		for gid := range gidsRead {
			path := fmt.Sprintf("class/infiniband/%s/ports/1/gid_attrs/ndevs/%d", device, gid)
			// An unused GID has no network device; reading its file fails.
			if text, err := fs.ReadFile(env.sys, path); err == nil {
				netdevs[strings.TrimSpace(string(text))] = true
			}
		}
	}
	var all []netip.Prefix
	for _, netdev := range slices.Sorted(maps.Keys(netdevs)) {
		addrs, err := env.addrs(netdev)
		if err != nil {
			continue // it has just gone
		}
		for _, a := range addrs {
			if p, ok := prefixOf(a); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// prefixOf converts an address of a network device. One that needs a zone is of
// no use: none can be given to the kernel.
func prefixOf(a net.Addr) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(a.String())
	return p, err == nil && !p.Addr().IsLinkLocalUnicast()
}

// entries lists a directory of sysfs; nothing if it is not there.
func (env *environment) entries(dir string) []string {
	entries, err := fs.ReadDir(env.sys, dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
