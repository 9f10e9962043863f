/*
 * What a run would take: unchanged, with each of several changes, and with the best set of them.
 *
 * Trust comes first: replayed as it was recorded (with all that recording cost), the run takes a
 * time that is held against the recorded one. That error stands beside every figure. Beyond
 * XFW_MARK_ERROR savings are marked and widened by it, beyond XFW_ABSTAIN_ERROR there are none.
 *
 * Savings are differences of two replays, both without what recording cost: of the program as it
 * runs alone. Each change is played alone, at worst, likely and at best (change.h); low and high
 * are widened by the replay's error, XFW_MODEL_ERROR and XFW_RUN_ERROR, high no further than what
 * can go (saving.h): widened, it does not touch the time before the first work for a GPU and behind
 * the last wait, nor any other time that was not played.
 *
 * The set is found by adding, one after the other, what saves the most on top of those that are in
 * it, and is played together. Of two that exclude each other a member keeps the other out; when no
 * other adds anything, those that would have been kept out may join in part (XFW_IN_PARTS): they
 * have the transfers that the members before them do not take. Behind each member, so
 * XFW_MOST_MEMBERS times at most, one pass over the ops chooses the next: it plays each change that
 * may still join, as a whole or in part, once. A set in which transfers are shared is played once
 * more, to count who has which.
 *
 * Several processes of a run are replayed each for itself, from when they began to when they end;
 * the run ends with the last of them.
 *
 * The model. A run is ops: calls of the host, each with the work that it gives to a device. Not
 * when they were is kept, but how long each part takes and what it waits for; so a changed op moves
 * all that depends on it. A copy and a wait of one thread (op.h has the fields):
 *
 *     host    --- gap ---|-- own --|--- gap ---|-- own --|                  |-- wake --|--- gap
 *                    the copy                       wait for the stream     .   returns
 *                        |                                                  .
 *     device             |--- latency ---|...........|- space -|- duration -|
 *                    submitted     could begin    the one  begins        ends
 *                                                   before ends
 *
 *   gap       the thread's own time since its last call: the program's, kept as it is
 *   own       of the call, without what it waits for
 *   latency   from the call to the work's beginning on an idle device
 *   space     between the end of what came before in the stream, or on the engine, and this
 *   duration  of the work
 *   wake      from the end of what a call waits for to its return
 *
 * Work begins at the later of call + latency and the end of what came before + space, once its
 * engine is free (schedule.c). A call that waits returns wake behind what it waited for. A thread
 * that another one let go on begins behind that one's call instead of its own (handed_by).
 *
 * The life of an op: its call comes (ops.c) and stands in a queue until the device's record of it
 * has come, or cannot come any more (ops_queue.c). What came before it then tells its latency or
 * space, own or wake (recorded.c, by beginnings.c and handed.c whom its thread waited for). It
 * joins a batch, which is left out or played (sample.c), is written down (kept.c), loses what
 * recording added (xfw_op_alone()), and goes to each way's player (player.c): copied, changed by
 * each of the way's changes in their order, scheduled (schedule.c, ends.c), forgotten.
 *
 * How it goes, and in which file:
 *
 *   files -> events   pass/        unpacked, joined with what the device told of them
 *         -> ops      ops.h        what each call took by itself and waited for (op.h)
 *         -> batches  sample.h     of some hundred ops: of long processes not all are played
 *         -> kept     kept.h       in memory, some 60 bytes each: the files are walked once
 *         -> played   replays.c    all ways by one batch before the next
 *         -> ways     player.h     side by side on all processors (base/crew.h): a way is the run
 *                                  with some changes (change.h), each of which makes of an op what
 *                                  it would be; nothing that a way changes is another one's
 *         -> times    schedule.h   when each call and work would begin and end
 *
 * What a way costs is what each op costs it: some hundred instructions. So state is small,
 * questions to the profile are remembered (changes/asked.h), and an op is copied but for what
 * changes never look at (op.h).
 */
#ifndef XFW_WHATIF_H
#define XFW_WHATIF_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/change.h"
#include "analyzer/whatif/sample.h"
#include "analyzer/whatif/saving.h"
#include "analyzer/whatif/tap.h"

#define XFW_MARK_ERROR 0.05
#define XFW_ABSTAIN_ERROR 0.15
#define XFW_MOST_CHANGES 48
#define XFW_MOST_MEMBERS 8 /* of a set */

/* What is wrong with a saving besides: of the saving, since no model is the machine; and of the
 * run, since no two runs take the same time (docs/results/advice.md has how far both were off). */
#define XFW_MODEL_ERROR 0.20
#define XFW_RUN_ERROR 0.005
#define XFW_HARDLY_MORE 1.1 /* than a simpler change saves */
#define XFW_ALIKE 1.02      /* of a family's changes the first that saves so little less is best */
#define XFW_LEAST_SAVED 0.005 /* of the run: what was but tried and saves less is in no set */

struct xfw_times {
    double recorded_ns, replayed_ns, alone_ns, set_ns; /* set_ns 0: no set */
};

struct xfw_range_times { /* of a phase (NVTX), summed over processes; outermost instances */
    char *name;
    struct xfw_times times;
};

/*
 * The run as it was really played on a GPU, as recorded (without what recording cost) and as
 * advised: medians of so many times each. Both include what was not worth playing, since nothing
 * was under way then; the model's figures beside them are for the same part of the run.
 */
struct xfw_played {
    char *why;  /* one line: it was not played, and nothing below is known; NULL = it was */
    char *note; /* one line: what is to be known about it; NULL = nothing */
    unsigned times;
    double recorded_ns, advised_ns; /* advised_ns NAN: nothing is advised */
    double alone_ns, set_ns;        /* the model's for the same; set_ns NAN likewise */
    double error; /* relative, of recorded_ns to alone_ns, without what was not played */
    struct xfw_saving saving; /* of the set; low and high: of the single times. NAN: none */
    bool whole;               /* else the first part_ns of the run */
    double part_ns;
    uint64_t steps;   /* as recorded */
    uint64_t by_time; /* as advised: copies that could only be made to last as long */
    double limit_s, seconds;
};

struct xfw_whatif {
    bool known; /* false: nothing below is, and why says it in one line */
    char *why;
    bool marked;        /* the error is beyond XFW_MARK_ERROR */
    double recorded_ns; /* the run as it was recorded */
    double replayed_ns; /* replayed as it was recorded */
    double error;       /* relative, of the second to the first */
    double alone_ns; /* replayed without what recording cost: what all savings are held against */
    bool recording_known;      /* the profile tells what CUPTI's records cost */
    struct xfw_share ops;      /* of processes of which not all were played (sample.h) */
    double sample_error_ns;    /* so far off is a run's time for that, or a saving; 0: all were */
    size_t count;              /* of changes */
    struct xfw_saving *alone;  /* by change: it alone; low and high NAN: it was on trial, and does
                                  not pay */
    struct xfw_saving *added;  /* in the set: on top of those that were chosen before it; likely
                                  only; NAN: not in the set */
    struct xfw_saving *last;   /* in the set: what would be lost without it; likely only */
    unsigned *order;           /* in the set: from 1 on; 0 = not in it */
    struct xfa_table taken;    /* by members of the set: xfw_whatif_taken() */
    struct xfw_saving set;     /* all that are in it */
    bool set_played;           /* the set's saving is not the model's: it was played */
    struct xfw_played *played; /* NULL: nobody asked for it */
    struct xfw_times span;     /* the processes' spans (schedule.h) added up */
    struct xfw_range_times *ranges;
    size_t range_count;
    unsigned replays; /* so many times the run was played: each costs the time of one */
};

/* So many transfers of a class a change has in the set: not those that others of it have, or that
 * are left out. Asked of changes that say so (XFW_TAKES, XFW_IN_PARTS). */
uint64_t xfw_whatif_taken(const struct xfw_whatif *whatif, const struct xfw_change *change,
                          uint32_t class);

/* Of two changes, by their places, that cannot be made both of one transfer: does b concern all
 * that a does, or some of it? */
enum xfw_excluded { XFW_EXCLUDED_NOT, XFW_EXCLUDED_IN_PART, XFW_EXCLUDED };
typedef enum xfw_excluded xfw_excludes_fn(const void *self, size_t a, size_t b);

struct xfw_gather;

/* excludes: NULL: none does. gather: has seen the analysis's walk (gather.h); NULL: none has, and
 * it is walked over again. The analysis is finished; its files are opened again, so that they have
 * to be there. changes: borrowed, simpler ones first: one that saves hardly more than another
 * before it, which excludes it, is not in the set. */
struct xfw_whatif *xfw_whatif_of(struct xfa_analysis *analysis, struct xfw_change *const *changes,
                                 size_t count, xfw_excludes_fn *excludes, const void *self,
                                 struct xfw_gather *gather);
/* By how much low and high of a saving are widened. */
static inline double xfw_unsure_ns(const struct xfw_whatif *whatif, double likely_ns)
{
    double size = likely_ns < 0 ? -likely_ns : likely_ns;
    return (whatif->error + XFW_MODEL_ERROR) * size + XFW_RUN_ERROR * whatif->alone_ns;
}

/* The part of the run that it has to save. */
static inline double xfw_change_least(const struct xfw_change *change)
{
    return change->least_part > 0 ? change->least_part : XFW_LEAST_SAVED;
}

/* None of its family (change.h) saves more, and it is not for comparison. */
bool xfw_whatif_best_of_family(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                               size_t i);

/* The run as it runs alone once more, with the changes that have a place in the order (NULL: none),
 * as is likely, through the tap. One line for free(), when the files cannot be read again. */
char *xfw_whatif_tap(struct xfa_analysis *analysis, struct xfw_change *const *changes,
                     const unsigned *order, size_t count, const struct xfw_tap *tap);

/* Takes what was played over, and the set's saving from it, unless it is of a part of the run or
 * XFW_MARK_ERROR off as recorded; what remedies assume makes it as unsure as it was. */
void xfw_whatif_take_played(struct xfw_whatif *whatif, struct xfw_played *played);
void xfw_played_free(struct xfw_played *played);
void xfw_whatif_free(struct xfw_whatif *whatif);

#endif
