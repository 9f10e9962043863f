#include "analyzer/whatif/replays_private.h"

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

static bool is_alone(const struct xfw_way *way)
{
    return way->count == 0 && !way->recording;
}

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
    bool alone = is_alone(v->way), compared = at->alone_known && !v->way->recording && !alone;
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

static void forget_alone(struct xfw_replays *replays)
{
    for (size_t i = 0; i < replays->process_count; i++) {
        xfw_measured_free(&replays->processes[i].alone);
        replays->processes[i] = (struct xfw_replayed_process){0};
    }
}

/* ---- one walk -------------------------------------------------------------------------------- */

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
        begin_measuring(walk, v);
        if (tap)
            tap->process(tap->self, process);
    }
}

static void play_way(const struct xfw_walk *walk, size_t i)
{
    const struct xfw_variant *v = &walk->variants[i];
    const struct xfw_op *ops = v->way->recording ? walk->at_hand.ops : walk->at_hand.alone;
    for (size_t k = 0; k < walk->at_hand.count; k++)
        xfw_player_op(v->player, &ops[k]);
}

static void make_alone(struct xfw_batch *batch)
{
    if (batch->alone != batch->ops)
        memcpy(batch->alone, batch->ops, batch->count * sizeof *batch->ops);
    for (size_t i = 0; i < batch->count; i++)
        xfw_op_alone(&batch->alone[i]);
}

/* The next ops of the process that were kept. */
static void fetch(struct xfw_walk *walk)
{
    const struct xfw_sample *sample = walk->of->sample;
    struct xfw_batch *next = &walk->next;
    bool stretch = sample && walk->stretches < xfw_sample_count(sample);
    next->stretch = stretch ? xfw_sample_at(sample, walk->stretches++) : NULL;
    size_t most = stretch ? next->stretch->ops : XFW_BATCH;
    for (next->count = 0; next->count < most; next->count++)
        if (!xfw_op_store_next(walk->kept, &next->ops[next->count]))
            break;
    make_alone(next);
}

/* The last ways first: those that change the most come last, and are not to be waited for alone.
 * Before them all, the batch that is next. */
static void play_or_fetch(void *self, size_t i)
{
    struct xfw_walk *walk = self;
    if (i > 0)
        play_way(walk, walk->count - i);
    else if (walk->kept)
        fetch(walk);
}

/* The first stack of a site stands for it in reports: those of calls that are but played come after
 * all that the walk has met. */
static void find_sites(const struct xfw_walk *walk)
{
    const struct xfw_batch *batch = &walk->at_hand;
    for (size_t i = 0; i < batch->count; i++) {
        struct xfw_op *op = &batch->ops[i];
        if (op->stack)
            op->site = xfa_process_site(walk->process, op->stack)->number;
        op->stack = 0;
        batch->alone[i].site = op->site;
    }
}

/* Ways have nothing in common that any of them changes: side by side. */
static void play_batch(struct xfw_walk *walk)
{
    const struct xfw_stretch *stretch = walk->at_hand.stretch;
    find_sites(walk);
    xfa_crew_do(walk->replays->crew, play_or_fetch, walk, 1 + walk->count);
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
    make_alone(&walk->at_hand);
    play_batch(walk);
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
    xfw_tally_way(walk->tally, begun + total + rest, xfw_schedule_span(schedule) + rest, error);
    if (tap)
        tap->end(tap->self, walk->process, schedule, total);
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
                   of->worked ? of->last_work - of->first_work : NAN);
    end_ranges(walk, ranges);
    for (size_t i = 0; i < walk->count; i++)
        end_way(walk, &walk->variants[i], begun, end_ns);
}

static bool reopen(struct xfw_walk *walk, struct xfa_process *process)
{
    char error[1024] = "";
    bool done = xfa_process_reopen(process, error, sizeof error);
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
        done = reopen(walk, process);
        if (!done)
            break;
        xfa_pass_walk(pass, process);
    }
    xfa_pass_free(pass);
    return done;
}

/* The process's ops, as they were played the first time. */
static void play_kept(struct xfw_walk *walk)
{
    walk->stretches = 0;
    fetch(walk);
    while (walk->next.count > 0 || walk->next.stretch) {
        struct xfw_batch batch = walk->at_hand;
        walk->at_hand = walk->next;
        walk->next = batch;
        play_batch(walk);
    }
}

static void walk_kept(struct xfw_walk *walk, const struct xfa_analysis *analysis)
{
    xfw_op_store_rewind(walk->kept);
    for (size_t i = 0; i < analysis->run->process_count; i++) {
        struct xfa_process *process = analysis->run->processes[i];
        double end_ns;
        if (!xfa_process_is_mine(process))
            continue;
        if (!reopen(walk, process))
            return;
        xfw_walk_begin(walk, process);
        play_kept(walk);
        const uint64_t *ranges = xfw_op_store_over(walk->kept, &end_ns);
        xfw_walk_end(walk, process, end_ns, ranges);
        xfa_process_let_go(process);
    }
}

void xfw_replays_drop_gather(struct xfw_replays *replays)
{
    if (!replays->borrowed)
        xfw_gather_free(replays->gather);
    replays->gather = NULL;
    replays->borrowed = false;
}

/* Of a run whose ops could not be kept, the next walk does not try to. */
static void gather_anew(struct xfw_walk *walk)
{
    struct xfw_replays *replays = walk->replays;
    const struct xfw_gather_sink sink = {xfw_walk_begin, xfw_walk_batch, xfw_walk_end, walk};
    bool first = replays->keeps && !replays->gather;
    xfw_replays_drop_gather(replays);
    replays->gather = xfw_gather_new(first ? replays->most : 0, replays->samples, &sink);
}

void xfw_replays_fail(struct xfw_replays *replays, char *why)
{
    free(replays->whatif->why); /* of a file that could not be read before either */
    replays->whatif->why = why;
    xfw_replays_drop_gather(replays);
}

void xfw_batch_make(struct xfw_batch *batch, bool recording)
{
    batch->ops = xfa_alloc(XFW_BATCH * sizeof *batch->ops);
    batch->alone = recording ? xfa_alloc(XFW_BATCH * sizeof *batch->alone) : batch->ops;
}

void xfw_batch_free(const struct xfw_batch *batch)
{
    if (batch->alone != batch->ops)
        free(batch->alone);
    free(batch->ops);
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
    char *why =
        xfw_tally_sum(walk->tally, replays->analysis->run->team, replays->whatif, recording);
    if (why)
        xfw_replays_fail(replays, why);
    xfw_tally_free(walk->tally);
    free(walk->ways);
    return !why;
}

static bool walk_run(struct xfw_replays *replays, struct xfw_variant *variants, size_t count)
{
    struct xfa_analysis *analysis = replays->analysis;
    replays->crew = replays->crew ? replays->crew : xfa_crew_new();
    struct xfw_walk walk = {.replays = replays, .variants = variants, .count = count};
    xfw_walk_tally(&walk);
    if (replays->gather)
        walk.kept = xfw_gather_kept(replays->gather, analysis->run);
    for (size_t i = 0; i < count; i++)
        walk.recording = walk.recording || variants[i].way->recording;
    xfw_batch_make(&walk.at_hand, walk.recording);
    xfw_batch_make(&walk.next, walk.recording);
    walk.first_ns = xfa_run_start_real_ns(analysis->run);
    if (walk.kept) {
        walk_kept(&walk, analysis);
    } else {
        gather_anew(&walk);
        xfw_walk_files(&walk, analysis);
    }
    bool done = xfw_walk_sum_up(&walk);
    replays->whatif->replays += (unsigned)count;
    xfw_batch_free(&walk.at_hand);
    xfw_batch_free(&walk.next);
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
    way->error_ns = way->unchanged ? 0 : known->error_ns;
    memcpy(way->ranges, known->ranges, sizeof way->ranges);
}

/* Who makes a run happen meets every op. */
static bool can_leave_out(const struct xfw_variant *variants, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (variants[i].way->tap)
            return false;
    return true;
}

static bool is_off(const struct xfw_variant *variants, size_t count)
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
static void forget(struct xfw_replays *replays, struct xfw_variant *variants, size_t count)
{
    struct xfw_whatif *whatif = replays->whatif;
    forget_alone(replays);
    xfw_replays_drop_gather(replays);
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
static bool alone_is_off(struct xfw_replays *replays, struct xfw_variant *variants, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_alone(variants[i].way))
            continue;
        struct xfw_variant alone = variants[i];
        memmove(&variants[i], &variants[i + 1], (count - 1 - i) * sizeof *variants);
        variants[count - 1] = alone;
        return !walk_run(replays, &variants[count - 1], 1) || is_off(&variants[count - 1], 1);
    }
    return true;
}

/* From the ops that were gathered of long processes. False: that is not sure enough, or they cannot
 * be played. */
static bool play_some(struct xfw_replays *replays, struct xfw_variant *variants, size_t count)
{
    if (!alone_is_off(replays, variants, count) && walk_run(replays, variants, count - 1) &&
        !is_off(variants, count))
        return true;
    forget(replays, variants, count);
    return false;
}

/* Once more with all ops, where what was left out is not known well enough. */
static bool walk_first(struct xfw_replays *replays, struct xfw_variant *variants, size_t count)
{
    struct xfa_run *run = replays->analysis->run;
    bool left_out =
        xfa_team_any(run->team, replays->gather && xfw_gather_left_out(replays->gather));
    bool kept = xfa_team_all(run->team, replays->gather && xfw_gather_kept(replays->gather, run));
    replays->samples = replays->keeps && can_leave_out(variants, count);
    if (left_out && !replays->samples)
        xfw_replays_drop_gather(replays);
    else if (left_out && kept)
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
    struct xfa_team *team = replays->analysis->run->team;
    all.came = xfa_team_sum(team, all.came);
    all.played = xfa_team_sum(team, all.played);
    return all;
}

bool xfw_replays_play(struct xfw_replays *replays, struct xfw_way *ways, size_t count)
{
    struct xfw_variant *variants = xfa_alloc((count + 1) * sizeof *variants);
    size_t asked = 0;
    bool done = true;
    for (size_t i = 0; i < count; i++) {
        const struct xfw_way *known = known_way(replays, &ways[i]);
        if (known)
            take_over(&ways[i], known);
        else if (!ways[i].unchanged || ways[i].tap)
            variants[asked++].way = &ways[i];
    }
    if (asked && xfw_replays_are_together(replays))
        done = xfw_replays_together(replays, variants, asked);
    else if (asked)
        done = (replays->played ? walk_run : walk_first)(replays, variants, asked);
    replays->played = replays->played || asked;
    for (size_t i = 0; i < asked && done; i++)
        if (!variants[i].way->tap && !variants[i].way->counts)
            keep(replays, variants[i].way);
    for (size_t i = 0; i < count && done; i++)
        if (ways[i].unchanged && !ways[i].tap)
            take_over(&ways[i], known_way(replays, &ways[i]));
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
    xfw_replays_drop_gather(replays);
    free(replays->processes);
    xfa_crew_free(replays->crew);
    xfw_together_free(replays->together);
    free(replays);
}
