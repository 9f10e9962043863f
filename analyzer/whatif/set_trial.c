#include "analyzer/whatif/set_trial.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"

/* Of the run, by itself: of what may pay with others. Where threads share an engine, what makes one
 * of them faster may hold up another (a guess). */
#define MOST_COST 0.25

#define SAME_GAIN 0.02 /* of a gain: what adds less by as much is as good */

double xfw_set_not_sure_ns(const struct xfw_whatif *whatif, double adds_ns)
{
    return fmax(SAME_GAIN, whatif->error) * adds_ns + whatif->sample_error_ns;
}

void xfw_set_join(struct xfw_whatif *whatif, size_t i, unsigned place, double adds_ns)
{
    whatif->order[i] = place;
    whatif->added[i] = (struct xfw_saving){adds_ns, adds_ns, adds_ns};
}

bool xfw_goes_with(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                   const unsigned *order, size_t i)
{
    if (order[i] || changes[i]->for_comparison ||
        !(whatif->alone[i].likely > -MOST_COST * whatif->alone_ns) ||
        !xfw_stands_for_family(whatif, changes, i) || xfw_has_family(whatif, changes, order, i))
        return false;
    for (size_t k = 0; k < whatif->count; k++)
        if (order[k] && (changes[i]->excludes >> k & 1))
            return false;
    return true;
}

struct xfw_trial xfw_trial_of_all(const struct xfw_whatif *whatif,
                                  struct xfw_change *const *changes, unsigned members, size_t one)
{
    const size_t count = whatif->count;
    struct xfw_trial trial = {xfa_alloc((count + 1) * sizeof *trial.order), members + 1, 1};
    for (size_t i = 0; i < count; i++)
        trial.order[i] = i == one ? members + 1 : whatif->order[i];
    for (;;) {
        size_t next = count;
        for (size_t i = 0; i < count; i++)
            if (xfw_goes_with(whatif, changes, trial.order, i) &&
                (next == count || whatif->alone[i].likely > whatif->alone[next].likely))
                next = i;
        if (next == count)
            return trial;
        trial.order[next] = ++trial.members;
        trial.more++;
    }
}

static void take_out(struct xfw_trial *trial, size_t count, size_t i)
{
    unsigned place = trial->order[i];
    for (size_t k = 0; k < count; k++)
        trial->order[k] -= trial->order[k] > place;
    trial->order[i] = 0;
    trial->members--;
    trial->more--;
}

/* Time of the run with the set that is tried, without each of those that may go: in ways. The last
 * way has all of it. */
static bool play_without(struct xfw_replays *replays, const struct xfw_whatif *whatif,
                         struct xfw_change *const *changes, const struct xfw_trial *trial,
                         double *without)
{
    const size_t count = whatif->count;
    struct xfw_way *ways = xfa_alloc((count + 1) * sizeof *ways);
    size_t *of = xfa_alloc((count + 1) * sizeof *of), played = 0;
    for (size_t i = 0; i <= count; i++) {
        if (i < count && (whatif->order[i] || !trial->order[i]))
            continue;
        ways[played].certainty = XFW_LIKELY;
        xfw_way_of(&ways[played], changes, trial->order, count, SIZE_MAX, i);
        of[played++] = i;
    }
    bool done = xfw_replays_play(replays, ways, played);
    for (size_t i = 0; i < played && done; i++)
        without[of[i]] = ways[i].run_ns;
    xfw_ways_free(ways, played);
    free(of);
    return done;
}

double xfw_set_least_ns(const struct xfw_whatif *whatif, const struct xfw_change *change,
                        double least_gain)
{
    bool more_work = change->of_span && !change->question;
    double least = least_gain * whatif->alone_ns;
    return more_work && least_gain > 0 ? fmax(least, xfw_change_least_ns(whatif, change)) : least;
}

/* The one that is missed the least, by what it has to add; of such as are alike the last, as it is
 * not simpler than the others. *spare: what it adds beyond that. */
static size_t least_missed(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                           double least_gain, const struct xfw_trial *trial, const double *without,
                           double *spare)
{
    const size_t count = whatif->count;
    double shortest = INFINITY;
    size_t least = count;
    for (int chosen = 0; chosen < 2; chosen++)
        for (size_t i = 0; i < count; i++) {
            if (!trial->order[i] || whatif->order[i])
                continue;
            double adds =
                without[i] - without[count] - xfw_set_least_ns(whatif, changes[i], least_gain);
            if (!chosen)
                shortest = fmin(shortest, adds);
            else if (adds <= shortest + XFW_LEAST_GAIN / 4 * whatif->alone_ns) {
                least = i;
                *spare = adds;
            }
        }
    return least;
}

bool xfw_trial_take_out_below(struct xfw_replays *replays, const struct xfw_whatif *whatif,
                              struct xfw_change *const *changes, double least_gain,
                              struct xfw_trial *trial, double *all_ns)
{
    const size_t count = whatif->count;
    double *without = xfa_alloc((count + 1) * sizeof *without);
    bool good = true, more = true;
    while (good && more && trial->more > 0) {
        double spare = 0;
        good = play_without(replays, whatif, changes, trial, without);
        size_t least =
            good ? least_missed(whatif, changes, least_gain, trial, without, &spare) : count;
        more = least < count && spare < 0;
        *all_ns = without[count];
        if (more)
            take_out(trial, count, least);
    }
    free(without);
    return good;
}

/* Of the family of a member the first that saves as much as the best takes its place. */
static bool decide_family(struct xfw_replays *replays, const struct xfw_whatif *whatif,
                          struct xfw_change *const *changes, struct xfw_trial *trial, size_t member,
                          double so_far)
{
    const size_t count = whatif->count;
    struct xfw_way *ways = xfa_alloc((count + 1) * sizeof *ways);
    size_t *of = xfa_alloc((count + 1) * sizeof *of), played = 0;
    unsigned place = trial->order[member];
    double shortest = INFINITY;
    trial->order[member] = 0;
    for (size_t i = 0; i < count; i++) {
        if (!xfw_same_family(changes[i], changes[member]))
            continue;
        trial->order[i] = place;
        ways[played].certainty = XFW_LIKELY;
        xfw_way_of(&ways[played], changes, trial->order, count, SIZE_MAX, SIZE_MAX);
        trial->order[i] = 0;
        of[played++] = i;
    }
    bool done = xfw_replays_play(replays, ways, played);
    for (size_t i = 0; i < played; i++)
        shortest = fmin(shortest, ways[i].run_ns);
    size_t first = 0;
    while (first < played &&
           ways[first].run_ns > shortest + xfw_set_not_sure_ns(whatif, fmax(0, so_far - shortest)))
        first++;
    trial->order[done && first < played ? of[first] : member] = place;
    xfw_ways_free(ways, played);
    free(of);
    return done;
}

bool xfw_trial_decide_families(struct xfw_replays *replays, const struct xfw_whatif *whatif,
                               struct xfw_change *const *changes, struct xfw_trial *trial,
                               double so_far)
{
    bool done = true;
    unsigned first = trial->members - trial->more;
    for (unsigned place = first + 1; place <= trial->members && done; place++)
        for (size_t i = 0; i < whatif->count && done; i++)
            if (trial->order[i] == place && changes[i]->family) {
                done = decide_family(replays, whatif, changes, trial, i, so_far);
                break;
            }
    return done;
}

bool xfw_trial_play_parts(struct xfw_replays *replays, struct xfw_whatif *whatif,
                          struct xfw_change *const *changes, const struct xfw_trial *trial,
                          unsigned members, double so_far)
{
    const size_t count = whatif->count;
    const unsigned more = trial->members - members;
    struct xfw_way *ways = xfa_alloc((more + 1) * sizeof *ways);
    unsigned *order = xfa_alloc((count + 1) * sizeof *order);
    for (unsigned place = members + 1; place <= trial->members; place++) {
        for (size_t i = 0; i < count; i++)
            order[i] = trial->order[i] <= place ? trial->order[i] : 0;
        ways[place - members - 1].certainty = XFW_LIKELY;
        xfw_way_of(&ways[place - members - 1], changes, order, count, SIZE_MAX, SIZE_MAX);
    }
    bool done = xfw_replays_play(replays, ways, more);
    for (unsigned place = members + 1; place <= trial->members && done; place++) {
        double ns = ways[place - members - 1].run_ns;
        for (size_t i = 0; i < count; i++)
            if (trial->order[i] == place)
                xfw_set_join(whatif, i, place, so_far - ns);
        so_far = ns;
    }
    xfw_ways_free(ways, more);
    free(order);
    return done;
}
