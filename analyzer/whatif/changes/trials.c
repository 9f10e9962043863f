#include "analyzer/whatif/changes/trials.h"

static double median(const double values[XFW_TRIALS_EACH])
{
    double sorted[XFW_TRIALS_EACH];
    for (unsigned i = 0; i < XFW_TRIALS_EACH; i++) {
        unsigned at = i;
        for (; at > 0 && sorted[at - 1] > values[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = values[i];
    }
    return sorted[XFW_TRIALS_EACH / 2];
}

bool xfw_trials_next(struct xfw_trials *trials, bool applied_first, double asked_ns,
                     double applied_ns)
{
    unsigned trial = trials->made;
    if (trial >= 2 * XFW_TRIALS_EACH)
        return trials->gains;
    bool applied = (trial % 2 == 0) == applied_first;
    trials->ns[applied][trial / 2] = applied ? applied_ns : asked_ns;
    if (++trials->made == 2 * XFW_TRIALS_EACH)
        trials->gains = median(trials->ns[1]) < XFW_APPLIED_WORTH * median(trials->ns[0]);
    return applied;
}

struct sized {
    uint64_t key;
    struct xfw_trials trials;
};

void xfw_trials_table(struct xfa_table *table)
{
    xfa_table_init(table, sizeof(uint64_t), sizeof(struct sized));
}

struct xfw_trials *xfw_trials_of(struct xfa_table *table, uint32_t class, uint64_t bytes)
{
    unsigned power = 63 - (unsigned)__builtin_clzll(bytes | 1);
    uint64_t key = (uint64_t) class << 6 | power;
    return &((struct sized *)xfa_table_put(table, &key))->trials;
}
