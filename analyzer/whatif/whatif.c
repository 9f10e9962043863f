#include "analyzer/whatif/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/check.h"
#include "analyzer/whatif/best_set.h"
#include "analyzer/whatif/player.h"
#include "analyzer/whatif/op/recording_cost.h"
#include "analyzer/whatif/ops/paces.h"
#include "analyzer/whatif/questions.h"
#include "analyzer/whatif/replays.h"
#include "analyzer/whatif/ways_savings.h"

_Static_assert(XFW_MOST_CHANGES <= 64, "struct xfw_change has a bit for each");

/* ---- savings --------------------------------------------------------------------------------- */

/* The run unchanged, and without what recording cost. */
static void take_times(struct xfw_whatif *whatif, const struct xfw_way *recorded,
                       const struct xfw_way *alone)
{
    whatif->replayed_ns = recorded->run_ns;
    whatif->alone_ns = alone->run_ns;
    whatif->span.replayed_ns = recorded->span_ns;
    whatif->span.alone_ns = alone->span_ns;
    whatif->error = whatif->recorded_ns > 0
                        ? fabs(whatif->replayed_ns - whatif->recorded_ns) / whatif->recorded_ns
                        : INFINITY;
    for (size_t r = 0; r < whatif->range_count; r++) {
        whatif->ranges[r].times.replayed_ns = recorded->ranges[r];
        whatif->ranges[r].times.alone_ns = alone->ranges[r];
    }
}

static void take_outside(struct xfw_whatif *whatif, const struct xfw_way *ways)
{
    const double outside = whatif->alone_ns - whatif->span.alone_ns;
    for (size_t i = 0; i < whatif->count; i++)
        whatif->outside_goes_ns += fmax(0, outside - (ways[i].run_ns - ways[i].span_ns));
}

static void take_in_ranges(struct xfw_whatif *whatif, const struct xfw_way *ways)
{
    const size_t ranges = whatif->range_count;
    whatif->in_ranges = xfa_alloc((whatif->count * ranges + 1) * sizeof *whatif->in_ranges);
    for (size_t i = 0; i < whatif->count; i++)
        for (size_t r = 0; r < ranges; r++)
            whatif->in_ranges[i * ranges + r] =
                whatif->ranges[r].times.alone_ns - ways[i].ranges[r];
}

/* Unchanged, and with each change as is likely. */
static bool play_likely(struct xfw_replays *replays, struct xfw_whatif *whatif,
                        struct xfw_change *const *changes)
{
    const size_t count = whatif->count, all = 2 + count;
    struct xfw_way *ways = xfa_alloc(all * sizeof *ways);
    ways[0].recording = true;
    for (size_t i = 0; i < all; i++) {
        ways[i].certainty = XFW_LIKELY;
        xfw_way_of(&ways[i], changes, NULL, count, i < 2 ? SIZE_MAX : i - 2, SIZE_MAX);
    }
    xfw_replays_try(replays, changes, count);
    bool done = xfw_replays_play(replays, ways, all);
    if (done)
        take_times(whatif, &ways[0], &ways[1]);
    for (size_t i = 0; i < count && done; i++)
        whatif->alone[i].likely = whatif->alone_ns - ways[2 + i].run_ns;
    if (done) {
        take_in_ranges(whatif, ways + 2);
        take_outside(whatif, ways + 2);
    }
    for (size_t i = 0; i < all && done; i++) /* what costs time is advised to nobody */
        if (ways[i].run_ns - ways[i].error_ns <= whatif->alone_ns)
            whatif->sample_error_ns = fmax(whatif->sample_error_ns, ways[i].error_ns);
    whatif->ops = xfw_replays_share(replays);
    xfw_ways_free(ways, all);
    return done;
}

static bool is_asked_for(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                         size_t i)
{
    if (!isnan(whatif->alone[i].low)) /* it is known */
        return false;
    return !changes[i]->on_trial || whatif->order[i] ||
           (whatif->alone[i].likely >= xfw_change_least_ns(whatif, changes[i]) &&
            xfw_whatif_best_of_family(whatif, changes, i));
}

/* Each change at worst and at best, too. What was but tried and does not pay is not asked for,
 * unless it is in the best set. */
static bool play_alone(struct xfw_replays *replays, struct xfw_whatif *whatif,
                       struct xfw_change *const *changes)
{
    const size_t count = whatif->count;
    struct xfw_way *ways = xfa_alloc((XFW_CERTAINTIES * count + 1) * sizeof *ways);
    size_t *of = xfa_alloc((count + 1) * sizeof *of), asked = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_asked_for(whatif, changes, i))
            continue;
        for (int c = 0; c < XFW_CERTAINTIES; c++) {
            struct xfw_way *way = &ways[XFW_CERTAINTIES * asked + (size_t)c];
            way->certainty = (enum xfw_certainty)c;
            way->asks_left = c == XFW_HIGH;
            xfw_way_of(way, changes, NULL, count, i, SIZE_MAX);
        }
        of[asked++] = i;
    }
    bool done = xfw_replays_play(replays, ways, XFW_CERTAINTIES * asked);
    for (size_t i = 0; i < asked && done; i++) {
        whatif->alone[of[i]] = xfw_ways_saving(whatif, &ways[XFW_CERTAINTIES * i]);
        if (changes[of[i]]->question)
            xfw_ways_up_to(whatif, of[i], &ways[XFW_CERTAINTIES * i]);
    }
    xfw_ways_free(ways, XFW_CERTAINTIES * asked);
    free(of);
    return done;
}

static bool any_shares(const struct xfw_whatif *whatif, struct xfw_change *const *changes)
{
    for (size_t i = 0; i < whatif->count; i++)
        if (whatif->order[i] && changes[i]->shares != XFW_WHOLE)
            return true;
    return false;
}

/* The set at worst, likely, at best; and likely, without each of its members. */
static void play_set(struct xfw_replays *replays, struct xfw_whatif *whatif,
                     struct xfw_change *const *changes, unsigned members)
{
    const size_t count = whatif->count, all = XFW_CERTAINTIES + members;
    struct xfw_way *ways = xfa_alloc(all * sizeof *ways);
    for (size_t i = 0; i < XFW_CERTAINTIES; i++) {
        ways[i].certainty = (enum xfw_certainty)i;
        ways[i].asks_left = i == XFW_HIGH;
        xfw_way_of(&ways[i], changes, whatif->order, count, SIZE_MAX, SIZE_MAX);
    }
    if (members > 1 && any_shares(whatif, changes))
        ways[XFW_LIKELY].counts = &whatif->taken;
    for (size_t i = 0; i < count; i++) {
        if (whatif->order[i] == 0)
            continue;
        struct xfw_way *without = &ways[XFW_CERTAINTIES + whatif->order[i] - 1];
        without->certainty = XFW_LIKELY;
        xfw_way_of(without, changes, whatif->order, count, SIZE_MAX, i);
    }
    if (members && xfw_replays_play(replays, ways, all)) {
        const struct xfw_saving set = xfw_ways_saving(whatif, ways);
        whatif->set = xfw_saving_checked(&set, whatif->alone_ns);
        whatif->span.set_ns = ways[XFW_LIKELY].span_ns;
        for (size_t r = 0; r < whatif->range_count; r++)
            whatif->ranges[r].times.set_ns = ways[XFW_LIKELY].ranges[r];
        for (size_t i = 0; i < count; i++) {
            if (whatif->order[i] == 0)
                continue;
            const struct xfw_way *without = &ways[XFW_CERTAINTIES + whatif->order[i] - 1];
            double lost = without->run_ns - ways[XFW_LIKELY].run_ns;
            whatif->last[i] = (struct xfw_saving){lost, lost, lost};
        }
    }
    xfw_ways_free(ways, all);
}

/* Three ways with all of these changes: at worst, likely, at best. */
static void ways_of_all(struct xfw_way *ways, struct xfw_change *const *changes, size_t count)
{
    unsigned *order = xfa_alloc((count + 1) * sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (unsigned)i + 1;
    for (size_t i = 0; i < XFW_CERTAINTIES; i++) {
        ways[i].certainty = (enum xfw_certainty)i;
        xfw_way_of(&ways[i], changes, order, count, SIZE_MAX, SIZE_MAX);
    }
    free(order);
}

/* What apply does by itself; with a plan: each change that it carries out, and all those of the set
 * with what it does by itself. */
static void play_applied(struct xfw_replays *replays, struct xfw_whatif *whatif,
                         const struct xfw_proposals *proposals)
{
    const size_t own = proposals->applied_count, count = proposals->by_apply ? whatif->count : 0;
    struct xfw_change **all = xfa_alloc((own + count + 1) * sizeof *all);
    struct xfw_way *ways = xfa_alloc((count + 2) * XFW_CERTAINTIES * sizeof *ways);
    struct xfw_saving **savings = xfa_alloc((count + 2) * sizeof *savings);
    size_t groups = 0, members = own;
    if (own) {
        memcpy(all, proposals->applied, own * sizeof *all);
        savings[groups] = &whatif->applied;
        ways_of_all(&ways[groups++ * XFW_CERTAINTIES], all, own);
    }
    for (size_t i = 0; i < count; i++) {
        if (!proposals->by_apply[i])
            continue;
        savings[groups] = &whatif->carried[i];
        ways_of_all(&ways[groups++ * XFW_CERTAINTIES], &proposals->by_apply[i], 1);
        if (whatif->order[i])
            all[members++] = proposals->by_apply[i];
    }
    if (members > own) {
        savings[groups] = &whatif->planned;
        ways_of_all(&ways[groups++ * XFW_CERTAINTIES], all, members);
    }
    if (groups && xfw_replays_play(replays, ways, groups * XFW_CERTAINTIES))
        for (size_t g = 0; g < groups; g++) {
            const struct xfw_saving saving = xfw_ways_saving(whatif, &ways[g * XFW_CERTAINTIES]);
            *savings[g] = xfw_saving_checked(&saving, whatif->alone_ns);
        }
    xfw_ways_free(ways, groups * XFW_CERTAINTIES);
    free(savings);
    free(all);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void abstain(struct xfw_whatif *whatif)
{
    whatif->known = false;
    if (!whatif->why)
        whatif->why = xfa_print("replayed as it was recorded, the run would take %.3g s instead of "
                                "%.3g s: the record does not say what it waited for",
                                whatif->replayed_ns / 1e9, whatif->recorded_ns / 1e9);
}

/* Can it be played at all? One line why not, NULL: yes. */
static const char *lacks(const struct xfa_analysis *analysis)
{
    const struct xfa_run *run = analysis->run;
    if (run->process_count == 0)
        return "no process was recorded";
    if (run->oldest_minor >= 0 && run->oldest_minor < 2)
        return "the trace is of an older format, which has no launches and waits";
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i]->lost[XFT_LOSS_EVENTS] || run->processes[i]->losses)
            return "events were lost";
    return NULL;
}

/* Does the profile tell what recording this run added? */
static bool knows_recording(const struct xfa_analysis *analysis)
{
    struct xfw_records_cost cost = xfw_records_cost_of(&analysis->achievable, 0);
    uint64_t moved = 0;
    for (size_t i = 0; i < analysis->managed.sites.count; i++) {
        const struct xfa_managed_site *site = xfa_table_at(&analysis->managed.sites, i);
        for (size_t d = 0; d < XFT_DIRECTION_COUNT; d++)
            moved += site->figures.bytes[d];
        moved -= site->figures.by_cause[XFT_CAUSE_USER];
    }
    return cost.known && (moved == 0 || cost.moves_known);
}

static void know_exclusions(struct xfw_change *const *changes, size_t count,
                            xfw_excludes_fn *excludes, const void *self)
{
    for (size_t i = 0; i < count; i++) {
        struct xfw_change *change = changes[i];
        change->number = (uint32_t)i;
        change->excludes = change->within = 0;
        for (size_t k = 0; k < count && excludes; k++) {
            enum xfw_excluded excluded = k == i ? XFW_EXCLUDED_NOT : excludes(self, i, k);
            change->excludes |= (uint64_t)(excluded != XFW_EXCLUDED_NOT) << k;
            change->within |= (uint64_t)(excluded == XFW_EXCLUDED) << k;
        }
    }
}

/* A set that may cost more than the little that it likely saves is none. */
static void without_doubtful(struct xfw_whatif *whatif, unsigned members)
{
    if (!xfw_may_cost_more(whatif, &whatif->set))
        return;
    for (size_t i = 0; i < whatif->count; i++) {
        if (whatif->order[i] && members == 1)
            whatif->alone[i] = whatif->set;
        whatif->order[i] = 0;
        whatif->added[i] = whatif->last[i] = (struct xfw_saving){NAN, NAN, NAN};
    }
    whatif->set = (struct xfw_saving){NAN, NAN, NAN};
    whatif->span.set_ns = 0;
    for (size_t r = 0; r < whatif->range_count; r++)
        whatif->ranges[r].times.set_ns = 0;
}

/* All figures of the changes, and which are best together. */
static void weigh(struct xfw_replays *replays, struct xfw_whatif *whatif,
                  const struct xfw_proposals *proposals)
{
    struct xfw_change *const *changes = proposals->changes;
    whatif->known = play_likely(replays, whatif, changes);
    whatif->known = whatif->known && whatif->error <= XFW_ABSTAIN_ERROR;
    whatif->known = whatif->known && play_alone(replays, whatif, changes);
    if (!whatif->known)
        return;
    whatif->marked = whatif->error > XFW_MARK_ERROR;
    unsigned members = xfw_best_set(replays, whatif, changes);
    play_set(replays, whatif, changes, members);
    without_doubtful(whatif, members);
    xfw_questions_answer(replays, whatif, changes);
    play_applied(replays, whatif, proposals);
    whatif->known = play_alone(replays, whatif, changes);
}

struct xfw_whatif *xfw_whatif_of_proposals(struct xfa_analysis *analysis,
                                           const struct xfw_proposals *proposals)
{
    const size_t count = proposals->count;
    struct xfw_whatif *whatif = xfa_alloc(sizeof *whatif);
    whatif->speed_error = xfw_speed_error(analysis->achievable.profile);
    whatif->count = count < XFW_MOST_CHANGES ? count : XFW_MOST_CHANGES;
    whatif->alone = xfw_savings_unknown(count);
    whatif->carried = xfw_savings_unknown(count);
    whatif->added = xfw_savings_unknown(count);
    whatif->last = xfw_savings_unknown(count);
    whatif->answered = xfw_savings_unknown(count);
    whatif->up_to = xfa_alloc((count + 1) * sizeof *whatif->up_to);
    for (size_t i = 0; i <= count; i++)
        whatif->up_to[i] = (struct xfw_up_to){NAN, NAN, NAN};
    whatif->needless = xfa_alloc((count + 1) * sizeof *whatif->needless);
    whatif->order = xfa_alloc((count + 1) * sizeof *whatif->order);
    whatif->steps = xfa_alloc((count + 1) * sizeof *whatif->steps);
    whatif->set = whatif->applied = whatif->planned = (struct xfw_saving){NAN, NAN, NAN};
    whatif->most_played = proposals->most_played ? proposals->most_played : XFW_MOST_PLAYED;
    whatif->recording_known = knows_recording(analysis);
    xfa_table_init(&whatif->taken, sizeof(struct xfw_taken_key), sizeof(struct xfw_taken));
    xfw_paces_exchange(analysis->run);
    const char *why = lacks(analysis);
    if (why) {
        whatif->why = xfa_text(why);
    } else {
        struct xfw_replays *replays = xfw_replays_new(analysis, whatif, proposals->gather, true);
        know_exclusions(proposals->changes, whatif->count, proposals->excludes, proposals->self);
        weigh(replays, whatif, proposals);
        xfw_replays_free(replays);
    }
    if (!whatif->known)
        abstain(whatif);
    return whatif;
}

struct xfw_whatif *xfw_whatif_of(struct xfa_analysis *analysis, struct xfw_change *const *changes,
                                 size_t count, xfw_excludes_fn *excludes, const void *self,
                                 struct xfw_gather *gather)
{
    const struct xfw_proposals proposals = {
        .changes = changes, .count = count, .excludes = excludes, .self = self, .gather = gather};
    return xfw_whatif_of_proposals(analysis, &proposals);
}

char *xfw_whatif_tap(struct xfa_analysis *analysis, struct xfw_change *const *changes,
                     const unsigned *order, size_t count, const struct xfw_tap *tap)
{
    struct xfw_whatif *whatif = xfa_alloc(sizeof *whatif); /* for its own figures */
    struct xfw_replays *replays = xfw_replays_new(analysis, whatif, NULL, false);
    struct xfw_way way = {.certainty = XFW_LIKELY, .tap = tap};
    xfw_way_of(&way, changes, order, count, SIZE_MAX, SIZE_MAX);
    xfw_replays_play(replays, &way, 1);
    char *why = whatif->why;
    whatif->why = NULL;
    xfw_replays_free(replays);
    xfw_whatif_free(whatif);
    xfw_way_free(&way);
    return why;
}
