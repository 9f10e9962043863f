#include "preload/apply/leave_out/uploads.h"

#include <string.h>

#include "preload/apply/calls/writes.h"
#include "preload/base/brief_lock.h"

#define SPINS 20000

struct remembered {
    struct xfs_upload upload; /* bytes 0: free */
    uint64_t unplaced, launched;
    uint64_t number; /* of the upload; its answers hold once it has ended */
    uint64_t used;   /* when it was asked for last, in numbers */
    bool ended;
};

static struct remembered all[XFS_UPLOADS];
static uint64_t numbers;
static atomic_flag taken = ATOMIC_FLAG_INIT;

static bool take(void)
{
    return xfs_brief_take(&taken, SPINS);
}

static void give_back(void)
{
    xfs_brief_give_back(&taken);
}

static void written_somewhere(void)
{
    atomic_fetch_add(&xfs_writes_unplaced, 1);
}

static bool meets(const struct remembered *one, uint64_t dst, uint64_t bytes)
{
    const struct xfs_upload *upload = &one->upload;
    return upload->bytes > 0 && (dst - upload->dst < upload->bytes || upload->dst - dst < bytes);
}

static void drop_met(uint64_t dst, uint64_t bytes)
{
    for (unsigned i = 0; i < XFS_UPLOADS; i++)
        if (meets(&all[i], dst, bytes))
            all[i].upload.bytes = 0;
}

void xfs_uploads_written(uint64_t dst, uint64_t bytes)
{
    if (bytes == 0)
        return;
    if (dst + bytes < dst || !take()) {
        written_somewhere();
        return;
    }
    drop_met(dst, bytes);
    give_back();
}

void xfs_uploads_forget(void)
{
    written_somewhere();
}

/* The free one, or the one that was used least lately. */
static struct remembered *oldest(void)
{
    struct remembered *found = &all[0];
    for (unsigned i = 0; i < XFS_UPLOADS && found->upload.bytes; i++)
        if (all[i].upload.bytes == 0 || all[i].used < found->used)
            found = &all[i];
    return found;
}

uint64_t xfs_upload_begins(const struct xfs_upload *upload)
{
    uint64_t unplaced = atomic_load(&xfs_writes_unplaced);
    uint64_t launched = atomic_load(&xfs_writes_launched);
    if (upload->bytes == 0 || upload->dst + upload->bytes < upload->dst || !take()) {
        written_somewhere();
        return 0;
    }
    drop_met(upload->dst, upload->bytes);
    uint64_t number = ++numbers;
    *oldest() = (struct remembered){*upload, unplaced, launched, number, number, false};
    give_back();
    return number;
}

void xfs_upload_ends(uint64_t number, bool succeeded)
{
    if (number == 0 || !take())
        return;
    for (unsigned i = 0; i < XFS_UPLOADS; i++) {
        if (all[i].upload.bytes == 0 || all[i].number != number)
            continue;
        all[i].ended = succeeded;
        if (!succeeded)
            all[i].upload.bytes = 0;
    }
    give_back();
}

static struct remembered *find(const struct xfs_upload *upload)
{
    for (unsigned i = 0; i < XFS_UPLOADS; i++)
        if (memcmp(&all[i].upload, upload, sizeof *upload) == 0)
            return &all[i];
    return NULL;
}

bool xfs_uploads_have(const struct xfs_upload *upload, bool kernels_keep)
{
    uint64_t unplaced = atomic_load(&xfs_writes_unplaced);
    uint64_t launched = atomic_load(&xfs_writes_launched);
    if (upload->bytes == 0 || !take())
        return false;
    struct remembered *one = find(upload);
    bool have = one && one->ended && one->unplaced == unplaced &&
                (kernels_keep || one->launched == launched);
    if (have)
        one->used = ++numbers;
    give_back();
    return have;
}

void xfs_uploads_after_fork(void)
{
    memset(all, 0, sizeof all);
    atomic_flag_clear(&taken);
}
