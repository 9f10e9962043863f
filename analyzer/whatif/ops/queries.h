/*
 * Queries that found their work done at once: the thread waited for nothing, so that the record
 * does not say what it would have done otherwise. It is taken to do what it did in its last polled
 * wait of that kind, for a stream or for an event, at that call site (op/polled.h). Times are ns.
 */
#ifndef XFW_QUERIES_H
#define XFW_QUERIES_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/op/op.h"

struct xfw_queries {
    struct xfa_table last; /* polled waits */
    bool counted;          /* the process has queries that did not find work done, counted */
};

void xfw_queries_init(struct xfw_queries *queries);
void xfw_queries_free(struct xfw_queries *queries);

/* Of an XFW_QUERY in the order of calls: did it find the work done at once, which is known to have
 * been done at done_ns (0: not known)? Then it is made such an op. before_ns: the end of the
 * thread's call before; where recorders did not count queries, it may have asked since. */
bool xfw_queries_at_once(struct xfw_queries *queries, struct xfw_op *op, double done_ns,
                         double before_ns);

#endif
