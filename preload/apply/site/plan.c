#include "preload/apply/site/plan.h"

#include <elf.h>
#include <string.h>

#include "preload/base/log.h"
#include "preload/unwind/module.h"

static _Alignas(uint64_t) unsigned char kept[XFT_PLAN_BYTES_MOST];
static const struct xft_plan_header *plan; /* NULL: there is none */
static bool has[XFT_PLAN_CLASSES], has_lines[XFT_PLAN_CLASSES];
static uint32_t granted[XFT_PLAN_CLASSES]; /* flags of all of its sites */

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_python(uint32_t module)
{
    return module != XFT_PLAN_NO_MODULE && xft_plan_modules(plan)[module].python;
}

/* By its own numbers, if these are in their bounds. */
static size_t length_of(const struct xft_plan_header *read, size_t most)
{
    if (most < sizeof *read || read->modules > XFT_PLAN_MODULES_MOST ||
        read->sites > XFT_PLAN_SITES_MOST || read->readers > XFT_PLAN_READERS_MOST)
        return 0;
    size_t length = xft_plan_bytes(read->modules, read->sites, read->readers);
    return length <= most ? length : 0;
}

bool xfs_plan_take(const void *bytes, size_t count)
{
    const struct xft_plan_header *read = (const struct xft_plan_header *)(const void *)kept;
    plan = NULL;
    memset(has, 0, sizeof has);
    memset(has_lines, 0, sizeof has_lines);
    if (count > sizeof kept)
        return false;
    memcpy(kept, bytes, count);
    if (!xft_plan_holds(kept, length_of(read, count))) {
        xfs_log("apply: the plan is none of this version; nothing of it is carried out");
        return false;
    }
    plan = read;
    for (uint32_t i = 0; i < plan->sites; i++) {
        const struct xft_plan_site *site = &xft_plan_sites(plan)[i];
        granted[site->what] = (has[site->what] ? granted[site->what] : UINT32_MAX) & site->flags;
        has[site->what] = true;
        has_lines[site->what] |= is_python(site->module) || is_python(site->caller_module);
    }
    return true;
}

bool xfs_plan_has(enum xft_plan_class what)
{
    return has[what];
}

bool xfs_plan_grants(enum xft_plan_class what, uint32_t flag)
{
    return has[what] && (granted[what] & flag) == flag;
}

bool xfs_plan_has_lines(enum xft_plan_class what)
{
    return has_lines[what];
}

uint64_t xfs_plan_reads(const char *kernel)
{
    uint64_t hash = plan && plan->readers ? xft_plan_text_hash(kernel, strlen(kernel)) : 0;
    uint64_t arguments = 0;
    for (uint32_t i = 0; plan && i < plan->readers; i++) {
        const struct xft_plan_reader *reader = &xft_plan_readers(plan)[i];
        arguments |= reader->kernel == hash ? reader->arguments : 0;
    }
    return arguments;
}

/* ---- modules --------------------------------------------------------------------------------- */

/* Compares the build id in one part of the module's notes. */
static bool note_is(const unsigned char *at, size_t bytes, const struct xft_plan_module *wanted)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t text = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > bytes - sizeof note || text > bytes - sizeof note - name)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(at + sizeof note, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0)
            return note.n_descsz == wanted->build_id_bytes &&
                   memcmp(at + sizeof note + name, wanted->build_id, note.n_descsz) == 0;
        at += sizeof note + name + text;
        bytes -= sizeof note + name + text;
    }
    return false;
}

static bool module_is(const struct xfs_module *module, const struct xft_plan_module *wanted)
{
    for (unsigned i = 0; i < module->part_count; i++) {
        const ElfW(Phdr) *part = &module->parts[i];
        uintptr_t start = module->bias + part->p_vaddr;
        if (part->p_type == PT_NOTE && xfs_module_rest(module, start) >= part->p_filesz &&
            note_is((const unsigned char *)start, part->p_filesz, wanted))
            return true;
    }
    return false;
}

/* ---- sites ----------------------------------------------------------------------------------- */

struct place {
    struct xfs_module module;
    uintptr_t address;
    bool known;
};

static void look_at(struct place *place, uintptr_t address)
{
    place->address = address;
    place->known = xfs_module_of(address - 1, &place->module);
}

static bool is_at(const struct place *place, uint32_t module, uint64_t offset)
{
    const struct xft_plan_module *wanted = &xft_plan_modules(plan)[module];
    return !wanted->python && place->known && place->address - place->module.bias == offset &&
           module_is(&place->module, wanted);
}

static bool is_line(const struct xfs_line *line, uint32_t module, uint64_t offset)
{
    const struct xft_plan_module *wanted = &xft_plan_modules(plan)[module];
    return wanted->python && line->line == offset &&
           memcmp(wanted->build_id, &line->file, sizeof line->file) == 0;
}

static bool is_function(const struct xfs_line *line, uint32_t module, uint64_t name)
{
    const struct xft_plan_module *wanted = &xft_plan_modules(plan)[module];
    return wanted->python && line->function == name &&
           memcmp(wanted->build_id, &line->file, sizeof line->file) == 0;
}

/* From this part of the stack on: addresses, then lines. */
static bool is_called_by(const struct xft_plan_site *site, const struct xfs_plan_stack *stack,
                         unsigned from)
{
    struct place place;
    if (site->caller_module == XFT_PLAN_NO_MODULE)
        return true;
    for (unsigned i = from; i < stack->depth; i++) {
        look_at(&place, stack->addresses[i]);
        if (is_at(&place, site->caller_module, site->caller_offset))
            return true;
    }
    for (unsigned i = from > stack->depth ? from - stack->depth : 0; i < stack->line_count; i++)
        if (is_function(&stack->lines[i], site->caller_module, site->caller_offset))
            return true;
    return false;
}

static bool is_of(const struct xft_plan_site *site, enum xft_plan_class what,
                  const struct xfs_plan_stack *stack, unsigned at, const struct place *place)
{
    bool here = place ? is_at(place, site->module, site->offset)
                      : is_line(&stack->lines[at - stack->depth], site->module, site->offset);
    return site->what == what && here && is_called_by(site, stack, at + 1);
}

const struct xft_plan_site *xfs_plan_match(enum xft_plan_class what,
                                           const struct xfs_plan_stack *stack)
{
    struct place place;
    for (unsigned i = 0; i < stack->depth + stack->line_count && has[what]; i++) {
        bool native = i < stack->depth;
        if (native)
            look_at(&place, stack->addresses[i]);
        for (uint32_t k = 0; k < plan->sites; k++) {
            const struct xft_plan_site *site = &xft_plan_sites(plan)[k];
            if (is_of(site, what, stack, i, native ? &place : NULL))
                return site;
        }
    }
    return NULL;
}

bool xfs_plan_is_at(const struct xft_plan_site *site, const struct xfs_line *line)
{
    return is_line(line, site->module, site->offset);
}

bool xfs_plan_names(const struct xfs_line *line)
{
    for (uint32_t k = 0; plan && k < plan->sites; k++) {
        const struct xft_plan_site *site = &xft_plan_sites(plan)[k];
        if (is_line(line, site->module, site->offset) ||
            (site->caller_module != XFT_PLAN_NO_MODULE &&
             is_function(line, site->caller_module, site->caller_offset)))
            return true;
    }
    return false;
}
