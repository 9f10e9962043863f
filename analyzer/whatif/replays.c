#include "analyzer/whatif/replays_walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/crew.h"
#include "analyzer/pass/pass.h"
#include "analyzer/whatif/player.h"
#include "analyzer/whatif/op/sample.h"
#include "analyzer/whatif/ways_known.h"

/* Where any time would be off by more for what was left out, nothing is: of the run, and of what
 * the way saves or costs. All savings are widened by more than that (result.h). */
#define MOST_OFF XFW_RUN_ERROR
#define MOST_OFF_SAVED (XFW_MODEL_ERROR / 4)

static void forget_alone(struct xfw_replays *replays)
{
    for (size_t i = 0; i < replays->process_count; i++) {
        xfw_measured_free(&replays->processes[i].alone);
        xfw_notes_free(&replays->processes[i].notes);
        free(replays->processes[i].unpacked.ops);
        replays->processes[i] = (struct xfw_replayed_process){0};
    }
    replays->noted = replays->unpacked = 0;
}

/* ---- one walk -------------------------------------------------------------------------------- */

/* The process's ops, as they were played the first time. */
static void play_kept(struct xfw_walk *walk)
{
    walk->stretches = 0;
    xfw_walk_fetch(walk);
    while (walk->next.count > 0 || walk->next.stretch) {
        struct xfw_batch batch = walk->at_hand;
        walk->at_hand = walk->next;
        walk->next = batch;
        xfw_walk_play(walk);
    }
}

/* Of each process that this member has. */
static bool all_unpacked(const struct xfw_replays *replays)
{
    const struct xfa_run *run = replays->analysis->run;
    for (size_t i = 0; i < run->process_count; i++)
        if (xfa_process_is_mine(run->processes[i]) &&
            (i >= replays->process_count || !replays->processes[i].unpacked.all))
            return false;
    return true;
}

/* The process's end, when all of its ops have come. */
static const uint64_t *over(struct xfw_walk *walk, double *end_ns)
{
    struct xfw_unpacked *unpacked = &walk->at->unpacked;
    if (!walk->unpacked) {
        const uint64_t *ranges = xfw_op_store_over(walk->kept, &unpacked->end_ns);
        memcpy(unpacked->ranges, ranges, sizeof unpacked->ranges);
        unpacked->all = walk->noted && unpacked->count == walk->fetched;
    }
    *end_ns = unpacked->end_ns;
    return unpacked->ranges;
}

static void walk_kept(struct xfw_walk *walk, const struct xfa_analysis *analysis)
{
    walk->unpacked = !walk->recording && all_unpacked(walk->replays);
    if (!walk->unpacked)
        xfw_op_store_rewind(walk->kept);
    for (size_t i = 0; i < analysis->run->process_count; i++) {
        struct xfa_process *process = analysis->run->processes[i];
        double end_ns;
        if (!xfa_process_is_mine(process))
            continue;
        if (!xfw_walk_reopen(walk, process))
            return;
        xfw_walk_begin(walk, process);
        play_kept(walk);
        const uint64_t *ranges = over(walk, &end_ns);
        xfw_walk_end(walk, process, end_ns, ranges);
        xfa_process_let_go(process);
    }
}

/* Of a run whose ops could not be kept, the next walk does not try to. */
static void gather_anew(struct xfw_walk *walk)
{
    struct xfw_replays *replays = walk->replays;
    const struct xfw_gather_sink sink = {xfw_walk_begin, xfw_walk_batch, xfw_walk_end, walk};
    bool first = replays->keeps && !replays->gather;
    xfw_replays_drop_gather(replays);
    replays->gather = xfw_gather_new(first ? replays->most : 0, replays->samples, &sink);
    xfw_gather_at_level(replays->gather, replays->level);
}

/* The walk is over. */
static void tried(struct xfw_replays *replays, bool done)
{
    for (size_t i = 0; i < replays->trying_count; i++)
        replays->trying[i].change->does_nothing = done && !replays->trying[i].acted;
    free(replays->trying);
    replays->trying = NULL;
    replays->trying_count = 0;
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
    tried(replays, done);
    replays->whatif->replays += (unsigned)count;
    xfw_batch_free(&walk.at_hand);
    xfw_batch_free(&walk.next);
    return done;
}

/* ---- what is known --------------------------------------------------------------------------- */

static struct xfw_way *like(struct xfw_way *ways, size_t count, const struct xfw_way *way)
{
    for (size_t i = 0; i < count; i++)
        if (xfw_ways_alike(&ways[i], way))
            return &ways[i];
    return NULL;
}

static struct xfw_way copy_of(const struct xfw_way *way)
{
    struct xfw_way copy = *way;
    copy.changes = xfa_alloc((way->count + 1) * sizeof *copy.changes);
    memcpy(copy.changes, way->changes, way->count * sizeof *copy.changes);
    return copy;
}

static void keep(struct xfw_replays *replays, const struct xfw_way *way, bool ahead)
{
    replays->known =
        xfa_room(replays->known, &replays->capacity, replays->count + 1, sizeof *replays->known);
    struct xfw_way *kept = &replays->known[replays->count++];
    *kept = copy_of(way);
    kept->ahead = ahead;
}

/* A known way, of which those changes that it does not have did nothing: what came of that; NULL:
 * there is none. */
static struct xfw_way *same_way(struct xfw_replays *replays, const struct xfw_way *way)
{
    for (size_t i = 0; i < replays->count && replays->known; i++) {
        const struct xfw_way *of = &replays->known[i];
        const uint64_t acted =
            xfw_ways_are_idle(of, way) ? UINT64_MAX : xfw_way_acted_alone(of, way);
        if (!acted)
            continue;
        struct xfw_way same = *of;
        same.changes = way->changes;
        same.count = way->count;
        same.acted = acted;
        keep(replays, &same, replays->rehearses);
        replays->whatif->replays += !replays->rehearses;
        return &replays->known[replays->count - 1];
    }
    return NULL;
}

static struct xfw_way *known_way(struct xfw_replays *replays, const struct xfw_way *way)
{
    struct xfw_way *known = like(replays->known, replays->count, way);
    return known ? known : same_way(replays, way);
}

/* One that was played ahead counts now. */
static void take_over(struct xfw_replays *replays, struct xfw_way *way, struct xfw_way *known)
{
    replays->whatif->replays += known->ahead && !replays->rehearses;
    known->ahead = known->ahead && replays->rehearses;
    way->run_ns = known->run_ns;
    way->span_ns = known->span_ns;
    way->left_ns = known->left_ns;
    way->least_ns = known->least_ns;
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

/* How many levels of samples more it takes (sample.h), about, until what was left out is known well
 * enough; 0: it is. Of what costs time, with that error, too, nobody asks how much exactly. */
static unsigned more_levels(const struct xfw_variant *variants, size_t count)
{
    const struct xfw_way *alone = NULL;
    double off = 0;
    for (size_t i = 0; i < count; i++)
        if (xfw_way_is_alone(variants[i].way))
            alone = variants[i].way;
    for (size_t i = 0; i < count && alone; i++) {
        const struct xfw_way *way = variants[i].way;
        double costs = way->run_ns - alone->run_ns;
        double may = MOST_OFF * alone->run_ns + MOST_OFF_SAVED * fabs(costs);
        if (way->error_ns > may && !(way->error_ns < costs))
            off = fmax(off, way->error_ns / may);
    }
    return off > 1 ? (unsigned)ceil(fmin(2 * log2(off), XFW_SAMPLE_LEVELS)) : 0;
}

/* As if these had not been played yet. */
static void forget_times(struct xfw_replays *replays, struct xfw_variant *variants, size_t count)
{
    struct xfw_whatif *whatif = replays->whatif;
    forget_alone(replays);
    whatif->recorded_ns = whatif->span.recorded_ns = whatif->contexts_ns = 0;
    whatif->contexts_gpus = 0;
    for (size_t i = 0; i < whatif->range_count; i++)
        whatif->ranges[i].times.recorded_ns = 0;
    for (size_t i = 0; i < count; i++) {
        struct xfw_way *way = variants[i].way;
        way->run_ns = way->span_ns = way->error_ns = way->left_ns = way->least_ns = 0;
        way->acted = 0;
        memset(way->ranges, 0, sizeof way->ranges);
    }
}

/* As if nothing had been, and all is to be. */
static void forget(struct xfw_replays *replays, struct xfw_variant *variants, size_t count)
{
    forget_times(replays, variants, count);
    xfw_replays_drop_gather(replays);
    replays->samples = false;
}

/* False: there is no more of the samples. */
static bool play_more(struct xfw_replays *replays, struct xfw_variant *variants, size_t count,
                      unsigned levels)
{
    const struct xfw_gather *gather = replays->gather;
    if (!xfa_team_any(replays->analysis->run->team, gather && xfw_gather_has_more(gather)))
        return false;
    forget_times(replays, variants, count);
    replays->level += levels;
    if (replays->gather)
        xfw_gather_at_level(replays->gather, replays->level);
    return true;
}

/* Would playing all take too long? Then what is known of the run has to do, if anything is. */
static bool stops(struct xfw_replays *replays, const struct xfw_variant *variants, size_t count,
                  size_t ways)
{
    const struct xfa_run *run = replays->analysis->run;
    uint64_t events = 0;
    for (size_t i = 0; i < count; i++)
        if (isinf(variants[i].way->error_ns))
            return false;
    for (size_t i = 0; i < run->process_count; i++)
        if (xfa_process_is_mine(run->processes[i]))
            events += run->processes[i]->events;
    bool all = xfa_team_sum(run->team, events) / 4 * 3 * ways <= replays->whatif->most_played;
    replays->whatif->stopped = !all;
    return !all;
}

/* The run alone tells whether enough is known of what was left out, before any other way is played.
 * It becomes the last one. False: there is none. */
static bool alone_last(struct xfw_variant *variants, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!xfw_way_is_alone(variants[i].way))
            continue;
        struct xfw_variant alone = variants[i];
        memmove(&variants[i], &variants[i + 1], (count - 1 - i) * sizeof *variants);
        variants[count - 1] = alone;
        return true;
    }
    return false;
}

/* Of long processes only some, and more of them until that is sure enough. False: it never is, or
 * they cannot be played. */
static bool play_some(struct xfw_replays *replays, struct xfw_variant *variants, size_t count)
{
    struct xfw_variant *alone = &variants[count - 1];
    replays->level = 0;
    if (replays->gather)
        xfw_gather_at_level(replays->gather, 0);
    for (bool done = alone_last(variants, count); done;) {
        done = walk_run(replays, alone, 1);
        unsigned more = more_levels(alone, 1);
        if (done && more > 0 && play_more(replays, variants, count, more))
            continue;
        if (!done || (more > 0 && !stops(replays, alone, 1, count)))
            break;
        done = count == 1 || walk_run(replays, variants, count - 1);
        more = more_levels(variants, count);
        if (done && more > 0 && play_more(replays, variants, count, more))
            continue;
        if (done && (more == 0 || stops(replays, variants, count, count)))
            return true;
        break;
    }
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
    if (replays->samples && (left_out || !kept) && play_some(replays, variants, count))
        return true;
    return walk_run(replays, variants, count);
}

/* NULL: all of the process's ops are played, or by another member. */
static const struct xfw_sample *sample_of(const struct xfw_replays *replays, size_t process)
{
    bool mine = xfa_process_is_mine(replays->analysis->run->processes[process]);
    return mine ? xfw_gather_of(replays->gather, (uint32_t)process)->sample : NULL;
}

struct xfw_share xfw_replays_share(const struct xfw_replays *replays)
{
    struct xfw_share all = {0};
    struct xfw_whatif *whatif = replays->whatif;
    for (size_t i = 0; replays->gather && i < xfw_gather_count(replays->gather); i++) {
        const struct xfw_sample *sample = sample_of(replays, i);
        struct xfw_share share = sample ? xfw_sample_share(sample) : (struct xfw_share){0};
        whatif->stopped = whatif->stopped || (sample && xfw_sample_stopped(sample));
        if (share.played < share.came) {
            all.came += share.came;
            all.played += share.played;
        }
    }
    struct xfa_team *team = replays->analysis->run->team;
    all.came = xfa_team_sum(team, all.came);
    all.played = xfa_team_sum(team, all.played);
    whatif->stopped = xfa_team_any(team, whatif->stopped);
    return all;
}

void xfw_replays_try(struct xfw_replays *replays, struct xfw_change *const *changes, size_t count)
{
    free(replays->trying);
    replays->trying = xfa_alloc(XFW_MOST_CHANGES * sizeof *replays->trying);
    replays->trying_count = 0;
    bool alone = !replays->analysis->run->team; /* members do not all see the same ops */
    for (size_t i = 0; i < count && i < XFW_MOST_CHANGES && alone; i++)
        if (changes[i]->type->by_ops)
            replays->trying[replays->trying_count++].change = changes[i];
}

void xfw_replays_assume(struct xfw_replays *replays, struct xfw_change *change)
{
    if (replays->assumed)
        replays->assumed->assured = false;
    replays->assumed = change;
    if (change)
        change->assured = true;
}

/* Which ways are others than without it. */
static void note_assumed(const struct xfw_replays *replays, struct xfw_way *ways, size_t count)
{
    for (size_t i = 0; i < count && replays->assumed; i++)
        for (size_t k = 0; k < ways[i].count; k++)
            if (ways[i].changes[k] == replays->assumed)
                ways[i].assumed = replays->assumed;
}

static bool play_asked(struct xfw_replays *replays, struct xfw_variant *variants, size_t asked,
                       bool ahead)
{
    bool done = true;
    if (asked && xfw_replays_are_together(replays))
        done = xfw_replays_together(replays, variants, asked);
    else if (asked)
        done = (replays->played ? walk_run : walk_first)(replays, variants, asked);
    replays->played = replays->played || asked;
    for (size_t i = 0; i < asked && done; i++)
        if (!variants[i].way->tap && !variants[i].way->counts)
            keep(replays, variants[i].way, ahead);
    return done;
}

static bool is_asked(const struct xfw_variant *variants, size_t asked, const struct xfw_way *way)
{
    for (size_t i = 0; i < asked; i++)
        if (xfw_ways_alike(variants[i].way, way) || xfw_ways_are_idle(variants[i].way, way))
            return true;
    return false;
}

static void want(struct xfw_replays *replays, const struct xfw_variant *variants, size_t asked)
{
    replays->missed = asked > 0;
    for (size_t i = 0; i < asked; i++) {
        if (like(replays->wanted, replays->wanted_count, variants[i].way))
            continue;
        replays->wanted = xfa_room(replays->wanted, &replays->wanted_capacity,
                                   replays->wanted_count + 1, sizeof *replays->wanted);
        replays->wanted[replays->wanted_count++] = copy_of(variants[i].way);
    }
}

bool xfw_replays_play(struct xfw_replays *replays, struct xfw_way *ways, size_t count)
{
    if (replays->rehearses && replays->missed)
        return false;
    struct xfw_variant *variants = xfa_alloc((count + 1) * sizeof *variants);
    bool *again = xfa_alloc((count + 1) * sizeof *again);
    size_t asked = 0;
    bool done = true;
    note_assumed(replays, ways, count);
    for (size_t i = 0; i < count; i++) {
        struct xfw_way *known = known_way(replays, &ways[i]);
        const bool asks = !ways[i].unchanged || ways[i].tap || ways[i].counts;
        again[i] = !known && asks && is_asked(variants, asked, &ways[i]);
        if (known)
            take_over(replays, &ways[i], known);
        else if (asks && !again[i])
            variants[asked++].way = &ways[i];
    }
    if (replays->rehearses) {
        want(replays, variants, asked);
        done = !replays->missed;
    } else {
        done = play_asked(replays, variants, asked, false);
    }
    for (size_t i = 0; i < count && done; i++) {
        bool same = again[i] && like(replays->known, replays->count, &ways[i]);
        replays->whatif->replays += same; /* as if it had been played */
        if (again[i] || (ways[i].unchanged && !ways[i].tap))
            take_over(replays, &ways[i], known_way(replays, &ways[i]));
    }
    free(again);
    free(variants);
    return done;
}

/* ---- what is wanted -------------------------------------------------------------------------- */

void xfw_replays_rehearse(struct xfw_replays *replays)
{
    replays->rehearses = true;
    replays->missed = false;
}

static struct xfw_change *assumed_of(const struct xfw_way *way)
{
    for (size_t i = 0; i < way->count && way->assumed; i++)
        if (way->changes[i] == way->assumed)
            return way->changes[i];
    return NULL;
}

static void assure(struct xfw_replays *replays, bool assured)
{
    for (size_t i = 0; i < replays->wanted_count; i++)
        if (assumed_of(&replays->wanted[i]))
            assumed_of(&replays->wanted[i])->assured = assured;
}

/* It has no change that only another way assumes. */
static bool goes_with_others(const struct xfw_replays *replays, const struct xfw_way *way)
{
    for (size_t i = 0; i < way->count; i++)
        for (size_t k = 0; k < replays->wanted_count && way->changes[i] != way->assumed; k++)
            if (replays->wanted[k].assumed == way->changes[i])
                return false;
    return true;
}

size_t xfw_replays_play_wanted(struct xfw_replays *replays)
{
    struct xfw_variant *variants = xfa_alloc((replays->wanted_count + 1) * sizeof *variants);
    const unsigned counted = replays->whatif->replays;
    size_t asked = 0;
    replays->rehearses = false;
    assure(replays, true);
    for (size_t i = 0; i < replays->wanted_count; i++)
        if (goes_with_others(replays, &replays->wanted[i]))
            variants[asked++].way = &replays->wanted[i];
    bool done = play_asked(replays, variants, asked, true);
    assure(replays, false);
    replays->whatif->replays = counted;
    for (size_t i = 0; i < replays->wanted_count; i++)
        xfw_way_free(&replays->wanted[i]);
    replays->wanted_count = 0;
    free(variants);
    return done ? asked : 0;
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
    free(replays->wanted);
    free(replays->trying);
    forget_alone(replays);
    xfw_replays_drop_gather(replays);
    free(replays->processes);
    free(replays->loads);
    xfa_crew_free(replays->crew);
    xfw_together_free(replays->together);
    free(replays);
}
