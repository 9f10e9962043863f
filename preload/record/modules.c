#define _GNU_SOURCE
#include "modules.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder.h"
#include "segments.h"

/* A walk writes its findings in pieces of this size. */
#define PIECE_BYTES 32768
#define BUILD_ID_BYTES 64

struct walk {
    struct xfs_recorder *recorder;
    struct xfs_modules *modules;
    bool is_first, unchanged, failed;
    size_t bytes;
    unsigned char *piece; /* segment header, then modules */
};

static void flush(struct walk *walk)
{
    struct xft_segment head;
    size_t payload = walk->bytes - sizeof head;
    if (payload == 0)
        return;
    head = xft_segment_make(XFT_SEG_MODULES, 0, walk->piece + sizeof head, payload, payload);
    memcpy(walk->piece, &head, sizeof head);
    size_t span = xft_segment_span(payload);
    memset(walk->piece + walk->bytes, 0, span - walk->bytes);
    if (!xfs_file_append(&walk->recorder->file, walk->piece, span))
        walk->failed = true;
    walk->bytes = sizeof head;
}

static bool is_known(const struct xfs_modules *modules, const struct xft_module *module)
{
    for (size_t i = 0; i < modules->count; i++)
        if (modules->known[i].start == module->start && modules->known[i].bias == module->bias)
            return true;
    return false;
}

static bool remember(struct xfs_modules *modules, const struct xft_module *module)
{
    if (modules->count == modules->room) {
        size_t room = modules->room ? 2 * modules->room : 256;
        void *more = mmap(NULL, room * sizeof *modules->known, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED)
            return false;
        if (modules->known) {
            memcpy(more, modules->known, modules->count * sizeof *modules->known);
            munmap(modules->known, modules->room * sizeof *modules->known);
        }
        modules->known = more;
        modules->room = room;
    }
    modules->known[modules->count++] = (struct xfs_module_key){module->start, module->bias};
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
    if (module.end == 0 || is_known(walk->modules, &module))
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

bool xfs_modules_refresh(struct xfs_recorder *recorder, struct xfs_modules *modules)
{
    struct walk walk = {.recorder = recorder,
                        .modules = modules,
                        .is_first = true,
                        .bytes = sizeof(struct xft_segment),
                        .piece = modules->piece};
    size_t known = modules->count;
    if (walk.piece == NULL) {
        void *piece =
            mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (piece == MAP_FAILED)
            return false;
        walk.piece = modules->piece = piece;
    }
    dl_iterate_phdr(visit, &walk);
    flush(&walk);
    if (!walk.failed)
        return true;
    modules->count = known; /* tried again with the next stack */
    modules->adds = 0;
    return false;
}
