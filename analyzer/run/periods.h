/*
 * Periods: recording of a process was limited to a part of its run (PERIOD events, META periods.*;
 * docs/trace-format.md).
 *
 * The rest of its time is left out: for all components above, such a process began with its first
 * period, and each period follows the one before without a gap. A period lasts until what the
 * device did for its calls was done. What was recorded between two (memory, streams, ranges) takes
 * no time, and happens where they meet. So the shares of a run are those of its recorded part.
 */
#ifndef XFA_PERIODS_H
#define XFA_PERIODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xfa_trace;

#define XFA_MAX_PERIODS (1u << 20) /* of further ones the last goes on */

struct xfa_period {
    uint64_t from_ns, until_ns; /* the process's clock */
    uint64_t out_ns;            /* what is left out before it, without that before the first */
};

struct xfa_periods {
    struct xfa_period *all; /* ascending; at least one */
    size_t count;
    bool none;            /* there was none: the one is empty */
    uint64_t start_ns;    /* of recording, as the file has it */
    uint64_t recorded_ns; /* in periods */
    uint64_t process_ns;  /* from the start of recording to its end */
    uint64_t full_ns;     /* since the start: from then on nothing was kept (size); 0 = not so */
    uint64_t delay_ns, duration_ns, max_bytes; /* what had been asked for; 0 = not */
    char *phase;                               /* NULL = not */
};

/* NULL: the trace knows no periods. Reads its events. */
struct xfa_periods *xfa_periods_of(struct xfa_trace *trace);
void xfa_periods_free(struct xfa_periods *periods);

/* A time of the process's clock without what is left out before it; 0 stays 0. */
uint64_t xfa_periods_ns(const struct xfa_periods *periods, uint64_t ns);

#endif
