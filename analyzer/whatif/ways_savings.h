/*
 * What the three ways of a change, or of a set of changes, save: at worst, as likely, at best, by
 * enum xfw_certainty. Private to whatif/.
 */
#ifndef XFW_WAYS_SAVINGS_H
#define XFW_WAYS_SAVINGS_H

#include "analyzer/whatif/replays.h"
#include "analyzer/whatif/result.h"

/* That nothing is known of, count of them and one more; for free(). */
struct xfw_saving *xfw_savings_unknown(size_t count);

/* Put in order, and widened (whatif.h); at best no more than what the best one leaves allows, where
 * it was asked for that (xfw_way.asks_left). */
struct xfw_saving xfw_ways_saving(const struct xfw_whatif *whatif,
                                  const struct xfw_way ways[XFW_CERTAINTIES]);

/* Of a question, the change at place i: whatif->up_to is as much at least. The best one was asked
 * for what it leaves (xfw_way.asks_left). */
void xfw_ways_up_to(struct xfw_whatif *whatif, size_t i,
                    const struct xfw_way ways[XFW_CERTAINTIES]);

#endif
