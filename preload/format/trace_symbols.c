#include "preload/format/trace_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "preload/format/lists.h"
#include "preload/format/segments.h"

#define MOST_MODULES (1u << 16)

struct job {
    uint64_t *addresses;
    size_t address_count, address_room;
    struct xfs_loaded_module *modules;
    size_t module_count, module_room;
    size_t list_bytes;
    bool failed;
};

static void *grown(void *old, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return old;
    size_t more = *room ? 2 * *room : 256;
    void *memory = realloc(old, more * size);
    if (memory)
        *room = more;
    return memory;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Many stacks share frames: keeps each address once before the array grows. */
static void forget_repeated(struct job *job)
{
    size_t kept = 0;
    if (job->address_count == 0)
        return;
    qsort(job->addresses, job->address_count, sizeof *job->addresses, by_value);
    for (size_t i = 1; i < job->address_count; i++)
        if (job->addresses[i] != job->addresses[kept])
            job->addresses[++kept] = job->addresses[i];
    job->address_count = kept + 1;
}

static void add_address(struct job *job, uint64_t address)
{
    size_t taken = job->address_count;
    if (taken == job->address_room) {
        forget_repeated(job);
        if (job->address_count <= taken / 2)
            taken = job->address_count;
    }
    uint64_t *more = grown(job->addresses, taken, &job->address_room, sizeof *more);
    if (more == NULL) {
        job->failed = true;
        return;
    }
    job->addresses = more;
    job->addresses[job->address_count++] = address;
}

static void read_stack(struct job *job, const unsigned char *at)
{
    struct xft_stack stack;
    memcpy(&stack, at, sizeof stack);
    for (uint32_t i = 0; i < stack.depth; i++) {
        uint64_t address;
        memcpy(&address, at + sizeof stack + i * sizeof address, sizeof address);
        add_address(job, address);
    }
}

static void read_module(struct job *job, const unsigned char *at)
{
    struct xft_module module;
    memcpy(&module, at, sizeof module);
    if (job->module_count == MOST_MODULES)
        return;
    struct xfs_loaded_module *more =
        grown(job->modules, job->module_count, &job->module_room, sizeof *more);
    const char *tail = (const char *)at + sizeof module;
    char *path = strndup(tail, module.path_bytes);
    unsigned char *id = malloc((size_t)module.build_id_bytes + 1);
    if (more)
        job->modules = more;
    if (more == NULL || path == NULL || id == NULL) {
        free(path);
        free(id);
        job->failed = true;
        return;
    }
    memcpy(id, tail + module.path_bytes, module.build_id_bytes);
    more[job->module_count++] = (struct xfs_loaded_module){
        module.start, module.end, module.bias, path, id, module.build_id_bytes};
}

static void read_entries(struct job *job, unsigned type, const unsigned char *at, size_t bytes)
{
    size_t entry;
    while (bytes > 0 && (entry = xft_list_entry(type, at, bytes)) > 0) {
        if (type == XFT_SEG_STACKS)
            read_stack(job, at);
        else
            read_module(job, at);
        at += entry;
        bytes -= entry;
    }
}

static void read_list(struct job *job, const struct xft_view *view,
                      xfs_decompress_function *decompress)
{
    bool packed = view->head.flags & XFT_SEG_ZSTD;
    uint64_t bytes = packed ? view->head.raw_bytes : view->head.stored_bytes;
    if (bytes > XFT_SEGMENT_MOST || bytes > XFT_LISTS_MOST - job->list_bytes ||
        (packed && decompress == NULL) || bytes > xft_unfold_most(view->head.stored_bytes))
        return;
    job->list_bytes += bytes;
    if (!packed) {
        read_entries(job, view->head.type, view->payload, bytes);
        return;
    }
    unsigned char *raw = malloc(bytes + 1);
    if (raw && decompress(raw, bytes, view->payload, view->head.stored_bytes) == bytes)
        read_entries(job, view->head.type, raw, bytes);
    free(raw);
}

static void read_lists(struct job *job, const void *file, size_t size, const int *holes,
                       xfs_decompress_function *decompress)
{
    struct xft_file_header header;
    memcpy(&header, file, sizeof header);
    uint32_t wanted = xft_wants(XFT_SEG_STACKS) | xft_wants(XFT_SEG_MODULES);
    struct xft_walk walk = xft_walk_begin(file, size, &header, wanted);
    struct xft_view view;
    walk.holes = holes;
    while (xft_walk_next(&walk, &view))
        read_list(job, &view, decompress);
}

static void forget(struct job *job)
{
    for (size_t i = 0; i < job->module_count; i++) {
        free(job->modules[i].path);
        free(job->modules[i].build_id);
    }
    free(job->modules);
    free(job->addresses);
}

bool xfs_symbols_resolve_known(struct xfs_known *known, const void *file, size_t size,
                               const int *holes, xfs_decompress_function *decompress,
                               const int *stop, void **payload, size_t *bytes)
{
    struct job job = {.failed = false};
    struct xft_file_header header;
    if (xft_header_check(file, size) != NULL)
        return false;
    memcpy(&header, file, sizeof header);
    read_lists(&job, file, size, holes, decompress);
    const struct xfs_symbols_wanted wanted = {
        .modules = job.modules,
        .module_count = job.module_count,
        .addresses = job.addresses,
        .address_count = job.address_count,
        .start_real_ns = header.start_real_ns,
    };
    bool good = !job.failed && xfs_symbols_name(known, &wanted, stop, payload, bytes);
    forget(&job);
    return good;
}

bool xfs_symbols_resolve(const void *file, size_t size, xfs_decompress_function *decompress,
                         const int *stop, void **payload, size_t *bytes)
{
    return xfs_symbols_resolve_known(NULL, file, size, NULL, decompress, stop, payload, bytes);
}
