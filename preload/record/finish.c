#include "preload/record/bus.h"
#include "preload/record/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/base/log.h"
#include "preload/record/record.h"
#include "preload/format/rewrite.h"

/* ---- losses ------------------------------------------------------------------------------- */

/* No less than has been counted. Any number of threads, in any order: the largest stays. */
static void tell_count(uint64_t *field, atomic_ullong *count)
{
    uint64_t counted = atomic_load(count);
    uint64_t told = __atomic_load_n(field, __ATOMIC_SEQ_CST);
    while (told < counted && !__atomic_compare_exchange_n(field, &told, counted, false,
                                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
}

static void tell(struct xfs_recorder *recorder, struct xft_file_header *header, enum xft_loss loss)
{
    tell_count(xft_loss_at(header, loss), &recorder->lost[loss]);
}

static void tell_calls_after_end(struct xfs_recorder *recorder, struct xft_file_header *header)
{
    tell_count(&header->calls_after_end, &recorder->calls_after_end);
}

/* The header may be exchanged at any moment, and who does that tells the new one what was counted
 * before: either that includes `n`, or the new one is found here. */
void xfs_count_lost(struct xfs_recorder *recorder, enum xft_loss loss, uint64_t n)
{
    atomic_fetch_add(&recorder->lost[loss], n);
    tell(recorder, atomic_load(&recorder->header), loss);
}

static void exchange_header(struct xfs_recorder *recorder, struct xft_file_header *header)
{
    atomic_store(&recorder->header, header);
    for (int i = 0; i < XFT_LOSS_COUNT; i++)
        tell(recorder, header, (enum xft_loss)i);
    tell_calls_after_end(recorder, header);
}

/* For a header that is to be written. */
static void note_losses(struct xfs_recorder *recorder)
{
    for (int i = 0; i < XFT_LOSS_COUNT; i++)
        *xft_loss_at(&recorder->file.made, (enum xft_loss)i) = atomic_load(&recorder->lost[i]);
    recorder->file.made.calls_after_end = atomic_load(&recorder->calls_after_end);
}

void xfs_count_calls_after_end(struct xfs_recorder *recorder, uint64_t n)
{
    atomic_fetch_add(&recorder->calls_after_end, n);
    tell_calls_after_end(recorder, atomic_load(&recorder->header));
}

/* ---- the file in its place ------------------------------------------------------------------ */

/* The path may have been deleted, or be somebody else's file by now (ESTALE). */
static bool is_in_place(const struct xfs_file *file)
{
    struct stat now;
    if (lstat(file->path, &now) != 0)
        return false;
    if (now.st_dev == file->device && now.st_ino == file->inode)
        return true;
    errno = ESTALE;
    return false;
}

/* Losses from here on are counted in the new file. Threads that were between begin and commit when
 * the slabs were read have added events that it does not hold: these too. Of a file that was cut
 * nothing is touched any more: its old pages may be gone. */
static void move_header(struct xfs_recorder *recorder, const struct xft_rewrite *rewrite)
{
    void *map = mmap(NULL, XFT_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, rewrite->fd, 0);
    close(rewrite->fd);
    if (map == MAP_FAILED)
        return;
    exchange_header(recorder, map);
    if (rewrite->size < rewrite->header->file_bytes)
        return;
    uint64_t now = xfs_lanes_count(&recorder->lanes);
    if (now > rewrite->slab_events)
        xfs_count_lost(recorder, XFT_LOSS_EVENTS, now - rewrite->slab_events);
}

/* As it was made, with what was counted since. Somebody may have emptied or overwritten the file,
 * and its first page with it. */
static struct xft_file_header header_now(struct xfs_recorder *recorder)
{
    note_losses(recorder);
    struct xft_file_header header = recorder->file.made;
    header.file_bytes = recorder->file.end;
    return header;
}

void xfs_recorder_mend(struct xfs_recorder *recorder)
{
    bool torn = xfs_lanes_are_torn(&recorder->lanes);
    if (!xfs_file_was_cut(&recorder->file, torn))
        return;
    if (!recorder->left) {
        xfs_lanes_leave(&recorder->lanes);
        xfs_rooms_leave(recorder);
    }
    recorder->left = true;
    note_losses(recorder);
    if (!xfs_file_mend(&recorder->file))
        return;
    recorder->left = false;
    exchange_header(recorder, recorder->file.header);
    (void)xfs_recorder_introduce(recorder);
}

static bool rewrite_file(struct xfs_recorder *recorder)
{
    struct xft_rewrite rewrite = {
        .packer = &recorder->packer,
        .symbols = recorder->symbols,
        .symbols_bytes = recorder->symbols_bytes,
        .exit = "exit",
        .end_mono_ns = xfs_now_ns(),
    };
    if (!is_in_place(&recorder->file))
        return false;
    void *file = xfs_file_map(&recorder->file, &rewrite.size);
    if (file == NULL && rewrite.size > 0)
        return false;
    struct xft_file_header header = header_now(recorder);
    rewrite.file = file;
    rewrite.header = &header;
    struct xfs_bus_region *region = file ? xfs_bus_cover(file, rewrite.size, rewrite.size) : NULL;
    bool good = xft_rewrite(&rewrite, recorder->file.path);
    if (good) {
        struct stat now;
        if (fstat(rewrite.fd, &now) == 0)
            xfs_periods_wrote(recorder, (uint64_t)now.st_size);
        move_header(recorder, &rewrite);
    }
    int error = errno;
    xfs_bus_leave(region);
    if (file)
        munmap(file, rewrite.size);
    if (good && (rewrite.damage.places > 0 || header.damaged_places > 0))
        xfs_log("%s was damaged while it was recorded: the report tells what is left of it",
                recorder->file.path);
    errno = error;
    return good;
}

static void say_incomplete(struct xfs_recorder *recorder)
{
    const char *why = strerrordesc_np(errno), *path = recorder->file.path;
    if (xfs_write_trouble_was_said())
        xfs_verbose("cannot complete %s: %s", path, why);
    else if (xfs_file_is_deleted(&recorder->file))
        xfs_log("cannot complete %s: %s; it was deleted, and what was recorded with it", path, why);
    else
        xfs_log("cannot complete %s: %s; it is readable as it is", path, why);
}

void xfs_recorder_complete(struct xfs_recorder *recorder)
{
    xfs_recorder_mend(recorder);
    if (recorder->file.made.damaged_places > 0) /* what is in memory the file may not have */
        xfs_lanes_write_all(recorder);
    xfs_cost_note(recorder, true);
    pthread_mutex_lock(&recorder->pack_lock);
    if (rewrite_file(recorder))
        xfs_verbose("recorded %s", recorder->file.path);
    else
        say_incomplete(recorder);
    pthread_mutex_unlock(&recorder->pack_lock);
    free(recorder->symbols);
    recorder->symbols = NULL;
}
