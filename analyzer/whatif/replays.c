#include "analyzer/whatif/replays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/pass/pass.h"
#include "analyzer/whatif/ops.h"
#include "analyzer/whatif/player.h"

#define BATCH 128 /* ops that one way is played by before the next: its state stays at hand */

struct xfw_replays {
    struct xfa_analysis *analysis;
    struct xfw_whatif *whatif;
    struct xfw_way *known;
    size_t count, capacity;
};

struct variant {
    struct xfw_way *way;
    struct xfw_player *player; /* of the process at hand */
};

struct walk {
    struct xfw_whatif *whatif;
    struct variant *variants;
    size_t count;
    struct xfw_ops *ops;
    struct xfa_process *process;
    uint64_t first_ns; /* when the first process began, wall clock */
    struct recorded {
        unsigned depth;
        double begun, sum;
    } recorded[XFW_RANGES]; /* of the process's ranges */
    bool worked;
    double first_work, last_work;
    struct xfw_op *batch, *alone; /* as recorded, and without what recording cost */
    size_t batch_count;
};

/* ---- one walk -------------------------------------------------------------------------------- */

static void begin_process(void *self, struct xfa_process *process)
{
    struct walk *walk = self;
    walk->process = process;
    memset(walk->recorded, 0, sizeof walk->recorded);
    walk->worked = false;
    for (size_t i = 0; i < walk->count; i++) {
        struct variant *v = &walk->variants[i];
        const struct xfw_tap *tap = v->way->tap;
        v->player = xfw_player_new(process, v->way->changes, v->way->count, v->way->certainty);
        xfw_player_tap(v->player, tap);
        xfw_player_count(v->player, v->way->counts);
        if (tap)
            tap->process(tap->self, process);
    }
}

static void note_range(struct walk *walk, const struct xfw_op *op)
{
    struct recorded *range = &walk->recorded[op->range];
    if (op->begins && range->depth++ == 0)
        range->begun = op->start_ns;
    else if (!op->begins && range->depth > 0 && --range->depth == 0)
        range->sum += op->start_ns - range->begun;
}

/* As the schedule's: schedule.h. */
static void note_span(struct walk *walk, const struct xfw_op *op)
{
    bool work = xfw_op_is_work(op);
    if (work && !walk->worked) {
        walk->worked = true;
        walk->first_work = walk->last_work = op->start_ns;
    }
    if (work || op->kind == XFT_EVENT_SYNC || op->kind == XFT_EVENT_QUERY)
        walk->last_work = fmax(walk->last_work, op->end_ns);
}

static void play_batch(struct walk *walk)
{
    for (size_t i = 0; i < walk->count; i++) {
        const struct variant *v = &walk->variants[i];
        const struct xfw_op *ops = v->way->recording ? walk->batch : walk->alone;
        for (size_t k = 0; k < walk->batch_count; k++)
            xfw_player_op(v->player, &ops[k]);
    }
    walk->batch_count = 0;
}

static void take_op(void *self, const struct xfw_op *op)
{
    struct walk *walk = self;
    note_span(walk, op);
    if (op->what == XFW_RANGE && op->range < XFW_RANGES)
        note_range(walk, op);
    walk->batch[walk->batch_count] = walk->alone[walk->batch_count] = *op;
    xfw_op_alone(&walk->alone[walk->batch_count++]);
    if (walk->batch_count == BATCH)
        play_batch(walk);
}

/* The run's phase of this name. */
static size_t phase_of(struct xfw_whatif *whatif, const char *name)
{
    for (size_t i = 0; i < whatif->range_count; i++)
        if (strcmp(whatif->ranges[i].name, name) == 0)
            return i;
    if (whatif->range_count == XFW_RANGES)
        return XFW_RANGES;
    if (!whatif->ranges)
        whatif->ranges = xfa_alloc(XFW_RANGES * sizeof *whatif->ranges);
    whatif->ranges[whatif->range_count].name = xfa_kept(name, strlen(name));
    return whatif->range_count++;
}

static void end_ranges(struct walk *walk)
{
    uint64_t text;
    for (uint32_t r = 0; r < XFW_RANGES && (text = xfw_ops_range_text(walk->ops, r)); r++) {
        const struct xfa_text *named = xfa_trace_text(walk->process->trace, text);
        char *name = xfa_kept(named ? named->text : "", named ? named->bytes : 0);
        size_t phase = phase_of(walk->whatif, name);
        free(name);
        if (phase < XFW_RANGES && walk->variants[0].way->recording)
            walk->whatif->ranges[phase].times.recorded_ns += walk->recorded[r].sum;
        for (size_t i = 0; i < walk->count && phase < XFW_RANGES; i++)
            walk->variants[i].way->ranges[phase] +=
                xfw_schedule_range(xfw_player_schedule(walk->variants[i].player), r);
    }
}

static void end_process(void *self, struct xfa_process *process, double end_ns)
{
    struct walk *walk = self;
    double begun = (double)(int64_t)(process->start_real_ns - walk->first_ns);
    play_batch(walk);
    end_ranges(walk);
    for (size_t i = 0; i < walk->count; i++) {
        struct variant *v = &walk->variants[i];
        const struct xfw_schedule *schedule = xfw_player_schedule(v->player);
        const struct xfw_tap *tap = v->way->tap;
        double total = xfw_schedule_total(schedule, end_ns);
        v->way->run_ns = fmax(v->way->run_ns, begun + total);
        v->way->span_ns += xfw_schedule_span(schedule);
        if (tap)
            tap->end(tap->self, process, schedule, total);
        xfw_player_free(v->player);
        v->player = NULL;
    }
    walk->whatif->recorded_ns = fmax(walk->whatif->recorded_ns, begun + end_ns);
    if (walk->worked && walk->variants[0].way->recording)
        walk->whatif->span.recorded_ns += walk->last_work - walk->first_work;
}

static bool walk_run(struct xfw_replays *replays, struct variant *variants, size_t count)
{
    char error[1024] = "";
    struct xfa_analysis *analysis = replays->analysis;
    struct walk walk = {.whatif = replays->whatif,
                        .variants = variants,
                        .count = count,
                        .batch = xfa_alloc(BATCH * sizeof *walk.batch),
                        .alone = xfa_alloc(BATCH * sizeof *walk.alone)};
    const struct xfw_sink sink = {begin_process, take_op, end_process, &walk};
    walk.ops = xfw_ops_new(&analysis->achievable, &sink);
    walk.first_ns = xfa_run_start_real_ns(analysis->run);
    struct xfa_observer observer = xfw_ops_observer(walk.ops);
    struct xfa_pass *pass = xfa_pass_new(&analysis->classes, &observer, 1);
    bool done = true;
    for (size_t i = 0; i < analysis->run->process_count && done; i++) {
        done = xfa_process_reopen(analysis->run->processes[i], error, sizeof error);
        if (done)
            xfa_pass_walk(pass, analysis->run->processes[i]);
    }
    if (!done) {
        free(replays->whatif->why); /* of a file that could not be read before either */
        replays->whatif->why = xfa_text(error);
    }
    replays->whatif->replays += (unsigned)count;
    xfa_pass_free(pass);
    xfw_ops_free(walk.ops);
    free(walk.batch);
    free(walk.alone);
    return done;
}

/* ---- what is known --------------------------------------------------------------------------- */

/* Nothing is more or less certain where nothing is changed. */
static bool alike(const struct xfw_way *a, const struct xfw_way *b)
{
    return a->count == b->count && a->recording == b->recording && !a->tap && !b->tap &&
           !a->counts && !b->counts &&
           (a->count == 0 || (a->certainty == b->certainty &&
                              memcmp(a->changes, b->changes, a->count * sizeof *a->changes) == 0));
}

static const struct xfw_way *known_way(const struct xfw_replays *replays, const struct xfw_way *way)
{
    for (size_t i = 0; i < replays->count; i++)
        if (alike(&replays->known[i], way))
            return &replays->known[i];
    return NULL;
}

static void keep(struct xfw_replays *replays, const struct xfw_way *way)
{
    replays->known =
        xfa_room(replays->known, &replays->capacity, replays->count + 1, sizeof *replays->known);
    struct xfw_way *kept = &replays->known[replays->count++];
    *kept = *way;
    kept->changes = xfa_alloc((way->count + 1) * sizeof *kept->changes);
    memcpy(kept->changes, way->changes, way->count * sizeof *kept->changes);
}

static void take_over(struct xfw_way *way, const struct xfw_way *known)
{
    way->run_ns = known->run_ns;
    way->span_ns = known->span_ns;
    memcpy(way->ranges, known->ranges, sizeof way->ranges);
}

bool xfw_replays_play(struct xfw_replays *replays, struct xfw_way *ways, size_t count)
{
    struct variant *variants = xfa_alloc((count + 1) * sizeof *variants);
    size_t asked = 0;
    bool done = true;
    for (size_t i = 0; i < count; i++) {
        const struct xfw_way *known = known_way(replays, &ways[i]);
        if (known)
            take_over(&ways[i], known);
        else
            variants[asked++].way = &ways[i];
    }
    if (asked)
        done = walk_run(replays, variants, asked);
    for (size_t i = 0; i < asked && done; i++)
        if (!variants[i].way->tap && !variants[i].way->counts)
            keep(replays, variants[i].way);
    free(variants);
    return done;
}

/* ---- life ------------------------------------------------------------------------------------ */

void xfw_way_free(struct xfw_way *way)
{
    free(way->changes);
}

struct xfw_replays *xfw_replays_new(struct xfa_analysis *analysis, struct xfw_whatif *whatif)
{
    struct xfw_replays *replays = xfa_alloc(sizeof *replays);
    replays->analysis = analysis;
    replays->whatif = whatif;
    return replays;
}

void xfw_replays_free(struct xfw_replays *replays)
{
    for (size_t i = 0; i < replays->count; i++)
        xfw_way_free(&replays->known[i]);
    free(replays->known);
    free(replays);
}
