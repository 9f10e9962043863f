/* What lies in a file: its bytes, the payload of one segment, checked and unpacked, and slabs that
 * the recorder had not compressed yet. */
#include "analyzer/read/read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"

/* ---- bytes of the file ----------------------------------------------------------------------- */

int xfa_source_open(const char *path, struct xfa_file_identity *file)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        *file = (struct xfa_file_identity){.device = status.st_dev,
                                           .inode = status.st_ino,
                                           .bytes = (uint64_t)status.st_size,
                                           .changed_s = status.st_mtim.tv_sec,
                                           .changed_ns = status.st_mtim.tv_nsec};
        return fd;
    }
    if (fd >= 0)
        close(fd); /* errno stays what it was: 0, it is no regular file */
    return -1;
}

static size_t file_read(const struct xfa_source *source, uint64_t at, char *buffer, size_t bytes)
{
    size_t got = 0;
    while (got < bytes) {
        ssize_t n = pread(source->fd, buffer + got, bytes - got, (off_t)(at + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

size_t xfa_source_read(const struct xfa_source *source, uint64_t at, void *buffer, size_t bytes)
{
    if (at >= source->bytes)
        return 0;
    if (bytes > source->bytes - at)
        bytes = source->bytes - at;
    if (source->fd >= 0)
        return file_read(source, at, buffer, bytes);
    memcpy(buffer, source->data + at, bytes);
    return bytes;
}

uint64_t xfa_source_data(const struct xfa_source *source, uint64_t at, uint64_t end)
{
    if (source->fd < 0 || at >= end)
        return at < end ? at : end;
    off_t data = lseek(source->fd, (off_t)at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? end : at; /* no more data; or the file system cannot say */
    return (uint64_t)data < end ? (uint64_t)data : end;
}

static bool is_trace_name(const char *name)
{
    size_t length = strlen(name), suffix = strlen(".trace");
    return length > suffix && strcmp(name + length - suffix, ".trace") == 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **directory_files(const char *path, DIR *directory, size_t *count)
{
    char **files = NULL;
    size_t capacity = 0;
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        if (!is_trace_name(entry->d_name))
            continue;
        files = xfa_room(files, &capacity, *count + 1, sizeof *files);
        files[(*count)++] = xfa_print("%s/%s", path, entry->d_name);
    }
    if (files)
        qsort(files, *count, sizeof *files, by_text);
    return files;
}

char **xfa_run_files(const char *path, size_t *count, char *error, size_t error_bytes)
{
    struct stat status;
    *count = 0;
    if (stat(path, &status) != 0) {
        snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (!S_ISDIR(status.st_mode)) {
        char **files = xfa_alloc(sizeof *files);
        files[(*count)++] = xfa_text(path);
        return files;
    }
    DIR *directory = opendir(path);
    if (!directory) {
        snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
        return NULL;
    }
    char **files = directory_files(path, directory, count);
    closedir(directory);
    if (*count == 0)
        snprintf(error, error_bytes, "%s: no .trace file in this directory", path);
    return files;
}

void xfa_run_files_free(char **files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(files[i]);
    free(files);
}

/* ---- segments -------------------------------------------------------------------------------- */

bool xfa_segment_sound(struct xfa_trace *trace, const struct xfa_segment *segment)
{
    size_t bytes = segment->stored;
    trace->stored = xfa_room(trace->stored, &trace->stored_capacity, bytes + 1, 1);
    return xfa_source_read(&trace->source, segment->at, trace->stored, bytes) == bytes &&
           XXH3_64bits(trace->stored, bytes) == segment->sum;
}

bool xfa_segment_readable(const struct xfa_segment *segment)
{
    bool chunk = segment->type == XFT_SEG_EVENTS || segment->type == XFT_SEG_INDEX;
    uint64_t most = chunk ? XFA_MAX_CHUNK : XFA_MAX_SEGMENT;
    if (segment->stored > most || segment->raw > most)
        return false;
    if (segment->flags & XFT_SEG_ZSTD)
        return segment->flags == XFT_SEG_ZSTD && segment->raw <= xft_unfold_most(segment->stored);
    return segment->flags == 0 && segment->raw == segment->stored;
}

/* What the frames say they hold together; UINT64_MAX when one does not, or is damaged. */
static uint64_t frames_bytes(const unsigned char *at, size_t bytes)
{
    uint64_t total = 0;
    for (unsigned frames = 0; bytes > 0; frames++) {
        size_t frame = ZSTD_findFrameCompressedSize(at, bytes);
        unsigned long long content = ZSTD_getFrameContentSize(at, bytes);
        if (ZSTD_isError(frame) || content > XFA_MAX_SEGMENT || frames == XFA_MAX_PIECES)
            return UINT64_MAX;
        total += content;
        at += frame;
        bytes -= frame;
    }
    return total;
}

bool xfa_segment_unpack(struct xfa_trace *trace, const struct xfa_segment *segment,
                        unsigned char *raw)
{
    if (!xfa_segment_readable(segment) || !xfa_segment_sound(trace, segment))
        return false;
    if (!(segment->flags & XFT_SEG_ZSTD)) {
        memcpy(raw, trace->stored, segment->raw);
        return true;
    }
    if (frames_bytes(trace->stored, segment->stored) != segment->raw)
        return false;
    trace->unpacker = trace->unpacker ? trace->unpacker : ZSTD_createDCtx();
    size_t got =
        ZSTD_decompressDCtx(trace->unpacker, raw, segment->raw, trace->stored, segment->stored);
    return !ZSTD_isError(got) && got == segment->raw;
}

unsigned char *xfa_segment_load(struct xfa_trace *trace, const struct xfa_segment *segment)
{
    if (!xfa_segment_readable(segment))
        return NULL;
    unsigned char *raw = xfa_alloc_unset(segment->raw + 1);
    if (xfa_segment_unpack(trace, segment, raw))
        return raw;
    free(raw);
    return NULL;
}

void xfa_trace_rest(struct xfa_trace *trace)
{
    ZSTD_freeDCtx(trace->unpacker);
    free(trace->stored);
    trace->unpacker = NULL;
    trace->stored = NULL;
    trace->stored_capacity = 0;
}

/* ---- slabs ----------------------------------------------------------------------------------- */

void xfa_slab_rows(const struct xfa_trace *trace, const unsigned char *raw, size_t rows,
                   struct xft_event *events)
{
    size_t stride = trace->header.event_bytes;
    size_t common = stride < sizeof *events ? stride : sizeof *events;
    memset(events, 0, rows * sizeof *events);
    for (size_t i = 0; i < rows; i++)
        memcpy(&events[i], raw + i * stride, common);
}

uint64_t xfa_slabs_begin(const struct xfa_segment *lanes)
{
    return (lanes->at + 4095) & ~(uint64_t)4095;
}

uint64_t xfa_slabs_next(const struct xfa_trace *trace, uint64_t at, uint64_t end)
{
    uint64_t data = xfa_source_data(&trace->source, at, end);
    return data < end ? at + (data - at) / XFT_SLAB_BYTES * XFT_SLAB_BYTES : end;
}

static uint64_t slab_capacity(const struct xfa_trace *trace)
{
    return (XFT_SLAB_BYTES - sizeof(struct xft_slab)) / trace->header.event_bytes;
}

enum xfa_slab_worth xfa_slab_worth(const struct xfa_trace *trace, const struct xft_slab *slab)
{
    static const struct xft_slab untouched;
    if (memcmp(slab, &untouched, sizeof untouched) == 0)
        return XFA_SLAB_EMPTY;
    if (slab->magic != XFT_SLAB_MAGIC || slab->state > XFT_SLAB_FULL)
        return XFA_SLAB_BROKEN;
    if (slab->state == XFT_SLAB_FREE)
        return XFA_SLAB_EMPTY;
    if (slab->committed > slab_capacity(trace) || slab->first_seq > UINT64_MAX - slab->committed)
        return XFA_SLAB_BROKEN;
    return slab->committed ? XFA_SLAB_SOUND : XFA_SLAB_EMPTY;
}

struct xfa_slab_place *xfa_slabs_find(struct xfa_trace *trace, size_t *count)
{
    struct xfa_slab_place *places = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t i = 0; i < trace->segment_count; i++) {
        const struct xfa_segment *segment = &trace->segments[i];
        if (segment->type != XFT_SEG_LANES)
            continue;
        uint64_t end = segment->at + segment->stored;
        uint64_t at = xfa_slabs_begin(segment);
        for (; (at = xfa_slabs_next(trace, at, end)) < end; at += XFT_SLAB_BYTES) {
            struct xft_slab slab;
            if (xfa_source_read(&trace->source, at, &slab, sizeof slab) < sizeof slab)
                break;
            if (xfa_slab_worth(trace, &slab) != XFA_SLAB_SOUND)
                continue;
            places = xfa_room(places, &capacity, *count + 1, sizeof *places);
            uint64_t bytes = end - at < XFT_SLAB_BYTES ? end - at : XFT_SLAB_BYTES;
            places[(*count)++] = (struct xfa_slab_place){at, slab.first_seq, bytes};
        }
    }
    return places;
}
