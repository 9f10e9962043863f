#include "tools/simgpu/gpu/engine.h"

#include <string.h>

static uint64_t end_behind(const struct sim_engine_use *use, uint64_t before)
{
    uint64_t end = use->ready + use->alone_ns;

    return before ? sim_later(end, before + use->behind_ns) : end;
}

static uint64_t start_of(const struct sim_engine_use *use, uint64_t before, uint64_t end)
{
    return sim_later(end - use->alone_ns, before);
}

static void remove_gap(struct sim_engine *engine, unsigned i)
{
    memmove(engine->gaps + i, engine->gaps + i + 1,
            (--engine->gap_count - i) * sizeof *engine->gaps);
}

/* Before gap number i. Of too many the first is forgotten. */
static void insert_gap(struct sim_engine *engine, unsigned i, uint64_t from, uint64_t to)
{
    if (from >= to)
        return;
    if (engine->gap_count == SIM_GAPS) {
        if (i == 0)
            return;
        remove_gap(engine, 0);
        i--;
    }
    memmove(engine->gaps + i + 1, engine->gaps + i,
            (engine->gap_count++ - i) * sizeof *engine->gaps);
    engine->gaps[i] = (struct sim_gap){from, to};
}

uint64_t sim_engine_share(struct sim_engine *engine, uint64_t ready, uint64_t ns)
{
    for (unsigned i = 0; i < engine->gap_count && ns > 0;) {
        const struct sim_gap gap = engine->gaps[i];
        uint64_t from = sim_later(gap.from, ready), until;

        if (from >= gap.to) {
            i++;
            continue;
        }
        until = ns < gap.to - from ? from + ns : gap.to;
        ns -= until - from;
        remove_gap(engine, i);
        insert_gap(engine, i, until, gap.to);
        insert_gap(engine, i, gap.from, from);
        if (ns == 0)
            return until;
        i += gap.from < from;
    }
    ready = sim_later(ready, engine->end);
    insert_gap(engine, engine->gap_count, engine->end, ready);
    return engine->end = ready + ns;
}

uint64_t sim_engine_take(struct sim_engine *engine, const struct sim_engine_use *use,
                         uint64_t *start)
{
    uint64_t end;

    for (unsigned i = 0; i < engine->gap_count; i++) {
        const struct sim_gap gap = engine->gaps[i];
        end = end_behind(use, gap.from);
        if (end > gap.to)
            continue;
        *start = start_of(use, gap.from, end);
        remove_gap(engine, i);
        insert_gap(engine, i, end, gap.to);
        insert_gap(engine, i, gap.from, *start);
        return end;
    }
    end = end_behind(use, engine->end);
    *start = start_of(use, engine->end, end);
    insert_gap(engine, engine->gap_count, engine->end, *start);
    engine->end = end;
    return end;
}

uint64_t sim_engine_free(const struct sim_engine *engine, uint64_t ready)
{
    for (unsigned i = 0; i < engine->gap_count; i++)
        if (ready <= engine->gaps[i].to)
            return sim_later(ready, engine->gaps[i].from);
    return sim_later(ready, engine->end);
}
