// SPDX-License-Identifier: GPL-2.0
/*
 * Breaks the kernel on purpose, so that the harness can prove it notices.
 * This module belongs to no other part and nothing calls into it: loading it
 * does the damage that its parameter "kind" names.
 */

#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/string.h>

static char *kind = "warn";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "warn: a WARNING; oops: a bad pointer is followed; hang: a CPU is kept busy");

static unsigned int seconds = 30;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "how long a hang lasts");

static void splat_oops(void)
{
	/* Hidden from the compiler, which would see where this leads. */
	int *nowhere = NULL;

	OPTIMIZER_HIDE_VAR(nowhere);
	WRITE_ONCE(*nowhere, 1);
}

static void splat_hang(void)
{
	unsigned long end = jiffies + seconds * HZ;

	/*
	 * Interrupts stay on: the lockup detector's timer must run, and jiffies
	 * must move if this is the CPU that counts them.
	 */
	preempt_disable();
	while (time_before(jiffies, end))
		cpu_relax();
	preempt_enable();
}

static int __init splat_init(void)
{
	if (!strcmp(kind, "warn"))
		WARN(1, "planted warning\n");
	else if (!strcmp(kind, "oops"))
		splat_oops();
	else if (!strcmp(kind, "hang"))
		splat_hang();
	else
		return -EINVAL;
	return 0;
}

static void __exit splat_exit(void)
{
}

module_init(splat_init);
module_exit(splat_exit);

MODULE_DESCRIPTION("Planted kernel splats");
MODULE_LICENSE("GPL");
