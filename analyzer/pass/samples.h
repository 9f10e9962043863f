/*
 * Times of transfers whose device times were not recorded, from those of others: of their class and
 * size. Where recording gave way to its budget (META timing.sampled) the device has records of the
 * first transfers, or of a sample of all.
 *
 * Transfers of a class are taken together when their bytes have the same length in binary. Of such
 * a set the mean and the standard deviation are kept, in one go (B. P. Welford, Note on a method
 * for calculating corrected sums of squares and products, Technometrics 4, 1962). CUDA events
 * around a copy take longer than the copy: they count only where CUPTI has recorded none.
 *
 * Transfers are asked about in the order of time, so that a set knows what came before.
 */
#ifndef XFA_SAMPLES_H
#define XFA_SAMPLES_H

#include "analyzer/base/table.h"
#include "analyzer/pass/event.h"

struct xfa_samples {
    struct xfa_table sets;
};

/* Mean and deviation are of one transfer's time, ns; error: of the mean, as a part of it. */
struct xfa_sampled_time {
    uint64_t count; /* 0: none */
    double mean_ns, deviation_ns, error;
};

void xfa_samples_init(struct xfa_samples *samples);
void xfa_samples_free(struct xfa_samples *samples);

/* The device has recorded this transfer, of this class (number). */
void xfa_samples_add(struct xfa_samples *samples, uint32_t class, const struct xfa_event *transfer);

/* Those of its class and size. */
struct xfa_sampled_time xfa_samples_of(const struct xfa_samples *samples, uint32_t class,
                                       uint64_t bytes);

#endif
