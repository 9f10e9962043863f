#include "preload/format/rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/format/rewrite_job.h"
#include "preload/format/write.h"

/* ---- what there is ---------------------------------------------------------------------- */

/* The caller's header, if any: the file's may be gone. */
static void take_header(struct xft_job *job)
{
    const struct xft_rewrite *want = job->want;
    const size_t fixed_bytes = offsetof(struct xft_file_header, state);
    if (want->header == NULL) {
        memcpy(&job->header, want->file, sizeof job->header);
        return;
    }
    job->header = *want->header;
    if (want->size < fixed_bytes || memcmp(want->file, want->header, fixed_bytes) != 0)
        xft_damage_add(&job->want->damage, 1,
                       want->size < XFT_HEADER_BYTES ? want->size : XFT_HEADER_BYTES);
}

static bool is_list(unsigned type)
{
    return type <= XFT_SEG_KNOWN && type != XFT_SEG_PAD && type != XFT_SEG_ROOM &&
           type != XFT_SEG_LANES && type != XFT_SEG_EVENTS && type != XFT_SEG_INDEX;
}

/* Reads every segment once: counts the damage, and the bytes of lists that the new file will have.
 */
static void survey(struct xft_job *job)
{
    struct xft_damage *damage = &job->want->damage;
    struct xft_walk walk = xft_job_walk(job, 0);
    struct xft_view view;
    while (xft_walk_next(&walk, &view)) {
        unsigned type = view.head.type;
        if (is_list(type) && view.head.raw_bytes <= XFT_SEGMENT_MOST)
            job->all_list_bytes += view.head.raw_bytes;
        if (type == XFT_SEG_LANES)
            job->slab_room += view.head.stored_bytes / XFT_SLAB_BYTES + 1;
        else if (type <= XFT_SEG_KNOWN && xft_job_can_join(&view))
            job->list_bytes[type] += view.head.stored_bytes;
    }
    xft_damage_add(damage, walk.damage.places, walk.damage.bytes);
    if (job->header.file_bytes > job->want->size && !walk.cut)
        xft_damage_add(damage, 1, 0); /* the end is missing */
}

/* ---- the file --------------------------------------------------------------------------- */

/* Segments of types that this version does not know are kept. */
static void write_unknown(struct xft_job *job)
{
    struct xft_walk walk = xft_job_walk(job, xft_wants(XFT_SEG_KNOWN + 1));
    struct xft_view view;
    while (!job->failed && xft_walk_next(&walk, &view))
        xft_job_copy(job, &view);
}

static void add_count(uint64_t *count, uint64_t n)
{
    *count = *count > UINT64_MAX - n ? UINT64_MAX : *count + n;
}

/* Damage is counted by the rewriting that leaves it out, so that rewriting twice does not count it
 * twice. */
static void write_header(struct xft_job *job)
{
    unsigned char block[XFT_HEADER_BYTES] = {0};
    struct xft_file_header header = job->header;
    const struct xft_damage *damage = &job->want->damage;
    header.header_bytes = XFT_HEADER_BYTES;
    xft_header_seal(&header);
    header.state = XFT_STATE_CLOSED;
    if (job->want->end_mono_ns)
        header.end_mono_ns = job->want->end_mono_ns;
    else if (header.end_mono_ns < job->last_ns)
        header.end_mono_ns = job->last_ns;
    header.file_bytes = job->at;
    add_count(&header.damaged_places, damage->places);
    add_count(&header.damaged_bytes, damage->bytes);
    add_count(&header.damaged_events, damage->events);
    memcpy(block, &header, sizeof header);
    if (!job->failed && !xft_write_at(job->want->fd, block, sizeof block, 0))
        xft_job_fail(job, errno);
}

static void write_all(struct xft_job *job)
{
    static const enum xft_segment_type lists[] = {
        XFT_SEG_META,    XFT_SEG_CALLS, XFT_SEG_MODULES,   XFT_SEG_STACKS,
        XFT_SEG_SYMBOLS, XFT_SEG_NAMES, XFT_SEG_ARGUMENTS, XFT_SEG_SOURCES};
    take_header(job);
    survey(job);
    xft_job_find_slabs(job);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        xft_job_lists(job, lists[i]);
    xft_job_events(job);
    write_unknown(job);
    write_header(job);
    xft_job_forget_slabs(job);
}

static int open_beside(const char *path, char *name, size_t room)
{
    int n = snprintf(name, room, "%s.tmp", path);
    if (n < 0 || (size_t)n >= room) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = open(name, flags, 0600);
    if (fd < 0 && errno == EEXIST && unlink(name) == 0) /* left by a process that was killed here */
        fd = open(name, flags, 0600);
    return fd;
}

void xft_rewrite_abandon(struct xft_rewrite *rewrite, const char *path)
{
    char name[PATH_MAX + 8];
    close(rewrite->fd);
    rewrite->fd = -1;
    if ((size_t)snprintf(name, sizeof name, "%s.tmp", path) < sizeof name)
        unlink(name);
}

bool xft_rewrite(struct xft_rewrite *rewrite, const char *path)
{
    char name[PATH_MAX + 8];
    struct xft_job job = {.want = rewrite, .at = XFT_HEADER_BYTES};
    rewrite->slab_events = rewrite->chunks = 0;
    rewrite->damage = (struct xft_damage){0};
    rewrite->fd = open_beside(path, name, sizeof name);
    if (rewrite->fd < 0)
        return false;
    write_all(&job);
    if (!job.failed && rename(name, path) == 0)
        return true;
    int error = job.failed ? job.error : errno;
    xft_rewrite_abandon(rewrite, path);
    errno = error;
    return false;
}
