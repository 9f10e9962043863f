#include "preload/record/notes.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "preload/base/command_memory.h"

static struct xfs_notes *notes;

void xfs_notes_open(const char *run)
{
    if (notes == NULL)
        notes = xfs_command_memory(XFS_NOTES_NAME, run, sizeof *notes);
}

void xfs_notes_begun(const char *directory)
{
    if (notes && strncmp(notes->directory, directory, sizeof notes->directory) == 0)
        __atomic_fetch_add(&notes->begun, 1, __ATOMIC_RELAXED);
}

const char *xfs_notes_started(void)
{
    bool ended = notes && memchr(notes->started, '\0', sizeof notes->started);
    return ended && notes->started[0] ? notes->started : NULL;
}

void xfs_notes_refused(const char *why)
{
    uint32_t none = XFS_WHY_NONE;
    if (notes == NULL)
        return;
    if (__atomic_compare_exchange_n(&notes->why_state, &none, XFS_WHY_BEING_WRITTEN, false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        snprintf(notes->why, sizeof notes->why, "%s", why);
        __atomic_store_n(&notes->why_state, XFS_WHY_THERE, __ATOMIC_RELEASE);
    }
    __atomic_fetch_add(&notes->refused, 1, __ATOMIC_RELEASE);
}

/* ---- the size of the run ------------------------------------------------------------------ */

static atomic_ullong counted_bytes; /* of this process's file, in notes->bytes */
static atomic_bool size_is_full;

/* Bytes of all files of the run, with `more` that this process has written; 0 where record cannot
 * be asked. */
static uint64_t run_bytes(uint64_t more)
{
    return notes ? __atomic_add_fetch(&notes->bytes, more, __ATOMIC_RELAXED) : 0;
}

/* The last eighth is left for what is still being written. */
static uint64_t enough(uint64_t most_bytes)
{
    return most_bytes - most_bytes / 8;
}

void xfs_size_wrote(uint64_t most_bytes, uint64_t file_bytes)
{
    if (most_bytes == 0)
        return;
    uint64_t before = atomic_exchange(&counted_bytes, file_bytes);
    uint64_t run = run_bytes(file_bytes - before);
    if (file_bytes >= enough(most_bytes) || run >= enough(most_bytes))
        atomic_store(&size_is_full, true);
}

bool xfs_size_is_full(void)
{
    return atomic_load_explicit(&size_is_full, memory_order_relaxed);
}

bool xfs_size_allows(uint64_t most_bytes)
{
    return most_bytes == 0 || run_bytes(0) < enough(most_bytes);
}

void xfs_size_after_fork(void)
{
    atomic_store(&counted_bytes, 0);
    atomic_store(&size_is_full, false);
}
