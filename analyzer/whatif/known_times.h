/*
 * How long kernels took on the device, for those of which there is no record: recording may have
 * given up kernels' records in the middle of a run (META budget.kernels_until_ns). Kernels of one
 * name and number of threads are taken to be alike. Private to whatif/; ops come in the order of
 * their calls.
 */
#ifndef XFW_KNOWN_TIMES_H
#define XFW_KNOWN_TIMES_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/op.h"

#define XFW_MOST_KNOWN 65536 /* kernels; of further ones nothing is known */

struct xfw_known_times {
    struct xfa_table kernels;
};

void xfw_known_times_init(struct xfw_known_times *known);
void xfw_known_times_free(struct xfw_known_times *known);

/* The device has told how long this kernel took (duration_ns). */
void xfw_known_times_learn(struct xfw_known_times *known, const struct xfw_op *kernel);

/* The mean of those like it, ns; 0 = there was none. */
double xfw_known_times_of(const struct xfw_known_times *known, const struct xfw_op *kernel);

#endif
