/*
 * What a comparison takes down of a run besides its analysis, in the same walk: of each row of
 * transfers how far apart the times of its transfers are, the time of kernels, and the run's span.
 *
 * A row's bounds are what it would take if every transfer took as long as the fastest quarter of
 * those of its size do, and as the slowest quarter do: times are kept by row and size class (a
 * power of two), XFA_KEPT_TIMES of each, evenly over the run. Of a size with fewer than
 * XFA_LEAST_TIMES it goes from half of what they took to twice; where such sizes are half of a
 * row's time or more, its bounds are not known. Memory is bounded by classes.
 */
#ifndef XFA_COMPARE_TIMES_H
#define XFA_COMPARE_TIMES_H

#include "analyzer/pass/observer.h"

#define XFA_KEPT_TIMES 64
#define XFA_LEAST_TIMES 4 /* fewer do not tell how far apart they are */
#define XFA_MOST_SIZES                                                                             \
    65536 /* rows times size classes; the bounds of rows beyond are not known                      \
           */

struct xfa_size_times {
    struct xfa_size_key { /* key */
        uint32_t row, size_class;
    } key;
    uint64_t count, every; /* of transfers; each every-th is kept */
    double ns;             /* of all */
    uint32_t kept;
    float times[XFA_KEPT_TIMES];
};

/* Starts zeroed. */
struct xfa_times {
    struct xfa_table cells; /* struct xfa_size_times */
    struct xfa_set_of_rows {
        uint8_t *beyond; /* by row number: one of its transfers is in no cell */
        size_t count, capacity;
    } rows;
    uint64_t kernels;
    double kernel_ns; /* of all, by the device */
    double span_ns;   /* from when a process first gave a GPU work until the last call was back that
                         did or waited; processes added up. As analyzer/whatif/schedule.h has it */
    uint64_t first_ns, last_ns; /* of the process at hand; 0 = none */
};

struct xfa_observer xfa_times_observer(struct xfa_times *times);
void xfa_times_free(struct xfa_times *times);

struct xfa_bounds {
    double low, high; /* ns; NAN: not known */
};

/* Of every row, by number: row_count of them; the caller frees them. */
struct xfa_bounds *xfa_times_bounds(const struct xfa_times *times, size_t row_count);

#endif
