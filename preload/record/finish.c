#include "preload/record/bus.h"
#include "preload/record/recorder.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/base/log.h"
#include "preload/record/record.h"
#include "preload/format/rewrite.h"

/* A counter of the old header that has been carried over: no honest count comes near. */
#define MOVED (UINT64_C(1) << 62)

/* The header may be exchanged at any moment; a count that comes too late for the old one goes to
 * the new one, which is in place before the old one is marked. */
static void count(struct xfs_recorder *recorder, size_t field, uint64_t n)
{
    unsigned char *header = (unsigned char *)atomic_load(&recorder->header);
    if (__atomic_fetch_add((uint64_t *)(header + field), n, __ATOMIC_SEQ_CST) < MOVED)
        return;
    header = (unsigned char *)atomic_load(&recorder->header);
    __atomic_fetch_add((uint64_t *)(header + field), n, __ATOMIC_SEQ_CST);
}

void xfs_count_events_lost(struct xfs_recorder *recorder, uint64_t n)
{
    count(recorder, offsetof(struct xft_file_header, events_lost), n);
}

void xfs_count_stacks_lost(struct xfs_recorder *recorder, uint64_t n)
{
    count(recorder, offsetof(struct xft_file_header, stacks_lost), n);
}

void xfs_count_arguments_lost(struct xfs_recorder *recorder, uint64_t n)
{
    count(recorder, offsetof(struct xft_file_header, arguments_lost), n);
}

void xfs_count_records_lost(struct xfs_recorder *recorder, uint64_t n)
{
    count(recorder, offsetof(struct xft_file_header, device_lost), n);
}

/* What was counted in the old header after it was copied into the new one. */
static void carry_over(uint64_t *from, uint64_t *to, uint64_t copied)
{
    uint64_t now = __atomic_exchange_n(from, MOVED, __ATOMIC_SEQ_CST);
    if (now > copied)
        __atomic_fetch_add(to, now - copied, __ATOMIC_SEQ_CST);
}

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
    struct xft_file_header *new = map, copied = *new,
                           *old = atomic_exchange(&recorder->header, new);
    if (rewrite->size < rewrite->header->file_bytes)
        return;
    carry_over(&old->events_lost, &new->events_lost, copied.events_lost);
    carry_over(&old->stacks_lost, &new->stacks_lost, copied.stacks_lost);
    carry_over(&old->device_lost, &new->device_lost, copied.device_lost);
    carry_over(&old->arguments_lost, &new->arguments_lost, copied.arguments_lost);
    uint64_t now = xfs_lanes_count(&recorder->lanes);
    if (now > rewrite->slab_events)
        xfs_count_events_lost(recorder, now - rewrite->slab_events);
}

/* As it was made, with what was counted since. Somebody may have emptied or overwritten the file,
 * and its first page with it. */
static struct xft_file_header header_now(struct xfs_recorder *recorder, size_t size)
{
    struct xft_file_header header = recorder->file.made;
    const struct xft_file_header *live = atomic_load(&recorder->header);
    if (size >= XFT_HEADER_BYTES) {
        header.events_lost = __atomic_load_n(&live->events_lost, __ATOMIC_SEQ_CST);
        header.stacks_lost = __atomic_load_n(&live->stacks_lost, __ATOMIC_SEQ_CST);
        header.device_lost = __atomic_load_n(&live->device_lost, __ATOMIC_SEQ_CST);
        header.arguments_lost = __atomic_load_n(&live->arguments_lost, __ATOMIC_SEQ_CST);
    }
    header.file_bytes = recorder->file.end;
    return header;
}

/* Threads may be counting in the old header. */
static void take_header(struct xfs_recorder *recorder)
{
    struct xft_file_header *new = recorder->file.header, copied = *new,
                           *old = atomic_exchange(&recorder->header, new);
    carry_over(&old->events_lost, &new->events_lost, copied.events_lost);
    carry_over(&old->stacks_lost, &new->stacks_lost, copied.stacks_lost);
    carry_over(&old->device_lost, &new->device_lost, copied.device_lost);
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
    if (!xfs_file_mend(&recorder->file))
        return;
    recorder->left = false;
    take_header(recorder);
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
    struct xft_file_header header = header_now(recorder, rewrite.size);
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

void xfs_recorder_complete(struct xfs_recorder *recorder)
{
    xfs_recorder_mend(recorder);
    if (recorder->file.made.damaged_places > 0) /* what is in memory the file may not have */
        xfs_lanes_write_all(recorder);
    xfs_cost_note(recorder, true);
    pthread_mutex_lock(&recorder->pack_lock);
    bool good = rewrite_file(recorder);
    if (!good && xfs_write_trouble_was_said())
        xfs_verbose("cannot complete %s: %s", recorder->file.path, strerrordesc_np(errno));
    else if (!good)
        xfs_log("cannot complete %s: %s; it is readable as it is", recorder->file.path,
                strerrordesc_np(errno));
    else
        xfs_verbose("recorded %s", recorder->file.path);
    pthread_mutex_unlock(&recorder->pack_lock);
    free(recorder->symbols);
    recorder->symbols = NULL;
}
