/*
 * The recorder's state, shared by the sources of this directory only.
 *
 * All of it is in one struct that lives as long as the process; a forked child forgets the pointer
 * and starts with another one, so it never meets a lock or a count of its parent.
 *
 * Locks are taken in this order: pack_lock, lanes.lock, file.lock. Threads that record take slabs
 * and add lists without a lock (pool.h, numbers.h, rooms.h).
 *
 * The sources, each of which calls only those above it:
 *
 * - life.c: which recorder is current, and what was lost;
 * - bus.c, file.c: the trace file;
 * - ask_writer.c: what threads ask of the background thread;
 * - write_out.c: events and lists into the file;
 * - lanes.c, rooms.c: what threads write into;
 * - names.c, modules.c, process.c, cost.c, then stacks.c: what the lists hold;
 * - events.c: a thread's lane, its events, and what these refer to (in line: events.h);
 * - periods.c, overhead.c, then processor.c, others.c, and finish.c: events about recording itself
 *   and about threads; the file in its final form;
 * - writer.c: the background thread;
 * - start.c, record.c: recording begins and ends.
 */
#ifndef XFS_RECORDER_H
#define XFS_RECORDER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/base/attributes.h"
#include "preload/record/clock.h"
#include "preload/record/cost.h"
#include "preload/record/file.h"
#include "preload/record/lanes.h"
#include "preload/record/libraries.h"
#include "preload/record/modules.h"
#include "preload/record/names.h"
#include "preload/record/periods.h"
#include "preload/record/process.h"
#include "preload/format/pack.h"
#include "preload/base/settings.h"
#include "preload/record/stacks.h"
#include "xferscope/losses.h"

/* One piece of work at a time. */
struct xfs_asked {
    atomic_flag taken; /* by who asks */
    atomic_int state;
    void (*work)(void *);
    void *argument;
};

struct xfs_recorder {
    const struct xfs_settings *settings;
    const struct xfs_libraries *_Atomic libraries; /* NULL until equipped */
    pid_t pid;
    struct xfs_process process;
    struct xfs_file file;
    struct xfs_lanes lanes;
    struct xfs_rooms rooms;
    atomic_ullong list_bytes; /* of stacks, names and arguments: XFT_LISTS_RECORDED_MOST */
    struct xfs_stacks stacks;
    struct xfs_numbers names;           /* of texts (names.h) */
    struct xfs_numbers arguments;       /* of what launches are given (names.h) */
    atomic_ullong lost[XFT_LOSS_COUNT]; /* counts of enum xft_loss */
    atomic_ullong calls_after_end;      /* which are no loss */
    _Atomic(struct xft_file_header *)
        header; /* mapped; has these counts at once, so that they outlive SIGKILL */

    pthread_mutex_t pack_lock; /* of packer and packed, and of moving events from slab to EVENTS */
    struct xft_packer packer;
    unsigned char *packed; /* one segment */
    size_t packed_bytes;

    struct xft_slab *apart; /* one event, of xfs_write_apart(); not in the file */

    struct xfs_costs costs;

    bool left; /* the file was cut and not mended yet: the old slabs and rooms are not used */

    /* The background thread. */
    bool (*open)(struct xfs_recorder *); /* makes the file (xfs_writer_start()) */
    atomic_bool writer_runs;             /* final before other threads see the recorder */
    sem_t begun;                         /* posted once the file is made, or cannot be made */
    atomic_int beginning;                /* enum xfs_beginning */
    int refusal;             /* errno, when there is no file; 0: the reason was reported */
    bool shares_descriptors; /* with the program: it could not have a table of its own */
    struct xfs_asked asked;  /* work for it, from another thread */
    sem_t wake;
    atomic_int ending;                /* enum xfs_ending */
    const struct xfs_lane *last_lane; /* of the thread that ended recording */
    int stop_symbols;                 /* atomic: time is up */
    void *symbols;                    /* what it resolved */
    size_t symbols_bytes;
};

/* GIVEN_UP: the thread that waits for the beginning waits no longer. */
enum xfs_beginning { XFS_BEGINNING, XFS_BEGUN, XFS_REFUSED, XFS_BEGINNING_GIVEN_UP };

/* How far the end of recording has come. CALLS: no call begins any more, and calls in flight are
 * still recorded. ASKED, TAKEN: the background thread is to complete the file, and does.
 * GIVEN_UP: the thread that waits for the end stopped waiting before it was taken. */
enum xfs_ending {
    XFS_ENDING_NOT,
    XFS_ENDING_CALLS,
    XFS_ENDING_ASKED,
    XFS_ENDING_TAKEN,
    XFS_ENDING_DONE,
    XFS_ENDING_GIVEN_UP
};

/* ---- life.c ----------------------------------------------------------------------------- */

/* The recorder that events go to now; NULL: none. */
struct xfs_recorder *xfs_recorder_current(void);

/* From here on nothing is recorded. */
void xfs_record_stop(struct xfs_recorder *recorder);

/* This thread is in a slow path of the recorder; a signal handler on top of it, or a malloc that
 * uses CUDA, must not enter it again. */
extern XFS_TLS bool xfs_entered;

void xfs_count_lost(struct xfs_recorder *recorder, enum xft_loss loss, uint64_t n);

/* The same for the current recorder, or for the one that has ended. */
void xfs_lose(enum xft_loss loss, uint64_t n);

/* Calls that began after the end: no loss of the run. */
void xfs_count_calls_after_end(struct xfs_recorder *recorder, uint64_t n);

/* From here on counts go to this header, which gets those so far. */
void xfs_losses_exchange_header(struct xfs_recorder *recorder, struct xft_file_header *header);

/* Copies the counts into file.made, the header that is written next. */
void xfs_losses_note(struct xfs_recorder *recorder);

/* ---- ask_writer.c ------------------------------------------------------------------------ */

/* The calling thread is the background thread. */
void xfs_writer_here(void);

/* Runs `work` in the background thread and waits for it; in this thread where there is none. False
 * when it did not run: recording ends, or the background thread is late. */
bool xfs_writer_do(struct xfs_recorder *recorder, void (*work)(void *), void *argument);

/* In the background thread: runs what was asked for. */
void xfs_writer_serve(struct xfs_recorder *recorder);

/* Wakes the background thread, unless that takes a system call that may be forbidden. */
void xfs_writer_wake(struct xfs_recorder *recorder);

/* Pauses. True while the background thread may still do what this thread waits for; *since is 0 at
 * first. */
bool xfs_writer_wait(const struct xfs_recorder *recorder, uint64_t *since);

/* ---- write_out.c ------------------------------------------------------------------------- */

/* Writes a slab's events as an EVENTS segment. False when the file could not take them. Under
 * pack_lock. */
bool xfs_write_slab(struct xfs_recorder *recorder, const struct xft_slab *slab);

/* Writes an event that belongs to no thread of the program. */
void xfs_write_apart(struct xfs_recorder *recorder, const struct xft_event *event);

/* Appends one list segment. */
bool xfs_write_list(struct xfs_recorder *recorder, enum xft_segment_type type, const void *payload,
                    size_t bytes);

/* Reports on stderr that the file cannot take everything, with errno as the reason; once. */
void xfs_write_trouble(const char *what);
bool xfs_write_trouble_was_said(void);

/* ---- events.c ---------------------------------------------------------------------------- */

/* Once, before the first lane: threads that end give theirs back. False when the program has used
 * up the thread-specific keys. */
bool xfs_threads_watch(void);

/* The calling thread's lane of this recorder; NULL when there is none, which was counted. */
struct xfs_lane *xfs_thread_attach(struct xfs_recorder *recorder);

/* Gives the calling thread a lane and a slab with room. */
bool xfs_thread_prepare(void);

/* ---- finish.c ---------------------------------------------------------------------------- */

/* If another process has truncated the file: makes it a trace again, so that what is recorded from
 * here on can be read. */
void xfs_recorder_mend(struct xfs_recorder *recorder);

/* The file in its final form. */
void xfs_recorder_complete(struct xfs_recorder *recorder);

/* ---- writer.c ---------------------------------------------------------------------------- */

/*
 * Starts the background thread. It leaves the program's table of descriptors, makes the file with
 * `open` (of start.c; false with errno set, 0: the reason was reported) and has it from then on:
 * no other thread opens, maps, writes or changes it. Waits until there is a file; false with
 * errno set, as there, when there will be none. Until then the thread takes no lock that other
 * threads of the process could hold, above all the loader's.
 *
 * Where no thread can be started, the calling thread makes the file, and threads write their own
 * slabs.
 */
bool xfs_writer_start(struct xfs_recorder *recorder, bool (*open)(struct xfs_recorder *));

/* Waits until calls in flight are recorded and the background thread has completed the file,
 * symbols included, but not for symbols that take longer than 10 s. Without that thread, the
 * calling one completes the file. `own`: the lane of the calling thread. */
void xfs_writer_finish(struct xfs_recorder *recorder, const struct xfs_lane *own);

/* ---- start.c ----------------------------------------------------------------------------- */

/* The background thread, directory, file, first segments and first slabs; nothing that could wait
 * for the loader. NULL when recording is impossible, which was reported. */
struct xfs_recorder *xfs_recorder_create(const struct xfs_settings *settings);

/* What needs the loader: libraries. Events are recorded meanwhile. */
void xfs_recorder_equip(struct xfs_recorder *recorder);

#endif
