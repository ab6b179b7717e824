// SPDX-License-Identifier: GPL-2.0
/*
 * trace.c - the one place where the tracepoints of trace.h are made.
 */
#include <linux/types.h>

#define CREATE_TRACE_POINTS
#include "trace.h"
