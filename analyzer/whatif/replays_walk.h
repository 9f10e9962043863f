/* One walk over the ops of a run, as replays make it (replays.h): one process after the other, or
 * all together. Private to replays*.c. */
#ifndef XFW_REPLAYS_WALK_H
#define XFW_REPLAYS_WALK_H

#include "analyzer/base/crew.h"
#include "analyzer/whatif/replays.h"
#include "analyzer/whatif/op/sample.h"
#include "analyzer/whatif/tally.h"
#include "analyzer/whatif/together/together.h"
#include "analyzer/whatif/turns.h"
#include "analyzer/whatif/walk_notes.h"

#define XFW_MOST_UNPACKED ((size_t)1 << 16) /* ops of all processes, half a kilobyte each */
#define XFW_OF_MOST_UNPACKED 8              /* and at most that part of what a walk may keep */

/* The ops of a process as ways play them, without what recording cost: of a short run they are
 * unpacked and looked at once (op_store.h, walk_notes.h), for all walks but the first two. Zeroed
 * at first. */
struct xfw_unpacked {
    struct xfw_op *ops;
    size_t count, capacity;
    double end_ns; /* as xfw_op_store_over() has it */
    uint64_t ranges[XFW_RANGES];
    bool all; /* they are all there */
};

/* A process, played unchanged. */
struct xfw_replayed_process {
    struct xfw_measured alone; /* of one of which ops were left out */
    bool alone_known;
    bool worked; /* and where it gives a device its first work: */
    double first_work_ns;
    double beyond_ns;       /* and how long that goes on when nobody waits any more */
    struct xfw_notes notes; /* of the ops that are kept */
    struct xfw_unpacked unpacked;
};

struct xfw_replays {
    struct xfa_analysis *analysis;
    struct xfw_whatif *whatif;
    struct xfa_crew *crew;     /* NULL: nothing was played yet */
    struct xfw_gather *gather; /* ops of the last walk; NULL: there was none */
    bool borrowed;             /* that is another's */
    size_t most;               /* bytes that a walk may keep */
    bool keeps;                /* what a walk finds is kept: it will be asked for again */
    bool played;               /* any way was */
    bool samples;              /* ops may be left out */
    unsigned level;            /* of how many is played of those (sample.h) */
    struct xfw_replayed_process *processes;
    size_t process_count, process_capacity;
    size_t noted, unpacked;     /* ops of all of them */
    struct xfw_change *assumed; /* NULL: nothing is */
    struct xfw_trying *trying;  /* by the next walk */
    size_t trying_count;
    struct xfw_way *known, *wanted;
    size_t count, capacity, wanted_count, wanted_capacity;
    bool rehearses, missed;        /* in a rehearsal; it has wanted something */
    bool decided;                  /* whether its ranks are played together */
    struct xfw_together *together; /* NULL: they are not */
    uint32_t failed;               /* together: the process that could not be opened */
    uint64_t *loads; /* together: by member, what it was dealt so far; NULL: nothing */
};

struct xfw_variant {
    struct xfw_way *way;
    struct xfw_player *player; /* of the process at hand */
    struct xfw_measured measured;
    struct xfa_table taken;
    /* Where ranks are played together: */
    struct xfw_player **players; /* by process */
    struct xfw_board board;
    double left_ns; /* of the process that has the most (replays.h) */
    double last_ns; /* when the last of their last calls was over */
    struct xfw_extent {
        double from, to;    /* of all processes; both 0: nothing yet */
        double contexts_ns; /* of the process that made them within for the longest: not of the span
                             */
    } span;
};

static inline double xfw_extent_ns(const struct xfw_extent *extent)
{
    return extent->to - extent->from - extent->contexts_ns;
}

/* A change that is tried (xfw_replays_try()). */
struct xfw_trying {
    struct xfw_change *change;
    struct xfw_player *player; /* of the process at hand */
    bool acted;
};

struct xfw_batch {        /* up to XFW_TURNS ops */
    struct xfw_op *room;  /* of its own; ops may be somewhere else */
    struct xfw_op *ops;   /* as recorded */
    struct xfw_op *alone; /* without what recording cost; the same: no way has that */
    size_t count;
    size_t at;                         /* of the process's ops that are played, kept: the first */
    const struct xfw_stretch *stretch; /* NULL: none of the process's ops is left out */
};
void xfw_batch_make(struct xfw_batch *batch, bool recording);
void xfw_batch_free(const struct xfw_batch *batch);

struct xfw_walk {
    struct xfw_replays *replays;
    struct xfw_way **ways; /* of the variants */
    struct xfw_tally *tally;
    const struct xfw_gathered *of; /* the process at hand */
    struct xfw_replayed_process *at;
    struct xfw_variant *variants;
    size_t count;
    struct xfa_process *process;
    uint64_t first_ns; /* when the first process began, wall clock */
    bool recording;    /* any of the ways has what recording cost */
    struct xfw_batch at_hand, next;
    struct xfw_finders *finders; /* by process */
    size_t finders_count, finders_capacity;
    bool noted;                      /* what they find of the process at hand is known */
    size_t fetched;                  /* of its ops, so far */
    bool unpacked;                   /* and all are unpacked; of all processes */
    struct xfw_turns turns;          /* of the batch at hand */
    bool by_turns;                   /* the process has several threads */
    struct xfw_player *alone_player; /* of the process, unchanged; NULL: nobody has to */
    bool alone_is_way;               /* it is one of the variants' */
    struct xfw_op_store *kept;       /* from where batches come; NULL: from a walk over the files */
    size_t stretches;                /* of the process, so far */
    struct xfw_cuts cuts;            /* of the process, whose ops are not all played */
    bool together, no_taps;          /* its ranks are; nobody receives what is scheduled */
    double begun_ns;                 /* the process at hand, after the first one; together */
    double rest_ns;             /* together: behind the last call of all ranks; < 0: not known */
    struct xfw_extent recorded; /* spans of the processes so far; together */
};

/* The run without what recording cost, and without a change. */
static inline bool xfw_way_is_alone(const struct xfw_way *way)
{
    return way->count == 0 && !way->recording;
}

/* A process begins, its ops in batches, it ends. The process is open. */
void xfw_walk_begin(void *walk, struct xfa_process *process);
void xfw_walk_batch(void *walk, struct xfw_op *ops, size_t count,
                    const struct xfw_stretch *stretch);
void xfw_walk_end(void *walk, struct xfa_process *process, double end_ns,
                  const uint64_t ranges[XFW_RANGES]);

/* All processes are walked over, for the replays' gather. */
bool xfw_walk_files(struct xfw_walk *walk, struct xfa_analysis *analysis);
/* Opens the process again: changes ask what its kernels were given. False: that is put down. */
bool xfw_walk_reopen(struct xfw_walk *walk, struct xfa_process *process);
/* The next ops of the process that were kept; those at hand are played, and the next fetched. */
void xfw_walk_fetch(struct xfw_walk *walk);
void xfw_walk_play(struct xfw_walk *walk);
/* What the walk finds is added up when it is over (tally.h). False: a process could not be played,
 * which `whatif` has the reason of. */
void xfw_walk_tally(struct xfw_walk *walk);
bool xfw_walk_sum_up(struct xfw_walk *walk);
/* From the first work of any process so far to the last, with the one at hand: of a way, recorded.
 */
double xfw_replays_span(struct xfw_variant *v, const struct xfw_schedule *schedule,
                        double begun_ns);
double xfw_replays_recorded_span(struct xfw_walk *walk);
void xfw_replays_drop_gather(struct xfw_replays *replays);
void xfw_replays_fail(struct xfw_replays *replays, char *why); /* takes it over */

/* In replays_together.c. Are the run's ranks played together? It is decided once. */
bool xfw_replays_are_together(struct xfw_replays *replays);
bool xfw_replays_together(struct xfw_replays *replays, struct xfw_variant *variants, size_t count);

#endif
