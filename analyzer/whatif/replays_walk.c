/* One walk over the run's ops: each way plays them, and what comes of it is put down (tally.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/pass/pass.h"
#include "analyzer/whatif/ops/jobs.h"
#include "analyzer/whatif/ops/paces.h"
#include "analyzer/whatif/replays_walk.h"

#define MOST_PLAYED_ALONE 2 /* changes of a way: those with one less were played before */

/* ---- what is left out ------------------------------------------------------------------------ */

static void begin_measuring(struct xfw_walk *walk, struct xfw_variant *v)
{
    if (!walk->of->sample)
        return;
    xfa_table_init(&v->taken, sizeof(struct xfw_taken_key), sizeof(struct xfw_taken));
    if (v->way->counts)
        xfw_player_count(v->player, &v->taken);
}

static struct xfa_table *counts_of(struct xfw_walk *walk, const struct xfw_variant *v)
{
    return xfw_tally_counts(walk->tally, (size_t)(v - walk->variants));
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

/* What the way takes where it was not played, and how far that may be off. */
static double end_measuring(struct xfw_walk *walk, struct xfw_variant *v, double *error)
{
    struct xfw_replayed_process *at = walk->at;
    const struct xfw_sample *sample = walk->of->sample;
    *error = 0;
    if (!sample)
        return 0;
    bool alone = xfw_way_is_alone(v->way),
         compared = at->alone_known && !v->way->recording && !alone;
    double rest = xfw_sample_rest(sample, &v->measured);
    *error = xfw_sample_error(sample, &v->measured, compared ? &at->alone : NULL);
    if (v->way->counts)
        add_taken(sample, &v->taken, counts_of(walk, v));
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

/* ---- the span of all processes --------------------------------------------------------------- */

static double extend(struct xfw_extent *extent, double from, double to, double contexts_ns)
{
    bool any = extent->from != 0 || extent->to != 0;
    extent->from = any ? fmin(extent->from, from) : from;
    extent->to = any ? fmax(extent->to, to) : to;
    extent->contexts_ns = fmax(extent->contexts_ns, contexts_ns);
    return xfw_extent_ns(extent);
}

double xfw_replays_span(struct xfw_variant *v, const struct xfw_schedule *schedule, double begun_ns)
{
    double first, last;
    if (!xfw_schedule_worked(schedule, &first, &last))
        return xfw_extent_ns(&v->span);
    return extend(&v->span, begun_ns + first, begun_ns + last, xfw_schedule_contexts_ns(schedule));
}

double xfw_replays_recorded_span(struct xfw_walk *walk)
{
    return extend(&walk->recorded, walk->begun_ns + walk->of->first_work,
                  walk->begun_ns + walk->of->last_work, walk->of->contexts.ns);
}

/* ---- a batch --------------------------------------------------------------------------------- */

void xfw_replays_drop_gather(struct xfw_replays *replays)
{
    if (!replays->borrowed)
        xfw_gather_free(replays->gather);
    replays->gather = NULL;
    replays->borrowed = false;
}

void xfw_replays_fail(struct xfw_replays *replays, char *why)
{
    free(replays->whatif->why); /* of a file that could not be read before either */
    replays->whatif->why = why;
    xfw_replays_drop_gather(replays);
}

void xfw_batch_make(struct xfw_batch *batch, bool recording)
{
    batch->room = batch->ops = xfa_alloc_unset(XFW_TURNS * sizeof *batch->ops);
    batch->alone = recording ? xfa_alloc_unset(XFW_TURNS * sizeof *batch->alone) : batch->ops;
}

void xfw_batch_free(const struct xfw_batch *batch)
{
    if (batch->alone != batch->ops)
        free(batch->alone);
    free(batch->room);
}

void xfw_walk_tally(struct xfw_walk *walk)
{
    walk->ways = xfa_alloc((walk->count + 1) * sizeof(struct xfw_way *));
    for (size_t i = 0; i < walk->count; i++)
        walk->ways[i] = walk->variants[i].way;
    walk->tally = xfw_tally_new(walk->ways, walk->count);
}

/* False: a process could not be played, which `whatif` has the reason of. */
bool xfw_walk_sum_up(struct xfw_walk *walk)
{
    struct xfw_replays *replays = walk->replays;
    bool recording = walk->variants[0].way->recording;
    struct xfa_team *team = walk->together ? NULL : replays->analysis->run->team;
    char *why = xfw_tally_sum(walk->tally, team, replays->whatif, recording);
    if (why)
        xfw_replays_fail(replays, why);
    xfw_tally_free(walk->tally);
    free(walk->ways);
    free(walk->finders);
    return !why;
}

/* ---- one walk -------------------------------------------------------------------------------- */

/* Threads are in turn by how much earlier they are than in the run unchanged (turns.h). */
static void find_alone(struct xfw_walk *walk)
{
    walk->by_turns = !walk->together && (walk->of->threads || !walk->of->over);
    walk->alone_player = NULL;
    for (size_t i = 0; i < walk->count && walk->by_turns; i++)
        if (xfw_way_is_alone(walk->variants[i].way))
            walk->alone_player = walk->variants[i].player;
    walk->alone_is_way = walk->alone_player != NULL;
    if (!walk->alone_is_way && walk->by_turns && !walk->noted)
        walk->alone_player = xfw_player_new(walk->process, NULL, 0, XFW_LIKELY);
}

static void begin_notes(struct xfw_walk *walk)
{
    struct xfw_notes *notes = &walk->at->notes;
    walk->noted = walk->kept && !walk->together && notes->all;
    walk->fetched = 0;
    if (!walk->noted && !notes->no_room) {
        walk->replays->noted -= notes->count;
        xfw_notes_free(notes);
    }
}

/* Ranks that are played together are begun all at once, and each plays but some ways. */
static void begin_trying(const struct xfw_walk *walk, struct xfw_trying *trying)
{
    trying->acted = trying->acted || walk->together;
    if (walk->together)
        return;
    trying->player = xfw_player_new(walk->process, &trying->change, 1, XFW_HIGH);
    xfw_player_watch(trying->player);
}

static void end_trying(const struct xfw_walk *walk, struct xfw_trying *trying)
{
    if (walk->together)
        return;
    xfw_player_finish(trying->player, walk->of->sample);
    trying->acted = trying->acted || walk->of->sample || xfw_player_acted(trying->player);
    xfw_player_free(trying->player);
}

void xfw_walk_begin(void *self, struct xfa_process *process)
{
    struct xfw_walk *walk = self;
    struct xfw_replays *replays = walk->replays;
    walk->process = process;
    walk->of = xfw_gather_of(replays->gather, process->number);
    replays->processes =
        xfa_grown(replays->processes, &replays->process_capacity, &replays->process_count,
                  process->number, sizeof *replays->processes);
    walk->at = &replays->processes[process->number];
    for (size_t i = 0; i < walk->count; i++) {
        struct xfw_variant *v = &walk->variants[i];
        const struct xfw_tap *tap = walk->no_taps ? NULL : v->way->tap;
        v->player = xfw_player_new(process, v->way->changes, v->way->count, v->way->certainty);
        xfw_player_tap(v->player, tap);
        xfw_player_count(v->player, counts_of(walk, v));
        if (v->way->asks_left)
            xfw_player_ask_left(v->player);
        if (v->way->count > MOST_PLAYED_ALONE && !replays->analysis->run->team)
            xfw_player_watch(v->player);
        begin_measuring(walk, v);
        if (tap)
            tap->process(tap->self, process);
    }
    for (size_t i = 0; i < replays->trying_count; i++)
        begin_trying(walk, &replays->trying[i]);
    begin_notes(walk);
    find_alone(walk);
    if (walk->of->jobs && walk->kept)
        xfw_jobs_again(walk->of->jobs);
}

static void play_way(const struct xfw_walk *walk, size_t i)
{
    const struct xfw_variant *v = &walk->variants[i];
    const struct xfw_op *ops = v->way->recording ? walk->at_hand.ops : walk->at_hand.alone;
    if (v->player != walk->alone_player)
        xfw_turns_play(&walk->turns, ops, v->player, v->way->count == 0);
}

static void make_alone(struct xfw_batch *batch)
{
    if (batch->alone != batch->ops)
        memcpy(batch->alone, batch->ops, batch->count * sizeof *batch->ops);
    for (size_t i = 0; i < batch->count; i++)
        xfw_op_alone(&batch->alone[i]);
}

/* The next stretch of which any op comes; NULL: all have come, or there are none. */
static const struct xfw_stretch *next_stretch(struct xfw_walk *walk)
{
    const struct xfw_sample *sample = walk->of->sample;
    while (sample && walk->stretches < xfw_sample_count(sample)) {
        const struct xfw_stretch *stretch = xfw_sample_at(sample, walk->stretches++);
        if (!xfw_stretch_is_out(stretch))
            return stretch;
        xfw_cuts_take(&walk->cuts, stretch, NULL, 0);
        if (xfw_stretch_is_apart(stretch))
            xfw_op_store_behind_apart(walk->kept);
    }
    return NULL;
}

/* ---- ops that are unpacked ------------------------------------------------------------------- */

static void take_unpacked(struct xfw_walk *walk, size_t most)
{
    const struct xfw_unpacked *unpacked = &walk->at->unpacked;
    struct xfw_batch *next = &walk->next;
    size_t left = unpacked->count - walk->fetched;
    next->stretch = NULL;
    next->at = walk->fetched;
    next->count = left < most ? left : most;
    next->ops = next->alone = unpacked->ops + walk->fetched;
    walk->fetched += next->count;
}

/* The batch that was fetched, if there is room for it. */
static void keep_unpacked(struct xfw_walk *walk)
{
    struct xfw_unpacked *unpacked = &walk->at->unpacked;
    struct xfw_replays *replays = walk->replays;
    const struct xfw_batch *batch = &walk->next;
    size_t most = replays->most / XFW_OF_MOST_UNPACKED / sizeof *unpacked->ops;
    most = most < XFW_MOST_UNPACKED ? most : XFW_MOST_UNPACKED;
    if (unpacked->count != batch->at || replays->unpacked + batch->count > most)
        return;
    unpacked->ops = xfa_room(unpacked->ops, &unpacked->capacity, unpacked->count + batch->count + 1,
                             sizeof *unpacked->ops);
    memcpy(unpacked->ops + unpacked->count, batch->ops, batch->count * sizeof *batch->ops);
    unpacked->count += batch->count;
    replays->unpacked += batch->count;
}

/* ---- what comes next ------------------------------------------------------------------------- */

/* The next ops of the process that were kept. */
void xfw_walk_fetch(struct xfw_walk *walk)
{
    struct xfw_batch *next = &walk->next;
    size_t most = walk->of->threads ? XFW_TURNS : XFW_BATCH;
    if (walk->unpacked) {
        take_unpacked(walk, most);
        return;
    }
    next->stretch = next_stretch(walk);
    bool apart = next->stretch && xfw_stretch_is_apart(next->stretch);
    if (next->stretch)
        most = next->stretch->ops;
    if (apart)
        xfw_op_store_read_apart(walk->kept);
    for (next->count = 0; next->count < most; next->count++)
        if (!xfw_op_store_next(walk->kept, &next->ops[next->count]))
            break;
    if (apart)
        xfw_op_store_behind_apart(walk->kept);
    if (next->stretch)
        next->count = xfw_cuts_take(&walk->cuts, next->stretch, next->ops, next->count);
    for (size_t i = 0; walk->of->jobs && i < next->count; i++)
        xfw_jobs_split(walk->of->jobs, &next->ops[i]);
    xfw_paces_take(walk->process, next->ops, next->count);
    make_alone(next);
    next->at = walk->fetched;
    walk->fetched += next->count;
    if (!walk->noted)
        return;
    xfw_notes_give(&walk->at->notes, next->at, next);
    if (!walk->recording && !walk->of->sample)
        keep_unpacked(walk);
}

static void try_change(const struct xfw_walk *walk, const struct xfw_trying *trying)
{
    for (size_t i = 0; i < walk->at_hand.count && !trying->acted; i++)
        xfw_player_try(trying->player, &walk->at_hand.alone[i]);
}

/* The last ways first: those that change the most come last, and are not to be waited for alone.
 * Before them all, the batch that is next. */
static void play_or_fetch(void *self, size_t i)
{
    struct xfw_walk *walk = self;
    if (i > walk->count)
        try_change(walk, &walk->replays->trying[i - walk->count - 1]);
    else if (i > 0)
        play_way(walk, walk->count - i);
    else if (walk->kept)
        xfw_walk_fetch(walk);
}

static struct xfw_finders *finders_of(struct xfw_walk *walk, const struct xfa_process *process)
{
    walk->finders = xfa_grown(walk->finders, &walk->finders_capacity, &walk->finders_count,
                              process->number, sizeof *walk->finders);
    return &walk->finders[process->number];
}

/* For the walks behind this one. */
static void note(struct xfw_walk *walk)
{
    struct xfw_notes *notes = &walk->at->notes;
    size_t others = walk->replays->noted - notes->count;
    if (!walk->kept || walk->together)
        return;
    xfw_notes_add(notes, &walk->at_hand, &walk->turns, XFW_MOST_NOTED - others);
    walk->replays->noted = others + notes->count;
}

/* Of ops that were noted all but the turns was given when they were fetched. */
static void find_turns(struct xfw_walk *walk)
{
    const struct xfw_batch *batch = &walk->at_hand;
    if (!walk->noted)
        xfw_finders_meet(finders_of(walk, walk->process), walk->process, batch);
    xfw_turns_of(&walk->turns, batch->alone, batch->count, !walk->by_turns);
    if (walk->alone_player)
        xfw_turns_alone(&walk->turns, batch->alone, walk->alone_player);
    if (walk->noted)
        xfw_notes_turns(&walk->at->notes, batch->at, &walk->turns);
    else
        note(walk);
}

/* Ways have nothing in common that any of them changes: side by side. */
void xfw_walk_play(struct xfw_walk *walk)
{
    const struct xfw_stretch *stretch = walk->at_hand.stretch;
    find_turns(walk);
    xfa_crew_do(walk->replays->crew, play_or_fetch, walk,
                1 + walk->count + walk->replays->trying_count);
    for (size_t i = 0; i < walk->count && stretch; i++) {
        struct xfw_variant *v = &walk->variants[i];
        xfw_measure(&v->measured, stretch, xfw_schedule_now(xfw_player_schedule(v->player)));
    }
}

void xfw_walk_batch(void *self, struct xfw_op *ops, size_t count, const struct xfw_stretch *stretch)
{
    struct xfw_walk *walk = self;
    memcpy(walk->at_hand.ops, ops, count * sizeof *ops);
    walk->at_hand.count = count;
    walk->at_hand.stretch = stretch;
    if (stretch)
        walk->at_hand.count = xfw_cuts_take(&walk->cuts, stretch, walk->at_hand.ops, count);
    xfw_paces_take(walk->process, walk->at_hand.ops, walk->at_hand.count);
    make_alone(&walk->at_hand);
    xfw_walk_play(walk);
}

static void end_ranges(struct xfw_walk *walk, const uint64_t ranges[XFW_RANGES])
{
    for (uint32_t r = 0; r < XFW_RANGES && ranges[r] != XFW_NO_RANGE; r++) {
        const struct xfa_text *named =
            ranges[r] ? xfa_trace_text(walk->process->trace, ranges[r]) : NULL;
        char *name = named ? xfa_kept(named->text, named->bytes) : xfa_text("(no name)");
        xfw_tally_phase(walk->tally, name, xfw_gathered_range_ns(walk->of, r));
        free(name);
        for (size_t i = 0; i < walk->count; i++)
            xfw_tally_phase_in_way(
                walk->tally, xfw_schedule_range(xfw_player_schedule(walk->variants[i].player), r));
    }
    xfw_tally_phases_over(walk->tally);
}

/* Where the process begins and ends to work, unchanged; ranks that are played together have no such
 * places, as each plays but some ways. */
static void note_work(struct xfw_walk *walk)
{
    for (size_t i = 0; i < walk->count && !walk->together; i++) {
        const struct xfw_schedule *schedule = xfw_player_schedule(walk->variants[i].player);
        double last;
        if (!xfw_way_is_alone(walk->variants[i].way))
            continue;
        walk->at->worked = xfw_schedule_worked(schedule, &walk->at->first_work_ns, &last);
        walk->at->beyond_ns = fmax(0, xfw_schedule_work_end(schedule) - last);
    }
}

/* A change that puts off the first work has not shortened what comes behind; nor has one after
 * which nobody waits for the last work any more. */
static double span_of(const struct xfw_walk *walk, const struct xfw_variant *v)
{
    const struct xfw_schedule *schedule = xfw_player_schedule(v->player);
    double first, last;
    if (!xfw_schedule_worked(schedule, &first, &last))
        return 0;
    if (walk->at->worked && !walk->together && !v->way->recording) {
        last = fmax(last, xfw_schedule_work_end(schedule) - walk->at->beyond_ns);
        first = fmin(first, walk->at->first_work_ns);
    }
    return last - first - xfw_schedule_contexts_ns(schedule);
}

/* What is left at least of the way's span, and of what it takes where it was not played. */
static double left_of(const struct xfw_walk *walk, struct xfw_variant *v, double span_ns,
                      double rest_ns)
{
    const struct xfw_whatif *whatif = walk->replays->whatif;
    double sure = 1 - fmin(1, whatif->error + whatif->speed_error);
    double left = xfw_player_left(v->player, sure, fmax(0, sure - XFW_MODEL_ERROR));
    v->left_ns = fmax(v->left_ns, left);
    return span_ns > 0 ? fmin(left, span_ns) * (1 + fmax(0, rest_ns) / span_ns) : 0;
}

/* A player's own times: of the process, or where its ranks are played together of what it has moved
 * to. */
static void end_way(struct xfw_walk *walk, struct xfw_variant *v, double begun, double end_ns)
{
    const struct xfw_schedule *schedule = xfw_player_schedule(v->player);
    const struct xfw_tap *tap = walk->no_taps ? NULL : v->way->tap;
    double error;
    if (!walk->together)
        xfw_player_finish(v->player, walk->of->sample);
    double total = xfw_schedule_total(schedule, end_ns), rest = end_measuring(walk, v, &error);
    if (walk->together && walk->rest_ns >= 0)
        total = v->last_ns - begun + walk->rest_ns;
    if (walk->together)
        xfw_replays_span(v, schedule, begun);
    double span = span_of(walk, v);
    xfw_tally_way(walk->tally, begun + total + rest, span + rest, error,
                  v->way->asks_left ? left_of(walk, v, span, rest) : 0);
    if (tap)
        tap->end(tap->self, walk->process, schedule, total);
    v->way->acted |= xfw_player_acted(v->player);
    xfw_player_free(v->player);
    v->player = NULL;
}

void xfw_walk_end(void *self, struct xfa_process *process, double end_ns,
                  const uint64_t ranges[XFW_RANGES])
{
    struct xfw_walk *walk = self;
    const struct xfw_gathered *of = walk->of;
    double begun = (double)(int64_t)(process->start_real_ns - walk->first_ns);
    if (walk->together)
        begun = walk->begun_ns;
    if (walk->together && of->worked)
        xfw_replays_recorded_span(walk);
    xfw_tally_part(walk->tally, process->number, begun + end_ns,
                   of->worked ? of->last_work - of->first_work - of->contexts.ns : NAN,
                   &of->contexts);
    end_ranges(walk, ranges);
    note_work(walk);
    for (size_t i = 0; i < walk->count; i++)
        end_way(walk, &walk->variants[i], begun, end_ns);
    for (size_t i = 0; i < walk->replays->trying_count; i++)
        end_trying(walk, &walk->replays->trying[i]);
    if (!walk->alone_is_way)
        xfw_player_free(walk->alone_player);
    xfw_cuts_free(&walk->cuts);
    xfw_finders_free(finders_of(walk, process));
    walk->at->notes.all = walk->kept && !walk->together && !walk->at->notes.no_room;
}

bool xfw_walk_reopen(struct xfw_walk *walk, struct xfa_process *process)
{
    char error[1024] = "";
    bool done = xfa_process_reopen(process, !walk->kept, error, sizeof error);
    if (!done)
        xfw_tally_fail(walk->tally, process->number, error);
    return done;
}

/* Each process is opened again: changes ask what its kernels were given. */
bool xfw_walk_files(struct xfw_walk *walk, struct xfa_analysis *analysis)
{
    struct xfa_observer observer = xfw_gather_observer(walk->replays->gather);
    struct xfa_pass *pass = xfa_pass_new(&analysis->classes, &observer, 1);
    bool done = true;
    for (size_t i = 0; i < analysis->run->process_count; i++) {
        struct xfa_process *process = analysis->run->processes[i];
        if (!xfa_process_is_mine(process))
            continue;
        done = xfw_walk_reopen(walk, process);
        if (!done)
            break;
        xfa_pass_walk(pass, process);
    }
    xfa_pass_free(pass);
    return done;
}
