/*
 * What a run would take: unchanged, with each of several changes, and with the best set of them.
 *
 * THE MODEL
 *
 * A run is a list of ops: calls of the host, each with the work that it gives to a device. An op
 * has no dates. It says how long each of its parts takes and what each part waits for. So when a
 * change makes one op shorter, all that waited for it begins earlier. A copy, and the wait for it:
 *
 *   host     -- gap |-- own --|-- gap --|- own -|                            |- wake -|- gap
 *                   the copy            the wait is                          :        the wait
 *                   is called           called                               :        returns
 *                   |                                                        :
 *   device          |--- latency ---|.................|- space -|- duration -|
 *                   submitted       ready             the work  it begins    it ends
 *                                                     before
 *                                                     ends
 *
 *   gap       the thread's own time since its last call returned. It is the program's and stays.
 *   own       the call's time, without what it waits for.
 *   latency   from the call to the start of its work, on an idle device.
 *   space     from the end of the work before, in the stream or on the engine, to this start.
 *   duration  of the work.
 *   wake      from the end of what a call waits for to the call's return.
 *
 * Work begins at the later of call + latency and end of the work before + space, as soon as its
 * engine is free. A call that waits returns at end of what it waits for + wake. A thread that
 * another thread or a stream woke begins its call a delay after that (woken_after_ns), instead of a
 * gap after its own last one.
 *
 * THE LIFE OF AN OP
 *
 *   event      of the trace: a call, or a record of the device (pass/). The files are read once.
 *   op         ops.c makes it of the call. It waits in a queue until the device's records have come
 *              (ops_queue.c). Then its times are found from what was recorded before it
 *              (recorded.c), and what woke its thread (wakers.c). In a long process not all ops are
 *              played (sample.c). An op is stored, compressed, for the next time (op_store.c).
 *   changed    A way is one variant of the run: a list of changes, played at worst, as likely or at
 *              best. What recording added goes (xfw_op_alone()), each way gets a copy of the op,
 *              and its changes alter, drop or insert ops in their order (player.c, change.h,
 *              changes/). All ways are played side by side, on all processors, batch by batch
 *              (replays.c).
 *   scheduled  schedule.c computes when the call and the work begin and end; streams.c knows when
 *              the work before it in streams and events is done.
 *   tapped     A tap receives the scheduled op (player.h), and the op is forgotten.
 *
 * What a way costs is some hundred instructions an op. So state is small, the profile's answers are
 * remembered (changes/costs.h), and changes get a part of an op (xfw_op_copy()).
 *
 * TRUST
 *
 * Replayed as recorded, with all that recording cost, the run takes a time that is compared with
 * the recorded one. The difference is the replay's error, which stands beside every figure. Beyond
 * XFW_MARK_ERROR savings are marked and widened by it, beyond XFW_ABSTAIN_ERROR there are none.
 *
 * A saving is the difference of two replays, both without what recording cost: of the program as it
 * runs alone. Each change is played alone, at worst, as likely and at best. low and high are
 * widened by the replay's error, XFW_MODEL_ERROR and XFW_RUN_ERROR; high at most to what can go:
 * not the time before the first work for a GPU and behind the last wait, and no time that was not
 * played.
 *
 * THE BEST SET
 *
 * The set is found by adding, one after the other, what saves the most on top of its members; of
 * those that save the same, as far as the replay can tell, the simplest. Of two changes that
 * exclude each other, a member keeps the other out. When no other adds anything, those kept out may
 * join in part (XFW_IN_PARTS): they have the transfers that the members before them do not take.
 * The next member is chosen by one walk over the ops that plays each candidate once,
 * XFW_MOST_MEMBERS times at most. A set that shares transfers is played once more, to count who has
 * which.
 *
 * Then those that only pay together: all others that can be made with the set and with each other
 * are played at once, also those that save nothing by themselves. If that pays, they are taken out
 * again, one after the other, as long as as much is saved without (a walk for each). Of two that
 * exclude each other only the one that saves more by itself is tried so.
 *
 * Processes of a run are replayed each for itself, from their start to their end; the run ends with
 * the last one.
 */
#ifndef XFW_WHATIF_H
#define XFW_WHATIF_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/change.h"
#include "analyzer/whatif/player.h"
#include "analyzer/whatif/sample.h"

#define XFW_MARK_ERROR 0.05
#define XFW_ABSTAIN_ERROR 0.15
#define XFW_MOST_CHANGES 48
#define XFW_MOST_MEMBERS 8 /* of a set */

/* Further errors of a saving: of the saving itself, since no model is the machine; and of the run,
 * since no two runs take the same time (docs/results/advice.md has how far off both were). */
#define XFW_MODEL_ERROR 0.20
#define XFW_RUN_ERROR 0.005
#define XFW_HARDLY_MORE 1.1   /* a change has to save this much more than a simpler one */
#define XFW_ALIKE 1.02        /* within a family, the first that saves nearly the most is best */
#define XFW_LEAST_SAVED 0.005 /* of the run: a change on trial that saves less is in no set */

/*
 * What something would save of a time, ns: low <= likely <= high. Low may be negative: it may cost
 * time. High is at most what can go of that time. Unknown is NAN; low and high may be unknown where
 * likely is known.
 */
struct xfw_saving {
    double low, likely, high;
};

/* How much is known of a saving: nothing; only that it is at most `high`; all three. */
enum xfw_known { XFW_UNKNOWN, XFW_AT_MOST, XFW_KNOWN };
static inline enum xfw_known xfw_saving_known(const struct xfw_saving *saving)
{
    if (saving->likely == saving->likely) /* no NAN */
        return XFW_KNOWN;
    return saving->high == saving->high ? XFW_AT_MOST : XFW_UNKNOWN;
}

/* The three in order, none above most_ns. */
struct xfw_saving xfw_saving_within(struct xfw_saving saving, double most_ns);

/* The saving of a time of whole_ns, or NANs if it breaks the rules above: that is a bug of ours,
 * and is reported (analyzer/base/check.h). */
struct xfw_saving xfw_saving_checked(const struct xfw_saving *saving, double whole_ns);

struct xfw_times {
    double recorded_ns, replayed_ns, alone_ns, set_ns; /* set_ns 0: no set */
};

struct xfw_range_times { /* of a phase (NVTX), summed over processes; outermost instances */
    char *name;
    struct xfw_times times;
};

/*
 * The run played on a GPU, as recorded (without what recording cost) and as advised: medians of
 * `times` each. Both include time that was not played, since nothing was in flight then; the
 * model's figures beside them are for the same part of the run.
 */
struct xfw_played {
    char *why;  /* one line: it was not played, and nothing below is known; NULL = it was */
    char *note; /* one line about it; NULL = nothing */
    unsigned times;
    double recorded_ns, advised_ns; /* advised_ns NAN: nothing is advised */
    double alone_ns, set_ns;        /* the model's for the same; set_ns NAN likewise */
    double error; /* relative, of recorded_ns to alone_ns, without what was not played */
    struct xfw_saving saving; /* of the set; low and high: of single times. NAN: none */
    bool whole;               /* false: the first part_ns of the run */
    double part_ns;
    uint64_t steps;   /* as recorded */
    uint64_t by_time; /* as advised: copies that could only be made to last as long */
    double limit_s, seconds;
};

struct xfw_whatif {
    bool known; /* false: nothing below is; why has the reason in one line */
    char *why;
    bool marked;          /* the error is beyond XFW_MARK_ERROR */
    double recorded_ns;   /* the run as it was recorded */
    double replayed_ns;   /* replayed as it was recorded */
    double error;         /* relative, of the second to the first */
    double alone_ns;      /* replayed without what recording cost: all savings are relative to it */
    bool recording_known; /* the profile has what CUPTI's records cost */
    struct xfw_share ops; /* of processes whose ops were not all played (sample.h) */
    double sample_error_ns;   /* error of a run's time, or a saving, for that; 0: all were */
    size_t count;             /* of changes */
    struct xfw_saving *alone; /* by change: it alone; low and high NAN: it was on trial, and saves
                                 too little */
    struct xfw_saving *added; /* in the set: on top of those chosen before it; likely only; NAN:
                                 not in the set */
    struct xfw_saving *last;  /* in the set: what would be lost without it; likely only */
    unsigned *order;          /* in the set: from 1 on; 0 = not in it */
    struct xfw_search {
        unsigned together; /* members of the set, the last ones, that only pay together */
        bool left_out;     /* the set has XFW_MOST_MEMBERS: others were not asked for */
    } search;
    struct xfa_table taken;    /* by members of the set: xfw_whatif_taken() */
    struct xfw_saving set;     /* all that are in it */
    bool set_played;           /* the set's saving is not the model's: it was played */
    struct xfw_played *played; /* NULL: not asked for */
    struct xfw_times span;     /* the processes' spans (schedule.h), added up */
    struct xfw_range_times *ranges;
    size_t range_count;
    double *in_ranges; /* likely savings: of change i in range r at [i * range_count + r]; NULL:
                          none were played */
    unsigned replays;  /* how many ways were played */
};

/* How many transfers of a class a change has in the set, without those that other members have. Of
 * changes that take transfers (XFW_TAKES, XFW_IN_PARTS). */
uint64_t xfw_whatif_taken(const struct xfw_whatif *whatif, const struct xfw_change *change,
                          uint32_t class);

/* Two changes, by their places, cannot both be made of one transfer: does b concern all transfers
 * that a does, or some of them? */
enum xfw_excluded { XFW_EXCLUDED_NOT, XFW_EXCLUDED_IN_PART, XFW_EXCLUDED };
typedef enum xfw_excluded xfw_excludes_fn(const void *self, size_t a, size_t b);

struct xfw_gather;

/* The analysis is finished. changes: borrowed, simpler ones first: one that saves hardly more than
 * one before it that excludes it is not in the set. excludes: NULL: none does. gather: has seen the
 * analysis's walk (gather.h); NULL: none has, and the files, which have to be there, are read
 * again. */
struct xfw_whatif *xfw_whatif_of(struct xfa_analysis *analysis, struct xfw_change *const *changes,
                                 size_t count, xfw_excludes_fn *excludes, const void *self,
                                 struct xfw_gather *gather);

/* The part of the set's saving that falls on a phase or on the span, with the relative bounds of
 * the set's saving; NAN where there is none. */
struct xfw_saving xfw_times_saving(const struct xfw_times *times, const struct xfw_saving *set);

/* By how much low and high of a saving are widened. */
static inline double xfw_unsure_ns(const struct xfw_whatif *whatif, double likely_ns)
{
    double size = likely_ns < 0 ? -likely_ns : likely_ns;
    return (whatif->error + XFW_MODEL_ERROR) * size + XFW_RUN_ERROR * whatif->alone_ns;
}

/* The part of the run that a change has to save. */
static inline double xfw_change_least(const struct xfw_change *change)
{
    return change->least_part > 0 ? change->least_part : XFW_LEAST_SAVED;
}

/* The change is the best of its family (change.h), and not for comparison. */
bool xfw_whatif_best_of_family(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                               size_t i);

/* Plays the run without what recording cost once more, as likely, with the changes that have a
 * place in the order (NULL: none), through the tap. Returns NULL, or an error in one line for
 * free(). */
char *xfw_whatif_tap(struct xfa_analysis *analysis, struct xfw_change *const *changes,
                     const unsigned *order, size_t count, const struct xfw_tap *tap);

/* Takes `played` over. The set's saving becomes the played one, unless that is of a part of the run
 * or its error is beyond XFW_MARK_ERROR; what remedies assume keeps its bounds as wide as before.
 */
void xfw_whatif_take_played(struct xfw_whatif *whatif, struct xfw_played *played);
void xfw_played_free(struct xfw_played *played);
void xfw_whatif_free(struct xfw_whatif *whatif);

#endif
