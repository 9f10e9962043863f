#include "preload/format/sources.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/grow.h"
#include "preload/format/lists.h"
#include "preload/format/segments.h"
#include "symbols/debug_files.h"

#define MOST_FILE_BYTES (4u << 20)
#define MOST_PLACES (1u << 16)

/* A line that a frame is in. The texts lie in a payload. */
struct place {
    const char *file, *module;
    uint32_t file_bytes, module_bytes, line;
    bool python, installed;
};

struct block {
    struct block *before;
    unsigned char bytes[];
};

struct job {
    const struct xfs_sources_of *of;
    struct xft_file_header header;
    struct place *places;
    size_t count, room;
    char cwd[PATH_MAX];
    bool wanted;          /* META "sources" */
    struct block *blocks; /* unpacked payloads */
    unsigned char *out;
    size_t out_bytes;
};

/* ---- what the file says ----------------------------------------------------------------- */

static void read_pair(struct job *job, const char *key)
{
    const char *value = key + strlen(key) + 1;
    if (strcmp(key, "sources") == 0)
        job->wanted = strcmp(value, "on") == 0;
    else if (strcmp(key, "cwd") == 0)
        snprintf(job->cwd, sizeof job->cwd, "%s", value);
}

/* A program's own files are kept first. */
static bool is_installed(const char *file, size_t bytes)
{
    static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                        "/lib64/python3"};
    bool found = bytes > 5 && memcmp(file, "/usr/", 5) == 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        found = found || memmem(file, bytes, parts[i], strlen(parts[i])) != NULL;
    return found;
}

static void read_symbol(struct job *job, const unsigned char *at)
{
    struct xft_symbol symbol;
    memcpy(&symbol, at, sizeof symbol);
    if (symbol.line == 0 || symbol.file_bytes == 0 || symbol.file_bytes >= PATH_MAX ||
        symbol.module_bytes >= PATH_MAX || job->count == MOST_PLACES ||
        !xfc_grow(&job->places, &job->room, job->count, sizeof *job->places))
        return;
    const char *file = (const char *)at + sizeof symbol + symbol.function_bytes;
    job->places[job->count++] = (struct place){
        .file = file,
        .module = file + symbol.file_bytes,
        .file_bytes = symbol.file_bytes,
        .module_bytes = symbol.module_bytes,
        .line = symbol.line,
        .python = symbol.address & XFT_PYTHON_FRAME,
        .installed = is_installed(file, symbol.file_bytes),
    };
}

static void read_entries(struct job *job, unsigned type, const unsigned char *at, size_t bytes)
{
    size_t entry;
    while (bytes > 0 && (entry = xft_list_entry(type, at, bytes)) > 0) {
        if (type == XFT_SEG_META)
            read_pair(job, (const char *)at);
        else
            read_symbol(job, at);
        at += entry;
        bytes -= entry;
    }
}

static void read_list(struct job *job, const struct xft_view *view)
{
    size_t bytes = view->head.raw_bytes;
    if (!(view->head.flags & XFT_SEG_ZSTD)) {
        read_entries(job, view->head.type, view->payload, view->head.stored_bytes);
        return;
    }
    if (bytes > XFT_SEGMENT_MOST || bytes > xft_unfold_most(view->head.stored_bytes))
        return;
    struct block *block = malloc(sizeof *block + bytes + 1);
    if (block == NULL)
        return;
    block->before = job->blocks;
    job->blocks = block;
    if (job->of->decompress(block->bytes, bytes, view->payload, view->head.stored_bytes) == bytes)
        read_entries(job, view->head.type, block->bytes, bytes);
}

static void read_lists(struct job *job, unsigned type)
{
    struct xft_walk walk =
        xft_walk_begin(job->of->file, job->of->size, &job->header, xft_wants(type));
    struct xft_view view;
    walk.holes = job->of->holes;
    while (xft_walk_next(&walk, &view))
        read_list(job, &view);
}

/* ---- a source file ---------------------------------------------------------------------- */

/* The program's own before installed ones; then by file and line. */
static int in_order(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    uint32_t least = x->file_bytes < y->file_bytes ? x->file_bytes : y->file_bytes;
    if (x->installed != y->installed)
        return x->installed - y->installed;
    int order = memcmp(x->file, y->file, least);
    if (order == 0)
        order = (x->file_bytes > y->file_bytes) - (x->file_bytes < y->file_bytes);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* By its times, the program was made of this file. */
static bool is_as_used(const struct job *job, const struct place *place, const struct stat *source)
{
    char module[PATH_MAX];
    struct stat info;
    if (place->python) {
        uint64_t ns = job->header.start_real_ns;
        info.st_mtim = (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    } else {
        snprintf(module, sizeof module, "%.*s", (int)place->module_bytes, place->module);
        if (stat(module, &info) != 0)
            return false;
    }
    return !is_newer(&source->st_mtim, &info.st_mtim);
}

/* A file that Python was given by a relative name lies below the directory it began in. */
static bool path_of(const struct job *job, const struct place *place, char *path)
{
    bool relative = place->file[0] != '/';
    if (relative && (!place->python || job->cwd[0] != '/' || place->file[0] == '<'))
        return false;
    int n = relative
                ? snprintf(path, PATH_MAX, "%s/%.*s", job->cwd, (int)place->file_bytes, place->file)
                : snprintf(path, PATH_MAX, "%.*s", (int)place->file_bytes, place->file);
    return n > 0 && n < PATH_MAX;
}

struct text {
    char *bytes;
    size_t count;
};

/* bytes NULL: it cannot be read, or is not what the program is made of. */
static struct text load(const struct job *job, const struct place *place)
{
    char path[PATH_MAX];
    struct text text = {0};
    struct stat info;
    int fd = path_of(job, place, path) ? xfs_plain_open(path, &info) : -1;
    if (fd < 0)
        return text;
    if (info.st_size > 0 && info.st_size <= (off_t)MOST_FILE_BYTES && is_as_used(job, place, &info))
        text.bytes = malloc((size_t)info.st_size);
    ssize_t n;
    while (text.bytes && text.count < (size_t)info.st_size &&
           (n = pread(fd, text.bytes + text.count, (size_t)info.st_size - text.count,
                      (off_t)text.count)) > 0)
        text.count += (size_t)n;
    close(fd);
    if (text.count == 0 || memchr(text.bytes, 0, text.count)) { /* no text */
        free(text.bytes);
        return (struct text){0};
    }
    return text;
}

/* ---- its lines -------------------------------------------------------------------------- */

/* An entry that is being made. */
struct entry {
    struct xft_source head;
    char text[XFT_SOURCE_MOST];
};

static void put(struct job *job, const void *bytes, size_t n)
{
    memcpy(job->out + job->out_bytes, bytes, n);
    job->out_bytes += n;
}

static void flush(struct job *job, const struct place *place, struct entry *entry)
{
    size_t bytes = sizeof entry->head + place->file_bytes + entry->head.text_bytes;
    if (entry->head.line && bytes <= XFS_SOURCES_MOST - job->out_bytes) {
        entry->head.file_bytes = place->file_bytes;
        put(job, &entry->head, sizeof entry->head);
        put(job, place->file, place->file_bytes);
        put(job, entry->text, entry->head.text_bytes);
    }
    entry->head = (struct xft_source){0};
}

/* Without its end, cut between two characters. */
static size_t line_bytes(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t n = (size_t)((stop ? stop : end) - at);
    if (n > 0 && at[n - 1] == '\r')
        n--;
    if (n <= XFT_SOURCE_LINE_MOST)
        return n;
    for (n = XFT_SOURCE_LINE_MOST; n > 0 && ((unsigned char)at[n] & 0xc0) == 0x80;)
        n--;
    return n;
}

static void add_line(struct job *job, const struct place *place, struct entry *entry,
                     uint32_t number, const char *at, size_t n)
{
    if (entry->head.line && entry->head.text_bytes + 1 + n > sizeof entry->text)
        flush(job, place, entry);
    if (entry->head.line == 0)
        entry->head.line = number;
    else
        entry->text[entry->head.text_bytes++] = '\n';
    memcpy(entry->text + entry->head.text_bytes, at, n);
    entry->head.text_bytes += (uint32_t)n;
}

/* Lines around `count` places of one file, in order. */
static void keep_lines(struct job *job, const struct place *places, size_t count, struct text text)
{
    struct entry entry = {0};
    const char *at = text.bytes, *end = text.bytes + text.count;
    size_t i = 0;
    for (uint32_t number = 1; at < end && i < count; number++) {
        while (i < count && (uint64_t)places[i].line + XFS_SOURCES_AROUND < number)
            i++;
        if (i < count && number + (uint64_t)XFS_SOURCES_AROUND >= places[i].line)
            add_line(job, places, &entry, number, at, line_bytes(at, end));
        else
            flush(job, places, &entry);
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
    }
    flush(job, places, &entry);
}

static bool is_same_file(const struct place *a, const struct place *b)
{
    return a->file_bytes == b->file_bytes && memcmp(a->file, b->file, a->file_bytes) == 0;
}

static void keep(struct job *job)
{
    size_t next;
    for (size_t i = 0; i < job->count && job->out_bytes < XFS_SOURCES_MOST; i = next) {
        for (next = i + 1; next < job->count; next++)
            if (!is_same_file(&job->places[i], &job->places[next]))
                break;
        struct text text = load(job, &job->places[i]);
        if (text.bytes)
            keep_lines(job, &job->places[i], next - i, text);
        free(text.bytes);
    }
}

/* ---- the whole -------------------------------------------------------------------------- */

static void forget(struct job *job)
{
    while (job->blocks) {
        struct block *before = job->blocks->before;
        free(job->blocks);
        job->blocks = before;
    }
    free(job->places);
}

bool xfs_sources_read(const struct xfs_sources_of *of, void **payload, size_t *bytes)
{
    struct job job = {.of = of};
    memcpy(&job.header, of->file, sizeof job.header);
    read_lists(&job, XFT_SEG_META);
    if (job.wanted) {
        read_lists(&job, XFT_SEG_SYMBOLS);
        if (of->symbols)
            read_entries(&job, XFT_SEG_SYMBOLS, of->symbols, of->symbols_bytes);
    }
    if (job.count > 0 && (job.out = malloc(XFS_SOURCES_MOST)) != NULL) {
        qsort(job.places, job.count, sizeof *job.places, in_order);
        keep(&job);
    }
    forget(&job);
    if (job.out_bytes == 0) {
        free(job.out);
        return false;
    }
    *payload = job.out;
    *bytes = job.out_bytes;
    return true;
}
