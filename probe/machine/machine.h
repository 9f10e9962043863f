/*
 * Describes the machine that is measured, and warns of what makes its figures less trustworthy.
 */
#ifndef XFP_MACHINE_H
#define XFP_MACHINE_H

#include "probe/session.h"

struct xfp_bench;

/* Fills the profile's machine and the session's NUMA nodes; adds warnings. Without a driver there
 * are no GPUs. 0, or -1. */
int xfp_describe_machine(struct xfp_session *s);

/* After a benchmark that used a GPU's PCIe link: notes how the link is now. */
void xfp_see_links(struct xfp_session *s, const struct xfp_bench *bench);

/* After all measurements: warns of links and clocks below their maximum. */
void xfp_judge_gpus(struct xfp_session *s);

#endif
