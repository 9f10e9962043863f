#include "analyzer/whatif/best_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/set_trial.h"

#define MOST_TRIALS 4    /* of changes that may only pay together: they exclude each other */
#define FAMILY_GAIN 0.02 /* of the run: what another one of a family may save more (a guess) */

/* ---- one after the other --------------------------------------------------------------------- */

enum joins { JOINS_NOT, JOINS, JOINS_IN_PART };

struct candidate {
    size_t place; /* in the list */
    enum joins joins;
    double adds_ns, least_ns; /* what it adds, and has to */
};

/* Can the one have what the other leaves of the transfers that both concern? */
static bool has_the_rest(const struct xfw_change *one, const struct xfw_change *other)
{
    bool all = one->within >> other->number & 1;
    return !all && one->shares == XFW_IN_PARTS && other->shares != XFW_WHOLE;
}

static enum joins may_join(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                           size_t i)
{
    double least = changes[i]->family ? xfw_change_least_ns(whatif, changes[i])
                                      : XFW_LEAST_GAIN * whatif->alone_ns;
    enum joins joins = JOINS;
    if (!xfw_whatif_best_of_family(whatif, changes, i))
        return JOINS_NOT;
    if (whatif->order[i] || !(whatif->alone[i].likely > least))
        return JOINS_NOT;
    for (size_t k = 0; k < whatif->count; k++) {
        bool enough = k < i && xfw_whatif_best_of_family(whatif, changes, k) &&
                      xfw_hardly_better(whatif, &whatif->alone[i], &whatif->alone[k]);
        if (!(changes[i]->excludes >> k & 1) || (!whatif->order[k] && !enough))
            continue;
        if (!has_the_rest(changes[i], changes[k]))
            return JOINS_NOT;
        joins = JOINS_IN_PART;
    }
    return joins;
}

/* Those that may join, and what each would add. Returns how many; 0 as well where nobody knows. */
static size_t ask(struct xfw_replays *replays, const struct xfw_whatif *whatif,
                  struct xfw_change *const *changes, double so_far, struct candidate *candidates)
{
    struct xfw_way *ways = xfa_alloc((whatif->count + 1) * sizeof *ways);
    size_t count = 0;
    for (size_t i = 0; i < whatif->count; i++) {
        enum joins joins = may_join(whatif, changes, i);
        if (joins == JOINS_NOT)
            continue;
        ways[count].certainty = XFW_LIKELY;
        xfw_way_of(&ways[count], changes, whatif->order, whatif->count, i, SIZE_MAX);
        candidates[count++] = (struct candidate){
            .place = i,
            .joins = joins,
            .least_ns = xfw_set_least_ns(whatif, changes[i], XFW_LEAST_GAIN),
        };
    }
    bool done = xfw_replays_play(replays, ways, count);
    for (size_t i = 0; i < count; i++)
        candidates[i].adds_ns = so_far - ways[i].run_ns;
    xfw_ways_free(ways, count);
    return done ? count : 0;
}

/* The first, and so the simplest, of those that add as much as the best. NULL: none adds enough. */
static const struct candidate *best_of(const struct xfw_whatif *whatif,
                                       const struct candidate *candidates, size_t count,
                                       enum joins joins)
{
    const struct candidate *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (candidates[i].joins == joins && candidates[i].adds_ns > candidates[i].least_ns &&
            candidates[i].adds_ns > (best ? candidates[i].least_ns + best->adds_ns : 0))
            best = &candidates[i];
    for (size_t i = 0; i < count && best; i++)
        if (candidates[i].joins == joins && candidates[i].adds_ns > candidates[i].least_ns &&
            candidates[i].adds_ns >= best->adds_ns - xfw_set_not_sure_ns(whatif, best->adds_ns))
            return &candidates[i];
    return best;
}

/* A transfer that need not be made is left out rather than made faster, where that adds hardly less
 * than the best. */
static const struct candidate *rather_left_out(struct xfw_change *const *changes,
                                               const struct candidate *candidates, size_t count,
                                               const struct candidate *best)
{
    const struct candidate *rather = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct candidate *one = &candidates[i];
        if (one->joins == best->joins && changes[one->place]->leaves_out &&
            best->adds_ns < XFW_HARDLY_MORE * one->adds_ns &&
            (!rather || one->adds_ns > rather->adds_ns))
            rather = one;
    }
    return rather ? rather : best;
}

/* Adds what saves the most on top of those chosen: as a whole, or if none does, in part. False:
 * nothing does. */
static bool choose(struct xfw_replays *replays, struct xfw_whatif *whatif,
                   struct xfw_change *const *changes, unsigned place, double *so_far)
{
    struct candidate *candidates = xfa_alloc((whatif->count + 1) * sizeof *candidates);
    size_t count = ask(replays, whatif, changes, *so_far, candidates);
    const struct candidate *best = best_of(whatif, candidates, count, JOINS);
    if (!best)
        best = best_of(whatif, candidates, count, JOINS_IN_PART);
    bool found = best != NULL;
    if (found) {
        best = rather_left_out(changes, candidates, count, best);
        xfw_set_join(whatif, best->place, place, best->adds_ns);
        *so_far -= best->adds_ns;
    }
    free(candidates);
    return found;
}

/* ---- numbers of streams and parts that pay with the set -------------------------------------- */

/* What saves nothing by itself, with any number of streams or parts, may save something once the
 * set is made: what it costs was all that it did. The one that adds the most joins. */
static bool choose_of_family(struct xfw_replays *replays, struct xfw_whatif *whatif,
                             struct xfw_change *const *changes, unsigned place, double *so_far)
{
    struct candidate *candidates = xfa_alloc((whatif->count + 1) * sizeof *candidates);
    struct xfw_way *ways = xfa_alloc((whatif->count + 1) * sizeof *ways);
    size_t count = 0;
    for (size_t i = 0; i < whatif->count; i++) {
        if (!xfw_family_may_join(whatif, changes, i))
            continue;
        ways[count].certainty = XFW_LIKELY;
        xfw_way_of(&ways[count], changes, whatif->order, whatif->count, i, SIZE_MAX);
        candidates[count++] = (struct candidate){
            .place = i,
            .joins = JOINS,
            .least_ns = xfw_set_least_ns(whatif, changes[i], XFW_LEAST_SAVED),
        };
    }
    bool done = xfw_replays_play(replays, ways, count);
    for (size_t i = 0; i < count; i++)
        candidates[i].adds_ns = *so_far - ways[i].run_ns;
    const struct candidate *best = best_of(whatif, candidates, done ? count : 0, JOINS);
    if (best)
        xfw_set_join(whatif, best->place, place, best->adds_ns);
    *so_far -= best ? best->adds_ns : 0;
    bool found = best != NULL;
    xfw_ways_free(ways, count);
    free(candidates);
    return found;
}

/* ---- those that only pay together ------------------------------------------------------------ */

/* Each that can be made is in one of the trials, as far as MOST_TRIALS go. Returns how many. */
static size_t find_trials(struct xfw_whatif *whatif, struct xfw_change *const *changes,
                          unsigned members, struct xfw_trial trials[MOST_TRIALS])
{
    size_t found = 0;
    for (size_t i = 0; i < whatif->count; i++) {
        bool in = !xfw_goes_with(whatif, changes, whatif->order, i);
        for (size_t k = 0; k < found && !in; k++)
            in = trials[k].order[i] > 0;
        if (in)
            continue;
        if (found == MOST_TRIALS) {
            whatif->search.left_out = true;
            break;
        }
        trials[found++] = xfw_trial_of_all(whatif, changes, members, i);
    }
    return found;
}

/* The trial that takes the least time; order NULL: there is none. */
static struct xfw_trial best_trial(struct xfw_replays *replays, struct xfw_whatif *whatif,
                                   struct xfw_change *const *changes, unsigned members)
{
    struct xfw_trial trials[MOST_TRIALS], none = {NULL, members, 0}, best = none;
    double shortest = INFINITY;
    struct xfw_way *ways = xfa_alloc(MOST_TRIALS * sizeof *ways);
    size_t found = find_trials(whatif, changes, members, trials);
    for (size_t i = 0; i < found; i++) {
        ways[i].certainty = XFW_LIKELY;
        xfw_way_of(&ways[i], changes, trials[i].order, whatif->count, SIZE_MAX, SIZE_MAX);
    }
    bool done = xfw_replays_play(replays, ways, found);
    for (size_t i = 0; i < found; i++) {
        if (done && ways[i].run_ns < shortest) {
            shortest = ways[i].run_ns;
            free(best.order);
            best = trials[i];
        } else {
            free(trials[i].order);
        }
    }
    xfw_ways_free(ways, found);
    return best;
}

/* Adds those that only pay together on top of the set. Returns how many. */
static unsigned add_together(struct xfw_replays *replays, struct xfw_whatif *whatif,
                             struct xfw_change *const *changes, unsigned members, double so_far)
{
    double all_ns = so_far, least = XFW_LEAST_SAVED * whatif->alone_ns;
    struct xfw_trial trial = best_trial(replays, whatif, changes, members);
    unsigned joined = 0;
    bool pays =
        xfw_trial_take_out_below(replays, whatif, changes, -XFW_LEAST_GAIN, &trial, &all_ns) &&
        so_far - all_ns >= least &&
        xfw_trial_take_out_below(replays, whatif, changes, XFW_LEAST_GAIN, &trial, &all_ns) &&
        so_far - all_ns >= least;
    whatif->search.left_out |= pays && trial.members > XFW_MOST_MEMBERS;
    if (pays && trial.more > 0 && trial.members <= XFW_MOST_MEMBERS &&
        xfw_trial_decide_families(replays, whatif, changes, &trial, so_far) &&
        xfw_trial_play_parts(replays, whatif, changes, &trial, members, so_far))
        joined = trial.more;
    free(trial.order);
    return joined;
}

/* ---- one in the place of others -------------------------------------------------------------- */

/* What was chosen first may keep out what is more with others: pinned copies those that overlap as
 * well, which pay once nothing else makes the host wait. What more buffers or streams cost may be
 * all that they do by themselves. */
static bool is_kept_out(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                        size_t i)
{
    bool kept_out = false;
    for (size_t k = 0; k < whatif->count; k++)
        kept_out = kept_out || (whatif->order[k] && (changes[i]->excludes >> k & 1));
    return kept_out && !whatif->order[i] && !changes[i]->for_comparison &&
           (changes[i]->family || whatif->alone[i].likely > XFW_LEAST_SAVED * whatif->alone_ns) &&
           xfw_stands_for_family(whatif, changes, i);
}

double xfw_set_ns(struct xfw_replays *replays, const struct xfw_whatif *whatif,
                  struct xfw_change *const *changes, const unsigned *order)
{
    struct xfw_way way = {.certainty = XFW_LIKELY};
    xfw_way_of(&way, changes, order, whatif->count, SIZE_MAX, SIZE_MAX);
    double ns = xfw_replays_play(replays, &way, 1) ? way.run_ns : INFINITY;
    xfw_way_free(&way);
    return ns;
}

/* All members in whose place it would come are behind it in the list, and so less simple. */
static bool is_simpler(const struct xfw_whatif *whatif, const struct xfw_change *one, size_t place)
{
    for (size_t k = 0; k < place; k++)
        if (whatif->order[k] && (one->excludes >> k & 1))
            return false;
    return true;
}

/* How much more the set has to save with a change in the place of simpler ones, which save
 * theirs_ns in it. */
static double more_ns(const struct xfw_whatif *whatif, double so_far, double theirs_ns)
{
    double of_saved = (XFW_HARDLY_MORE - 1) * (whatif->alone_ns - so_far);
    return fmin(of_saved, fmin(XFW_OF_SHORTER * so_far, theirs_ns / 4));
}

/* Times of the run with each of two orders; the first NULL: nobody asks. */
static void both_ns(struct xfw_replays *replays, const struct xfw_whatif *whatif,
                    struct xfw_change *const *changes, const unsigned *const orders[2],
                    double ns[2])
{
    struct xfw_way ways[2] = {{.certainty = XFW_LIKELY}, {.certainty = XFW_LIKELY}};
    const size_t first = orders[0] ? 0 : 1;
    for (size_t i = first; i < 2; i++)
        xfw_way_of(&ways[i], changes, orders[i], whatif->count, SIZE_MAX, SIZE_MAX);
    bool done = xfw_replays_play(replays, ways + first, 2 - first);
    for (size_t i = 0; i < 2; i++) {
        ns[i] = done ? ways[i].run_ns : INFINITY;
        xfw_way_free(&ways[i]);
    }
}

/* The set with `one` in the place of those that it excludes, and what pays with that. False: it
 * hardly saves more than the set so far. */
static bool take_place(struct xfw_replays *replays, struct xfw_whatif *whatif,
                       struct xfw_change *const *changes, size_t one, unsigned *members,
                       double *so_far)
{
    double least_ns = XFW_LEAST_SAVED * whatif->alone_ns, ns[2];
    bool simpler = is_simpler(whatif, changes[one], one);
    unsigned left = xfw_set_make_place(whatif, changes[one]);
    struct xfw_trial trial = xfw_trial_of_all(whatif, changes, left, one);
    const unsigned *const orders[2] = {simpler ? NULL : whatif->order, trial.order};
    both_ns(replays, whatif, changes, orders, ns);
    double more = simpler ? 0 : more_ns(whatif, *so_far, ns[0] - *so_far);
    double most = *so_far - fmax(more, least_ns);
    bool decided = ns[1] <= most + FAMILY_GAIN * whatif->alone_ns &&
                   xfw_trial_decide_families(replays, whatif, changes, &trial, *so_far);
    double all_ns = decided ? xfw_set_ns(replays, whatif, changes, trial.order) : INFINITY;
    bool pays =
        all_ns <= most &&
        xfw_trial_take_out_below(replays, whatif, changes, XFW_LEAST_GAIN, &trial, &all_ns) &&
        all_ns <= most && trial.members <= XFW_MOST_MEMBERS &&
        xfw_trial_decide_families(replays, whatif, changes, &trial, *so_far) &&
        xfw_trial_play_parts(replays, whatif, changes, &trial, 0, whatif->alone_ns);
    if (pays) {
        *members = trial.members;
        *so_far = xfw_set_ns(replays, whatif, changes, trial.order);
        for (size_t i = 0; i < whatif->count; i++)
            if (!whatif->order[i])
                whatif->added[i] = (struct xfw_saving){NAN, NAN, NAN};
    }
    free(trial.order);
    return pays;
}

/* The set so far, to come back to. */
struct kept_set {
    unsigned *order;
    struct xfw_saving *added;
};

static struct kept_set keep_set(const struct xfw_whatif *whatif)
{
    const size_t count = whatif->count;
    struct kept_set kept = {xfa_alloc((count + 1) * sizeof *kept.order),
                            xfa_alloc((count + 1) * sizeof *kept.added)};
    memcpy(kept.order, whatif->order, count * sizeof *kept.order);
    memcpy(kept.added, whatif->added, count * sizeof *kept.added);
    return kept;
}

static void come_back(struct xfw_whatif *whatif, const struct kept_set *kept)
{
    memcpy(whatif->order, kept->order, whatif->count * sizeof *kept->order);
    memcpy(whatif->added, kept->added, whatif->count * sizeof *kept->added);
}

static void free_kept(const struct kept_set *kept)
{
    free(kept->order);
    free(kept->added);
}

/* The next one that is kept out; the number of changes: there is none. */
static size_t next_kept_out(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                            size_t i)
{
    while (i < whatif->count && !is_kept_out(whatif, changes, i))
        i++;
    return i;
}

/* Trials do not need each other, up to the first that pays: what so many from the one at `from` on
 * have to have played next is played at once. */
static void try_ahead(struct xfw_replays *replays, struct xfw_whatif *whatif,
                      struct xfw_change *const *changes, size_t from, unsigned most,
                      unsigned members, double so_far)
{
    const struct kept_set kept = keep_set(whatif);
    size_t played = 1;
    while (played > 0) {
        bool pays = false;
        size_t i = from;
        for (unsigned tried = 0; i < whatif->count && tried < most && !pays; tried++) {
            unsigned then = members;
            double then_ns = so_far;
            xfw_replays_rehearse(replays);
            pays = take_place(replays, whatif, changes, i, &then, &then_ns);
            come_back(whatif, &kept);
            i = next_kept_out(whatif, changes, i + 1);
        }
        played = xfw_replays_play_wanted(replays);
    }
    free_kept(&kept);
}

static void exchange(struct xfw_replays *replays, struct xfw_whatif *whatif,
                     struct xfw_change *const *changes, unsigned *members, double *so_far)
{
    bool new = true; /* the set, since what follows was tried ahead */
    size_t i = next_kept_out(whatif, changes, 0);
    for (unsigned tried = 0; i < whatif->count && tried < MOST_TRIALS; tried++) {
        if (new)
            try_ahead(replays, whatif, changes, i, MOST_TRIALS - tried, *members, *so_far);
        const struct kept_set kept = keep_set(whatif);
        new = take_place(replays, whatif, changes, i, members, so_far);
        if (!new)
            come_back(whatif, &kept);
        free_kept(&kept);
        i = next_kept_out(whatif, changes, i + 1);
    }
}

/* How many buffers or streams are best was decided before other members joined: once more. */
static void again_by_family(struct xfw_replays *replays, struct xfw_whatif *whatif,
                            struct xfw_change *const *changes, unsigned members)
{
    const size_t count = whatif->count;
    struct xfw_trial trial = {xfa_alloc((count + 1) * sizeof *trial.order), members, members};
    memcpy(trial.order, whatif->order, count * sizeof *trial.order);
    bool changed = false;
    if (members > 1 &&
        xfw_trial_decide_families(replays, whatif, changes, &trial, whatif->alone_ns))
        changed = memcmp(trial.order, whatif->order, count * sizeof *trial.order) != 0;
    if (changed) {
        for (size_t i = 0; i < count; i++) {
            whatif->order[i] = 0;
            whatif->added[i] = (struct xfw_saving){NAN, NAN, NAN};
        }
        xfw_trial_play_parts(replays, whatif, changes, &trial, 0, whatif->alone_ns);
    }
    free(trial.order);
}

/* Members that leave transfers out come first, and the others have what is left: so is each one's
 * part what it adds. Not where the set as a whole would save less in that order. */
static void leave_out_first(struct xfw_replays *replays, struct xfw_whatif *whatif,
                            struct xfw_change *const *changes, unsigned members)
{
    const size_t count = whatif->count;
    struct xfw_trial trial = {xfa_alloc((count + 1) * sizeof *trial.order), members, members};
    unsigned placed = 0;
    for (int kept = 0; kept < 2; kept++)
        for (unsigned place = 1; place <= members; place++)
            for (size_t i = 0; i < count; i++)
                if (whatif->order[i] == place && changes[i]->leaves_out == !kept)
                    trial.order[i] = ++placed;
    if (memcmp(trial.order, whatif->order, count * sizeof *trial.order) != 0) {
        double before = whatif->alone_ns;
        for (size_t i = 0; i < count; i++)
            before -= whatif->order[i] ? whatif->added[i].likely : 0;
        double after = xfw_set_ns(replays, whatif, changes, trial.order);
        if (after < before + XFW_LEAST_GAIN / 4 * whatif->alone_ns)
            xfw_trial_play_parts(replays, whatif, changes, &trial, 0, whatif->alone_ns);
    }
    free(trial.order);
}

/* ---- all of it ------------------------------------------------------------------------------- */

unsigned xfw_set_by_steps(struct xfw_replays *replays, struct xfw_whatif *whatif,
                          struct xfw_change *const *changes, unsigned members, double *so_far)
{
    while (members < XFW_MOST_MEMBERS && choose(replays, whatif, changes, members + 1, so_far))
        members++;
    return members;
}

unsigned xfw_best_set(struct xfw_replays *replays, struct xfw_whatif *whatif,
                      struct xfw_change *const *changes)
{
    double so_far = whatif->alone_ns;
    unsigned members = xfw_set_by_steps(replays, whatif, changes, 0, &so_far);
    memcpy(whatif->steps, whatif->order, whatif->count * sizeof *whatif->steps);
    exchange(replays, whatif, changes, &members, &so_far);
    unsigned before = members;
    while (members > 0 && members < XFW_MOST_MEMBERS &&
           choose_of_family(replays, whatif, changes, members + 1, &so_far))
        members++;
    if (members > before)
        exchange(replays, whatif, changes, &members, &so_far);
    if (members < XFW_MOST_MEMBERS)
        whatif->search.together = add_together(replays, whatif, changes, members, so_far);
    whatif->search.left_out = whatif->search.left_out || members == XFW_MOST_MEMBERS;
    members += whatif->search.together;
    again_by_family(replays, whatif, changes, members);
    leave_out_first(replays, whatif, changes, members);
    return members;
}
