/*
 * The recorder's state, shared by the sources of this directory only.
 *
 * All of it is in one struct that lives as long as the process; a forked child forgets the pointer
 * and starts with another one, so no lock or count of the parent is ever met.
 *
 * Locks, in the order in which they may be taken: pack_lock, lanes.lock, file.lock. What threads
 * take and add while they record takes none (pool.h, numbers.h, rooms.h).
 */
#ifndef XFS_RECORDER_H
#define XFS_RECORDER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/record/arguments.h"
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
    struct xfs_numbers arguments;       /* of what launches are given (arguments.h) */
    atomic_ullong lost[XFT_LOSS_COUNT]; /* what is known to be */
    atomic_ullong calls_after_end;      /* which are no loss */
    _Atomic(struct xft_file_header *)
        header; /* that tells of it, also of a process that is killed */

    pthread_mutex_t pack_lock; /* packer, packed; whether slabs or EVENTS have the events */
    struct xft_packer packer;
    unsigned char *packed; /* one segment */
    size_t packed_bytes;

    struct xft_slab *apart; /* xfs_write_apart(): as of a lane */

    struct xfs_costs costs;

    bool left; /* the file was cut and cannot be mended yet: nothing of before is used any more */

    /* The background thread. */
    atomic_bool writer_runs; /* settled before others see the recorder */
    sem_t begun;             /* it has the file, or cannot have it */
    atomic_int beginning;    /* enum xfs_beginning */
    int refusal;             /* errno, when there is no file; 0: why has been told */
    bool shares_descriptors; /* with the program: it could not have a table of its own */
    struct xfs_asked asked;  /* what others want done in it */
    sem_t wake;
    atomic_int ending;                /* enum xfs_ending */
    const struct xfs_lane *last_lane; /* of the thread that ended recording */
    int stop_symbols;                 /* atomic: time is up */
    void *symbols;                    /* what it resolved */
    size_t symbols_bytes;
};

/* Given up: by the one who waits. */
enum xfs_beginning { XFS_BEGINNING, XFS_BEGUN, XFS_REFUSED, XFS_BEGINNING_GIVEN_UP };

/* How far the end is. Calls: none begins any more, and those under way are still recorded. Given
 * up: by the one who waits, before it was taken. */
enum xfs_ending {
    XFS_ENDING_NOT,
    XFS_ENDING_CALLS,
    XFS_ENDING_ASKED,
    XFS_ENDING_TAKEN,
    XFS_ENDING_DONE,
    XFS_ENDING_GIVEN_UP
};

/* ---- losses ----------------------------------------------------------------------------- */

void xfs_count_lost(struct xfs_recorder *recorder, enum xft_loss loss, uint64_t n);

/* Calls that began after the end: no loss of the run. */
void xfs_count_calls_after_end(struct xfs_recorder *recorder, uint64_t n);

/* ---- writer.c --------------------------------------------------------------------------- */

/* Writes a slab's events as an EVENTS segment. False when the file could not take them. Under
 * pack_lock. */
bool xfs_write_slab(struct xfs_recorder *recorder, const struct xft_slab *slab);

/* Writes an event that is no thread's of the program. */
void xfs_write_apart(struct xfs_recorder *recorder, const struct xft_event *event);

/* True once the program has been told that the file cannot take everything: once is enough. */
bool xfs_write_trouble_was_said(void);

/* Packs one list segment and appends it. */
bool xfs_write_list(struct xfs_recorder *recorder, enum xft_segment_type type, const void *payload,
                    size_t bytes);

/* Appends a META pair. */
bool xfs_write_meta(struct xfs_recorder *recorder, const char *key, const char *value);

/*
 * Starts the background thread, which leaves the program's table of descriptors, makes the file and
 * has it from then on: nobody else opens, maps, writes or changes it. Waits until there is one;
 * false with errno set (0: nothing to be said) when there will be none. The thread needs nothing
 * until then that others of the process could hold, the loader least of all.
 *
 * Where no thread can be had, this one makes the file, and threads write their own slabs.
 */
bool xfs_writer_start(struct xfs_recorder *recorder);

/* Has something done in the background thread, and waits for it; in this one where there is none.
 * False when it was not done: recording ends, or it takes too long to come to that. */
bool xfs_writer_do(struct xfs_recorder *recorder, void (*work)(void *), void *argument);

/* It is needed now: unless waking it is a system call that may be forbidden. */
void xfs_writer_wake(struct xfs_recorder *recorder);

/* Has calls under way recorded, asks it to complete the file, symbols included, and waits for that;
 * not for symbols that take too long. Without it this thread completes the file. `own`: the lane of
 * the calling thread. */
void xfs_writer_finish(struct xfs_recorder *recorder, const struct xfs_lane *own);

/* From here on nothing is recorded any more (record.c). */
void xfs_record_stop(struct xfs_recorder *recorder);

/* ---- start.c, finish.c ------------------------------------------------------------------ */

/* The background thread, directory, file, first segments and first slabs; nothing that could wait
 * for the loader. NULL when recording is impossible (said). */
struct xfs_recorder *xfs_recorder_create(const struct xfs_settings *settings);

/* Its part that has to do with files, of one thread. False with errno set; 0: why has been told. */
bool xfs_recorder_open(struct xfs_recorder *recorder);

/* What needs the loader: libraries. Events are recorded meanwhile. */
void xfs_recorder_equip(struct xfs_recorder *recorder);

/* What a file begins with: the calls' names, and what process this is. */
bool xfs_recorder_introduce(struct xfs_recorder *recorder);

/* If somebody has truncated the file: makes it a trace again, so that what is recorded from here on
 * can be read. */
void xfs_recorder_mend(struct xfs_recorder *recorder);

/* The file in its final form. */
void xfs_recorder_complete(struct xfs_recorder *recorder);

#endif
