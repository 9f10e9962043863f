/* Memory that is page-locked once: in which way that takes the least; what staging takes of it. */
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/new_memory.h"

#define THREAD_NS 50000.0 /* to make one and end it: a guess */

static void take_least(struct xfw_pinned *least, const struct xfw_pinned *other)
{
    if (least->by == XFW_PINNED_UNKNOWN || other->ns < least->ns)
        *least = *other;
}

/* made_ns: what registering makes first takes. */
static struct xfw_pinned pinned(const struct xfa_achievable *achievable, int node, int gpu,
                                uint64_t bytes, enum xfw_certainty certainty, double made_ns)
{
    bool known = false;
    struct xfw_pinned least = {0};
    double lock = xfw_registration_cost(achievable, node, gpu, bytes, certainty, &known);
    double take = xfw_table_cost(achievable, "alloc/pinned", node, gpu, bytes, certainty);
    double give = xfw_table_cost(achievable, "free/pinned", node, gpu, bytes, certainty);
    struct xfw_locking by_hand = xfw_locking_cost(achievable, node, gpu, bytes, certainty);
    if (known)
        take_least(&least, &(struct xfw_pinned){XFW_PINNED_REGISTERED, 0, lock + made_ns});
    if (take > 0 && give > 0)
        take_least(&least, &(struct xfw_pinned){XFW_PINNED_ALLOCATED, 0, take + give});
    if (by_hand.known)
        take_least(&least, &(struct xfw_pinned){XFW_PINNED_BY_HAND, by_hand.threads,
                                                by_hand.take_ns + by_hand.give_ns});
    return least;
}

struct xfw_pinned xfw_pinned(const struct xfa_achievable *achievable, int node, int gpu,
                             uint64_t bytes, enum xfw_certainty certainty)
{
    return pinned(achievable, node, gpu, bytes, certainty, 0);
}

struct xfw_pinned xfw_pinned_new(const struct xfa_achievable *achievable, int node, int gpu,
                                 uint64_t bytes, enum xfw_certainty certainty)
{
    return pinned(achievable, node, gpu, bytes, certainty,
                  xfw_touching_ns(achievable, bytes, certainty));
}

double xfw_pinning_cost(const struct xfa_achievable *achievable, int node, int gpu, uint64_t bytes,
                        enum xfw_certainty certainty, bool *known)
{
    struct xfw_pinned least = xfw_pinned(achievable, node, gpu, bytes, certainty);
    if (known)
        *known = least.by != XFW_PINNED_UNKNOWN;
    return least.ns;
}

double xfw_staging_setup(const struct xfa_achievable *achievable, int gpu, unsigned threads,
                         enum xfw_certainty certainty)
{
    uint64_t bytes = XFW_STAGE_PIECES * XFW_STAGE_PIECE;
    return xfw_pinning_cost(achievable, -1, gpu, bytes, certainty, NULL) + threads * THREAD_NS;
}
