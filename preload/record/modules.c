#include "preload/record/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "preload/base/check.h"
#include "preload/base/loading.h"
#include "preload/base/real_dlsym.h"
#include "preload/base/sandbox.h"
#include "preload/record/recorder.h"
#include "preload/format/segments.h"

/* A walk writes modules in pieces of this size. */
#define PIECE_BYTES 32768
#define BUILD_ID_BYTES 64
#define MOST_MODULES 65536
#define MOST_AGAIN 4096 /* that are there at once, and not the first at their place */
#define PAGE_OF(address) ((address) & ~UINT64_C(4095)) /* as the loader has it */

struct walk {
    struct xfs_recorder *recorder;
    struct xfs_modules *modules;
    bool is_first, unchanged, failed;
    size_t bytes;
    unsigned char *piece;
};

static void flush(struct walk *walk)
{
    if (walk->bytes && !xfs_room_add(walk->recorder, XFT_SEG_MODULES, walk->piece, walk->bytes))
        walk->failed = true;
    walk->bytes = 0;
}

static uint64_t moved(uint64_t address, uint32_t turn)
{
    return address + ((uint64_t)turn << XFT_TURN_SHIFT);
}

static struct xfs_module_key *find(const struct xfs_modules *modules,
                                   const struct xfs_module_key *key)
{
    size_t count = atomic_load_explicit(&modules->count, memory_order_acquire);
    for (size_t i = 0; i < count; i++) {
        struct xfs_module_key *known = &modules->known[i];
        if (known->start == key->start && known->bias == key->bias &&
            known->identity == key->identity)
            return known;
    }
    return NULL;
}

/* One more than the largest turn of modules that lay in a part of its place. */
static uint32_t turn_of(const struct xfs_modules *modules, const struct xfs_module_key *key)
{
    size_t count = atomic_load_explicit(&modules->count, memory_order_relaxed);
    uint32_t turn = 0;
    for (size_t i = 0; i < count; i++) {
        const struct xfs_module_key *known = &modules->known[i];
        if (known->start >= key->end || key->start >= known->end)
            continue;
        XFS_EXPECT(known->walk != modules->walks, "two modules lie in one place");
        if (known->turn >= turn)
            turn = known->turn + 1;
    }
    return turn;
}

static bool remember(struct xfs_modules *modules, const struct xfs_module_key *key)
{
    size_t count = atomic_load(&modules->count);
    if (count == MOST_MODULES || key->turn > XFT_TURN_MOST)
        return false;
    modules->known[count] = *key;
    atomic_store_explicit(&modules->count, count + 1, memory_order_release);
    return true;
}

/* The GNU build id among the notes of a PT_NOTE segment in memory. */
static size_t build_id(const unsigned char *at, size_t bytes, const unsigned char **id)
{
    ElfW(Nhdr) note;
    while (bytes >= sizeof note) {
        memcpy(&note, at, sizeof note);
        size_t name = XFT_ALIGN(note.n_namesz, 4), desc = XFT_ALIGN(note.n_descsz, 4);
        if (name > bytes - sizeof note || desc > bytes - sizeof note - name)
            return 0;
        const unsigned char *text = at + sizeof note;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(text, "GNU", 4) == 0) {
            *id = text + name;
            return note.n_descsz <= BUILD_ID_BYTES ? note.n_descsz : 0;
        }
        at += sizeof note + name + desc;
        bytes -= sizeof note + name + desc;
    }
    return 0;
}

static uint64_t name_hash(const char *name)
{
    return name ? XXH3_64bits(name, strlen(name)) : 0;
}

/* Sets its range and build id; returns the build id's bytes. */
static size_t describe(const struct dl_phdr_info *info, struct xfs_module_key *key,
                       const unsigned char **id)
{
    size_t id_bytes = 0;
    *key = (struct xfs_module_key){
        .start = UINT64_MAX, .bias = info->dlpi_addr, .name = name_hash(info->dlpi_name)};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_NOTE && id_bytes == 0)
            id_bytes = build_id((const unsigned char *)(uintptr_t)start, part->p_memsz, id);
        if (part->p_type == PT_GNU_EH_FRAME)
            key->unwinding = start;
        if (part->p_type != PT_LOAD)
            continue;
        key->start = start < key->start ? start : key->start;
        key->end = start + part->p_memsz > key->end ? start + part->p_memsz : key->end;
    }
    uint64_t parts = XXH3_64bits(info->dlpi_phdr, info->dlpi_phnum * sizeof *info->dlpi_phdr);
    key->identity = XXH3_64bits_withSeed(*id, id_bytes, key->name ^ parts);
    return id_bytes;
}

/* The path that /proc has for a module's first mapping. */
static size_t mapped_path(const struct dl_phdr_info *info, char *path, size_t room)
{
    static const char deleted[] = " (deleted)";
    char link[64];
    const ElfW(Phdr) *part = info->dlpi_phdr, *end = part + info->dlpi_phnum;
    while (part < end && part->p_type != PT_LOAD)
        part++;
    if (part == end)
        return 0;
    uint64_t start = info->dlpi_addr + part->p_vaddr;
    snprintf(link, sizeof link, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, PAGE_OF(start),
             PAGE_OF(start + part->p_filesz + 4095));
    ssize_t n = readlink(link, path, room);
    size_t bytes = n > 0 ? (size_t)n : 0, tail = sizeof deleted - 1;
    bool gone = bytes > tail && memcmp(path + bytes - tail, deleted, tail) == 0;
    return bytes == 0 || bytes == room || gone || path[0] != '/' ? 0 : bytes;
}

/* The loader keeps the name that was asked for; if that is relative, it means another file once the
 * program has changed its working directory. Where the kernel has no answer, the present directory
 * is taken. */
static size_t absolute_path(const struct dl_phdr_info *info, char *path, size_t room)
{
    const char *name = info->dlpi_name;
    size_t bytes = xfs_may_call_kernel() ? mapped_path(info, path, room) : 0;
    if (bytes > 0 || !xfs_may_call_kernel() || getcwd(path, room) == NULL)
        return bytes;
    size_t here = strlen(path), n = strlen(name);
    if (path[0] != '/' || here + 1 + n >= room)
        return 0;
    path[here] = '/';
    memcpy(path + here + 1, name, n + 1);
    return here + 1 + n;
}

/* A name without a slash is not a file's: the vDSO. */
static size_t path_of(const struct dl_phdr_info *info, char *path, size_t room)
{
    if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0') {
        ssize_t n = readlink("/proc/thread-self/exe", path, room);
        return n > 0 ? (size_t)n : 0;
    }
    size_t n = info->dlpi_name[0] != '/' && strchr(info->dlpi_name, '/')
                   ? absolute_path(info, path, room)
                   : 0;
    if (n > 0)
        return n;
    n = strnlen(info->dlpi_name, room);
    memcpy(path, info->dlpi_name, n);
    return n;
}

/* Adds a module that was not seen before at this turn of its place. */
static void add(struct walk *walk, const struct dl_phdr_info *info,
                const struct xfs_module_key *key, uint64_t start, const unsigned char *id,
                size_t id_bytes)
{
    struct xft_module module = {.start = moved(start, key->turn),
                                .end = moved(key->end, key->turn),
                                .bias = moved(key->bias, key->turn),
                                .build_id_bytes = (uint32_t)id_bytes};
    if (walk->bytes + sizeof module + PATH_MAX + BUILD_ID_BYTES + 8 > PIECE_BYTES)
        flush(walk);
    unsigned char *at = walk->piece + walk->bytes;
    module.path_bytes = (uint32_t)path_of(info, (char *)at + sizeof module, PATH_MAX);
    size_t bytes = sizeof module + module.path_bytes + id_bytes;
    memcpy(at, &module, sizeof module);
    if (id_bytes)
        memcpy(at + sizeof module + module.path_bytes, id, id_bytes);
    walk->bytes += bytes;
    if (!remember(walk->modules, key))
        walk->failed = true;
}

static void meet(struct walk *walk, const struct dl_phdr_info *info)
{
    struct xfs_module_key key;
    const unsigned char *id = NULL;
    size_t id_bytes = describe(info, &key, &id);
    uint64_t start = key.start;
    if (key.end == 0)
        return;
    key.start = PAGE_OF(start);
    struct xfs_module_key *known = find(walk->modules, &key);
    if (known) {
        known->walk = walk->modules->walks;
        return;
    }
    key.walk = walk->modules->walks;
    key.turn = turn_of(walk->modules, &key);
    add(walk, info, &key, start, id, id_bytes);
}

/* The first visit has the loader's counts of loads and unloads: if they are unchanged, the walk
 * ends. */
static int visit(struct dl_phdr_info *info, size_t size, void *out)
{
    struct walk *walk = out;
    if (walk->is_first) {
        walk->is_first = false;
        walk->unchanged =
            info->dlpi_adds == walk->modules->adds && info->dlpi_subs == walk->modules->subs;
        if (walk->unchanged)
            return 1;
        walk->modules->adds = info->dlpi_adds;
        walk->modules->subs = info->dlpi_subs;
    }
    meet(walk, info);
    return 0;
}

/* ---- which are there ------------------------------------------------------------------------- */

/* Safe: a thread that has an address of this module is inside it, and keeps it loaded. */
static void drop_again(struct xfs_modules *modules, uint32_t index)
{
    uint32_t most = atomic_load(&modules->again_most);
    for (uint32_t i = 0; i < most; i++)
        if (atomic_load_explicit(&modules->again[i], memory_order_relaxed) == index + 1)
            atomic_store(&modules->again[i], 0);
}

static bool put_again(struct xfs_modules *modules, uint32_t index)
{
    for (uint32_t i = 0; i < MOST_AGAIN; i++) {
        if (atomic_load_explicit(&modules->again[i], memory_order_relaxed) != 0)
            continue;
        atomic_store(&modules->again[i], index + 1);
        if (i >= atomic_load(&modules->again_most))
            atomic_store(&modules->again_most, i + 1);
        return true;
    }
    return false;
}

/* The modules that this walk met are loaded, no others. */
static bool note_there(struct xfs_modules *modules)
{
    size_t count = atomic_load(&modules->count);
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        struct xfs_module_key *known = &modules->known[i];
        bool there = known->walk == modules->walks;
        if (there == atomic_load(&known->there))
            continue;
        if (!there)
            drop_again(modules, i);
        else if (known->turn > 0 && !put_again(modules, i))
            good = there = false;
        atomic_store(&known->there, there);
    }
    return good;
}

static bool walk_all(struct xfs_recorder *recorder, struct xfs_modules *modules)
{
    struct walk walk = {
        .recorder = recorder, .modules = modules, .is_first = true, .piece = modules->piece};
    size_t known = atomic_load(&modules->count);
    modules->walks++;
    xfs_walk_loaded(visit, &walk);
    if (walk.unchanged)
        return true;
    flush(&walk);
    if (!walk.failed && note_there(modules))
        return true;
    if (walk.failed)
        atomic_store(&modules->count, known); /* tried again with the next stack */
    modules->adds = 0;
    return false;
}

static bool walk_alone(struct xfs_recorder *recorder, struct xfs_modules *modules)
{
    uint64_t since = 0;
    while (atomic_exchange_explicit(&modules->walked, true, memory_order_acquire))
        if (!xfs_writer_wait(recorder, &since))
            return false;
    bool good = walk_all(recorder, modules);
    atomic_store_explicit(&modules->walked, false, memory_order_release);
    return good;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* By the address of the call, not the return address behind it. */
static uint64_t recorded(const struct xfs_modules *modules, uint64_t address)
{
    uint32_t most = atomic_load_explicit(&modules->again_most, memory_order_acquire);
    if (address >> XFT_TURN_SHIFT != 0)
        return address; /* a Python frame's */
    for (uint32_t i = 0; i < most; i++) {
        uint32_t n = atomic_load_explicit(&modules->again[i], memory_order_acquire);
        const struct xfs_module_key *known = n ? &modules->known[n - 1] : NULL;
        if (known && address - 1 >= known->start && address - 1 < known->end)
            return moved(address, known->turn);
    }
    return address;
}

/* In the process. */
static uint64_t mapped(uint64_t address)
{
    return address & ((UINT64_C(1) << XFT_TURN_SHIFT) - 1);
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
static bool is_there(const struct xfs_modules *modules, const struct dl_find_object *found)
{
    size_t count = atomic_load_explicit(&modules->count, memory_order_acquire);
    uint64_t start = (uintptr_t)found->dlfo_map_start, bias = found->dlfo_link_map->l_addr;
    uint64_t name = name_hash(found->dlfo_link_map->l_name);
    for (size_t i = 0; i < count; i++) {
        const struct xfs_module_key *known = &modules->known[i];
        if (known->start == start && known->bias == bias && known->name == name &&
            known->unwinding == (uintptr_t)found->dlfo_eh_frame &&
            atomic_load_explicit(&known->there, memory_order_acquire))
            return true;
    }
    return false;
}
#endif

/* The loader's own answer for each address, which takes none of its locks (glibc 2.35). */
static bool holds_known(const struct xfs_modules *modules, const uint64_t *addresses, uint32_t n)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found = {0};
    uint64_t start = 0, end = 0;
    if (modules->find == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t address = mapped(addresses[i]);
        bool same = address >= start && address < end;
        if (same || addresses[i] & XFT_PYTHON_FRAME ||
            modules->find((void *)(uintptr_t)address, &found) != 0)
            continue;
        start = (uintptr_t)found.dlfo_map_start;
        end = (uintptr_t)found.dlfo_map_end;
        if (!is_there(modules, &found))
            return false;
    }
    return true;
#else
    (void)modules, (void)addresses, (void)n;
    return false;
#endif
}

/* A module may have replaced another without a dlclose that was seen, and the walk has just met it:
 * then this stack was placed in the old one. */
static bool are_placed(const struct xfs_modules *modules, const uint64_t *addresses, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(addresses[i] & XFT_PYTHON_FRAME) &&
            recorded(modules, mapped(addresses[i])) != addresses[i])
            return false;
    return true;
}

bool xfs_modules_refresh(struct xfs_recorder *recorder, struct xfs_modules *modules,
                         const uint64_t *addresses, uint32_t depth)
{
    return holds_known(modules, addresses, depth) ||
           (walk_alone(recorder, modules) && are_placed(modules, addresses, depth));
}

/* True when the table is current for these addresses. A thread inside a module keeps it loaded, so
 * while other modules are being unloaded only those of this stack are checked. */
static bool is_current(struct xfs_recorder *recorder, struct xfs_modules *modules,
                       const uint64_t *addresses, uint32_t depth)
{
    uint64_t number;
    bool quiet = xfs_unloads_quiet(&number);
    if (!quiet && holds_known(modules, addresses, depth))
        return true;
    if (!walk_alone(recorder, modules))
        return false;
    if (quiet)
        atomic_store_explicit(&modules->walked_at, number, memory_order_release);
    return true;
}

XFS_COLD bool xfs_modules_place_slowly(struct xfs_recorder *recorder, struct xfs_modules *modules,
                                       uint64_t *addresses, uint32_t depth)
{
    uint64_t walked_at = atomic_load_explicit(&modules->walked_at, memory_order_acquire);
    if (xfs_unloads_since(walked_at) && !is_current(recorder, modules, addresses, depth))
        return false;
    for (uint32_t i = 0; i < depth; i++)
        addresses[i] = recorded(modules, addresses[i]);
    return true;
}

bool xfs_modules_init(struct xfs_recorder *recorder, struct xfs_modules *modules)
{
    size_t bytes = MOST_MODULES * sizeof *modules->known,
           again = MOST_AGAIN * sizeof *modules->again;
    uint64_t number;
    char *map = mmap(NULL, PIECE_BYTES + bytes + again, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return false;
    modules->piece = (unsigned char *)map;
    modules->known = (struct xfs_module_key *)(map + PIECE_BYTES);
    modules->again = (_Atomic uint32_t *)(map + PIECE_BYTES + bytes);
    modules->find = (xfs_find_object *)xfs_real_dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (modules->find == NULL)
        dlerror();                   /* not the program's message */
    modules->walked_at = UINT64_MAX; /* unknown */
    bool quiet = xfs_unloads_quiet(&number);
    if (walk_all(recorder, modules) && quiet)
        modules->walked_at = number;
    return true;
}
