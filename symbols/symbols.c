#include "symbols/symbols.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/address_info.h"
#include "symbols/known_modules.h"
#include "preload/format/lists.h"
#include "preload/format/segments.h"

/* What a reader takes, of all lists together. */
#define MOST_LIST_BYTES (48u << 20)
#define MOST_MODULES (1u << 16)
/* A big program has thousands of call sites. */
#define MOST_ADDRESSES (1u << 18)
#define MOST_SYMBOL_BYTES (32u << 20)

#define NO_MODULE UINT32_MAX

struct addresses {
    struct address {
        uint64_t address;
        uint32_t module; /* its index */
        uint32_t next;   /* while modules are sought: no index before it lacks one */
    } * at;
    size_t count, room;
};

struct job {
    struct addresses addresses;
    struct xfs_loaded_module *modules;
    size_t module_count, module_room;
    size_t list_bytes;
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
    all->at[all->count++] = (struct address){address, NO_MODULE, 0};
}

static void read_stack(struct job *job, const unsigned char *at)
{
    struct xft_stack stack;
    memcpy(&stack, at, sizeof stack);
    for (uint32_t i = 0; i < stack.depth; i++) {
        uint64_t address;
        memcpy(&address, at + sizeof stack + i * sizeof address, sizeof address);
        if (!(address & XFT_PYTHON_FRAME)) /* these have their symbols from the start */
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
    if (bytes > MOST_LIST_BYTES - job->list_bytes || (packed && decompress == NULL))
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

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct address *)a)->address, y = ((const struct address *)b)->address;
    return x < y ? -1 : x > y;
}

static int by_module(const void *a, const void *b)
{
    const struct address *x = a, *y = b;
    return x->module != y->module ? (x->module < y->module ? -1 : 1) : by_address(a, b);
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
    qsort(all->at, all->count, sizeof *all->at, by_address);
    size_t unique = 1;
    for (size_t i = 1; i < all->count; i++)
        if (all->at[i].address != all->at[unique - 1].address)
            all->at[unique++] = all->at[i];
    all->count = unique < MOST_ADDRESSES ? unique : MOST_ADDRESSES;
}

/* ---- which module ----------------------------------------------------------------------- */

/* The first address at or behind i that no module has been found for. */
static size_t without_module(struct addresses *all, size_t i)
{
    while (i < all->count && all->at[i].next != i) {
        if (all->at[i].next < all->count)
            all->at[i].next = all->at[all->at[i].next].next;
        i = all->at[i].next;
    }
    return i;
}

static size_t first_from(const struct addresses *all, uint64_t address)
{
    size_t low = 0, high = all->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (all->at[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A place may have been mapped again: the last one counts, so that they choose from the last to the
 * first. The address looked up is the call's, not the one behind it. */
static void find_modules(struct job *job)
{
    struct addresses *all = &job->addresses;
    for (size_t i = 0; i < all->count; i++)
        all->at[i].next = (uint32_t)i;
    for (size_t m = job->module_count; m-- > 0;) {
        const struct xfs_loaded_module *module = &job->modules[m];
        if (module->start == UINT64_MAX)
            continue;
        size_t i = without_module(all, first_from(all, module->start + 1));
        while (i < all->count && all->at[i].address - 1 < module->end) {
            all->at[i].module = (uint32_t)m;
            all->at[i].next = (uint32_t)i + 1;
            i = without_module(all, i + 1);
        }
    }
    if (all->count)
        qsort(all->at, all->count, sizeof *all->at, by_module);
}

/* ---- resolving -------------------------------------------------------------------------- */

static bool resolve(const struct job *job, struct xfs_known *known, uint64_t start_real_ns,
                    const int *stop, struct xfs_symbol_list *out)
{
    struct xfs_known_module *at = NULL;
    uint32_t current = NO_MODULE;
    for (size_t i = 0; i < job->addresses.count; i++) {
        const struct address *address = &job->addresses.at[i];
        if (address->module == NO_MODULE || out->count > MOST_SYMBOL_BYTES)
            break;
        if (__atomic_load_n(stop, __ATOMIC_RELAXED))
            return false;
        const struct xfs_loaded_module *module = &job->modules[address->module];
        if (current != address->module && (at = xfs_known_module(known, module)) == NULL)
            return false;
        current = address->module;
        xfs_known_resolve(known, at, module, start_real_ns, address->address, out);
        if (out->failed)
            return false;
    }
    return true;
}

static void forget(struct job *job)
{
    for (size_t i = 0; i < job->module_count; i++) {
        free(job->modules[i].path);
        free(job->modules[i].build_id);
    }
    free(job->modules);
    free(job->addresses.at);
}

bool xfs_symbols_resolve_known(struct xfs_known *known, const void *file, size_t size,
                               xfs_decompress_function *decompress, const int *stop, void **payload,
                               size_t *bytes)
{
    struct job job = {.failed = false};
    struct xfs_symbol_list out = {0};
    struct xft_file_header header;
    if (xft_header_check(file, size) != NULL)
        return false;
    memcpy(&header, file, sizeof header);
    read_lists(&job, file, size, decompress);
    struct xfs_known *own = known ? NULL : xfs_known_new();
    known = known ? known : own;
    bool good = !job.failed && known;
    if (good) {
        find_modules(&job);
        good = resolve(&job, known, header.start_real_ns, stop, &out);
    }
    xfs_known_free(own);
    forget(&job);
    if (!good) {
        free(out.bytes);
        return false;
    }
    *payload = out.bytes;
    *bytes = out.count;
    return true;
}

bool xfs_symbols_resolve(const void *file, size_t size, xfs_decompress_function *decompress,
                         const int *stop, void **payload, size_t *bytes)
{
    return xfs_symbols_resolve_known(NULL, file, size, decompress, stop, payload, bytes);
}
