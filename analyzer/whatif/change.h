/*
 * A remedy as a change of the run's graph: which ops it touches and what becomes of them. The type
 * is code (one file of changes/ each), the change its parameters.
 *
 * Ops come in order, as they took place (op.h), and leave changed, on their way to a schedule. A
 * type may alter the op (times, stream, what it waits for), take it out (xfw_op_drop()), or play
 * others before and behind it (xfw_player_play()). It asks the schedule where things stand.
 *
 * Each change is played three times, with what is not known for certain taken as it may be at
 * worst, as is likely, and at best (enum xfw_certainty): errors of the profile's figures,
 * assumptions on the program. What is assumed stands in words in the remedy's finding.
 *
 * Ownership: a change and its parameters are made with xfa_alloc() by whoever advises it, and
 * released by xfw_change_free(). States belong to the player.
 */
#ifndef XFW_CHANGE_H
#define XFW_CHANGE_H

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/marks.h"
#include "analyzer/whatif/op.h"
#include "analyzer/whatif/schedule.h"

enum xfw_certainty { XFW_LOW, XFW_LIKELY, XFW_HIGH, XFW_CERTAINTIES };

struct xfw_change;
struct xfw_player;

struct xfw_change_type {
    const char *name;
    size_t state_bytes; /* of one player in one process; zeroed */
    /* The player's process begins (its trace is open). Any may be NULL but op. */
    void (*begin)(const struct xfw_change *change, void *state, struct xfw_player *player);
    void (*op)(const struct xfw_change *change, void *state, struct xfw_player *player,
               struct xfw_op *op);
    void (*end)(const struct xfw_change *change, void *state); /* releases what the state owns */
    void (*free)(struct xfw_change *change);                   /* what the parameters own */
    bool every; /* it adds up what it meets: with it no op of the run is left out (sample.h) */
};

/* Of a transfer that another change of a set excludes (whatif.h): */
enum xfw_shares {
    XFW_WHOLE,    /* it is about the run as a whole: they exclude each other as such */
    XFW_TAKES,    /* it says which it takes (xfw_player_take()), of which it needs all */
    XFW_IN_PARTS, /* each for itself: it takes those that others have left */
};

/* The common beginning of all changes: put it first in the struct with the parameters. */
struct xfw_change {
    const struct xfw_change_type *type;
    const struct xfa_analysis *analysis; /* borrowed: classes, profile */
    const char *family;  /* static: the same for changes that differ in a number alone, of which the
                            best is to be found; NULL: of none */
    double least_part;   /* of the run: what saves less is not worth it; 0: XFW_LEAST_SAVED */
    bool on_trial;       /* nobody asks what it saves at worst and at best unless it pays */
    bool for_comparison; /* it is in no set: what others of its family are held against */
    double *staged_ns; /* once played: of the threads' own time, what at best goes with what is left
                          out, of the process with the most; NULL: the change takes none */
    bool first; /* in a set it has each op before the others do, wherever it stands in it: it makes
                   copies what they can do with */
    enum xfw_shares shares;
    /* xfw_whatif_of()'s: its place in the list; a bit for each that it excludes, and for those of
     * them that all of its transfers are of. */
    uint32_t number;
    uint64_t excludes, within;
};

void xfw_change_free(struct xfw_change *change); /* NULL is allowed */

/* ---- for the types' code ------------------------------------------------------------------- */

enum xfw_certainty xfw_player_certainty(const struct xfw_player *player);
struct xfa_process *xfw_player_process(const struct xfw_player *player);
const struct xfw_schedule *xfw_player_schedule(const struct xfw_player *player);

/* Schedules an op of the change's own now: before the op at hand. It is not shown to other changes
 * or to this one. Start from xfw_op_like(). */
void xfw_player_play(struct xfw_player *player, const struct xfw_op *op);

/* To be scheduled right behind the op at hand, at most 8 for one op; its thread goes on behind it.
 */
void xfw_player_play_behind(struct xfw_player *player, const struct xfw_op *op);

/* The transfer at hand becomes what the change makes of it. False: one before it in the set, which
 * it excludes, has taken it, and it stays what that one made of it. Each time it is asked for, as
 * is likely or not, so that a set has the same transfers each time. */
bool xfw_player_take(struct xfw_player *player, const struct xfw_op *op);

/* The op at hand goes to another stream, and so does what is to be played behind it. */
void xfw_player_moved(struct xfw_player *player, uint32_t from, uint32_t to);

/* The stream waits until `ns` of the schedule's clock, for what comes. */
void xfw_player_stream_after(struct xfw_player *player, uint32_t stream, double ns);

/* A stream that does not exist: the change's own, `which` (0 to 3) beside the process's stream, the
 * same whenever it is asked for. Take it as non-blocking: what it waits for is the change's
 * business. */
#define XFW_SIDE_STREAMS 4
uint32_t xfw_player_side_stream(struct xfw_player *player, uint32_t stream, unsigned which);

/* An event that does not exist: a new one each time, so use it again. Record and await it with ops
 * of the change's own (XFW_RECORD; XFW_CALL that awaits it). */
uint32_t xfw_player_side_event(struct xfw_player *player);

/* An op of nothing in the thread and stream of another: no gap, no cost, what = XFW_CALL, made_up.
 */
struct xfw_op xfw_op_like(const struct xfw_op *op);

/* The thread's own time before an op comes before another one of it instead. */
void xfw_op_take_gap(struct xfw_op *into, struct xfw_op *from);

/* The call goes, with its device work and what it waited for; the thread's own time before it
 * stays. */
void xfw_op_drop(struct xfw_op *op);

/* What a copy's call takes, without what it waits for before the copy. */
double xfw_op_took(const struct xfw_op *op);

/* ---- which classes ------------------------------------------------------------------------- */

/* All classes of a row. */
void xfw_set_add_row(struct xfw_set *set, const struct xfa_analysis *analysis,
                     const struct xfa_row *row);

#endif
