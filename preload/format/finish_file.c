#include "preload/format/finish_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "preload/format/in_use.h"
#include "preload/format/lists.h"
#include "preload/format/rewrite.h"
#include "preload/format/segments.h"
#include "preload/format/trace_symbols.h"

#define MOST_SYMBOL_BYTES (48u << 20)

/* ---- what is to be done ----------------------------------------------------------------- */

static struct xft_walk walk_over(const unsigned char *file, size_t size, unsigned type)
{
    struct xft_file_header header;
    memcpy(&header, file, sizeof header);
    return xft_walk_begin(file, size, &header, xft_wants(type));
}

static bool has_segment(const unsigned char *file, size_t size, unsigned type)
{
    struct xft_walk walk = walk_over(file, size, type);
    struct xft_view view;
    return xft_walk_next(&walk, &view);
}

/* SYMBOLS of code: a recorder leaves those of Python frames while it runs. */
static bool names_code(const unsigned char *at, size_t bytes)
{
    struct xft_symbol symbol;
    while (bytes > 0) {
        size_t entry = xft_list_entry(XFT_SEG_SYMBOLS, at, bytes);
        if (entry == 0)
            return true;
        memcpy(&symbol, at, sizeof symbol);
        if (!(symbol.address & XFT_PYTHON_FRAME))
            return true;
        at += entry;
        bytes -= entry;
    }
    return false;
}

static bool segment_names_code(const struct xft_view *view)
{
    size_t bytes = view->head.raw_bytes;
    if (!(view->head.flags & XFT_SEG_ZSTD))
        return names_code(view->payload, view->head.stored_bytes);
    unsigned char *raw = bytes <= MOST_SYMBOL_BYTES ? malloc(bytes + 1) : NULL;
    bool named = raw == NULL ||
                 ZSTD_decompress(raw, bytes, view->payload, view->head.stored_bytes) != bytes ||
                 names_code(raw, bytes);
    free(raw);
    return named;
}

static bool code_is_named(const unsigned char *file, size_t size)
{
    struct xft_walk walk = walk_over(file, size, XFT_SEG_SYMBOLS);
    struct xft_view view;
    while (xft_walk_next(&walk, &view))
        if (segment_names_code(&view))
            return true;
    return false;
}

/* Without `known` no names are added. */
static int rewrite(const unsigned char *file, size_t size, struct xfs_known *known,
                   const char *path, char *error, size_t error_bytes)
{
    struct xft_packer packer;
    const int never = 0;
    void *symbols = NULL;
    size_t symbols_bytes = 0;
    if (!xft_packer_init(&packer, &xft_linked_zstd)) {
        snprintf(error, error_bytes, "%s: out of memory", path);
        return -1;
    }
    if (known)
        xfs_symbols_resolve_known(known, file, size, ZSTD_decompress, &never, &symbols,
                                  &symbols_bytes);
    struct xft_rewrite job = {
        .file = file,
        .size = size,
        .packer = &packer,
        .symbols = symbols,
        .symbols_bytes = symbols_bytes,
        .decompress = ZSTD_decompress,
    };
    bool good = xft_rewrite(&job, path);
    if (good)
        close(job.fd);
    else
        snprintf(error, error_bytes, "%s: cannot complete it: %s", path, strerror(errno));
    free(symbols);
    xft_packer_free(&packer);
    return good ? 0 : -1;
}

static int finish(int fd, const unsigned char *file, size_t size, const char *path,
                  struct xfs_known *known, char *error, size_t error_bytes)
{
    struct xft_file_header header;
    const char *why = xft_header_check(file, size);
    if (why) {
        snprintf(error, error_bytes, "%s: %s", path, why);
        return -1;
    }
    memcpy(&header, file, sizeof header);
    bool closed = header.state == XFT_STATE_CLOSED;
    if (!closed && (xfs_is_open_for_writing(fd) || xfs_is_mapped_by(header.pid, path))) {
        snprintf(error, error_bytes, "%s: process %d is still recording", path, (int)header.pid);
        return -1;
    }
    bool resolve = known && has_segment(file, size, XFT_SEG_STACKS) && !code_is_named(file, size);
    if (closed && !resolve)
        return 0;
    return rewrite(file, size, resolve ? known : NULL, path, error, error_bytes);
}

int xfs_finish_file_known(const char *path, struct xfs_known *known, char *error,
                          size_t error_bytes)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0) {
        snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    int status = -1;
    size_t size = (size_t)info.st_size;
    void *file = MAP_FAILED;
    if (!S_ISREG(info.st_mode) || size == 0)
        snprintf(error, error_bytes, "%s: %s", path,
                 size ? "not a regular file" : "the file is empty");
    else if ((file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
        snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
    else
        status = finish(fd, file, size, path, known, error, error_bytes);
    if (file != MAP_FAILED)
        munmap(file, size);
    close(fd);
    return status;
}

int xfs_finish_file(const char *path, bool symbols, char *error, size_t error_bytes)
{
    struct xfs_known *known = symbols ? xfs_known_new() : NULL;
    if (symbols && known == NULL) {
        snprintf(error, error_bytes, "%s: out of memory", path);
        return -1;
    }
    int status = xfs_finish_file_known(path, known, error, error_bytes);
    xfs_known_free(known);
    return status;
}
