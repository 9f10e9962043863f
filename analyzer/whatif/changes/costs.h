/*
 * What a changed program would pay, by the machine's profile: at worst, as likely and at best, with
 * the errors of its figures. Times are ns; GPUs are the run's numbers.
 */
#ifndef XFW_COSTS_H
#define XFW_COSTS_H

#include <math.h>

#include "analyzer/whatif/schedule/change.h"
#include "analyzer/whatif/ops/ops_link.h"

/* ---- what no profile has --------------------------------------------------------------------- */

/* Guesses, the first six only where the profile has no such figure. */
#define XFW_SUBMIT_NS 2000.0      /* a call that submits work */
#define XFW_RECORD_NS 1000.0      /* event/record */
#define XFW_WAIT_NS 500.0         /* event/wait: a stream waits for an event */
#define XFW_EVENT_NS 2000.0       /* both of these, for copies that leave their stream */
#define XFW_SYNC_NS 500.0         /* sync/event: the host waits for an event that is done */
#define XFW_SYNC_STREAM_NS 2000.0 /* sync/stream */
#define XFW_WAKE_NS 2000.0        /* from an event to the thread that waits for it */
#define XFW_BUSY_NS 10000.0       /* longer between two calls: the thread does work of its own */
#define XFW_READ_NS_PER_BYTE 0.04 /* faster than one thread reads memory */

/* A thread's own time is long enough to be work, and too short to have read so much. */
static inline bool xfw_cannot_have_read(double ns, uint64_t bytes)
{
    return ns > XFW_BUSY_NS && ns < XFW_READ_NS_PER_BYTE * (double)bytes;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* A time with this relative error: longer at worst, shorter at best. By half at most, since a
 * larger error says only that the figure is not known; so it is never 0 or less. */
double xfw_as_sure(double ns, double error, enum xfw_certainty certainty);

/* For a time that is subtracted: at worst it is shorter. */
static inline enum xfw_certainty xfw_opposite(enum xfw_certainty certainty)
{
    return (enum xfw_certainty)(XFW_HIGH - certainty);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* A copy over a path, alone: on the device, the host's time to submit it, and in a call that
 * blocks. */
struct xfw_copy_cost {
    bool known; /* false: nothing below is */
    double device_ns, submit_ns, blocking_ns;
    double lead_ns; /* of device_ns: passes while the copy before it on the engine runs (op.h) */
};
struct xfw_copy_cost xfw_copy_cost(const struct xfp_path *path, uint64_t bytes,
                                   enum xfw_certainty certainty);

/* The copy takes that, and blocks its thread. */
static inline void xfw_copy_blocks(struct xfw_op *op, const struct xfw_copy_cost *cost)
{
    op->latency_ns = op->wake_ns = (cost->blocking_ns - cost->device_ns) / 2;
    op->duration_ns = cost->device_ns;
    op->lead_ns = cost->lead_ns;
    op->awaits = XFW_AWAITS_ITSELF;
    op->own_ns = 0;
}

/* The same, and it is only submitted. around_ns: xfw_around_ns(); NAN: half of what one that blocks
 * takes around the device's time. */
static inline void xfw_copy_is_submitted(struct xfw_op *op, const struct xfw_copy_cost *cost,
                                         double around_ns)
{
    op->latency_ns = isnan(around_ns) ? (cost->blocking_ns - cost->device_ns) / 2 : around_ns;
    op->duration_ns = cost->device_ns;
    op->lead_ns = cost->lead_ns;
    op->awaits = XFW_AWAITS_NOTHING;
    op->own_ns = cost->submit_ns;
    op->wake_ns = 0;
}

/* Explicit copies between host memory of a kind (on a node, -1: any) and a GPU; NULL: not measured.
 */
const struct xfp_path *xfw_host_path(const struct xfa_achievable *achievable,
                                     enum xft_direction direction, enum xft_memory memory, int node,
                                     int gpu);

/* From the call of an asynchronous copy to its start on an idle GPU, and from its end to the host
 * that waits for it: half, each, of what one such copy and the wait take beyond the device's time
 * (copies/single). A copy that blocks is submitted in another way. NAN: not measured. */
double xfw_around_ns(const struct xfa_achievable *achievable, enum xft_direction direction,
                     int gpu);

/* A GPU's table, as "register/pageable"; NULL: not measured. */
const struct xfp_table *xfw_gpu_table(const struct xfa_achievable *achievable, const char *what,
                                      int node, int gpu);
/* What such a table of costs has, by bytes; 0: not measured. */
double xfw_table_cost(const struct xfa_achievable *achievable, const char *what, int node, int gpu,
                      uint64_t at, enum xfw_certainty certainty);

/* At worst the largest of its samples, at best the smallest. */
double xfw_cost_by(const struct xfp_cost *cost, enum xfw_certainty certainty);
/* A scalar, as "event/record"; `otherwise` where it was not measured. _by: xfw_cost_by(). */
double xfw_scalar_cost(const struct xfa_achievable *achievable, const char *what, int gpu,
                       double otherwise);
double xfw_scalar_cost_by(const struct xfa_achievable *achievable, const char *what, int gpu,
                          enum xfw_certainty certainty, double otherwise);
/* The call's device work goes, but the wait that the program may need stays: as if it waited for
 * its stream. */
void xfw_only_wait(const struct xfa_achievable *achievable, struct xfw_op *op);

/* To page-lock touched memory and to undo it. known (may be NULL): it was measured. */
double xfw_registration_cost(const struct xfa_achievable *achievable, int node, int gpu,
                             uint64_t bytes, enum xfw_certainty certainty, bool *known);

/* ---- page-locked memory ---------------------------------------------------------------------- */

/* Made by the program itself: new memory is mapped, touched by so many threads and page-locked; and
 * undone. The fewest threads, on half of the processors at most, that take hardly longer than the
 * fastest number. Not known of less than XFW_LOCK_LEAST. */
#define XFW_LOCK_LEAST ((uint64_t)1 << 20)
struct xfw_locking {
    bool known;
    double take_ns, give_ns;
    double clear_ns; /* by apply: what it has kept */
    unsigned threads;
};
struct xfw_locking xfw_locking_cost(const struct xfa_achievable *achievable, int node, int gpu,
                                    uint64_t bytes, enum xfw_certainty certainty);
/* Made by xferscope apply: memory that forked children share, which takes longer. */
struct xfw_locking xfw_applied_locking_cost(const struct xfa_achievable *achievable, int gpu,
                                            uint64_t bytes, enum xfw_certainty certainty);

/* To have a buffer page-locked once, and undo it, in the way that takes the least time of those
 * that the profile has: registering it, having the driver allocate it, or by hand. */
enum xfw_pinned_by {
    XFW_PINNED_UNKNOWN, /* none was measured: ns is 0 */
    XFW_PINNED_REGISTERED,
    XFW_PINNED_ALLOCATED,
    XFW_PINNED_BY_HAND
};
struct xfw_pinned {
    enum xfw_pinned_by by;
    unsigned threads; /* by hand */
    double ns;
};
struct xfw_pinned xfw_pinned(const struct xfa_achievable *achievable, int node, int gpu,
                             uint64_t bytes, enum xfw_certainty certainty);
/* Of memory that nobody has touched yet: registering it makes its pages, too. */
struct xfw_pinned xfw_pinned_new(const struct xfa_achievable *achievable, int node, int gpu,
                                 uint64_t bytes, enum xfw_certainty certainty);
/* The time alone. known (may be NULL): one was measured. */
double xfw_pinning_cost(const struct xfa_achievable *achievable, int node, int gpu, uint64_t bytes,
                        enum xfw_certainty certainty, bool *known);

/* Of the time of a call that takes memory or gives it back, as much as a change can be promised to
 * save. In another process such calls may be quicker or slower than in this run, and than in the
 * probe: of two draws that differ by chance the mean is nearest to a third one (docs/analyze.md).
 * But where the profile knows how far processes differ in speed, no less than that: the rest is the
 * program's, whose work has the driver's out of the caches, and the probe does nothing else. What
 * the process's first call took beyond what the profile has for it was to make the context, if it
 * is as much as that takes: no change saves it. */
double xfw_memory_call_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                          enum xfw_certainty certainty);

/* ---- staging: a page-locked ring that host threads fill (or empty) while the GPU copies ------ */

/* By hand: threads were measured with large blocks, and nothing is known of less. */
#define XFW_STAGE_PIECE ((uint64_t)1 << 20)
#define XFW_STAGE_LEAST ((uint64_t)8 << 20)
#define XFW_STAGE_PIECES 8
struct xfw_staging {
    bool known;
    double first_ns;  /* until the device (or the host) has something to copy */
    double during_ns; /* then, while the device copies */
    double last_ns;   /* after the device's work */
};
/* piece: bytes of one; 0: the copy is too small for it. */
struct xfw_staging xfw_staging_cost(const struct xfa_achievable *achievable,
                                    const struct xfp_path *path, uint64_t bytes, uint64_t piece,
                                    unsigned threads, enum xfw_certainty certainty);
/* The pieces of a copy, by hand and by apply (preload/apply/staging/pieces.c). */
uint64_t xfw_staging_piece(uint64_t bytes);
uint64_t xfw_applied_piece(uint64_t bytes);
/* What n threads take of what one takes to copy on the host; 1: not measured. */
double xfw_staging_part(const struct xfa_achievable *achievable, enum xft_direction direction,
                        unsigned threads);
/* To set its memory and threads up, once, and undo it. */
double xfw_staging_setup(const struct xfa_achievable *achievable, int gpu, unsigned threads,
                         enum xfw_certainty certainty);
/* How many threads are worth it: the fewest that copy within a tenth of the fastest, on half of the
 * processors at most; 0: not measured. */
unsigned xfw_staging_threads(const struct xfa_achievable *achievable, enum xft_direction direction);
/* How many apply takes (preload/apply/state/state.h, by a profile): half of the processors, 16 at
 * most, or the fewest that were measured to copy half as fast again as the link; 0: not measured.
 */
unsigned xfw_applied_threads(const struct xfa_achievable *achievable, int gpu);

/* ---- the host's reads ------------------------------------------------------------------------ */

/* Time in which one thread reads page-locked memory of that kind; NAN: not measured. */
double xfw_host_read_ns(const struct xfa_achievable *achievable, enum xft_memory memory,
                        uint64_t bytes, enum xfw_certainty certainty);

/* ---- kernels: in memory of the device, and in mapped memory of the host ---------------------- */

/* Nothing is known of less: a kernel's own time is more than that of its memory. */
#define XFW_MAPPING_LEAST ((uint64_t)1 << 20)

/* Time in which a kernel reads a byte of the device's memory, at the rate of copies within it; NAN:
 * not measured. */
double xfw_device_byte_ns(const struct xfa_achievable *achievable, int gpu);

/* Time that the device takes for a copy of hardly anything within it: what a kernel's time is not
 * longer than says nothing of how much it reads; 0: not measured. */
double xfw_device_least_ns(const struct xfa_achievable *achievable, int gpu);

/* How many times over, at most, a kernel can have read memory of so many bytes. */
double xfw_times_over(const struct xfa_achievable *achievable, int gpu, uint64_t bytes,
                      double kernel_ns);
#define XFW_READ_AGAIN 1.5      /* it has read some of it more than once */
#define XFW_MOST_TIMES_OVER 100 /* more: it does something else all the time */

/* The part of so many bytes in the device's memory that a kernel can have read in its time. */
double xfw_share_read(const struct xfa_achievable *achievable, int gpu, uint64_t bytes,
                      double kernel_ns);
#define XFW_READ_ALL 0.8 /* of the time of one read over the link: it may have read all */
#define XFW_READ_IN_PART 0.25

/* ---- answers remembered ---------------------------------------------------------------------- */

/* Changes ask for the same few sizes at each op, and an answer takes a search through all paths.
 * All of these are zeroed at first and of one analysis; new answers replace old ones. */

#define XFW_ASKED_COSTS 64 /* a power of two */
#define XFW_ASKED_NEAR 4   /* places that an answer may have */
#define XFW_ASKED_PATHS 8
#define XFW_ASKED_SCALARS 8
#define XFW_ASKED_AROUND 4

struct xfw_asked {
    struct xfw_asked_cost {
        const struct xfp_path *path; /* NULL: none yet */
        uint64_t bytes;
        enum xfw_certainty certainty;
        struct xfw_copy_cost cost;
    } costs[XFW_ASKED_COSTS];
    struct xfw_asked_path {
        bool there;
        enum xft_direction direction;
        enum xft_memory memory;
        int node, gpu;
        const struct xfp_path *path;
    } paths[XFW_ASKED_PATHS];
    struct xfw_asked_scalar {
        const char *what; /* NULL: none yet */
        int gpu;
        double ns;
    } scalars[XFW_ASKED_SCALARS];
    struct xfw_asked_around {
        bool there;
        enum xft_direction direction;
        int gpu;
        double ns;
    } around[XFW_ASKED_AROUND];
    unsigned next_path, next_scalar, next_around;
};

/* xfw_copy_cost(), xfw_host_path() and xfw_scalar_cost(). `what`: static, and always asked for with
 * the same `otherwise`. */
struct xfw_copy_cost xfw_asked_cost(struct xfw_asked *asked, const struct xfp_path *path,
                                    uint64_t bytes, enum xfw_certainty certainty);
const struct xfp_path *xfw_asked_path(struct xfw_asked *asked,
                                      const struct xfa_achievable *achievable,
                                      enum xft_direction direction, enum xft_memory memory,
                                      int node, int gpu);
double xfw_asked_scalar(struct xfw_asked *asked, const struct xfa_achievable *achievable,
                        const char *what, int gpu, double otherwise);

/* xfw_around_ns(); `otherwise` where it was not measured. */
double xfw_asked_around(struct xfw_asked *asked, const struct xfa_achievable *achievable,
                        enum xft_direction direction, int gpu, double otherwise);

/* xfa_achievable_ask() of classes (pass/achievable.h). */
struct xfw_asked_times {
    struct xfw_asked_time {
        uint64_t bytes;
        uint32_t class; /* number + 1; 0: none yet */
        struct xfa_achieved answer;
    } times[XFW_ASKED_COSTS];
};
const struct xfa_achieved *xfw_asked_time(struct xfw_asked_times *asked,
                                          const struct xfa_class *class, uint64_t bytes);

/* By how much copies in both directions at once slow each other. */
#define XFW_SLOWDOWN_SIZES 32 /* a power of two */
struct xfw_slowdowns {
    struct xfw_slower {
        uint64_t bytes;
        int gpu;
        double alone, both;           /* the profile's times; 0: not measured */
    } answers[2][XFW_SLOWDOWN_SIZES]; /* by direction and size */
    struct xfw_directions {
        bool asked;
        int gpu;
        const struct xfp_path *alone, *both; /* NULL: not measured */
    } paths[2];                              /* of the GPU asked for last, by direction */
};
/* The factor for a copy between host and device that meets the other direction (slowdown of its
 * op). A copy that was recorded slower than alone is slowed by less. */
double xfw_slowdown(struct xfw_slowdowns *slowdowns, const struct xfa_analysis *analysis,
                    enum xfw_certainty certainty, const struct xfw_op *op);

#endif
