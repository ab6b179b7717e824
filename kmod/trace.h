/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.h - tracepoints of the receiver. The core has none for posting or
 * completing a receive (kernels 4.4 to 7.3), so these are the only ones there
 * are. Integers only: names are a look at `rxctl conn show` away.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rxpost

#if !defined(_RXPOST_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _RXPOST_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(rxpost_post,
	    TP_PROTO(u32 qpn, u32 wrs, u32 refused, int ret),
	    TP_ARGS(qpn, wrs, refused, ret),
	    TP_STRUCT__entry(__field(u32, qpn)
			     __field(u32, wrs)
			     __field(u32, refused)
			     __field(int, ret)),
	    TP_fast_assign(__entry->qpn = qpn;
			   __entry->wrs = wrs;
			   __entry->refused = refused;
			   __entry->ret = ret;),
	    TP_printk("qpn=%u wrs=%u refused=%u ret=%d",
		      __entry->qpn, __entry->wrs, __entry->refused,
		      __entry->ret)
);

TRACE_EVENT(rxpost_complete,
	    TP_PROTO(u32 qpn, u32 slot, u32 status, u32 bytes),
	    TP_ARGS(qpn, slot, status, bytes),
	    TP_STRUCT__entry(__field(u32, qpn)
			     __field(u32, slot)
			     __field(u32, status)
			     __field(u32, bytes)),
	    TP_fast_assign(__entry->qpn = qpn;
			   __entry->slot = slot;
			   __entry->status = status;
			   __entry->bytes = bytes;),
	    TP_printk("qpn=%u slot=%u status=%u bytes=%u",
		      __entry->qpn, __entry->slot, __entry->status,
		      __entry->bytes)
);

TRACE_EVENT(rxpost_unexpected,
	    TP_PROTO(u64 wr_id, u32 status, bool stale),
	    TP_ARGS(wr_id, status, stale),
	    TP_STRUCT__entry(__field(u64, wr_id)
			     __field(u32, status)
			     __field(bool, stale)),
	    TP_fast_assign(__entry->wr_id = wr_id;
			   __entry->status = status;
			   __entry->stale = stale;),
	    TP_printk("wr_id=0x%016llx status=%u %s",
		      __entry->wr_id, __entry->status,
		      __entry->stale ? "stale" : "bogus")
);

TRACE_EVENT(rxpost_conn_state,
	    TP_PROTO(u32 receiver, u32 conn, u32 qpn, u32 state),
	    TP_ARGS(receiver, conn, qpn, state),
	    TP_STRUCT__entry(__field(u32, receiver)
			     __field(u32, conn)
			     __field(u32, qpn)
			     __field(u32, state)),
	    TP_fast_assign(__entry->receiver = receiver;
			   __entry->conn = conn;
			   __entry->qpn = qpn;
			   __entry->state = state;),
	    TP_printk("receiver=%u conn=%u qpn=%u state=%u",
		      __entry->receiver, __entry->conn, __entry->qpn,
		      __entry->state)
);

#endif /* _RXPOST_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
