#include "symbols/known_modules.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbols/debug_files.h"
#include "xferscope/trace.h"

#define MOST_MODULES 4096
#define MOST_KEPT_BYTES (64u << 20)
#define MOST_OPEN 16
#define MOST_OPEN_BYTES (UINT64_C(1) << 30)
#define MOST_OPEN_FUNCTIONS (UINT64_C(4) << 20)

/* A place in a module's file and the entries that were found for it. */
struct known_place {
    uint64_t address; /* in the file; 0: none here */
    uint32_t at, bytes;
};

struct xfs_known_module {
    struct xfs_known_module *next;
    struct xfs_loaded_module as; /* path and build id */
    struct stat file;            /* st_ino 0: there is none that can be used */
    struct xfs_session *session; /* NULL: not open */
    bool cannot_open;
    uint64_t used;              /* when, in look-ups */
    struct known_place *places; /* by hash, a power of two of them */
    size_t place_count, place_room;
    struct xfs_symbol_list entries;
};

struct xfs_known {
    struct xfs_known_module *modules;
    size_t module_count, kept_bytes;
    uint64_t clock;
    struct xfs_known_counts counts;
};

struct xfs_known *xfs_known_new(void)
{
    return calloc(1, sizeof(struct xfs_known));
}

static void forget(struct xfs_known_module *module)
{
    xfs_session_close(module->session);
    free(module->as.path);
    free(module->as.build_id);
    free(module->places);
    free(module->entries.bytes);
    free(module);
}

static void forget_all(struct xfs_known *known)
{
    while (known->modules) {
        struct xfs_known_module *next = known->modules->next;
        forget(known->modules);
        known->modules = next;
    }
    known->module_count = known->kept_bytes = 0;
}

void xfs_known_free(struct xfs_known *known)
{
    if (known)
        forget_all(known);
    free(known);
}

struct xfs_known_counts xfs_known_counts(const struct xfs_known *known)
{
    return known->counts;
}

/* ---- modules ---------------------------------------------------------------------------- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool is_it(const struct xfs_known_module *at, const struct xfs_loaded_module *module,
                  const struct stat *file)
{
    return is_same_file(&at->file, file) && at->as.build_id_bytes == module->build_id_bytes &&
           (module->build_id_bytes == 0 ||
            memcmp(at->as.build_id, module->build_id, module->build_id_bytes) == 0) &&
           strcmp(at->as.path, module->path) == 0;
}

static struct xfs_known_module *add(struct xfs_known *known, const struct xfs_loaded_module *module,
                                    const struct stat *file)
{
    struct xfs_known_module *at = calloc(1, sizeof *at);
    if (at == NULL)
        return NULL;
    at->as.path = strdup(module->path);
    at->as.build_id = malloc(module->build_id_bytes + 1);
    at->file = *file;
    if (at->as.path == NULL || at->as.build_id == NULL) {
        forget(at);
        return NULL;
    }
    if (module->build_id_bytes > 0) /* else it may be NULL */
        memcpy(at->as.build_id, module->build_id, module->build_id_bytes);
    at->as.build_id_bytes = module->build_id_bytes;
    at->next = known->modules;
    known->modules = at;
    known->module_count++;
    known->kept_bytes += sizeof *at + strlen(module->path) + module->build_id_bytes;
    return at;
}

struct xfs_known_module *xfs_known_module(struct xfs_known *known,
                                          const struct xfs_loaded_module *module)
{
    struct stat file;
    if (known->kept_bytes >= MOST_KEPT_BYTES || known->module_count >= MOST_MODULES)
        forget_all(known);
    if (!xfs_is_plain_file(module->path, &file))
        memset(&file, 0, sizeof file);
    for (struct xfs_known_module *at = known->modules; at; at = at->next)
        if (is_it(at, module, &file))
            return at;
    return add(known, module, &file);
}

/* ---- open files ------------------------------------------------------------------------- */

static struct xfs_known_module *least_used(const struct xfs_known *known, size_t *open)
{
    struct xfs_known_module *least = NULL;
    uint64_t bytes = 0, functions = 0;
    *open = 0;
    for (struct xfs_known_module *at = known->modules; at; at = at->next) {
        if (at->session == NULL)
            continue;
        ++*open;
        bytes += (uint64_t)at->file.st_size;
        functions += xfs_session_functions(at->session);
        if (least == NULL || at->used < least->used)
            least = at;
    }
    bool fits = *open < MOST_OPEN && bytes < MOST_OPEN_BYTES && functions < MOST_OPEN_FUNCTIONS;
    return fits ? NULL : least;
}

static struct xfs_session *session_of(struct xfs_known *known, struct xfs_known_module *at)
{
    struct xfs_known_module *least;
    size_t open;
    at->used = ++known->clock;
    if (at->session || at->cannot_open || at->file.st_ino == 0)
        return at->session;
    while ((least = least_used(known, &open)) != NULL) {
        xfs_session_close(least->session);
        least->session = NULL;
    }
    known->counts.opened++;
    at->session = xfs_session_open(&at->as);
    at->cannot_open = at->session == NULL;
    return at->session;
}

/* ---- places ----------------------------------------------------------------------------- */

static struct known_place *slot_of(struct known_place *places, size_t room, uint64_t address)
{
    size_t i = (address * 0x9e3779b97f4a7c15u) >> 32;
    while (places[i & (room - 1)].address != 0 && places[i & (room - 1)].address != address)
        i++;
    return &places[i & (room - 1)];
}

static bool make_room(struct xfs_known *known, struct xfs_known_module *at)
{
    if (at->place_count < at->place_room / 2)
        return true;
    size_t room = at->place_room ? 2 * at->place_room : 64;
    struct known_place *more = calloc(room, sizeof *more);
    if (more == NULL)
        return false;
    for (size_t i = 0; i < at->place_room; i++)
        if (at->places[i].address)
            *slot_of(more, room, at->places[i].address) = at->places[i];
    free(at->places);
    known->kept_bytes += (room - at->place_room) * sizeof *more;
    at->places = more;
    at->place_room = room;
    return true;
}

/* The entries of a place, looked up now if it was not before. NULL: only the module is known. */
static const struct known_place *place_of(struct xfs_known *known, struct xfs_known_module *at,
                                          uint64_t address)
{
    if (address == 0 || !make_room(known, at))
        return NULL;
    struct known_place *place = slot_of(at->places, at->place_room, address);
    if (place->address == address)
        return place;
    struct xfs_session *session = session_of(known, at);
    size_t from = at->entries.count;
    if (session == NULL || from > MOST_KEPT_BYTES)
        return NULL;
    known->counts.looked_up++;
    xfs_session_resolve(session, address, &at->entries);
    if (at->entries.failed) {
        at->entries.failed = false;
        at->entries.count = from;
        return NULL;
    }
    at->place_count++;
    *place = (struct known_place){address, (uint32_t)from, (uint32_t)(at->entries.count - from)};
    known->kept_bytes += place->bytes;
    return place;
}

/* Appends the entries, for this process's address. */
static void put_place(const struct xfs_known_module *at, const struct known_place *place,
                      uint64_t address, struct xfs_symbol_list *out)
{
    size_t from = out->count;
    xfs_symbol_append(out, at->entries.bytes + place->at, place->bytes);
    if (out->failed)
        return;
    while (from < out->count) {
        struct xft_symbol symbol;
        memcpy(&symbol, out->bytes + from, sizeof symbol);
        symbol.address = address;
        memcpy(out->bytes + from, &symbol, sizeof symbol);
        from += sizeof symbol + symbol.function_bytes + symbol.file_bytes + symbol.module_bytes;
    }
}

void xfs_known_resolve(struct xfs_known *known, struct xfs_known_module *at,
                       const struct xfs_loaded_module *module, uint64_t start_real_ns,
                       uint64_t address, struct xfs_symbol_list *out)
{
    bool older = module->build_id_bytes > 0 ||
                 (uint64_t)at->file.st_mtim.tv_sec * 1000000000u <= start_real_ns;
    const struct known_place *place =
        older && at->file.st_ino ? place_of(known, at, address - module->bias) : NULL;
    if (place)
        put_place(at, place, address, out);
    else
        xfs_symbol_unknown(module->path, address, out);
}
