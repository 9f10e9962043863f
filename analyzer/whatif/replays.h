/*
 * A run replayed in many ways side by side, each way once: what came of those that were played
 * before is kept, and the files are walked only for others. Private to whatif/.
 */
#ifndef XFW_REPLAYS_H
#define XFW_REPLAYS_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/schedule/change.h"
#include "analyzer/whatif/ops/gather.h"
#include "analyzer/whatif/player.h"
#include "analyzer/whatif/result.h"

struct xfw_way {
    struct xfw_change **changes; /* made in this order; owned */
    size_t count;
    enum xfw_certainty certainty;
    bool recording;            /* what recording cost stays in */
    bool asks_left;            /* for left_ns, least_ns */
    bool unchanged;            /* they change nothing, taken so: it is the run alone */
    bool ahead;                /* it was played before anybody asked; the replays' own */
    const struct xfw_tap *tap; /* NULL: none */
    const struct xfw_change
        *assumed;             /* xfw_replays_assume()'s, if it is one of them; the replays' own */
    uint64_t acted;           /* a bit for the place of each of the changes that did anything
                                 (xfw_player_acted()); the replays' own */
    struct xfa_table *counts; /* xfw_player_count(); NULL: nobody asks */
    /* What comes of it: */
    double run_ns;             /* the latest end of the processes */
    double span_ns;            /* of these, added up */
    double ranges[XFW_RANGES]; /* of the run's phases */
    double left_ns;  /* asks_left: no less than that of span_ns (schedule/left.h), of processes with
                        messages between them the most of one */
    double least_ns; /* asks_left: no less than that of run_ns */
    double error_ns; /* of what it saves, since not all ops were played (sample.h); unchanged: of
                        run_ns */
};
void xfw_way_free(struct xfw_way *way);

struct xfw_replays;
/* The run's own times, as recorded, phases' too, go to `whatif`, and how much was played. gather:
 * its ops, of the walk before, borrowed; NULL: there are none. keep: it will be played again, so
 * that what a walk finds is kept. */
struct xfw_replays *xfw_replays_new(struct xfa_analysis *analysis, struct xfw_whatif *whatif,
                                    struct xfw_gather *gather, bool keep);
/* Fills in what comes of each of the ways. What is played with what recording cost comes first. A
 * way with a tap or counts is always played. The run alone is asked for first. False with
 * whatif->why: a file could not be read again. */
bool xfw_replays_play(struct xfw_replays *replays, struct xfw_way *ways, size_t count);
/*
 * What is asked for one way after the other is played side by side where the questions do not need
 * each other's answers: whoever asks does so in a rehearsal, as often as anything is wanted, and
 * then in earnest.
 *
 * In a rehearsal nothing is played: ways that are not known are wanted, and from then on
 * xfw_replays_play() is false. Of each rehearsal the first such ways are.
 */
void xfw_replays_rehearse(struct xfw_replays *replays);
/* No rehearsal any more; all that is wanted is played at once, each with its own assumption, and
 * counts once it is asked for. Returns how many ways were; 0 as well where they cannot be played.
 */
size_t xfw_replays_play_wanted(struct xfw_replays *replays);
/* With what is played next, each of the changes that can be (change.h, by_ops) is tried, and those
 * that do nothing by themselves are noted as such: ways of one of them are all the same. */
void xfw_replays_try(struct xfw_replays *replays, struct xfw_change *const *changes, size_t count);
/* From now on ways with that change are played as if what it takes for granted were known
 * (change.h, assured); NULL: no more. */
void xfw_replays_assume(struct xfw_replays *replays, struct xfw_change *change);
/* Of processes with ops that are left out; whether it stopped before enough is known goes to
 * `whatif`. */
struct xfw_share xfw_replays_share(const struct xfw_replays *replays);
void xfw_replays_free(struct xfw_replays *replays);

#endif
