/*
 * The changes: what each remedy does to the replayed run (change.h). Findings make them, one
 * function each. Every change says what is taken for granted at worst, as likely and at best.
 *
 * Where it is        | changes
 * ------------------ | -------------------------------------------------------------------------
 * waits.c            | copies become asynchronous; waits come later; waits for a device go
 * result_waits.c     | the host waits for copies, not for the work behind; or streams wait instead
 * no_polling.c       | the host waits by a call instead of queries (no_polling.h)
 * paths.c            | copies take the time of another path: page-locked, contiguous, a full link
 * peer_copy.c        | bytes go from GPU to GPU without the host
 * pack.c             | runs of small copies become one copy each
 * elements.c         | elements fetched and sent by turns: all at once (elements.h, areas.h)
 * overlap.c          | copies overlap kernels and each other: in streams of their own, or in parts
 * leave_out.c        | transfers go; copies of a graph go
 * look_less.c        | results are looked at less often
 * host_turns.c       | copies to the host go, and what the host does with them; or makes of others
 * work_beside.c      | the host works on what copies brought in another thread, while it goes on
 * own_thread.c       | host functions go from streams to a thread of the program's own
 * contention.c       | calls do not wait for other threads in the driver
 * by_turns.c         | threads do not wait for each other's turns
 * gpu_threads.c      | a thread that serves several GPUs becomes one for each (gpu_threads.h)
 * mapped.c           | kernels read host memory in place; or do not any more
 * host_reads.c       | the host reads page-locked memory that is cached
 * managed.c          | managed memory is prefetched, stays with the host, or is device memory
 * managed_apart.c    | what host and kernels both touch of managed memory lies apart (managed.h)
 * managed_turns.c    | the host does not touch managed memory between kernels (managed.h)
 * calls_once.c       | memory is allocated, or page-locked, once
 * pool_kept.c        | a memory pool keeps what was freed (pool_kept.h)
 * graphs_kept.c      | graphs are instantiated once, and updated
 * launch_graphs.c    | launches that come again in one order become graphs (sequences.h)
 * batch_launches.c   | kernels are launched once for all pieces (pieces.h)
 * looped_launches.c  | a kernel's launches in a row become one (loops.h)
 * made_once.c        | what a library makes and destroys is made once
 * locked.c           | memory is mapped, touched and page-locked by the program (locked.h)
 * own_streams.c      | work of the legacy default stream goes to streams of its own
 * streams_by_apply.c | the same for some copies, as apply does it
 * memories.c         | (none: what memory there is, and what kernels are given of it: memories.h)
 * touched.c          | copies use memory of the host that is kept (touched.h)
 * own_time.c         | messages take less of a thread's own time (own_time.h)
 * kernel_parts.c     | kernels take less, each by a part of its own (kernel_parts.h)
 *
 * They share costs.h (what the profile says), waits.h (host memory that a copy still uses),
 * spans.h (memory on the device, and when it was used last) and work_order.h (work in order by its
 * memory).
 *
 * Sets that a change is given become the change's, and are left empty. Times are ns; GPUs are the
 * run's numbers. What is borrowed has to outlive the change.
 */
#ifndef XFW_CHANGES_H
#define XFW_CHANGES_H

#include "analyzer/base/table.h"
#include "analyzer/pass/observer.h"
#include "analyzer/sums/blocks.h"
#include "analyzer/whatif/schedule/callers.h"
#include "analyzer/whatif/schedule/change.h"
#include "analyzer/whatif/changes/buffers.h"
#include "analyzer/whatif/changes/feeders.h"
#include "analyzer/whatif/changes/gpu_threads.h"
#include "analyzer/whatif/changes/managed.h"
#include "analyzer/whatif/changes/memories.h"
#include "analyzer/whatif/changes/no_polling.h"
#include "analyzer/whatif/changes/own_time.h"
#include "analyzer/whatif/changes/work_beside.h"

/* ---- waits.c --------------------------------------------------------------------------------- */

/*
 * Copies between page-locked memory and a GPU do not make the host wait: the call returns when it
 * has submitted the copy, and the host waits before it uses the memory again (waits.h). At worst it
 * uses it at once, and the copy blocks as before. For pageable memory: xfw_change_times().
 */
struct xfw_change *xfw_change_async(const struct xfa_analysis *analysis, struct xfw_set *classes);

/*
 * Waits for results come later: at the thread's next call, behind the thread's own time that
 * follows. The trace does not show whether that time needs the result. It cannot need all of it
 * where it is too short to read what has been fetched since the wait before: such waits move, as
 * likely. At best all waits of the call sites do, at worst none.
 */
struct xfw_change *xfw_change_later_wait(const struct xfa_analysis *analysis,
                                         struct xfw_set *sites);

/*
 * Waits for a whole device go, at these call sites: the program waits for streams and events later
 * anyway, and those waits stay. At worst nothing changes.
 */
struct xfw_change *xfw_change_no_device_wait(const struct xfa_analysis *analysis,
                                             struct xfw_set *sites);

/* ---- result_waits.c -------------------------------------------------------------------------- */

/*
 * Waits for a device or a stream, at these call sites, wait for less: for what the streams they are
 * for were given last that the host has to do with (copies that it does not wait for anyway, from
 * or to its memory; kernels that are given its memory, or managed memory; graphs, prefetches and
 * host functions), by an event that is recorded behind it. Where there is nothing of that, they
 * stay. What such an event costs is paid at the wait.
 *
 * As likely kernels of which it is not known what they are given, and graphs, count too; at best
 * they do not. At worst nothing changes: the host may need the work that is behind.
 */
struct xfw_change *xfw_change_result_wait(const struct xfa_analysis *analysis,
                                          struct xfw_set *sites);

/*
 * The same where such waits also keep work of streams in order, or do nothing else: what is left of
 * them for the host it waits for as above, and streams are made to wait for each other where they
 * use the same memory (work_order.h). Where the host needs nothing of them they go. At best that is
 * so of the sites at_best, too, and nobody needs what functions that streams call have done, or the
 * copies to the host before such a function in its stream. At worst nothing changes.
 */
struct xfw_change *xfw_change_order_by_event(const struct xfa_analysis *analysis,
                                             struct xfw_set *sites, struct xfw_set *at_best);

/* ---- paths.c --------------------------------------------------------------------------------- */

/*
 * Copies take the time of another path: of page-locked memory, of a near node, of peer access.
 *
 * On the device a copy takes what the profile has for the new path (to); or, where the old one
 * (from) was measured, too, it is scaled by the ratio of both. A call that blocked takes the new
 * path's blocking time. An Async call that blocked because its memory was pageable returns when it
 * has submitted the copy, and the memory must be left alone until it is done (waits.h); at worst
 * the host waits at once.
 *
 * The costs of the new path are paid where they are due: page-locking each buffer before its first
 * use, or around each use; staging takes the thread's time as long as the copy.
 */
struct xfw_new_path {
    uint32_t class;
    const struct xfp_path *to, *from; /* borrowed; from NULL: not measured, or not needed */
    unsigned turns; /* XFW_PIN_ONCE: it uses so many buffers again and again; 0: it does not */
};

enum xfw_pinning {
    XFW_MOVED, /* none: the memory lies elsewhere, or is reached in another way */
    XFW_PIN_ONCE,
    XFW_PIN_PER_USE,
    XFW_STAGE,
    XFW_APPLIED
};

/*
 * XFW_APPLIED stages as `xferscope apply` does: once copies that it could make have taken
 * XFW_APPLIED_START_NS, by the trials of each class and size (trials.h): where most do not gain,
 * the few that would are left alone, too. A large one is tried in parts, and begins to gain within.
 * Each takes longer than its pieces, by what was measured on an H200 for waking threads and looking
 * at memory (docs/results/apply-h200-2026-11-27.md: times by size).
 */
#define XFW_APPLIED_START_NS 30e6
#define XFW_APPLIED_LEAST ((uint64_t)1 << 20) /* by a profile, where it should gain */
#define XFW_APPLIED_LARGE ((uint64_t)64 << 20)
#define XFW_APPLIED_UP_NS 300e3
#define XFW_APPLIED_DOWN_NS 100e3

struct xfw_times_terms {
    enum xfw_pinning pinning;
    unsigned threads;                  /* XFW_STAGE, XFW_APPLIED */
    const struct xfw_buffers *buffers; /* XFW_PIN_ONCE: borrowed */
    const struct xfw_marks *made;      /* copies whose call made the host's memory: borrowed, or
                                          NULL: none is known */
    bool asynchronous;  /* where it is page-locked: synchronous calls become Async ones */
    unsigned in_flight; /* XFW_PIN_ONCE: so many buffers at least are used by turns, and paid for
                           with those that there are */
};

/* paths: copied. */
struct xfw_change *xfw_change_times(const struct xfa_analysis *analysis,
                                    const struct xfw_new_path *paths, size_t count,
                                    const struct xfw_times_terms *terms);

/*
 * 2D copies take the time of a contiguous copy of as many bytes. As likely and at best the program
 * keeps its data contiguous. At worst the host gathers the rows before each copy (or spreads them
 * behind it), at the rate of copying what is in no cache. What such a copy brings to pageable
 * memory for the first time may have taken longer because that memory was made while it was copied
 * to: as likely and at worst it takes as long as it did.
 */
struct xfw_contiguous_path {
    uint32_t class;
    const struct xfp_path *path; /* contiguous copies between the same memories; borrowed */
    bool in_call;                /* of pageable memory: the call becomes shorter */
    bool to_host;
};
/* paths: made with xfa_alloc(), become the change's. */
struct xfw_change *xfw_change_contiguous(const struct xfa_analysis *analysis,
                                         struct xfw_contiguous_path *paths, size_t count);

/*
 * A GPU's link with the host runs at its full rate: copies of page-locked memory become faster by a
 * factor, but for the fixed cost of each (the profile's Lo). Pageable memory is copied by the
 * processor, which gains nothing. At worst half is gained, since the host's memory may not keep up;
 * nothing, where it is not known that the link is slow (certain: it is).
 */
struct xfw_link_factors {
    double to_device, to_host; /* 1: as it was */
};
/* factors: by the run's GPUs; copied. Further GPUs stay as they were. */
struct xfw_change *xfw_change_link(const struct xfa_analysis *analysis,
                                   const struct xfw_link_factors *factors, size_t count,
                                   bool certain);

/* ---- peer_copy.c ----------------------------------------------------------------------------- */

/*
 * Bytes that the program takes from one GPU to another through host memory go directly. Of each two
 * copies, down and up, the first becomes an event, the second a copy from GPU to GPU in its stream,
 * behind that event. The host's wait between the two goes, since it was for the bytes; at worst it
 * stays, for what came before them. Without peer access the copy up becomes one through a ring of
 * page-locked buffers (the profile's staged copies), for which the host waits.
 */
/* down, up: the transfers; borrowed. */
struct xfw_change *xfw_change_peer_copy(const struct xfa_analysis *analysis,
                                        const struct xfw_marks *down, const struct xfw_marks *up);

/* A copy from GPU to GPU: over peer access, or staged. */
struct xfw_peer_cost {
    bool known, staged;
    double ns, submit_ns;
    double lead_ns;   /* of ns, as in struct xfw_copy_cost */
    unsigned buffers; /* staged: the ring */
    uint64_t buffer_bytes;
};
struct xfw_peer_cost xfw_peer_cost(const struct xfa_achievable *achievable, int from, int to,
                                   uint64_t bytes, enum xfw_certainty certainty);

/* ---- overlap.c ------------------------------------------------------------------------------- */

/*
 * Copies leave their stream's order: those to the host, and if asked for those to the device, go to
 * streams of their own, and copies and kernels wait only for the data that they need (spans.h). So
 * does a program that works on parts of its data in several streams, or with several buffers.
 *
 *   - A part of the work is copies to the device, kernels, copies to the host, of one stream, in
 *     this order; the next part begins where the order begins again. A part begins when the one
 *     that is `buffers` before it is done.
 *   - A kernel waits for the copies of what it is given; a copy to the host for the kernels that
 *     were given its source; a copy to the device for one that brings its source to the host.
 *   - Copies that now meet those of the other direction take as long as the profile says of copies
 *     in both directions. On a GPU with one copy engine they do not meet.
 *   - With one buffer nothing leaves: that is for comparison, and is not advised.
 *   - Copies of page-locked memory that made the host wait become asynchronous; the host waits for
 *     them where it then had the time to read or write that much. Copies of pageable memory stay.
 *   - Waits stay, and wait for what they waited for.
 *
 * At worst each copy costs the host an event recorded and waited for, blocking copies go on
 * blocking, and kernels do not write what is still being fetched. At best a wait is for the part
 * that is as far back as there are buffers.
 */
#define XFW_MOST_STREAMS 8
struct xfw_dataflow_terms {
    unsigned buffers; /* 1 to XFW_MOST_STREAMS */
    bool to_device;   /* copies to the device leave, too */
    /* Made first: one that page-locks memory, after which its copies are of page-locked memory.
     * Becomes the change's; NULL: none. */
    struct xfw_change *first;
};
struct xfw_change *xfw_change_dataflow(const struct xfa_analysis *analysis,
                                       const struct xfw_dataflow_terms *terms);

/*
 * A copy to the device, the kernels that work on it and the copy back, in a row in one stream, are
 * cut into parts: while one part is computed the next one comes and the last one goes (van
 * Werkhoven et al., section VII: streams).
 *
 *   - Cut are asynchronous, contiguous copies of page-locked memory with at least XFW_LEAST_PART
 *     bytes a part, and kernels with at least XFW_LEAST_THREADS threads a part. A kernel's part
 *     waits for that part of all copies before it, a copy's part for the kernel's. What is not cut
 *     waits for all parts, and they for it.
 *   - A part of a copy takes its share of the time, and what the profile has for a copy of that
 *     size beyond its share; a part of a kernel its share and XFW_LAUNCHED_NS. The host pays for
 *     each call.
 *
 * It is taken for granted that kernels can be cut; at worst nothing is.
 */
#define XFW_MOST_PARTS 16
#define XFW_LEAST_PART ((uint64_t)256 << 10)
#define XFW_LEAST_THREADS 16384
#define XFW_LAUNCHED_NS 2000.0
#define XFW_SPLIT_LEAST 0.1  /* of the span: rewriting kernels is more work than other calls */
#define XFW_SPLIT_TRIED 0.02 /* of the run: where copies and kernels both take so much */

/* parts: 2 to XFW_MOST_PARTS. */
struct xfw_change *xfw_change_split(const struct xfa_analysis *analysis, unsigned parts);

/* ---- host_turns.c ---------------------------------------------------------------------------- */

/*
 * Copies to the host go, with what they made the host wait for (their call, or the thread's next
 * wait), and the thread's own time behind that until its next call: the GPU does that work, or
 * nobody needs it. Copies to the device of as many bytes, between such time and the thread's next
 * kernel, go with it, as its results. No record shows whether it can: at worst and as likely
 * nothing changes. part: own_work.h.
 */
#define XFW_TURNS_LEAST 0.1 /* of the span: moving work to the GPU is more than other calls */
struct xfw_change *xfw_change_host_turns(const struct xfa_analysis *analysis,
                                         struct xfw_set *classes, double part);

/*
 * The thread's own time right before copies to the device goes: the GPU makes there what they sent.
 * Where it took as long as converting does (longer than writing at 25 GB/s, and
 * XFW_CONVERT_NS_PER_BYTE at most), of XFW_RAW_PART of its bytes, which is what is copied. Where it
 * took longer, up to XFW_MAKE_NS_PER_BYTE (numbers made one by one), of nothing: the copy goes,
 * too, and those behind it before the thread's next kernel or longer own time, made with it. Still
 * longer is other work. At worst and as likely nothing changes.
 */
#define XFW_RAW_PART 0.25           /* bytes that become floats */
#define XFW_CONVERT_NS_PER_BYTE 1.0 /* of what is sent: a guess */
#define XFW_MAKE_NS_PER_BYTE 32.0   /* 256 ns for a number of 8 bytes: a guess */
struct xfw_change *xfw_change_host_converts(const struct xfa_analysis *analysis,
                                            struct xfw_set *classes, double part);

/* ---- leave_out.c ----------------------------------------------------------------------------- */

/*
 * Transfers go, with what they made the host wait for. In their place comes nothing, a copy on the
 * device (from where the bytes are already), or a memset; both are submitted and not waited for.
 *
 * At worst a copy that blocked leaves its wait behind: the program may rely on it. A copy on the
 * device takes what the profile says of it; at best it is not needed, since the program can use the
 * bytes where they are. A memset, which was not measured, takes as long at worst, half as long as
 * likely: it writes and does not read. A kernel behind a copy that went begins as soon as one
 * behind another kernel of its stream. At best the time goes, too, from what woke a thread
 * (wakers.h) to such a copy to the device, if that is the thread's first call.
 *
 * Of what is `made`, at best the thread's own time right before such copies goes, too, where all
 * copies to the device until its next time of its own go, or are too small to be hashed.
 */
struct xfw_leave_out {
    /* By certainty: what goes from there on, towards the best; transfers by their process and
     * number in it (base/marks.h). Borrowed, as are the others. */
    const struct xfw_marks *marks;
    struct xfw_set classes;         /* of the marked ones only these; becomes the change's */
    const struct xfw_marks *also;   /* the same, of any class; NULL: none */
    const struct xfw_marks *copied; /* those that the device copies instead; NULL: none */
    bool set;                       /* it sets the memory instead, for all */
    bool made;                      /* the host made what they send, each time */
    bool at_best;                   /* they go at best only, unless it is assured */
    bool by_apply;                  /* as `xferscope apply` leaves out uploads, below */
};
struct xfw_change *xfw_change_leave_out(const struct xfa_analysis *analysis,
                                        const struct xfw_leave_out *what);

/* With by_apply copies of page-locked memory and of fewer bytes stay, and of the others the first
 * bytes are copied (more by Async, where the driver waits with more). Their
 * source is hashed before, as likely at 25 GB/s, at worst at 10 GB/s, at best in no time; copies
 * whose call is hardly longer than that stay. */
#define XFW_APPLIED_LEFT_OUT ((uint64_t)512 << 10)
#define XFW_APPLIED_COPIED ((uint64_t)128 << 10)
#define XFW_APPLIED_AT_ONCE ((uint64_t)2 << 20)
#define XFW_APPLIED_COPIED_AHEAD ((uint64_t)4 << 20)

/* The profile has copies within this GPU, to take their place. */
bool xfw_leave_out_knows(const struct xfa_analysis *analysis, int gpu);

/*
 * Graphs that are launched at a site take `ns` less, but for the first: copies that they make each
 * time are made once, before. At best only: what their kernels do with what was copied is not in
 * the record.
 */
struct xfw_shorter_graph {
    uint32_t site; /* its number */
    double ns;
};
struct xfw_change *xfw_change_shorter_graphs(const struct xfa_analysis *analysis,
                                             const struct xfw_shorter_graph *graphs, size_t count);

/* ---- look_less.c ----------------------------------------------------------------------------- */

/*
 * The host looks at a value of the device only every XFW_LOOK_EVERY-th time: the other copies go,
 * and with each the wait for it, its own or the thread's next one if no other work was submitted in
 * between; behind its own one for its stream, too. With a look go the kernels that only make the
 * value, and copies of as many bytes at most to its place since the look before. At worst all stay:
 * the program needs the value each time. At best the next work follows the one before at once, and
 * only the last look is left: the device decides, or keeps the values. Rounds that a loop makes
 * because it learns later that it is done are not counted.
 */
#define XFW_LOOK_EVERY 32
/* marks: of the copies that go; at_best: of those that then go, too; feeders: NULL: none; borrowed.
 */
struct xfw_change *xfw_change_look_less(const struct xfa_analysis *analysis,
                                        const struct xfw_marks *marks,
                                        const struct xfw_marks *at_best,
                                        const struct xfw_feeders *feeders, struct xfw_set *classes);

/* ---- own_streams.c --------------------------------------------------------------------------- */

/*
 * The rule that work of the legacy default stream waits for blocking streams, and they for it, does
 * not hold any more: the default stream's work has a stream of its own (per_thread: one for each
 * thread), or the others are non-blocking. Work that uses the same memory as other work does,
 * by the addresses of copies and memsets and the pointers that kernels are given, still waits for
 * it (kernels do not for each other); work of which that is not known waits for all. Waits of the
 * host for the default stream become waits for the device. At worst nothing changes.
 */
struct xfw_change *xfw_change_own_streams(const struct xfa_analysis *analysis, bool per_thread);
/* As apply does it (docs/plan.md): copies of page-locked memory from 1 MiB on that the host waits
 * for, each thread's in a blocking stream of its own, by turns with the default stream until it is
 * known which is faster. kernels: they and memsets go with them. */
struct xfw_change *xfw_change_streams_by_apply(const struct xfa_analysis *analysis, bool kernels);

/* ---- own_thread.c ---------------------------------------------------------------------------- */

/*
 * Host functions that streams call, submitted at these call sites, only hand their work to a thread
 * of the program's own, which does one job after the other: the stream goes on. Where the host
 * waited for a function, by a wait for the stream, the device or an event behind it, it waits for
 * the thread as well; at best it does not (the results are used in the end). At worst nothing
 * changes: the stream may need what the function does. How long functions take is what the record
 * shows of it (recorded.c).
 */
struct xfw_change *xfw_change_own_thread(const struct xfa_analysis *analysis,
                                         struct xfw_set *sites);

/* ---- contention.c ---------------------------------------------------------------------------- */

/*
 * Calls that submit work while another thread is in the driver take less: as likely, what such a
 * call takes alone and, for each call that was under way, what that takes alone and its
 * thread's time before it, so as if one thread made all of them, one after the other; at best, all
 * beyond such a call alone. At worst nothing changes. Not those behind (and of) a kernel's first
 * launch; or (loading) only those, and at best only: loading takes its time elsewhere.
 */
struct xfw_change *xfw_change_no_contention(const struct xfa_analysis *analysis, bool loading);

/* ---- by_turns.c ------------------------------------------------------------------------------ */

/* Launches of a kernel in a row with the same memory (loops.h) become one, at best; where that is
 * known to do, as likely. Merged kernels take their time as pieces do (batch_launches.h). */
struct xfw_change *xfw_change_looped_launches(const struct xfa_analysis *analysis);

/* A thread that waited until another one's turn was over (handovers.h), in processes whose threads
 * take turns, does not: of its time before the call what lay behind that is left. At worst and as
 * likely nothing changes; known to need no turns, it likely keeps half of that turn, too. */
struct xfw_change *xfw_change_no_turns(const struct xfa_analysis *analysis);

/* ---- mapped.c -------------------------------------------------------------------------------- */

/*
 * Page-locked memory is not copied to the device any more: kernels read it where it is, over the
 * link, and only what they read crosses it. The copies go. Each kernel that is given what they
 * filled takes as much longer as reading takes.
 *
 * Its own time says how much it reads at most: what can be read of the device's memory meanwhile.
 * As likely half of that; at worst all of it in scattered pieces, at half the link's rate; at best
 * hardly anything.
 */
struct xfw_change *xfw_change_map(const struct xfa_analysis *analysis, struct xfw_set *classes);

/*
 * Kernels that read mapped host memory more than once over read a copy in the device's memory
 * instead. It is copied before a kernel, in its stream, if the host may have changed it since: only
 * where it has waited, as recorded, until the last kernel that read it was done.
 *
 * As likely a kernel's time is all reading, at the link's rate, if it takes more than
 * XFW_READ_AGAIN times as long as reading XFW_MAPPING_LEAST and more; else it has read it once. It
 * only reads, unless its name says otherwise (then what it wrote is copied back). At worst it takes
 * as long as before, and may have written. At best it reads twice as fast as a copy within the
 * device, and the host changes the memory once only.
 */
/* sites: of the allocations. asked: only if the host leaves the memory unchanged; unless that is
 * assured, nothing changes but at best. */
struct xfw_change *xfw_change_stop_mapping(const struct xfa_analysis *analysis,
                                           struct xfw_set *sites, bool asked);

/* ---- memories.c: memories.h ------------------------------------------------------------------ */

/* ---- own_time.c: own_time.h ------------------------------------------------------------------ */

/* ---- touched.c: touched.h -------------------------------------------------------------------- */

/* ---- host_reads.c ---------------------------------------------------------------------------- */

/*
 * Memory that these sites allocate write-combined is allocated without that, and the host reads it
 * through its caches: the thread's own time in which it reads what copies and kernels brought there
 * becomes shorter, by the ratio of the profile's host-read/ figures. Copies to the device take what
 * they took.
 *
 * That is the thread's own time behind the wait for it. As likely all of what was brought is read,
 * in the next own time that is long enough for half of it; what kernels write counts where their
 * names say that they do. At best each own time behind that wait is reading, as long as something
 * is left to read, and kernels may write to all that they are given. At worst nothing is read.
 */
struct xfw_change *xfw_change_cached_reads(const struct xfa_analysis *analysis,
                                           struct xfw_set *sites);

/* ---- managed.c: managed.h -------------------------------------------------------------------- */

/* ---- calls_once.c ---------------------------------------------------------------------------- */

/*
 * Memory that a program takes and gives back again and again (allocates and frees, registers and
 * unregisters) is taken once and kept. Of calls that are alike as many stay as are held at the same
 * time: the first that take, the last that give back. The others go, and with them what they waited
 * for: a cudaFree() waits until the device is idle.
 *
 * What a call took beyond what the profile has for such calls has other causes, and is not
 * promised. At best it goes, too; at worst a quarter less is saved, by which such calls differ
 * between processes.
 *
 * Copies in flight from or to page-locked memory may still be waited for, since the host may go on
 * to read or fill it. As likely until they are done; at worst all that was waited for then; at best
 * nothing.
 */
#define XFW_ONCE_MOST 65536        /* groups of calls of a run */
#define XFW_ONCE_ADDRESSES 262144u /* of a process */
#define XFW_ONCE_ANY_SIZE 0u       /* a block of the largest size serves each call */

/* Calls that take memory and are alike. */
struct xfw_once_key {
    uint64_t address; /* of registrations, which are of existing memory; else 0 */
    uint64_t bytes;   /* XFW_ONCE_ANY_SIZE: of each size */
    uint32_t process, site;
    int16_t gpu;
    uint16_t pooled; /* 1: of a memory pool, in a stream's order */
    uint32_t memory; /* enum xft_memory */
};
struct xfw_once_calls {
    struct xfw_once_key key;
    uint32_t first; /* the first call's, in the terms of who keeps the book */
    uint64_t takes, gives;
    uint64_t held, most; /* at the end, and at the same time */
    uint64_t bytes;      /* of all calls that take */
    uint64_t largest;    /* bytes of one */
    uint64_t held_bytes, most_bytes;
    double takes_ns;    /* in all calls that take */
    double needless_ns; /* in those that take though as much had been there before */
    double gives_ns;
    bool larger_serve; /* so do blocks of any size: these are for who keeps one size only */
};

/* Calls of one process, and the memory that it holds. */
struct xfw_once_book {
    struct xfa_table calls;   /* struct xfw_once_calls */
    struct xfa_table holders; /* by address */
};
void xfw_once_book_init(struct xfw_once_book *book);
void xfw_once_book_free(struct xfw_once_book *book);

/* A call that takes so many bytes; NULL: there are too many to tell apart. */
struct xfw_once_calls *xfw_once_take(struct xfw_once_book *book, const struct xfw_once_key *key,
                                     uint64_t address, uint64_t bytes, double ns);
/* One that gives back; NULL: nobody is known to have taken it. */
struct xfw_once_calls *xfw_once_give(struct xfw_once_book *book, uint64_t address, double ns);

/* How many could go. */
uint64_t xfw_once_needless_takes(const struct xfw_once_calls *calls);
uint64_t xfw_once_needless_gives(const struct xfw_once_calls *calls);

/* calls: struct xfw_once_calls, of the run; borrowed. chosen: places in it. Where blocks of the
 * largest size serve (XFW_ONCE_ANY_SIZE), at worst nobody knows that size beforehand: a call that
 * takes more than there was is made, and takes half as much again. At best what was in a block need
 * not be copied into the larger one that follows it. */
struct xfw_change *xfw_change_calls_once(const struct xfa_analysis *analysis,
                                         const struct xfa_table *calls, struct xfw_set *chosen);

/* The same as the pool of `xferscope apply` does it: a call that gives back waits as it did, but
 * only waits: what freeing took behind the work goes. What the pool does takes 0.2 us a call as
 * likely, 1 us at worst: a guess. */
struct xfw_change *xfw_change_pool(const struct xfa_analysis *analysis,
                                   const struct xfa_table *calls, struct xfw_set *chosen);

#endif
