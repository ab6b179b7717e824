// SPDX-License-Identifier: GPL-2.0
/*
 * op.c - what each opcode is: its name, its verb, what it asks of the device,
 * and what its failure means. Called by netlink.c and show.c for the names,
 * and by the run's thread.
 */
#include "send.h"

#define RXPS_READ_DEPTH		16	/* most READs a device has under way at once */

static const struct rxps_op rxps_ops[] = {
	[RXPOST_SEND_OPCODE_SEND] = {
		"send", IB_WR_SEND, RXPS_OP_SEND
	},
	[RXPOST_SEND_OPCODE_SEND_IMM] = {
		"send-imm", IB_WR_SEND_WITH_IMM, RXPS_OP_SEND | RXPS_OP_IMM
	},
	[RXPOST_SEND_OPCODE_SEND_INV] = {
		"send-inv", IB_WR_SEND_WITH_INV, RXPS_OP_SEND | RXPS_OP_RKEY
	},
	[RXPOST_SEND_OPCODE_WRITE] = {
		"write", IB_WR_RDMA_WRITE, RXPS_OP_ADDR | RXPS_OP_RKEY
	},
	[RXPOST_SEND_OPCODE_WRITE_IMM] = {
		"write-imm", IB_WR_RDMA_WRITE_WITH_IMM,
		RXPS_OP_ADDR | RXPS_OP_RKEY | RXPS_OP_IMM
	},
	[RXPOST_SEND_OPCODE_READ] = {
		"read", IB_WR_RDMA_READ,
		RXPS_OP_ADDR | RXPS_OP_RKEY | RXPS_OP_READ
	},
};

/**
 * rxps_op_find() - the opcode of a number
 * @opcode: enum rxpost_send_opcode
 *
 * Context: any. Return: the opcode, or NULL if there is none of that number.
 */
const struct rxps_op *rxps_op_find(u32 opcode)
{
	return opcode < ARRAY_SIZE(rxps_ops) ? &rxps_ops[opcode] : NULL;
}

/**
 * rxps_op_number() - the number of an opcode
 * @op: opcode that rxps_op_find() returned
 *
 * Context: any. Return: enum rxpost_send_opcode.
 */
u32 rxps_op_number(const struct rxps_op *op)
{
	return op - rxps_ops;
}

/**
 * rxps_op_direction() - which way the data of an opcode goes
 * @op: opcode
 *
 * Context: any. Return: how the buffer is to be mapped.
 */
enum dma_data_direction rxps_op_direction(const struct rxps_op *op)
{
	return op->flags & RXPS_OP_READ ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

/* iWARP takes data it has asked for only where it may be written from afar. */
static bool rxps_op_on_iwarp(const struct rxps_op *op)
{
	return !(op->flags & (RXPS_OP_IMM | RXPS_OP_READ));
}

/**
 * rxps_op_check() - end a run whose device cannot do its opcode
 * @run: run, whose device is known
 *
 * Context: the run's thread. Return: 0 or a negative errno.
 */
int rxps_op_check(struct rxps_run *run)
{
	const struct rxps_op *op = run->cfg.op;
	struct ib_device *device = run->device;
	const char *lacks = NULL;

	if (rxps_is_iwarp(device) && !rxps_op_on_iwarp(op))
		lacks = op->flags & RXPS_OP_IMM ?
			"iWARP has no immediate data" :
			"a READ on iWARP wants a key that may be written from afar";
	else if (op->wr == IB_WR_SEND_WITH_INV &&
		 !(device->attrs.device_cap_flags &
		   IB_DEVICE_MEM_MGT_EXTENSIONS))
		lacks = "it has no memory management extensions";
	else if (op->flags & RXPS_OP_READ && !rxps_op_read_depth(run))
		lacks = "it starts no READs";
	if (!lacks)
		return 0;
	rxps_run_end(run, -EOPNOTSUPP, "device %s cannot do opcode %s: %s",
		     run->devname, op->name, lacks);
	return -EOPNOTSUPP;
}

/**
 * rxps_op_read_depth() - how many READs a run will have under way at once
 * @run: run, whose device is known
 *
 * Context: the run's thread. Return: the initiator depth to connect with, 0
 * for a run that does not read.
 */
u8 rxps_op_read_depth(const struct rxps_run *run)
{
	int most = min(run->device->attrs.max_qp_rd_atom,
		       run->device->attrs.max_qp_init_rd_atom);

	if (!(run->cfg.op->flags & RXPS_OP_READ))
		return 0;
	return clamp(most, 0, RXPS_READ_DEPTH);
}

/**
 * rxps_op_prepare() - write all of a work request that stays
 * @cfg: of the run
 * @slot: slot whose work request it is
 *
 * Context: the run's thread.
 */
void rxps_op_prepare(const struct rxps_config *cfg, struct rxps_slot *slot)
{
	const struct rxps_op *op = cfg->op;

	slot->wr.opcode = op->wr;
	slot->wr.send_flags = IB_SEND_SIGNALED;
	if (op->wr == IB_WR_SEND_WITH_INV)
		slot->wr.ex.invalidate_rkey = cfg->rkey;
	if (op->flags & RXPS_OP_ADDR) {
		slot->rdma.remote_addr = cfg->remote_addr;
		slot->rdma.rkey = cfg->rkey;
	}
}

/**
 * rxps_op_failure() - what an error completion means, in words
 * @op: opcode that completed so
 * @status: of the completion, neither success nor a flush
 *
 * Context: any. Return: half a sentence, or NULL if the status says it all.
 */
const char *rxps_op_failure(const struct rxps_op *op, enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_RETRY_EXC_ERR:
		return "the peer does not answer any more";
	case IB_WC_RNR_RETRY_EXC_ERR:
		return "the peer had no receive posted for too long";
	case IB_WC_REM_INV_REQ_ERR:
		return op->flags & RXPS_OP_SEND ?
		       "the peer found the message too long" :
		       "the peer does not allow it";
	case IB_WC_REM_OP_ERR:
		return "the peer could not take the message in";
	case IB_WC_REM_ACCESS_ERR:
		return "the peer's memory could not be accessed";
	default:
		return NULL;
	}
}
