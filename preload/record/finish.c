#include "preload/record/bus.h"
#include "preload/record/notes.h"
#include "preload/record/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/base/log.h"
#include "preload/record/events.h"
#include "preload/format/rewrite.h"

/* ---- the file in its place ------------------------------------------------------------------ */

/* The file may have been deleted, or replaced by another one (ESTALE). */
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

/* Losses from here on are counted in the new file. Threads that were writing an event when
 * the slabs were read have added events that it does not hold: these too. Of a file that was cut
 * nothing is touched any more: its old pages may be gone. */
static void move_header(struct xfs_recorder *recorder, const struct xft_rewrite *rewrite)
{
    void *map = mmap(NULL, XFT_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, rewrite->fd, 0);
    close(rewrite->fd);
    if (map == MAP_FAILED)
        return;
    xfs_losses_exchange_header(recorder, map);
    if (rewrite->size < rewrite->header->file_bytes)
        return;
    uint64_t now = xfs_lanes_count(&recorder->lanes);
    if (now > rewrite->slab_events)
        xfs_count_lost(recorder, XFT_LOSS_EVENTS, now - rewrite->slab_events);
}

/* The header as it was made, with the counts since. The one in the file may have been truncated or
 * overwritten. */
static struct xft_file_header header_now(struct xfs_recorder *recorder)
{
    xfs_losses_note(recorder);
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
    xfs_losses_note(recorder);
    if (!xfs_file_mend(&recorder->file))
        return;
    recorder->left = false;
    xfs_losses_exchange_header(recorder, recorder->file.header);
    if (xfs_process_calls(recorder))
        xfs_process_note(recorder);
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
            xfs_size_wrote(recorder->settings->most_bytes, (uint64_t)now.st_size);
        move_header(recorder, &rewrite);
    }
    int error = errno;
    xfs_bus_leave(region);
    if (file)
        munmap(file, rewrite.size);
    if (good && (rewrite.damage.places > 0 || header.damaged_places > 0))
        xfs_log("%s was damaged while it was recorded: the report shows what is left of it",
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
    if (recorder->file.made.damaged_places > 0) /* slabs in memory may be missing in the file */
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
