/*
 * A polled wait: a thread asks whether work is done, and asks again later, until it is. Its op is
 * the query that found the work done (XFW_QUERY): `queries` ones before it did not, the first of
 * them polled_ns before it and the last one since_ns before it; gap_ns reaches to the first one.
 * polled_ns 0: there were none, or the work had been done before by what is known of it.
 *
 * One that found the work done at once (at_once) had the thread wait for nothing. Where the work is
 * done later it likely asks again, since_ns later each time as it did before (0: it has not), or at
 * best has something else to do.
 *
 * Where the work is done at another time, a query finds out that is as far from the others as those
 * were from each other. Times are ns.
 */
#ifndef XFW_POLLED_H
#define XFW_POLLED_H

#include <math.h>

#include "analyzer/whatif/op/op.h"

/* Of the time between two queries: by so much the end of work is not known. */
#define XFW_POLLED_EXACT 0.1

/* From the first query to the one that finds the work done, which is done_ns behind the first one;
 * 0: the first one finds it so. */
static inline double xfw_polled_until(const struct xfw_op *op, double done_ns)
{
    double last = op->polled_ns - op->since_ns, from = 0, step = op->since_ns;
    if (done_ns <= 0)
        return 0;
    if (op->at_once)
        return step > 0 ? ceil(done_ns / step) * step : done_ns;
    if (done_ns > last && done_ns <= op->polled_ns + XFW_POLLED_EXACT * step)
        return op->polled_ns;
    if (done_ns > last)
        from = op->polled_ns;
    else if (op->queries > 1 && last > 0)
        step = last / (double)(op->queries - 1);
    return step > 0 ? from + ceil((done_ns - from) / step) * step : done_ns;
}

/* When the first query begins. now, call: as below. */
static inline double xfw_first_query_begins(const struct xfw_op *op, double now, double call)
{
    bool woken = op->woken_by != XFW_NONE || op->woken_by_stream || op->woken_by_call;
    return woken ? now : call;
}

/* When the query begins that finds the work done. now: of its thread; call: behind its own time;
 * back: op->wake_ns behind the end of the work, 0: it waits for none. Where nothing is known of
 * other queries, the thread made them in its own time, too. */
static inline double xfw_query_begins(const struct xfw_op *op, double now, double call, double back)
{
    double first = xfw_first_query_begins(op, now, call);
    if (!(back > 0))
        return call;
    if (op->at_once)
        return call + xfw_polled_until(op, back - op->wake_ns - call);
    if (!(op->polled_ns > 0))
        return xfw_max(now, back);
    return first + xfw_polled_until(op, back - op->wake_ns - first);
}

#endif
