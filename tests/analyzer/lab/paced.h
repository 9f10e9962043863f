/*
 * What faster copies save of a run whose threads keep the pace of others, in copies that take
 * COPY_NS: for tests of whatif/ops/paces.h and what is made of it.
 */
#ifndef PACED_H
#define PACED_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/whatif.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/traces/scenario.h"

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

enum { STEPS = 60, COPY_NS = 2 * MS, WAKE_NS = 10 * US };

/* What the busiest of the others worked since `from`. */
static inline void window_since(struct play *play, uint64_t from, double busy_ns)
{
    play_event(play,
               (struct xft_event){.kind = XFT_EVENT_PROCESSOR,
                                  .src = XFT_PROCESSOR_OF_OTHERS,
                                  .aux = (uint64_t)busy_ns,
                                  .width = (uint64_t)busy_ns + 1,
                                  .count = 1},
               0)
        ->start_ns = from;
}

static inline void forget(struct trace_builder *b, struct analyzed *a)
{
    analyzed_free(a);
    build_free(b);
}

/* Copies take that part of their time: all, or the one of this number. */
struct faster {
    struct xfw_change change;
    double part;
    uint64_t only;  /* 0: all */
    double work_ns; /* behind which the thread calls */
};

static inline void take_faster(const struct xfw_change *change, void *state,
                               struct xfw_player *player, struct xfw_op *op)
{
    const struct faster *faster = (const struct faster *)change;
    (void)state, (void)player;
    if (op->what == XFW_COPY && (!faster->only || faster->only == op->transfer))
        op->duration_ns *= faster->part;
    if (op->what == XFW_COPY)
        op->gap_ns += faster->work_ns;
}

static const struct xfw_change_type faster_type = {.name = "faster", .op = take_faster};

/* In copies that take no time, or twice as long: those that are saved. */
static inline struct xfw_saving saved_by(const struct analyzed *a, struct faster faster)
{
    faster.change = (struct xfw_change){.type = &faster_type, .analysis = a->analysis};
    struct xfw_change *changes[] = {&faster.change};
    struct xfw_whatif *whatif = xfw_whatif_of(a->analysis, changes, 1, NULL, NULL, NULL);
    assert_true(whatif->known && whatif->error < 0.001);
    struct xfw_saving saving = whatif->alone[0];
    xfw_whatif_free(whatif);
    return (struct xfw_saving){saving.low / COPY_NS, saving.likely / COPY_NS,
                               saving.high / COPY_NS};
}

static inline struct xfw_saving saved_of(const struct analyzed *a, double part)
{
    return saved_by(a, (struct faster){.part = part});
}

#endif
