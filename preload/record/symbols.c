#include "symbols.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "address_info.h"
#include "segments.h"

#define MOST_LIST_BYTES (256u << 20)

struct addresses {
    struct address {
        uint64_t address;
        const struct xfs_loaded_module *module;
    } * at;
    size_t count, room;
};

struct job {
    struct addresses addresses;
    struct xfs_loaded_module *modules;
    size_t module_count, module_room;
    bool failed;
};

/* ---- reading the lists ------------------------------------------------------------------ */

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

static void add_address(struct job *job, uint64_t address)
{
    struct addresses *all = &job->addresses;
    struct address *more = grown(all->at, all->count, &all->room, sizeof *more);
    if (more == NULL) {
        job->failed = true;
        return;
    }
    all->at = more;
    all->at[all->count++] = (struct address){address, NULL};
}

static void read_stacks(struct job *job, const unsigned char *at, size_t bytes)
{
    struct xft_stack stack;
    while (bytes >= sizeof stack) {
        memcpy(&stack, at, sizeof stack);
        at += sizeof stack;
        bytes -= sizeof stack;
        if (stack.depth > bytes / sizeof(uint64_t))
            return;
        for (uint32_t i = 0; i < stack.depth; i++) {
            uint64_t address;
            memcpy(&address, at + i * sizeof address, sizeof address);
            if (!(address & XFT_PYTHON_FRAME)) /* these have their symbols from the start */
                add_address(job, address);
        }
        at += stack.depth * sizeof(uint64_t);
        bytes -= stack.depth * sizeof(uint64_t);
    }
}

static void add_module(struct job *job, const struct xft_module *module, const unsigned char *tail)
{
    struct xfs_loaded_module *more =
        grown(job->modules, job->module_count, &job->module_room, sizeof *more);
    char *path = strndup((const char *)tail, module->path_bytes);
    unsigned char *id = malloc(module->build_id_bytes + 1);
    if (more)
        job->modules = more;
    if (more == NULL || path == NULL || id == NULL) {
        free(path);
        free(id);
        job->failed = true;
        return;
    }
    memcpy(id, tail + module->path_bytes, module->build_id_bytes);
    more[job->module_count++] = (struct xfs_loaded_module){
        module->start, module->end, module->bias, path, id, module->build_id_bytes};
}

static void read_modules(struct job *job, const unsigned char *at, size_t bytes)
{
    struct xft_module module;
    while (bytes >= sizeof module) {
        memcpy(&module, at, sizeof module);
        at += sizeof module;
        bytes -= sizeof module;
        size_t tail = (size_t)module.path_bytes + module.build_id_bytes;
        if (tail > bytes)
            return;
        add_module(job, &module, at);
        at += tail;
        bytes -= tail;
    }
}

static void read_list(struct job *job, const struct xft_view *view,
                      xfs_decompress_function *decompress)
{
    const unsigned char *payload = view->payload;
    size_t bytes = view->head.stored_bytes;
    unsigned char *raw = NULL;
    if (view->head.flags & XFT_SEG_ZSTD) {
        bytes = view->head.raw_bytes;
        if (decompress == NULL || bytes > MOST_LIST_BYTES || (raw = malloc(bytes + 1)) == NULL)
            return;
        payload = raw;
        if (decompress(raw, bytes, view->payload, view->head.stored_bytes) != bytes)
            bytes = 0;
    }
    if (view->head.type == XFT_SEG_STACKS)
        read_stacks(job, payload, bytes);
    else
        read_modules(job, payload, bytes);
    free(raw);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = ((const struct address *)a)->address, y = ((const struct address *)b)->address;
    return x < y ? -1 : x > y;
}

static void read_lists(struct job *job, const void *file, size_t size,
                       xfs_decompress_function *decompress)
{
    struct xft_file_header header;
    memcpy(&header, file, sizeof header);
    uint32_t wanted = xft_wants(XFT_SEG_STACKS) | xft_wants(XFT_SEG_MODULES);
    struct xft_walk walk = xft_walk_begin(file, size, &header, wanted);
    struct xft_view view;
    while (xft_walk_next(&walk, &view))
        read_list(job, &view, decompress);
    struct addresses *all = &job->addresses;
    if (all->count == 0)
        return;
    qsort(all->at, all->count, sizeof *all->at, compare);
    size_t unique = 1;
    for (size_t i = 1; i < all->count; i++)
        if (all->at[i].address != all->at[unique - 1].address)
            all->at[unique++] = all->at[i];
    all->count = unique;
}

/* ---- resolving -------------------------------------------------------------------------- */

/* A place may have been mapped again: the last one counts. The address looked up is the call's, not
 * the one behind it. */
static const struct xfs_loaded_module *module_of(const struct job *job, uint64_t address)
{
    for (size_t i = job->module_count; i-- > 0;)
        if (address - 1 >= job->modules[i].start && address - 1 < job->modules[i].end)
            return &job->modules[i];
    return NULL;
}

static bool resolve_module(const struct job *job, const struct xfs_loaded_module *module,
                           uint64_t start_real_ns, const int *stop, struct xfs_symbol_list *out)
{
    struct xfs_session *session = NULL;
    for (size_t i = 0; i < job->addresses.count; i++) {
        const struct address *address = &job->addresses.at[i];
        if (address->module != module)
            continue;
        if (__atomic_load_n(stop, __ATOMIC_RELAXED)) {
            xfs_session_close(session);
            return false;
        }
        if (session == NULL && (session = xfs_session_open(module, start_real_ns)) == NULL)
            return false;
        xfs_session_resolve(session, address->address, out);
    }
    xfs_session_close(session);
    return !out->failed;
}

bool xfs_symbols_resolve(const void *file, size_t size, xfs_decompress_function *decompress,
                         const int *stop, void **payload, size_t *bytes)
{
    struct job job = {0};
    struct xfs_symbol_list out = {0};
    struct xft_file_header header;
    if (xft_header_check(file, size) != NULL)
        return false;
    memcpy(&header, file, sizeof header);
    read_lists(&job, file, size, decompress);
    bool good = !job.failed;
    for (size_t i = 0; good && i < job.addresses.count; i++)
        job.addresses.at[i].module = module_of(&job, job.addresses.at[i].address);
    for (size_t i = 0; good && i < job.module_count; i++)
        good = resolve_module(&job, &job.modules[i], header.start_real_ns, stop, &out);
    for (size_t i = 0; i < job.module_count; i++) {
        free(job.modules[i].path);
        free(job.modules[i].build_id);
    }
    free(job.modules);
    free(job.addresses.at);
    if (!good) {
        free(out.bytes);
        return false;
    }
    *payload = out.bytes;
    *bytes = out.count;
    return true;
}
