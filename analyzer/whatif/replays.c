#include "analyzer/whatif/replays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/crew.h"
#include "analyzer/pass/pass.h"
#include "analyzer/whatif/player.h"
#include "analyzer/whatif/sample.h"

/* Of the run: where any time would be off by more for what was left out, nothing is. */
#define MOST_OFF XFW_RUN_ERROR

/* A process of which ops were left out, played alone. */
struct process {
    struct xfw_measured alone;
    bool alone_known;
};

struct xfw_replays {
    struct xfa_analysis *analysis;
    struct xfw_whatif *whatif;
    struct xfa_crew *crew;     /* NULL: nothing was played yet */
    struct xfw_gather *gather; /* ops of the last walk; NULL: there was none */
    bool borrowed;             /* that is another's */
    size_t most;               /* bytes that a walk may keep */
    bool keeps;                /* what a walk finds is kept: it will be asked for again */
    bool played;               /* any way was */
    bool samples;              /* ops may be left out */
    struct process *processes;
    size_t process_count, process_capacity;
    struct xfw_way *known;
    size_t count, capacity;
};

struct variant {
    struct xfw_way *way;
    struct xfw_player *player; /* of the process at hand */
    struct xfw_measured measured;
    struct xfa_table taken;
};

struct walk {
    struct xfw_replays *replays;
    struct xfw_whatif *whatif;
    const struct xfw_gathered *of; /* the process at hand */
    struct process *at;
    struct variant *variants;
    size_t count;
    struct xfa_process *process;
    uint64_t first_ns;            /* when the first process began, wall clock */
    bool recording;               /* any of the ways has what recording cost */
    struct xfw_op *batch, *alone; /* as recorded, and without that; the same: nobody has it */
    size_t batch_count;
};

static bool is_alone(const struct xfw_way *way)
{
    return way->count == 0 && !way->recording;
}

/* ---- what is left out ------------------------------------------------------------------------ */

static void begin_measuring(struct walk *walk, struct variant *v)
{
    if (!walk->of->sample)
        return;
    xfa_table_init(&v->taken, sizeof(struct xfw_taken_key), sizeof(struct xfw_taken));
    if (v->way->counts)
        xfw_player_count(v->player, &v->taken);
}

/* The transfers that were left out had what the others of their classes had. */
static void add_taken(const struct xfw_sample *sample, const struct xfa_table *taken,
                      struct xfa_table *counts)
{
    for (size_t i = 0; i < taken->count; i++) {
        const struct xfw_taken *played = xfa_table_at(taken, i);
        double weight = xfw_sample_weight(sample, played->key.class);
        struct xfw_taken *count = xfa_table_put(counts, &played->key);
        count->transfers += (uint64_t)(weight * (double)played->transfers + 0.5);
    }
}

/* What the way takes where it was not played. */
static double end_measuring(struct walk *walk, struct variant *v)
{
    struct process *at = walk->at;
    const struct xfw_sample *sample = walk->of->sample;
    if (!sample)
        return 0;
    bool alone = is_alone(v->way), compared = at->alone_known && !v->way->recording && !alone;
    double rest = xfw_sample_rest(sample, &v->measured);
    double error = xfw_sample_error(sample, &v->measured, compared ? &at->alone : NULL);
    v->way->error_ns = xfw_max(v->way->error_ns, error);
    if (v->way->counts)
        add_taken(sample, &v->taken, v->way->counts);
    xfa_table_free(&v->taken);
    if (alone && !at->alone_known) {
        at->alone = v->measured;
        at->alone_known = true;
    } else {
        xfw_measured_free(&v->measured);
    }
    v->measured = (struct xfw_measured){0};
    return rest;
}

static void forget_alone(struct xfw_replays *replays)
{
    for (size_t i = 0; i < replays->process_count; i++) {
        xfw_measured_free(&replays->processes[i].alone);
        replays->processes[i] = (struct process){0};
    }
}

/* ---- one walk -------------------------------------------------------------------------------- */

static void begin_process(void *self, struct xfa_process *process)
{
    struct walk *walk = self;
    struct xfw_replays *replays = walk->replays;
    walk->process = process;
    walk->of = xfw_gather_of(replays->gather, process->number);
    replays->processes =
        xfa_grown(replays->processes, &replays->process_capacity, &replays->process_count,
                  process->number, sizeof *replays->processes);
    walk->at = &replays->processes[process->number];
    for (size_t i = 0; i < walk->count; i++) {
        struct variant *v = &walk->variants[i];
        const struct xfw_tap *tap = v->way->tap;
        v->player = xfw_player_new(process, v->way->changes, v->way->count, v->way->certainty);
        xfw_player_tap(v->player, tap);
        xfw_player_count(v->player, v->way->counts);
        begin_measuring(walk, v);
        if (tap)
            tap->process(tap->self, process);
    }
}

/* The last first: those that change the most come last, and are not to be waited for alone. */
static void play_way(void *self, size_t i)
{
    const struct walk *walk = self;
    const struct variant *v = &walk->variants[walk->count - 1 - i];
    const struct xfw_op *ops = v->way->recording ? walk->batch : walk->alone;
    for (size_t k = 0; k < walk->batch_count; k++)
        xfw_player_op(v->player, &ops[k]);
}

/* The first stack of a site stands for it in reports: those of calls that are but played come after
 * all that the walk has met. */
static void find_sites(struct walk *walk)
{
    for (size_t i = 0; i < walk->batch_count; i++) {
        struct xfw_op *op = &walk->batch[i];
        if (op->stack)
            op->site = xfa_process_site(walk->process, op->stack)->number;
        op->stack = 0;
    }
}

/* Ways have nothing in common that any of them changes: side by side. */
static void play_batch(struct walk *walk, const struct xfw_stretch *stretch)
{
    find_sites(walk);
    if (walk->alone != walk->batch)
        memcpy(walk->alone, walk->batch, walk->batch_count * sizeof *walk->batch);
    for (size_t i = 0; i < walk->batch_count; i++)
        xfw_op_alone(&walk->alone[i]);
    if (walk->batch_count > 0)
        xfa_crew_do(walk->replays->crew, play_way, walk, walk->count);
    for (size_t i = 0; i < walk->count && stretch; i++) {
        struct variant *v = &walk->variants[i];
        xfw_measure(&v->measured, stretch, xfw_schedule_now(xfw_player_schedule(v->player)));
    }
    walk->batch_count = 0;
}

static void take_batch(void *self, struct xfw_op *ops, size_t count,
                       const struct xfw_stretch *stretch)
{
    struct walk *walk = self;
    memcpy(walk->batch, ops, count * sizeof *ops);
    walk->batch_count = count;
    play_batch(walk, stretch);
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

static void end_ranges(struct walk *walk, const uint64_t ranges[XFW_RANGES])
{
    for (uint32_t r = 0; r < XFW_RANGES && ranges[r] != XFW_NO_RANGE; r++) {
        const struct xfa_text *named =
            ranges[r] ? xfa_trace_text(walk->process->trace, ranges[r]) : NULL;
        char *name = named ? xfa_kept(named->text, named->bytes) : xfa_text("(no name)");
        size_t phase = phase_of(walk->whatif, name);
        free(name);
        if (phase < XFW_RANGES && walk->variants[0].way->recording)
            walk->whatif->ranges[phase].times.recorded_ns += xfw_gathered_range_ns(walk->of, r);
        for (size_t i = 0; i < walk->count && phase < XFW_RANGES; i++)
            walk->variants[i].way->ranges[phase] +=
                xfw_schedule_range(xfw_player_schedule(walk->variants[i].player), r);
    }
}

static void end_process(void *self, struct xfa_process *process, double end_ns,
                        const uint64_t ranges[XFW_RANGES])
{
    struct walk *walk = self;
    double begun = (double)(int64_t)(process->start_real_ns - walk->first_ns);
    end_ranges(walk, ranges);
    for (size_t i = 0; i < walk->count; i++) {
        struct variant *v = &walk->variants[i];
        const struct xfw_schedule *schedule = xfw_player_schedule(v->player);
        const struct xfw_tap *tap = v->way->tap;
        xfw_player_finish(v->player, walk->of->sample);
        double total = xfw_schedule_total(schedule, end_ns), rest = end_measuring(walk, v);
        v->way->run_ns = xfw_max(v->way->run_ns, begun + total + rest);
        v->way->span_ns += xfw_schedule_span(schedule) + rest;
        if (tap)
            tap->end(tap->self, process, schedule, total);
        xfw_player_free(v->player);
        v->player = NULL;
    }
    walk->whatif->recorded_ns = xfw_max(walk->whatif->recorded_ns, begun + end_ns);
    if (walk->of->worked && walk->variants[0].way->recording)
        walk->whatif->span.recorded_ns += walk->of->last_work - walk->of->first_work;
}

/* Each process is opened again: changes ask what its kernels were given. */
static bool walk_files(struct walk *walk, struct xfa_analysis *analysis, char *error,
                       size_t error_bytes)
{
    struct xfa_observer observer = xfw_gather_observer(walk->replays->gather);
    struct xfa_pass *pass = xfa_pass_new(&analysis->classes, &observer, 1);
    bool done = true;
    for (size_t i = 0; i < analysis->run->process_count && done; i++) {
        done = xfa_process_reopen(analysis->run->processes[i], error, error_bytes);
        if (done)
            xfa_pass_walk(pass, analysis->run->processes[i]);
    }
    xfa_pass_free(pass);
    return done;
}

/* The process's ops, as they were played the first time. */
static void play_kept(struct walk *walk, struct xfw_op_store *kept)
{
    const struct xfw_sample *sample = walk->of->sample;
    for (size_t i = 0; sample && i < xfw_sample_count(sample); i++) {
        const struct xfw_stretch *stretch = xfw_sample_at(sample, i);
        while (walk->batch_count < stretch->ops &&
               xfw_op_store_next(kept, &walk->batch[walk->batch_count]))
            walk->batch_count++;
        play_batch(walk, stretch);
    }
    while (xfw_op_store_next(kept, &walk->batch[walk->batch_count]))
        if (++walk->batch_count == XFW_BATCH)
            play_batch(walk, NULL);
    play_batch(walk, NULL);
}

static bool walk_kept(struct walk *walk, const struct xfa_analysis *analysis,
                      struct xfw_op_store *kept, char *error, size_t error_bytes)
{
    xfw_op_store_rewind(kept);
    for (size_t i = 0; i < analysis->run->process_count; i++) {
        struct xfa_process *process = analysis->run->processes[i];
        double end_ns;
        if (!xfa_process_reopen(process, error, error_bytes))
            return false;
        begin_process(walk, process);
        play_kept(walk, kept);
        const uint64_t *ranges = xfw_op_store_over(kept, &end_ns);
        end_process(walk, process, end_ns, ranges);
        xfa_process_let_go(process);
    }
    return true;
}

static void drop_gather(struct xfw_replays *replays)
{
    if (!replays->borrowed)
        xfw_gather_free(replays->gather);
    replays->gather = NULL;
    replays->borrowed = false;
}

/* Of a run whose ops could not be kept, the next walk does not try to. */
static void gather_anew(struct walk *walk)
{
    struct xfw_replays *replays = walk->replays;
    const struct xfw_gather_sink sink = {begin_process, take_batch, end_process, walk};
    bool first = replays->keeps && !replays->gather;
    drop_gather(replays);
    replays->gather = xfw_gather_new(first ? replays->most : 0, replays->samples, &sink);
}

static void fail(struct xfw_replays *replays, const char *error)
{
    free(replays->whatif->why); /* of a file that could not be read before either */
    replays->whatif->why = xfa_text(error);
    drop_gather(replays);
}

static bool walk_run(struct xfw_replays *replays, struct variant *variants, size_t count)
{
    char error[1024] = "";
    struct xfa_analysis *analysis = replays->analysis;
    struct xfw_op_store *kept =
        replays->gather ? xfw_gather_kept(replays->gather, analysis->run) : NULL;
    replays->crew = replays->crew ? replays->crew : xfa_crew_new();
    struct walk walk = {.replays = replays,
                        .whatif = replays->whatif,
                        .variants = variants,
                        .count = count,
                        .batch = xfa_alloc(XFW_BATCH * sizeof *walk.batch)};
    bool done;
    for (size_t i = 0; i < count; i++)
        walk.recording = walk.recording || variants[i].way->recording;
    walk.alone = walk.recording ? xfa_alloc(XFW_BATCH * sizeof *walk.alone) : walk.batch;
    walk.first_ns = xfa_run_start_real_ns(analysis->run);
    if (kept) {
        done = walk_kept(&walk, analysis, kept, error, sizeof error);
    } else {
        gather_anew(&walk);
        done = walk_files(&walk, analysis, error, sizeof error);
    }
    if (!done)
        fail(replays, error);
    replays->whatif->replays += (unsigned)count;
    if (walk.alone != walk.batch)
        free(walk.alone);
    free(walk.batch);
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
    way->error_ns = known->error_ns;
    memcpy(way->ranges, known->ranges, sizeof way->ranges);
}

/* Who makes a run happen meets every op. */
static bool can_leave_out(const struct variant *variants, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (variants[i].way->tap)
            return false;
    return true;
}

static bool is_off(const struct variant *variants, size_t count)
{
    double most = INFINITY;
    for (size_t i = 0; i < count; i++)
        if (is_alone(variants[i].way))
            most = MOST_OFF * variants[i].way->run_ns;
    for (size_t i = 0; i < count; i++)
        if (variants[i].way->error_ns > most)
            return true;
    return false;
}

/* As if nothing had been played yet. */
static void forget(struct xfw_replays *replays, struct variant *variants, size_t count)
{
    struct xfw_whatif *whatif = replays->whatif;
    forget_alone(replays);
    drop_gather(replays);
    replays->samples = false;
    whatif->recorded_ns = whatif->span.recorded_ns = 0;
    for (size_t i = 0; i < whatif->range_count; i++)
        whatif->ranges[i].times.recorded_ns = 0;
    for (size_t i = 0; i < count; i++) {
        struct xfw_way *way = variants[i].way;
        way->run_ns = way->span_ns = way->error_ns = 0;
        memset(way->ranges, 0, sizeof way->ranges);
    }
}

/* The run alone tells whether enough is known of what was left out, before any other way is played.
 * It becomes the last one. */
static bool alone_is_off(struct xfw_replays *replays, struct variant *variants, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_alone(variants[i].way))
            continue;
        struct variant alone = variants[i];
        memmove(&variants[i], &variants[i + 1], (count - 1 - i) * sizeof *variants);
        variants[count - 1] = alone;
        return !walk_run(replays, &variants[count - 1], 1) || is_off(&variants[count - 1], 1);
    }
    return true;
}

/* From the ops that were gathered of long processes. False: that is not sure enough, or they cannot
 * be played. */
static bool play_some(struct xfw_replays *replays, struct variant *variants, size_t count)
{
    if (!alone_is_off(replays, variants, count) && walk_run(replays, variants, count - 1) &&
        !is_off(variants, count))
        return true;
    forget(replays, variants, count);
    return false;
}

/* Once more with all ops, where what was left out is not known well enough. */
static bool walk_first(struct xfw_replays *replays, struct variant *variants, size_t count)
{
    bool left_out = replays->gather && xfw_gather_left_out(replays->gather);
    replays->samples = replays->keeps && can_leave_out(variants, count);
    if (left_out && !replays->samples)
        drop_gather(replays);
    else if (left_out && xfw_gather_kept(replays->gather, replays->analysis->run))
        return play_some(replays, variants, count) || walk_run(replays, variants, count);
    bool done = walk_run(replays, variants, count);
    if (!done || !is_off(variants, count))
        return done;
    forget(replays, variants, count);
    return walk_run(replays, variants, count);
}

struct xfw_share xfw_replays_share(const struct xfw_replays *replays)
{
    struct xfw_share all = {0};
    for (size_t i = 0; replays->gather && i < xfw_gather_count(replays->gather); i++) {
        const struct xfw_sample *sample = xfw_gather_of(replays->gather, (uint32_t)i)->sample;
        struct xfw_share share = sample ? xfw_sample_share(sample) : (struct xfw_share){0};
        if (share.played < share.came) {
            all.came += share.came;
            all.played += share.played;
        }
    }
    return all;
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
        done = (replays->played ? walk_run : walk_first)(replays, variants, asked);
    replays->played = replays->played || asked;
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

static size_t default_room(void)
{
    size_t room = xfw_op_store_room();
    return room < XFW_OP_STORE_MOST ? room : XFW_OP_STORE_MOST;
}

struct xfw_replays *xfw_replays_new(struct xfa_analysis *analysis, struct xfw_whatif *whatif,
                                    struct xfw_gather *gather, bool keep)
{
    struct xfw_replays *replays = xfa_alloc(sizeof *replays);
    replays->analysis = analysis;
    replays->whatif = whatif;
    replays->gather = gather;
    replays->borrowed = gather != NULL;
    replays->keeps = keep;
    replays->most = gather ? xfw_gather_most(gather) : default_room();
    return replays;
}

void xfw_replays_free(struct xfw_replays *replays)
{
    for (size_t i = 0; i < replays->count; i++)
        xfw_way_free(&replays->known[i]);
    free(replays->known);
    forget_alone(replays);
    drop_gather(replays);
    free(replays->processes);
    xfa_crew_free(replays->crew);
    free(replays);
}
