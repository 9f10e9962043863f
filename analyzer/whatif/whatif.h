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
 *              (replays.c), threads by turns (turns.c).
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
 * widened by the replay's error, XFW_MODEL_ERROR, XFW_RUN_ERROR, and how far processes of the
 * machine differ in speed (xfw_speed_error()); high at most to what can go: not the time before the
 * first work for a GPU and behind the last wait, no time that was not played, and not the work that
 * the change leaves to the busiest resource (schedule/left.h), but for XFW_RUN_ERROR of each of the
 * two runs.
 *
 * THE BEST SET
 *
 * The set is found by adding, one after the other, what saves the most on top of its members; of
 * those that save the same, as far as the replay can tell, the simplest; and one that leaves
 * transfers out, where the best adds hardly more (XFW_HARDLY_MORE). One that saves hardly more than
 * a simpler one does by itself, which it excludes, does not join (xfw_hardly_better()). What adds
 * less than two runs of a program differ by (XFW_RUN_ERROR) is no member: nobody could tell. Of two
 * changes that exclude each other, a member keeps the other out. When no other adds anything, those
 * kept out may join in part (XFW_IN_PARTS): they have the transfers that the members before them do
 * not take. One that was kept out as a whole is tried in its place, with all that goes with it: the
 * set so far is simpler, so it stays unless the other one saves more by what the model may be off
 * (XFW_MODEL_ERROR).
 * The next member is chosen by one walk over the ops that plays each candidate once,
 * XFW_MOST_MEMBERS times at most. A set that shares transfers is played once more, to count who has
 * which.
 *
 * Then those that only pay together: all others that can be made with the set and with each other
 * are played at once, also those that save nothing by themselves, or cost little. If that pays,
 * they are taken out again, one after the other, as long as as much is saved without (a walk for
 * each). Of two that exclude each other only the one that saves more by itself is tried so. Last,
 * of each family that has a member (numbers of buffers, streams) the best one with all the others
 * takes its place. Members that leave transfers out come first, and the others have what is left.
 *
 * SEVERAL PROCESSES
 *
 * Where messages of MPI or NCCL were matched between the run's processes, these are replayed
 * together (together.h): a receive waits for its send, a send that is not eager for its receive, a
 * collective for those whose data it needs (message_links.h); kernels of NCCL for those of other
 * ranks (kernel_links.h). So what one rank takes less moves those that waited for it. That takes
 * the ops of all of them in memory (op_store.h); else, and where nothing was matched, processes are
 * replayed each for itself, from their start to their end. The run ends with the last one.
 */
#ifndef XFW_WHATIF_H
#define XFW_WHATIF_H

#include "analyzer/whatif/schedule/change.h"
#include "analyzer/whatif/player.h"
#include "analyzer/whatif/result.h"

/* Two changes, by their places, cannot both be made of one transfer: does b concern all transfers
 * that a does, or some of them? */
enum xfw_excluded { XFW_EXCLUDED_NOT, XFW_EXCLUDED_IN_PART, XFW_EXCLUDED };
typedef enum xfw_excluded xfw_excludes_fn(const void *self, size_t a, size_t b);

struct xfw_gather;

#define XFW_MOST_PLAYED ((uint64_t)256 << 20) /* a minute or less (a guess) */

/* All is borrowed. */
struct xfw_proposals {
    /* Simpler ones first: one that saves hardly more than one before it that excludes it is not in
     * the set. */
    struct xfw_change *const *changes;
    size_t count;
    xfw_excludes_fn *excludes; /* NULL: none does */
    const void *self;
    /* What `xferscope apply` does by itself, all of it at once: of `changes`, or others. */
    struct xfw_change *const *applied;
    size_t applied_count;
    /* Of `changes`, by their places, what apply makes of them with a plan; NULL: nothing, or a plan
     * is not asked for. */
    struct xfw_change *const *by_apply;
    uint64_t most_played; /* ops of all processes in all ways that are asked for at first: where
                             a sample of the ops is not sure enough, and these are more, the
                             sample has to do (result.h, stopped); 0: XFW_MOST_PLAYED */
    struct xfw_gather *gather; /* has seen the analysis's walk (gather.h); NULL: none has, and the
                                  files, which have to be there, are read again */
};

/* The analysis is finished. */
struct xfw_whatif *xfw_whatif_of_proposals(struct xfa_analysis *analysis,
                                           const struct xfw_proposals *proposals);

/* The same without what apply does. */
struct xfw_whatif *xfw_whatif_of(struct xfa_analysis *analysis, struct xfw_change *const *changes,
                                 size_t count, xfw_excludes_fn *excludes, const void *self,
                                 struct xfw_gather *gather);

/* Plays the run without what recording cost once more, as likely, with the changes that have a
 * place in the order (NULL: none), through the tap. Returns NULL, or an error in one line for
 * free(). */
char *xfw_whatif_tap(struct xfa_analysis *analysis, struct xfw_change *const *changes,
                     const unsigned *order, size_t count, const struct xfw_tap *tap);

#endif
