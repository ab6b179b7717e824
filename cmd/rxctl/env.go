// This file owns what commands get from outside, so that a test can hand in
// something else.

package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"net"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
)

// environment is all that commands know of the world.
type environment struct {
	stdout   io.Writer
	stderr   io.Writer
	terminal bool   // stderr is a terminal, so progress is welcome
	version  string // of rxctl
	dial     func() (client, error)
	passive  func() (client, error) // like dial, but loads no module
	devices  devices
	sys      fs.FS                                   // sysfs
	addrs    func(netdev string) ([]net.Addr, error) // of a network device
	json     bool                                    // -j
	pretty   bool                                    // -p
}

// client is what commands need of a *ctl.Client.
type client interface {
	Receivers(ctx context.Context) ([]ctl.Receiver, error)
	Receiver(ctx context.Context, name string) (ctl.Receiver, error)
	Add(ctx context.Context, cfg ctl.ReceiverConfig) (ctl.Receiver, error)
	Set(ctx context.Context, cfg ctl.ReceiverConfig) error
	Delete(ctx context.Context, name string) (ctl.Event, error)
	DeleteNoWait(ctx context.Context, name string) (uint32, error)
	Conns(ctx context.Context, name string) ([]ctl.Conn, error)
	Conn(ctx context.Context, name string, index uint32) (ctl.Conn, error)
	Stats(ctx context.Context, name string) (ctl.Stats, error)
	Info(ctx context.Context) (ctl.Info, error)
	Watch(ctx context.Context) (watcher, error)
	StartRun(ctx context.Context, cfg ctl.RunConfig) (uint32, error)
	StopRun(ctx context.Context, id uint32) error
	ReleaseRuns(ctx context.Context) error
	Run(ctx context.Context, id uint32) (ctl.Run, error)
	Runs(ctx context.Context) ([]ctl.Run, error)
	ReadyRuns(ctx context.Context, ids ...uint32) ([]ctl.Run, error)
	WaitRuns(ctx context.Context, ids ...uint32) ([]ctl.Run, error)
	RTT(ctx context.Context, id uint32) ([]ctl.RTTBucket, error)
	Close() error
}

// watcher is what commands need of a *ctl.Watcher.
type watcher interface {
	All() iter.Seq2[ctl.Event, error]
	Close() error
}

// kernel is the client of the running kernel.
type kernel struct{ *ctl.Client }

// dialKernel returns what opens a client of the running kernel.
func dialKernel(open func() (*ctl.Client, error)) func() (client, error) {
	return func() (client, error) {
		c, err := open()
		if err != nil {
			return nil, err
		}
		return kernel{c}, nil
	}
}

// netdevAddrs lists the addresses of a network device.
func netdevAddrs(netdev string) ([]net.Addr, error) {
	i, err := net.InterfaceByName(netdev)
	if err != nil {
		return nil, err
	}
	return i.Addrs()
}

// Watch is the client's, as an interface.
func (k kernel) Watch(ctx context.Context) (watcher, error) { return k.Client.Watch(ctx) }

// devices is what commands need of the host's RDMA devices.
type devices interface {
	Add(name, kind, netdev string) error
	Delete(name string) error
	List() ([]rdma.Device, error)
	Counters(name string) (map[string]uint64, error)
}

// withClient runs do with a client that it closes afterwards.
func (env *environment) withClient(do func(client) error) error {
	c, err := env.dial()
	if err != nil {
		return err
	}
	return errors.Join(do(c), c.Close())
}
