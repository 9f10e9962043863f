#include "preload/record/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/base/real_dlsym.h"
#include "preload/record/recorder.h"
#include "preload/format/segments.h"

/* A walk writes its findings in pieces of this size. */
#define PIECE_BYTES 32768
#define BUILD_ID_BYTES 64
#define MOST_MODULES 65536
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

static bool is_known(const struct xfs_modules *modules, uint64_t start, uint64_t bias)
{
    size_t count = atomic_load_explicit(&modules->count, memory_order_acquire);
    for (size_t i = 0; i < count; i++)
        if (modules->known[i].start == start && modules->known[i].bias == bias)
            return true;
    return false;
}

static bool remember(struct xfs_modules *modules, const struct xft_module *module)
{
    size_t count = atomic_load(&modules->count);
    if (count == MOST_MODULES)
        return false;
    modules->known[count] = (struct xfs_module_key){PAGE_OF(module->start), module->bias};
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

static size_t describe(const struct dl_phdr_info *info, struct xft_module *module,
                       const unsigned char **id)
{
    size_t id_bytes = 0;
    *module = (struct xft_module){.start = UINT64_MAX, .bias = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_NOTE && id_bytes == 0)
            id_bytes = build_id((const unsigned char *)(uintptr_t)start, part->p_memsz, id);
        if (part->p_type != PT_LOAD)
            continue;
        module->start = start < module->start ? start : module->start;
        module->end = start + part->p_memsz > module->end ? start + part->p_memsz : module->end;
    }
    return id_bytes;
}

static size_t path_of(const struct dl_phdr_info *info, char *path, size_t room)
{
    if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0') {
        ssize_t n = readlink("/proc/self/exe", path, room);
        return n > 0 ? (size_t)n : 0;
    }
    size_t n = strnlen(info->dlpi_name, room);
    memcpy(path, info->dlpi_name, n);
    return n;
}

static void add(struct walk *walk, const struct dl_phdr_info *info)
{
    struct xft_module module;
    const unsigned char *id = NULL;
    size_t id_bytes = describe(info, &module, &id);
    if (module.end == 0 || is_known(walk->modules, PAGE_OF(module.start), module.bias))
        return;
    if (walk->bytes + sizeof module + PATH_MAX + BUILD_ID_BYTES + 8 > PIECE_BYTES)
        flush(walk);
    unsigned char *at = walk->piece + walk->bytes;
    module.path_bytes = (uint32_t)path_of(info, (char *)at + sizeof module, PATH_MAX);
    module.build_id_bytes = (uint32_t)id_bytes;
    size_t bytes = sizeof module + module.path_bytes + id_bytes;
    memcpy(at, &module, sizeof module);
    if (id_bytes)
        memcpy(at + sizeof module + module.path_bytes, id, id_bytes);
    walk->bytes += bytes;
    if (!remember(walk->modules, &module))
        walk->failed = true;
}

/* The first visit tells the loader's counts: when they have not moved there is nothing to see. */
static int visit(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    struct walk *walk = out;
    if (walk->is_first) {
        walk->is_first = false;
        if (info->dlpi_adds == walk->modules->adds && info->dlpi_subs == walk->modules->subs)
            return 1;
        walk->modules->adds = info->dlpi_adds;
        walk->modules->subs = info->dlpi_subs;
    }
    add(walk, info);
    return 0;
}

static bool walk_all(struct xfs_recorder *recorder, struct xfs_modules *modules)
{
    struct walk walk = {
        .recorder = recorder, .modules = modules, .is_first = true, .piece = modules->piece};
    size_t known = atomic_load(&modules->count);
    dl_iterate_phdr(visit, &walk);
    flush(&walk);
    if (!walk.failed)
        return true;
    atomic_store(&modules->count, known); /* tried again with the next stack */
    modules->adds = 0;
    return false;
}

/* The loader's own answer for each address, which takes none of its locks (glibc 2.35). */
static bool holds_known(const struct xfs_modules *modules, const uint64_t *addresses, uint32_t n)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found = {0};
    uint64_t start = 0, end = 0;
    if (modules->find == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        bool same = addresses[i] >= start && addresses[i] < end;
        if (same || addresses[i] & XFT_PYTHON_FRAME ||
            modules->find((void *)(uintptr_t)addresses[i], &found) != 0)
            continue;
        start = (uintptr_t)found.dlfo_map_start;
        end = (uintptr_t)found.dlfo_map_end;
        if (!is_known(modules, start, found.dlfo_link_map->l_addr))
            return false;
    }
    return true;
#else
    (void)modules, (void)addresses, (void)n;
    return false;
#endif
}

bool xfs_modules_refresh(struct xfs_recorder *recorder, struct xfs_modules *modules,
                         const uint64_t *addresses, uint32_t depth)
{
    uint64_t since = 0;
    if (holds_known(modules, addresses, depth))
        return true;
    while (atomic_exchange_explicit(&modules->walked, true, memory_order_acquire))
        if (!xfs_lanes_wait(recorder, &since))
            return false;
    bool good = walk_all(recorder, modules);
    atomic_store_explicit(&modules->walked, false, memory_order_release);
    return good;
}

bool xfs_modules_init(struct xfs_recorder *recorder, struct xfs_modules *modules)
{
    size_t bytes = MOST_MODULES * sizeof *modules->known;
    char *map = mmap(NULL, PIECE_BYTES + bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return false;
    modules->piece = (unsigned char *)map;
    modules->known = (struct xfs_module_key *)(map + PIECE_BYTES);
    modules->find = (xfs_find_object *)xfs_real_dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (modules->find == NULL)
        dlerror(); /* not the program's message */
    walk_all(recorder, modules);
    return true;
}
