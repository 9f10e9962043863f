#include "analyzer/whatif/questions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/best_set.h"
#include "analyzer/whatif/ways_savings.h"

/* May it be worth a question? It likely saves nothing, but much at best. */
static bool may_decide(const struct xfw_whatif *whatif, struct xfw_change *const *changes, size_t i)
{
    double least = xfw_change_least_ns(whatif, changes[i]);
    return changes[i]->question && !changes[i]->assured && !whatif->order[i] &&
           whatif->alone[i].likely < least && whatif->alone[i].high >= least;
}

/* A run with figures of its own, but for those that stay: nothing is in its set. */
static struct xfw_whatif begin_yes(const struct xfw_whatif *whatif)
{
    const size_t count = whatif->count;
    struct xfw_whatif yes = *whatif;
    yes.alone = xfa_alloc((count + 1) * sizeof *yes.alone);
    memcpy(yes.alone, whatif->alone, count * sizeof *yes.alone);
    yes.added = xfw_savings_unknown(count);
    yes.order = xfa_alloc((count + 1) * sizeof *yes.order);
    return yes;
}

static void end_yes(struct xfw_whatif *yes)
{
    free(yes->alone);
    free(yes->added);
    free(yes->order);
}

/* ---- by steps -------------------------------------------------------------------------------- */

/* Time of the run with one more. */
static double with_one_more(struct xfw_replays *replays, struct xfw_whatif *yes,
                            struct xfw_change *const *changes, size_t one, unsigned place)
{
    yes->order[one] = place;
    double ns = xfw_set_ns(replays, yes, changes, yes->order);
    yes->order[one] = 0;
    return ns;
}

static size_t member_at(const struct xfw_whatif *whatif, unsigned place)
{
    size_t i = 0;
    while (i < whatif->count && whatif->steps[i] != place)
        i++;
    return i;
}

/* Does the one that saves so much join before the other? What leaves transfers out does where it
 * saves hardly less, as in the first search. */
static bool joins_first(const struct xfw_change *one, double saved, const struct xfw_change *other,
                        double other_saved)
{
    if (one->leaves_out != other->leaves_out)
        return one->leaves_out ? other_saved < XFW_HARDLY_MORE * saved
                               : saved >= XFW_HARDLY_MORE * other_saved;
    return saved >= other_saved;
}

/* The steps of the first search once more, with the change at place i, which excludes none of them,
 * among them: in front of the first one that adds no more than it. Before that all is known; behind
 * it those that still add something join. Returns the time of the run with them. */
static double follow_steps(struct xfw_replays *replays, struct xfw_whatif *yes,
                           struct xfw_change *const *changes, size_t i)
{
    const size_t count = yes->count;
    const double least = XFW_LEAST_SAVED * yes->alone_ns;
    double so_far = yes->alone_ns;
    unsigned members = 0, place = 1;
    size_t next = member_at(yes, place);
    while (members < XFW_MOST_MEMBERS && (next < count || !yes->order[i])) {
        double with =
            yes->order[i] ? INFINITY : with_one_more(replays, yes, changes, i, members + 1);
        double other =
            next < count ? with_one_more(replays, yes, changes, next, members + 1) : INFINITY;
        bool first = next == count ||
                     (with <= so_far - least &&
                      joins_first(changes[i], so_far - with, changes[next], so_far - other));
        double taken = first ? with : other;
        if (taken <= so_far - least) {
            yes->order[first ? i : next] = ++members;
            so_far = taken;
        } else if (next == count) {
            break;
        }
        next = first ? next : member_at(yes, ++place);
    }
    return so_far;
}

static bool excludes_a_step(const struct xfw_whatif *whatif, const struct xfw_change *change)
{
    for (size_t k = 0; k < whatif->count; k++)
        if (whatif->steps[k] && (change->excludes >> k & 1))
            return true;
    return false;
}

static double by_steps(struct xfw_replays *replays, struct xfw_whatif *yes,
                       struct xfw_change *const *changes, size_t i)
{
    double so_far = yes->alone_ns;
    if (!excludes_a_step(yes, changes[i]))
        return follow_steps(replays, yes, changes, i);
    xfw_set_by_steps(replays, yes, changes, 0, &so_far);
    return so_far;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* The set that the first search has found, with the change at place i, where that saves more; and
 * without it, where it adds nothing to that. */
static void start_from_found(struct xfw_replays *replays, const struct xfw_whatif *whatif,
                             struct xfw_change *const *changes, size_t i, double so_far,
                             struct xfw_whatif *yes)
{
    const size_t bytes = whatif->count * sizeof *yes->order;
    const double least = XFW_LEAST_SAVED * whatif->alone_ns;
    unsigned *by_steps = xfa_alloc(bytes + 1);
    memcpy(by_steps, yes->order, bytes);
    memcpy(yes->order, whatif->order, bytes);
    double without = xfw_set_ns(replays, yes, changes, yes->order);
    yes->order[i] = 1 + xfw_set_make_place(yes, changes[i]);
    double with = xfw_set_ns(replays, yes, changes, yes->order);
    if (fmin(with, without) > so_far - least)
        memcpy(yes->order, by_steps, bytes);
    else if (with > without - least && !by_steps[i])
        memcpy(yes->order, whatif->order, bytes);
    free(by_steps);
}

/* What the set of `yes` saves. */
static struct xfw_saving saving_of(struct xfw_replays *replays, struct xfw_whatif *whatif,
                                   struct xfw_change *const *changes, size_t i,
                                   const struct xfw_whatif *yes)
{
    struct xfw_way ways[XFW_CERTAINTIES];
    struct xfw_saving saving = {NAN, NAN, NAN};
    for (size_t c = 0; c < XFW_CERTAINTIES; c++) {
        ways[c] = (struct xfw_way){.certainty = (enum xfw_certainty)c, .asks_left = c == XFW_HIGH};
        xfw_way_of(&ways[c], changes, yes->order, whatif->count, SIZE_MAX, SIZE_MAX);
    }
    if (xfw_replays_play(replays, ways, XFW_CERTAINTIES)) {
        saving = xfw_ways_saving(whatif, ways);
        xfw_ways_up_to(whatif, i, ways);
        whatif->up_to[i].likely_span_ns = whatif->span.alone_ns - ways[XFW_LIKELY].span_ns;
    }
    for (size_t c = 0; c < XFW_CERTAINTIES; c++)
        xfw_way_free(&ways[c]);
    return saving;
}

/* What the best set saves where that is answered with yes. */
static struct xfw_saving answer(struct xfw_replays *replays, struct xfw_whatif *whatif,
                                struct xfw_change *const *changes, size_t i)
{
    struct xfw_whatif yes = begin_yes(whatif);
    double least = xfw_change_least_ns(whatif, changes[i]);
    xfw_replays_assume(replays, changes[i]);
    yes.order[i] = 1;
    yes.alone[i].likely = whatif->alone_ns - xfw_set_ns(replays, &yes, changes, yes.order);
    yes.order[i] = 0;
    double so_far = by_steps(replays, &yes, changes, i);
    start_from_found(replays, whatif, changes, i, so_far, &yes);
    whatif->needless[i] = !yes.order[i] && yes.alone[i].likely >= least;
    struct xfw_saving saving = saving_of(replays, whatif, changes, i, &yes);
    xfw_replays_assume(replays, NULL);
    end_yes(&yes);
    return saving;
}

/* Questions do not need each other's answers: what all of them have to have played next is played
 * at once. */
static void play_ahead(struct xfw_replays *replays, struct xfw_whatif *whatif,
                       struct xfw_change *const *changes)
{
    size_t played = 1, all = 0;
    while (played > 0 && all < XFW_MOST_ASKED) {
        for (size_t i = 0; i < whatif->count; i++) {
            if (!may_decide(whatif, changes, i))
                continue;
            xfw_replays_rehearse(replays);
            answer(replays, whatif, changes, i);
        }
        played = xfw_replays_play_wanted(replays);
        all += played;
    }
}

void xfw_questions_answer(struct xfw_replays *replays, struct xfw_whatif *whatif,
                          struct xfw_change *const *changes)
{
    const unsigned most = whatif->replays + XFW_MOST_ASKED;
    play_ahead(replays, whatif, changes);
    for (size_t i = 0; i < whatif->count; i++) {
        if (!may_decide(whatif, changes, i))
            continue;
        if (whatif->replays < most)
            whatif->answered[i] = answer(replays, whatif, changes, i);
        else
            whatif->search.not_asked++;
    }
}
