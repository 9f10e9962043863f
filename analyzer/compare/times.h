/*
 * What a comparison sums up of a run in addition to its analysis, in the same pass: how far apart
 * the times of each row's transfers are, the time of kernels, and the run's span.
 *
 * A row's bounds are its time if every transfer took as long as the lower quartile of those of its
 * size, and as the upper quartile. Times are kept by row and size class (a power of two),
 * XFA_KEPT_TIMES of each, evenly over the run. The bounds of a size with fewer than XFA_LEAST_TIMES
 * transfers are half and twice their time; where such sizes have half of a row's time or more, its
 * bounds are not known. Memory is bounded by XFA_MOST_SIZES.
 */
#ifndef XFA_COMPARE_TIMES_H
#define XFA_COMPARE_TIMES_H

#include "analyzer/pass/observer.h"

#define XFA_KEPT_TIMES 64
#define XFA_LEAST_TIMES 4 /* with fewer the spread is not known */
/* rows times size classes; the bounds of rows beyond are not known */
#define XFA_MOST_SIZES 65536

struct xfa_size_times {
    struct xfa_size_key { /* key */
        uint32_t row, size_class;
    } key;
    uint64_t count, every; /* transfers; of these each every-th time is kept */
    double ns;             /* of all */
    uint32_t kept;
    float times[XFA_KEPT_TIMES];
};

/* Starts zeroed. */
struct xfa_times {
    struct xfa_table cells; /* struct xfa_size_times */
    struct xfa_set_of_rows {
        uint8_t *beyond; /* by row number: it has transfers in no cell */
        size_t count, capacity;
    } rows;
    uint64_t kernels;
    double kernel_ns; /* of all kernels, on the device */
    double
        span_ns; /* from the first call that gives a GPU work to the end of the last one that
                    does or waits; added up over processes (analyzer/whatif/schedule/schedule.h) */
    uint64_t first_ns, last_ns; /* of the process at hand; 0 = none */
};

struct xfa_observer xfa_times_observer(struct xfa_times *times);
void xfa_times_free(struct xfa_times *times);

struct xfa_bounds {
    double low, high; /* ns; NAN: not known */
};

/* By row number, row_count of them; the caller frees them. */
struct xfa_bounds *xfa_times_bounds(const struct xfa_times *times, size_t row_count);

#endif
