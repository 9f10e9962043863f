/*
 * How long kernels took on the device, for those of which there is no record: recording may have
 * given up kernels' records in the middle of a run (META budget.kernels_until_ns). Kernels of one
 * name and number of threads are taken to be alike. Ops come in the order of their calls. Private
 * to whatif/.
 */
#ifndef XFW_KNOWN_KERNELS_H
#define XFW_KNOWN_KERNELS_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/op/op.h"

struct xfw_known_kernels {
    struct xfa_table kernels;
};
void xfw_known_kernels_init(struct xfw_known_kernels *known);
void xfw_known_kernels_free(struct xfw_known_kernels *known);

/* A record of the device says how long this kernel took (duration_ns). */
void xfw_known_kernels_add(struct xfw_known_kernels *known, const struct xfw_op *op);
/* The mean of those like it, ns; 0 = there was none. */
double xfw_known_kernels_ns(const struct xfw_known_kernels *known, const struct xfw_op *op);

#endif
