#include "preload/format/finish_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "preload/format/in_use.h"
#include "preload/format/lists.h"
#include "preload/format/rewrite.h"
#include "preload/format/segments.h"
#include "preload/format/sources.h"
#include "preload/format/trace_symbols.h"

#define MOST_SYMBOL_BYTES XFT_SEGMENT_MOST
#define TRIES 4

/* ---- what is to be done ----------------------------------------------------------------- */

/* A file being completed. */
struct finishing {
    const char *path;
    int fd;
    const unsigned char *file; /* mapped */
    size_t size;
    bool changed; /* replaced or longer by now: start again */
    struct xfs_known *known;
    char *error;
    size_t error_bytes;
    int status;             /* out */
    struct xft_rewrite job; /* here, so that its descriptor can be closed on every path */
    struct xft_packer packer;
    void *symbols, *sources;
};

static struct xft_walk walk_over(const struct finishing *f, unsigned type)
{
    struct xft_file_header header;
    memcpy(&header, f->file, sizeof header);
    struct xft_walk walk = xft_walk_begin(f->file, f->size, &header, xft_wants(type));
    walk.holes = &f->fd;
    return walk;
}

static bool has_segment(const struct finishing *f, unsigned type)
{
    struct xft_walk walk = walk_over(f, type);
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
    bool fits = bytes <= MOST_SYMBOL_BYTES && bytes <= xft_unfold_most(view->head.stored_bytes);
    unsigned char *raw = fits ? malloc(bytes + 1) : NULL;
    bool named = raw == NULL ||
                 ZSTD_decompress(raw, bytes, view->payload, view->head.stored_bytes) != bytes ||
                 names_code(raw, bytes);
    free(raw);
    return named;
}

static bool code_is_named(const struct finishing *f)
{
    struct xft_walk walk = walk_over(f, XFT_SEG_SYMBOLS);
    struct xft_view view;
    while (xft_walk_next(&walk, &view))
        if (segment_names_code(&view))
            return true;
    return false;
}

static void rewrite(struct finishing *f, bool name)
{
    const int never = 0;
    size_t symbols_bytes = 0, sources_bytes = 0;
    if (!xft_packer_init(&f->packer, &xft_linked_zstd)) {
        snprintf(f->error, f->error_bytes, "%s: out of memory", f->path);
        return;
    }
    if (name)
        xfs_symbols_resolve_known(f->known, f->file, f->size, &f->fd, ZSTD_decompress, &never,
                                  &f->symbols, &symbols_bytes);
    const struct xfs_sources_of of = {.file = f->file,
                                      .size = f->size,
                                      .holes = &f->fd,
                                      .decompress = ZSTD_decompress,
                                      .symbols = f->symbols,
                                      .symbols_bytes = symbols_bytes};
    if (name && !has_segment(f, XFT_SEG_SOURCES))
        xfs_sources_read(&of, &f->sources, &sources_bytes);
    f->job = (struct xft_rewrite){
        .file = f->file,
        .size = f->size,
        .holes = &f->fd,
        .packer = &f->packer,
        .symbols = f->symbols,
        .symbols_bytes = symbols_bytes,
        .sources = f->sources,
        .sources_bytes = sources_bytes,
        .decompress = ZSTD_decompress,
        .fd = -1,
    };
    if (xft_rewrite(&f->job, f->path))
        f->status = 0;
    else
        snprintf(f->error, f->error_bytes, "%s: cannot complete it: %s", f->path, strerror(errno));
}

/* Since it was opened, its process may have completed it, or grown it and died; another command may
 * have completed it. */
static bool is_as_opened(const struct finishing *f)
{
    struct stat now, named;
    return fstat(f->fd, &now) == 0 && lstat(f->path, &named) == 0 && now.st_dev == named.st_dev &&
           now.st_ino == named.st_ino && (uint64_t)now.st_size <= f->size;
}

/* True when no process writes to it. */
static bool is_left_to_us(struct finishing *f)
{
    if (flock(f->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        snprintf(f->error, f->error_bytes, "%s: another process is completing it", f->path);
        return false;
    }
    f->changed = !is_as_opened(f);
    if (f->changed)
        snprintf(f->error, f->error_bytes, "%s: it changes while it is being completed", f->path);
    return !f->changed;
}

static void finish(void *context)
{
    struct finishing *f = context;
    struct xft_file_header header;
    const char *why = xft_header_check(f->file, f->size);
    if (why) {
        snprintf(f->error, f->error_bytes, "%s: %s", f->path, why);
        return;
    }
    memcpy(&header, f->file, sizeof header);
    bool closed = header.state == XFT_STATE_CLOSED;
    if (!closed && (xfs_is_open_for_writing(f->fd) || xfs_is_mapped_by(header.pid, f->path))) {
        snprintf(f->error, f->error_bytes, "%s: process %d is still recording", f->path,
                 (int)header.pid);
        return;
    }
    if (!is_left_to_us(f))
        return;
    bool name = f->known && has_segment(f, XFT_SEG_STACKS) && !code_is_named(f);
    if (closed && !name)
        f->status = 0;
    else
        rewrite(f, name);
}

/* Releases what the work had open when the file shrank, apart from some memory: this is rare. */
static void give_up(struct finishing *f)
{
    if (f->job.fd >= 0)
        xft_rewrite_abandon(&f->job, f->path);
    f->job.fd = -1;
    f->status = -1;
    snprintf(f->error, f->error_bytes, "%s: it was cut while it was being completed", f->path);
}

static void finish_mapped(struct finishing *f)
{
    void *file = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, f->fd, 0);
    if (file == MAP_FAILED) {
        snprintf(f->error, f->error_bytes, "%s: %s", f->path, strerror(errno));
        return;
    }
    f->file = file;
    f->job.fd = -1;
    if (!xfs_while_there(file, f->size, finish, f))
        give_up(f);
    if (f->job.fd >= 0)
        close(f->job.fd);
    free(f->symbols);
    free(f->sources);
    xft_packer_free(&f->packer);
    munmap(file, f->size);
}

static int try_to_finish(const char *path, struct xfs_known *known, char *error, size_t error_bytes,
                         bool *changed)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0) {
        snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    struct finishing f = {.path = path,
                          .fd = fd,
                          .size = (size_t)info.st_size,
                          .known = known,
                          .error = error,
                          .error_bytes = error_bytes,
                          .status = -1};
    if (S_ISREG(info.st_mode) && f.size > 0)
        finish_mapped(&f);
    else
        snprintf(error, error_bytes, "%s: %s", path,
                 f.size ? "not a regular file" : "the file is empty");
    close(fd);
    *changed = f.changed;
    return f.status;
}

int xfs_finish_file(const char *path, struct xfs_known *known, char *error, size_t error_bytes)
{
    int status = -1;
    bool changed = true;
    for (int i = 0; i < TRIES && changed; i++) {
        changed = false;
        status = try_to_finish(path, known, error, error_bytes, &changed);
    }
    return status;
}
