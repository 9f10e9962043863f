/*
 * A run's ops kept in memory, so that its files are unpacked and its ops are found once, however
 * often it is played. Private to whatif/.
 *
 * An op differs from one like it of the same thread in few figures, and in these by little: of each
 * op there is what has changed since the one like it before, exact to the bit, some 60 bytes where
 * the op has 360. Beyond a limit nothing is kept: the run is walked again then.
 */
#ifndef XFW_KEPT_H
#define XFW_KEPT_H

#include "analyzer/whatif/op.h"
#include "analyzer/whatif/schedule.h"

/* Bytes, where nobody says how many. */
#define XFW_KEPT_MOST ((size_t)512 << 20)

#define XFW_NO_RANGE UINT64_MAX

struct xfw_kept;
struct xfw_kept *xfw_kept_new(size_t most);
size_t xfw_kept_room(void); /* more may not be kept in this process */
void xfw_kept_free(struct xfw_kept *kept);

/* Processes one after the other; each its ops, then its end. */
void xfw_kept_add(struct xfw_kept *kept, const struct xfw_op *op);
/* As struct xfw_sink (ops.h) has it. ranges: its ranges' names, ids in NAMES, 0
 * of one without a name; XFW_NO_RANGE: no more. */
void xfw_kept_end(struct xfw_kept *kept, double end_ns, const uint64_t ranges[XFW_RANGES]);
/* All that came was kept. */
bool xfw_kept_all(const struct xfw_kept *kept);

/* From the beginning; false: the process's ops are over. */
void xfw_kept_rewind(struct xfw_kept *kept);
bool xfw_kept_next(struct xfw_kept *kept, struct xfw_op *op);
/* Of the process whose ops are over; the next one's come next. */
const uint64_t *xfw_kept_over(struct xfw_kept *kept, double *end_ns);

#endif
