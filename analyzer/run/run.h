/*
 * A run: the traces of its processes, on one host or on several, as one.
 *
 * What differs from process to process is translated here, so that no component above has to: GPUs
 * are known by host and uuid, never by a process's own ordinal; call sites and functions are one
 * object for all processes; times of a process's clock become the run's.
 *
 * Use: xfa_run_new(), per file xfa_run_open(), its events (read/merge.h), xfa_process_close(); what
 * was learnt of the process stays. Several may be open at once.
 *
 * Ownership: the run owns everything that these functions return, until xfa_run_free(); what a
 * process's trace holds (texts, META) lasts until xfa_process_close().
 */
#ifndef XFA_RUN_H
#define XFA_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/team.h"
#include "analyzer/read/read.h"
#include "analyzer/run/applied.h"
#include "analyzer/run/periods.h"
#include "analyzer/run/site.h"
#include "xferscope/losses.h"

#define XFA_PROCESS_GPUS 64 /* ordinals of one process that are kept */
#define XFA_EVENT_KINDS 40  /* enum xft_event_kind has fewer; 0: kinds not known */

struct xfa_host {
    char *name; /* NULL = not recorded */
    char *boot; /* tells hosts of one name apart; NULL = not recorded */
};

struct xfa_gpu {
    char *name, *uuid; /* NULL = not recorded */
    uint32_t host;
    int ordinal; /* in the process that named it first */
};

/* A function as the source has it. */
struct xfa_function {
    char *name;
    uint32_t number;
    uint8_t level; /* enum xft_level */
};

/* Which rank of a launch (docs/trace-format.md) a process was; its forked helpers say the same. */
struct xfa_rank {
    bool known;
    uint32_t number; /* from 0 on */
    uint32_t size;   /* ranks of the launch; 0 = not in the trace */
    char *world;     /* the launch's name; NULL = not in the trace */
    char *launcher;
};

/* What recording added to calls of one kind (docs/trace-format.md). */
struct xfa_cost {
    uint32_t ns;      /* the median of those that were timed */
    uint32_t samples; /* how many were; 0 = not in the trace */
};

/* What was asked of a process and was new to the run, or the first that was asked: who asks the
 * same of other runs' processes in this order gives sites and functions the same numbers. */
struct xfa_lookup {
    uint32_t id; /* of a stack, or of a call */
    uint32_t of_call;
};

struct xfa_process {
    uint32_t number; /* in the run */
    uint32_t host;
    char *file; /* base name */
    int pid, ppid;
    char *exe, *exit;
    bool closed;    /* recording ended properly */
    bool simulated; /* its GPUs are */
    bool openmp;    /* a runtime of OpenMP is loaded, whose threads spin for a while behind work */
    char *timing;   /* META timing, timing.why; NULL = not recorded */
    char *timing_why;
    bool sampled; /* META timing.sampled: device times of some of its transfers only */
    char *machine_id;
    char *recording; /* META run: the same in what one `xferscope record` recorded; NULL: not in the
                        trace */
    char *checks_failed;         /* of the recorder's own, and which; NULL: none */
    char *job, *job_step;        /* of the batch system; NULL: none */
    struct xfa_applied *applied; /* what was carried out of the advice */
    size_t applied_count;
    struct xfa_rank rank;
    struct xfa_cost costs[XFA_EVENT_KINDS];
    int minor;                   /* of its file's format, 1.N; -1: not known */
    struct xfa_periods *periods; /* its times are without what lies outside; NULL = none */
    uint64_t start_real_ns, start_mono_ns; /* of the first period, as end_mono_ns of the last */
    char *clock; /* processes of which this is the same have one monotonic clock; NULL: not in the
                    trace */
    /* Wall-clock ns minus the monotonic clock: by the process that was opened first of those with
     * one clock, whose times so stay comparable exactly. */
    uint64_t clock_offset;
    uint64_t end_mono_ns;           /* of recording; 0 = not in the trace */
    uint64_t end_real_ns;           /* of recording, or of the last call; 0 = not known */
    int16_t gpus[XFA_PROCESS_GPUS]; /* the run's number of each ordinal; ordinals that the trace
                                       says nothing of are their own number */
    int gpu_count;                  /* ordinals that the trace names: 0 to gpu_count - 1 */
    uint64_t lost[XFT_LOSS_COUNT];  /* by the recorder */
    uint64_t calls_after_end;       /* which are no loss */
    uint64_t events; /* of all kinds in its file, by its heads of segments; 0: no walk has begun */
    bool has_ranges; /* once it was walked over: the program has NVTX ranges */
    bool has_messages; /* the same for calls of MPI or NCCL */
    double *calls_ns;  /* the same: what its calls take while no other thread has one, by kind
                          (whatif/schedule/callers.h); NULL: it has one thread */
    double turns_ns;   /* the same: its threads take turns, and begin no longer behind each other's
                          (findings/threads_by_turns.c); 0: they do not */
    bool maps_none;    /* the same: it allocates no mapped memory of the host */
    struct xfa_paced { /* the same: its threads that sleep between their calls until others of the
                          program have something for them (whatif/ops/paces.h) */
        int32_t tid;
        uint8_t paced;       /* enum xfw_paced */
        bool even;           /* it wakes at times of its own, however long it was awake */
        double slept_ns;     /* between calls, in all */
        double rate, beside; /* processors of the others while it sleeps, and else; NAN: not
                                      known */
    } * paced;
    size_t paced_count;
    struct xfa_made { /* the same: what the busiest of its threads without calls has worked by
                         then, as recorded, ns; in order */
        double ns, made_ns;
        double certain_ns; /* the same without times in which it may have waited awake */
    } * made;
    size_t made_count;
    int32_t made_for; /* the thread that makes all calls but a few; 0: there is none */
    bool shared;      /* a walk has begun; from then on: */
    uint32_t share;   /* rank of the member of the run's team that does what is done of it alone */
    struct xfa_loss loss; /* what could not be read, once it is closed */
    char *losses;         /* one line, NULL = none */

    struct xfa_run *run;
    char *path; /* of the file; NULL: from memory, as are the next two */
    const void *data;
    size_t data_bytes;
    struct xfa_trace *trace;           /* NULL: closed */
    bool again;                        /* it will be opened again, once it is closed */
    struct xfa_trace *asleep;          /* closed: what stays until then; NULL: nothing */
    size_t asleep_bytes;               /* of the names of it, if they stay */
    struct xfa_table stacks;           /* process.c: what is known of the trace's stacks */
    const struct xfa_function **calls; /* by id; NULL: not asked for yet */
    size_t call_count, call_capacity;
    struct xfa_lookup *lookups; /* of its first walk */
    size_t lookup_count, lookup_capacity;
};

struct xfa_run {
    struct xfa_team *team; /* that analyzes it together (base/team.h), borrowed; NULL: none */
    bool whole;            /* each member plays all processes (whatif/ways_shared.h) */
    size_t asleep_bytes;   /* of all its processes */
    uint64_t *loads;       /* by rank of the team: events of its processes so far; NULL: none */
    char *path;            /* as it was given */
    char *program;         /* of the process that started first, as are the next three */
    char **arguments;
    size_t argument_count;
    char *hostname;
    int driver_version; /* 0 = not known */
    bool simulated;     /* in any process */
    int oldest_minor;   /* of the formats of its files, which are 1.N; -1: no file was read */
    struct xfa_process **processes; /* in the order they were opened */
    size_t process_count, process_capacity;
    struct xfa_host *hosts;
    size_t host_count, host_capacity;
    struct xfa_gpu *gpus;
    size_t gpu_count, gpu_capacity;
    char **unreadable; /* files that could not be opened, one line each */
    size_t unreadable_count, unreadable_capacity;

    struct xfa_shelf shelf;     /* texts of the sites */
    struct xfa_table sites;     /* process.h; a site's number is its place here */
    struct xfa_table functions; /* the same */
    struct xfa_table lines;     /* process.h: of sites */
};

struct xfa_run *xfa_run_new(const char *path);
void xfa_run_free(struct xfa_run *run);

/* Opens one trace file and adds its process. NULL with one line in error when nothing can be read,
 * which xfa_run_unreadable() keeps. */
struct xfa_process *xfa_run_open(struct xfa_run *run, const char *file, char *error,
                                 size_t error_bytes);
/* The same of what META says alone (xfa_trace_open_heads()); its call sites are not named. */
struct xfa_process *xfa_run_open_heads(struct xfa_run *run, const char *file, char *error,
                                       size_t error_bytes);
/* The same with bytes in memory, not copied; for tests. */
struct xfa_process *xfa_run_open_bytes(struct xfa_run *run, const void *data, size_t bytes,
                                       char *error, size_t error_bytes);
void xfa_run_unreadable(struct xfa_run *run, const char *line);

/* Opens a closed process's file once more, for its names, and with `events` to walk over it again;
 * what is known of it stays, and numbers of sites and functions are the same. False with one line
 * in error when the file is not there any more, or is another. What was read of it the first time
 * is not read again where the process has `again` set before it is closed: names of all processes
 * up to XFA_ASLEEP_MOST bytes; of others where they lie in the file. */
#define XFA_ASLEEP_MOST ((size_t)64 << 20)
bool xfa_process_reopen(struct xfa_process *process, bool events, char *error, size_t error_bytes);

/* All its events were read: keeps what was lost, closes the file. last_ns: of its last call, on its
 * own clock, 0 = none; first_ns the same. */
void xfa_process_close(struct xfa_process *process, uint64_t first_ns, uint64_t last_ns);

/* Closes the file of a process that was opened again and whose events were not read. */
void xfa_process_let_go(struct xfa_process *process);

/* Chooses the member of the run's team that has it: the one whose processes have the fewest events
 * so far. Once its `events` are known, for one process after the other, so that all members come to
 * the same. */
void xfa_process_share(struct xfa_process *process);

/* Whether this member does the work on this process. */
static inline bool xfa_process_is_mine(const struct xfa_process *process)
{
    const struct xfa_team *team = process->run->team;
    return !team || process->run->whole || process->share == team->rank;
}

/* ---- one process's words in the run's terms ----------------------------------------------- */

/* Where a stack called from; for 0 and unknown ones the site "no call stack". Never NULL. */
const struct xfa_site *xfa_process_site(struct xfa_process *process, uint32_t stack);

/* The function of the CUDA runtime through which this very stack went (others have the site as
 * well); NULL = none that is known. */
const struct xfa_function *xfa_process_runtime_function(struct xfa_process *process,
                                                        uint32_t stack);

/* Never NULL: "(unknown function)". */
const struct xfa_function *xfa_process_function(struct xfa_process *process, unsigned call);

/* The run's number of a GPU; -1 for what is no ordinal. */
static inline int xfa_process_gpu(const struct xfa_process *process, int ordinal)
{
    return ordinal >= 0 && ordinal < XFA_PROCESS_GPUS ? process->gpus[ordinal] : ordinal;
}

/* Wall-clock ns of a time of the process's clock; 0 stays 0. Others are from 1 to INT64_MAX (the
 * year 2262), in the order of `ns`, whatever the clocks of the file say. */
uint64_t xfa_process_wall_ns(const struct xfa_process *process, uint64_t ns);

/* Asks what was asked of it elsewhere. The process is open. */
void xfa_process_look_up(struct xfa_process *process, const struct xfa_lookup *lookups,
                         size_t count);

/* ---- the run as a whole --------------------------------------------------------------------- */

/* What a function is known by, in every run; a site has its own (site.h). */
uint64_t xfa_run_function_identity(const struct xfa_run *run, uint32_t number);
/* NULL: the run has none of this identity. */
const struct xfa_function *xfa_run_find_function(const struct xfa_run *run, uint64_t identity);
const struct xfa_site *xfa_run_find_site(const struct xfa_run *run, uint64_t identity);

const struct xfa_function *xfa_run_function(const struct xfa_run *run, uint32_t number);
const struct xfa_site *xfa_run_site(const struct xfa_run *run, uint32_t number);
size_t xfa_run_site_count(const struct xfa_run *run);

uint64_t xfa_run_start_real_ns(const struct xfa_run *run); /* of the first process; 0 = unknown */
double xfa_run_wall_ns(const struct xfa_run *run);         /* to the last one's end; 0 = unknown */
bool xfa_run_lossy(const struct xfa_run *run);

/* What the oldest format of the run's files could not record; NULL at the end. */
#define XFA_LACKS 2
const char *const *xfa_run_lacks(const struct xfa_run *run);

#endif
