// Package ctl is the Go client of rxpost's kernel modules: it configures
// receivers, reads their ledgers, follows their events and drives runs of the
// traffic source. It speaks the generic netlink families "rxpost" and
// "rxpost_send", prints nothing and knows no flags.
//
// # Types
//
// Each field of a type names the kernel attribute behind it; spec/rxpost.yaml
// and spec/rxpost_send.yaml define them. The JSON key of a field is that
// attribute's name, so a unit in a key ("spin-us") is the unit of its number; only
// the time of an event is text, as RFC 3339 writes it.
// In a request, a field left nil, empty or zero is not sent and the kernel's
// default holds: this package has no defaults of its own.
//
// # Errors
//
// What the kernel refuses comes back as [*Error], with the kernel's sentence and
// the attribute it is about. With [errors.Is], an error matches
//
//   - [ErrNotLoaded] when the module is not there and could not be loaded,
//   - [os.ErrPermission] when the request wants CAP_NET_ADMIN,
//   - [os.ErrNotExist] when there is no such receiver, connection, run or device,
//   - [os.ErrExist] when the name is taken,
//
// and the errno itself.
//
// # Autoload
//
// Asking for a family by name makes the kernel load an installed module of that
// alias. That needs no privilege; a blacklist entry in modprobe.d turns it off.
// A client of [NewPassive] takes what is loaded and loads nothing.
package ctl
