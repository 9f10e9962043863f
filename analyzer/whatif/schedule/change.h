/*
 * A remedy as a change of the replayed run: which ops it touches, and what becomes of them. The
 * type is code (changes/), the change its parameters.
 *
 * A type gets the ops in order, on their way to the schedule. It may alter an op (times, stream,
 * what it waits for), drop it (xfw_op_drop()), or insert others before and behind it
 * (xfw_player_play(), xfw_player_play_behind()). It asks the schedule how far all is.
 *
 * Each change is played three times. What is not known for certain, errors of the profile and
 * assumptions about the program, is taken at its worst, as likely, and at its best (enum
 * xfw_certainty). The remedy's finding says in words what is assumed.
 *
 * What a change learns, it learns of one process: members of a team (base/team.h) play different
 * ones. staged_ns is the exception, which they exchange (tally.h).
 *
 * Ownership: who advises a change makes it, and frees it with xfw_change_free(). States belong to
 * the player.
 */
#ifndef XFW_CHANGE_H
#define XFW_CHANGE_H

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/marks.h"
#include "analyzer/whatif/op/op.h"
#include "analyzer/whatif/schedule/schedule.h"

struct xfw_change;
struct xfw_player;

struct xfw_change_type {
    const char *name;
    bool by_ops;        /* whether it does anything but take transfers depends on the ops of each
                           thread alone, as recorded: not on the schedule, nor on other threads */
    size_t state_bytes; /* of one player in one process; zeroed */
    /* The player's process begins (its trace is open). Any may be NULL but op. */
    void (*begin)(const struct xfw_change *change, void *state, struct xfw_player *player);
    void (*op)(const struct xfw_change *change, void *state, struct xfw_player *player,
               struct xfw_op *op);
    /* When the op's call will begin, where the change makes that another time than `begins`, as it
     * is without: asked before it is played, to know whose turn it is (turns.h). NULL: it does not.
     */
    double (*begins)(const struct xfw_change *change, const void *state,
                     const struct xfw_player *player, const struct xfw_op *op, double begins);
    /* The process's last op has been played: others of the change's own may follow. */
    void (*finish)(const struct xfw_change *change, void *state, struct xfw_player *player);
    void (*end)(const struct xfw_change *change, void *state); /* frees what the state owns */
    void (*free)(struct xfw_change *change);                   /* what the parameters own */
};

/* What it does with a transfer that another change of a set excludes (whatif.h): */
enum xfw_shares {
    XFW_WHOLE,    /* it is about the run as a whole: they exclude each other as such */
    XFW_TAKES,    /* it takes transfers (xfw_player_take()), and needs all of its own */
    XFW_IN_PARTS, /* it takes each by itself: those that no other change of the set takes */
};

/* The common part of all changes: the first member of the struct with the parameters. */
struct xfw_change {
    const struct xfw_change_type *type;
    const struct xfa_analysis *analysis; /* borrowed: classes, profile */
    struct xfw_set set; /* of classes, sites or rows that it concerns: the type says which */
    const char *family; /* static: the same for changes that differ in a number alone, of which the
                           best is looked for; NULL: none */
    double least_part;  /* of the run: it has to save this much; 0: XFW_LEAST_SAVED */
    bool of_span;       /* least_part is of the span (result.h) */
    bool question;      /* something that no record shows decides: what the best set saves once that
                           is so is asked for, too (result.h, answered) */
    bool beyond_set;    /* with that answer the best set has to save least_part more than without */
    bool on_trial;      /* its worst and best case are played only if it pays */
    bool assured;       /* what it takes for granted of the program is known to be so: at worst it
                           is played as likely, and what goes at best only goes */
    bool doubted;       /* but how much goes is not: at worst it is played so even then */
    bool frees_turns;   /* where it applies, threads need not keep their turns (kept_turns.h) */
    bool for_comparison; /* in no set: others of its family are compared with it */
    double *staged_ns;   /* once played: the threads' own time that goes, at best, with what is left
                            out, of the process with the most; NULL: none does */
    const char *at_best; /* static: what it assumes at best in addition, in words; NULL: nothing */
    enum xfw_certainty from; /* below it nothing is changed, unless it is assured: it only takes
                                transfers (xfw_player_take()) */
    bool does_nothing;       /* at best, by itself: it was tried (xfw_replays_try()) */
    bool idle; /* the run has no op for it: unless another one of a set resizes, nothing changes */
    bool resizes; /* copies have other sizes with it */
    bool first;   /* in a set it has each op before the others, wherever it stands: it makes copies
                     what they can work with */
    bool last;    /* in a set it has each op behind the others, wherever it stands: it is about when
                     what they leave of the run is done */
    bool leaves_out; /* the transfers that it concerns need not be made: what only makes transfers
                        faster stands behind it (whatif.h) */
    enum xfw_shares shares;
    /* xfw_whatif_of()'s: its place in the list; a bit for each change that it excludes, and for
     * those of them that concern all of its transfers. */
    uint32_t number;
    uint64_t excludes, within;
};

/* For constructors: a zeroed struct of so many bytes that begins with a change of this type.
 * set: taken over, and left empty; NULL: none. */
void *xfw_change_new(size_t bytes, const struct xfw_change_type *type,
                     const struct xfa_analysis *analysis, struct xfw_set *set);
void xfw_change_free(struct xfw_change *change); /* NULL is allowed */

/* A state of the change, which begins with the player's process; it ends, and is freed. */
void *xfw_change_begin(const struct xfw_change *change, struct xfw_player *player);
void xfw_change_end(const struct xfw_change *change, void *state);

/* ---- for the types' code --------------------------------------------------------------------- */

enum xfw_certainty xfw_player_certainty(const struct xfw_player *player);
/* What a doubted change takes for granted is so as it is played: at best, and as likely once it is
 * assured. */
static inline bool xfw_change_applies(const struct xfw_change *change,
                                      const struct xfw_player *player)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    return certainty == XFW_HIGH || (certainty == XFW_LIKELY && change->assured);
}
struct xfa_process *xfw_player_process(const struct xfw_player *player);
const struct xfw_schedule *xfw_player_schedule(const struct xfw_player *player);

/* Schedules an op of the change's own now, before the op at hand. No change sees it. Start from
 * xfw_op_like(). */
void xfw_player_play(struct xfw_player *player, const struct xfw_op *op);

/* The same of a call before the op at hand, for what the program does once as it begins: a thread
 * whose first op that is begins with the call then, which takes the op's gap. Threads that are seen
 * to begin with the op begin with the call. */
void xfw_player_play_before(struct xfw_player *player, struct xfw_op *call, struct xfw_op *op);

/* The same of device work that the program is taken to have submitted before (schedule.h). */
void xfw_player_play_earlier(struct xfw_player *player, const struct xfw_op *op, double ready);

/* As xfw_player_play(), but the changes behind this one in the set see it, as if the program had
 * made it: for a change that is `first`. Of a copy without a class they know that its memory is
 * page-locked. */
void xfw_player_insert(struct xfw_player *player, const struct xfw_op *op);

/* The same right behind the op at hand, at most 8 for one op; its thread goes on behind them. */
void xfw_player_play_behind(struct xfw_player *player, const struct xfw_op *op);

/* The change wants the transfer at hand. False: a change before it in the set, which it excludes,
 * has taken it. Ask at every certainty alike, so that a set has the same transfers each time. */
bool xfw_player_take(struct xfw_player *player, const struct xfw_op *op);

/* What was met of the class stands for so many times as much: 1, but in a long process of which ops
 * are left out (sample.h). For sums over ops; known in finish(). */
double xfw_player_weight(const struct xfw_player *player, uint32_t class);

/* For a change that gets an op: when the work of the op that it got before is done, wherever other
 * changes have taken it since; that of its stream where it had none. */
double xfw_player_work_end(const struct xfw_player *player, uint32_t stream);

/* The op at hand goes to another stream, and so do the ops to be played behind it. */
void xfw_player_moved(struct xfw_player *player, uint32_t from, uint32_t to);

/* Later work of the stream waits until `ns` of the schedule's clock. */
void xfw_player_stream_after(struct xfw_player *player, uint32_t stream, double ns);

/* The span (schedule.h) ends at `ns` of the schedule's clock at the earliest: for a change that has
 * the host's work go on behind the last wait. */
void xfw_player_span_until(struct xfw_player *player, double ns);

/* A stream that the program does not have, beside one of the process's: the same each time that
 * this change asks for it. Treat it as non-blocking: the change cares for what it waits for. */
enum xfw_side {
    XFW_SIDE_UP,    /* copies to the device */
    XFW_SIDE_DOWN,  /* copies to the host */
    XFW_SIDE_CALLS, /* functions of the host */
    XFW_SIDE_MARK,  /* nothing: events of the stream are recorded in it */
    XFW_SIDE_HOST,  /* nothing: the host waits for it */
    XFW_SIDES
};
uint32_t xfw_player_side_stream(struct xfw_player *player, uint32_t stream, enum xfw_side side);

/* An event that the program does not have, a new one each time: so use it again. Record it and wait
 * for it with ops of the change's own (XFW_RECORD; XFW_CALL that awaits it). */
uint32_t xfw_player_side_event(struct xfw_player *player);

/* Adds all classes of a row. */
void xfw_set_add_row(struct xfw_set *set, const struct xfa_analysis *analysis,
                     const struct xfa_row *row);

#endif
