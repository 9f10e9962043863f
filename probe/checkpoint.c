#include "probe/checkpoint.h"

#include <stdlib.h>

#include "probe/measure/budget.h"

#define INTERVAL_NS 3000000000u

void xfp_note_time(struct xfp_session *s)
{
    double before = s->options->resume ? s->options->resume->rules.seconds : 0;

    s->profile->rules.seconds = before + (double)(xfp_wall_ns() - s->started_ns) / 1e9;
}

void xfp_warn_interrupted(struct xfp_session *s, const struct xfp_probe_outcome *outcome)
{
    xfp_warn(&s->sys, "interrupted: %zu of %zu benchmarks", outcome->measured, outcome->selected);
}

static bool is_due(const struct xfp_checkpoint *c, const struct xfp_session *s)
{
    uint64_t last = c->last_ns ? c->last_ns : s->started_ns;
    /* a simulated run must not depend on this machine's clock */
    uint64_t interval = s->sys.cu->simulated_now_ns ? 0 : INTERVAL_NS;

    return s->options->checkpoint && !c->failed && xfp_wall_ns() - last >= interval;
}

void xfp_checkpoint_keep(struct xfp_checkpoint *c, struct xfp_session *s,
                         const struct xfp_probe_outcome *outcome)
{
    struct xfp_profile *p = s->profile;
    size_t warnings = p->warning_count;
    char error[200];

    if (!outcome->measured || !is_due(c, s))
        return;
    c->last_ns = xfp_wall_ns();
    xfp_note_time(s);
    xfp_warn_interrupted(s, outcome);
    c->failed = xfp_save(p, s->options->checkpoint, error, sizeof(error)) != 0;
    if (p->warning_count > warnings)
        free(p->warnings[--p->warning_count]);
}
