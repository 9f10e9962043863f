#include "analyzer/whatif/op/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zstd.h>

#include "analyzer/base/alloc.h"

#define LEVEL 1                      /* of zstd: half of an op's bytes, by the fastest */
#define LOOK_EVERY ((off_t)64 << 20) /* bytes written, then for how much room is left */

struct xfw_spill {
    int file;
    off_t end, looked, most; /* looked: `end` when room was looked for last */
    ZSTD_CCtx *packer;
    unsigned char *packed;
    size_t packed_bytes; /* room for a piece of any kind */
};

/* ---- the file -------------------------------------------------------------------------------- */

static const char *folder(void)
{
    const char *given = getenv("TMPDIR");
    return given && *given ? given : "/var/tmp";
}

static int unnamed_file(void)
{
    char path[PATH_MAX];
    int file = open(folder(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (file >= 0 || snprintf(path, sizeof path, "%s/xferscope-XXXXXX", folder()) >= PATH_MAX)
        return file;
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        unlink(path);
    return file;
}

static bool is_in_memory(int file)
{
    struct statfs of;
    return fstatfs(file, &of) != 0 || of.f_type == TMPFS_MAGIC || of.f_type == RAMFS_MAGIC;
}

static off_t most_of_file(void)
{
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limited && limit.rlim_cur < LLONG_MAX ? (off_t)limit.rlim_cur : LLONG_MAX;
}

/* As much stays free as it takes. */
static bool has_room(struct xfw_spill *spill, size_t bytes)
{
    struct statvfs of;
    off_t end = spill->end + (off_t)bytes;
    if (end > spill->most)
        return false;
    if (spill->looked >= 0 && end - spill->looked < LOOK_EVERY)
        return true;
    if (fstatvfs(spill->file, &of) != 0)
        return false;
    spill->looked = end;
    return (double)of.f_bavail * (double)of.f_frsize >= (double)end + (double)LOOK_EVERY;
}

struct xfw_spill *xfw_spill_new(size_t most_bytes)
{
    struct xfw_spill *spill = xfa_alloc(sizeof *spill);
    spill->file = unnamed_file();
    spill->most = most_of_file();
    spill->looked = -1;
    spill->packer = ZSTD_createCCtx();
    spill->packed_bytes = ZSTD_compressBound(most_bytes);
    spill->packed = malloc(spill->packed_bytes);
    if (spill->file >= 0 && !is_in_memory(spill->file) && spill->packer && spill->packed)
        return spill;
    xfw_spill_free(spill);
    return NULL;
}

void xfw_spill_free(struct xfw_spill *spill)
{
    if (!spill)
        return;
    if (spill->file >= 0)
        close(spill->file);
    ZSTD_freeCCtx(spill->packer);
    free(spill->packed);
    free(spill);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static bool write_all(int file, const unsigned char *bytes, size_t count, off_t at)
{
    while (count > 0) {
        ssize_t written = pwrite(file, bytes, count, at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        at += written;
        count -= (size_t)written;
    }
    return true;
}

bool xfw_spill_put(struct xfw_spill *spill, const void *bytes, size_t count,
                   struct xfw_piece *piece)
{
    size_t packed =
        ZSTD_compressCCtx(spill->packer, spill->packed, spill->packed_bytes, bytes, count, LEVEL);
    if (ZSTD_isError(packed) || !has_room(spill, packed) ||
        !write_all(spill->file, spill->packed, packed, spill->end))
        return false;
    *piece = (struct xfw_piece){spill->end, packed, count};
    spill->end += (off_t)packed;
    return true;
}

static bool read_all(int file, unsigned char *bytes, size_t count, off_t at)
{
    while (count > 0) {
        ssize_t got = pread(file, bytes, count, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes += got;
        at += got;
        count -= (size_t)got;
    }
    return true;
}

void xfw_spill_get(const struct xfw_spill *spill, const struct xfw_piece *piece, void *bytes)
{
    unsigned char *packed = xfa_alloc_unset(piece->packed);
    if (!read_all(spill->file, packed, piece->packed, piece->at) ||
        ZSTD_decompress(bytes, piece->bytes, packed, piece->packed) != piece->bytes) {
        fprintf(stderr, "xferscope: a file in %s for what has no room in memory cannot be read\n",
                folder());
        exit(1);
    }
    free(packed);
}
