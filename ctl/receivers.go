// This file owns the requests about receivers, their connections and the
// module.

package ctl

import (
	"context"
	"fmt"
	"strconv"

	"github.com/mdlayher/netlink"
)

// Receivers returns all receivers, closing ones included.
func (c *Client) Receivers(ctx context.Context) ([]Receiver, error) {
	r := receiverRequest("show receivers", cmdReceiverGet, nil)
	r.flags = netlink.Dump
	return list(ctx, c, r, decodeReceiver)
}

// Receiver returns one receiver by name.
func (c *Client) Receiver(ctx context.Context, name string) (Receiver, error) {
	return one(ctx, c, receiverRequest(about("show receiver", name), cmdReceiverGet, byName(attrReceiverName, name)), decodeReceiver)
}

// receiverByID returns one receiver, for a caller that must not take a new one
// of the same name for it.
func (c *Client) receiverByID(ctx context.Context, id uint32) (Receiver, error) {
	op := fmt.Sprintf("show receiver %d", id)
	return one(ctx, c, receiverRequest(op, cmdReceiverGet, byID(attrReceiverID, id)), decodeReceiver)
}

// Add makes a receiver and returns it as the kernel made it. It wants
// CAP_NET_ADMIN.
func (c *Client) Add(ctx context.Context, cfg ReceiverConfig) (Receiver, error) {
	return one(ctx, c, receiverRequest(about("add receiver", cfg.Name), cmdReceiverNew, cfg.encode), decodeReceiver)
}

// Set changes the receiver of that name while it works. All of cfg is applied
// or, on an error, nothing. It wants CAP_NET_ADMIN.
func (c *Client) Set(ctx context.Context, cfg ReceiverConfig) error {
	r := receiverRequest(about("set receiver", cfg.Name), cmdReceiverSet, cfg.encode)
	r.flags = netlink.Acknowledge
	_, err := c.do(ctx, r)
	return err
}

// Conns returns the connections of one receiver by name, or all of them if name
// is empty.
func (c *Client) Conns(ctx context.Context, name string) ([]Conn, error) {
	r := request{op: "show connections", family: familyName, names: connAttrs(), cmd: cmdConnGet, flags: netlink.Dump}
	if name != "" {
		r.op = about("show connections of", name)
		r.encode = byName(attrConnReceiverName, name)
	}
	return list(ctx, c, r, decodeConn)
}

// Conn returns one connection of one receiver, by the receiver's name and the
// connection's index.
func (c *Client) Conn(ctx context.Context, name string, index uint32) (Conn, error) {
	return one(ctx, c, request{
		op: about(fmt.Sprintf("show connection %d of", index), name), family: familyName, names: connAttrs(), cmd: cmdConnGet,
		encode: func(ae *netlink.AttributeEncoder) error {
			ae.Uint32(attrConnIndex, index)
			return byName(attrConnReceiverName, name)(ae)
		},
	}, decodeConn)
}

// Stats returns the histograms of one receiver by name.
func (c *Client) Stats(ctx context.Context, name string) (Stats, error) {
	return one(ctx, c, request{
		op: about("show stats of", name), family: familyName, names: statsAttrs(), cmd: cmdStatsGet,
		encode: byName(attrStatsReceiverName, name),
	}, decodeStats)
}

// Info returns the module's version, bounds and totals. A module that does not
// speak [ABIVersion] refuses.
func (c *Client) Info(ctx context.Context) (Info, error) {
	return one(ctx, c, request{
		op: "ask the module for its version", family: familyName, names: infoAttrs(), cmd: cmdInfoGet,
		encode: byID(attrInfoABI, ABIVersion),
	}, decodeInfo)
}

// receiverRequest is a request about a receiver.
func receiverRequest(op string, cmd uint8, encode func(*netlink.AttributeEncoder) error) request {
	return request{op: op, family: familyName, names: receiverAttrs(), cmd: cmd, encode: encode}
}

// about ends what is done with whom it is done to. A name that no receiver can
// have is quoted, and a long one cut: it came from outside, and an error is one
// line.
func about(what, name string) string {
	text := strconv.Quote(name)
	if text[1:len(text)-1] == name && name != "" {
		text = name
	}
	if len(name) > 2*NameLen {
		text = strconv.Quote(name[:NameLen]) + "…"
	}
	return what + " " + text
}

// byName encodes one string.
func byName(attr uint16, name string) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		return encodeString(ae, attr, "the name of a receiver", name)
	}
}

// byID encodes one number.
func byID(attr uint16, id uint32) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(attr, id)
		return nil
	}
}

// one does r and decodes its only answer.
func one[T any](ctx context.Context, c *Client, r request, decode func([]byte) (T, error)) (T, error) {
	answers, err := list(ctx, c, r, decode)
	if err == nil && len(answers) != 1 {
		err = &Error{Op: r.op, Err: fmt.Errorf("the kernel gave %d answers, not one", len(answers))}
	}
	if err != nil {
		var none T
		return none, err
	}
	return answers[0], nil
}

// list does r and decodes each of its answers. The list is empty, not nil, when
// there is nothing to show.
func list[T any](ctx context.Context, c *Client, r request, decode func([]byte) (T, error)) ([]T, error) {
	msgs, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	answers := make([]T, 0, len(msgs))
	for _, m := range msgs {
		answer, err := decode(m.Data)
		if err != nil {
			return nil, &Error{Op: r.op, Err: err}
		}
		answers = append(answers, answer)
	}
	return answers, nil
}
