#include "preload/unwind/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#include "preload/base/loading.h"
#include "preload/base/real_dlsym.h"

#define FIRST_PAGE 4096 /* of a module: there is one */

struct dl_find_object;
typedef int find_object(void *, struct dl_find_object *);
static find_object *find;

void xfs_module_init(void)
{
    find = (find_object *)xfs_real_dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (find == NULL)
        dlerror(); /* not the program's message */
}

static bool has(const struct xfs_module *module, uintptr_t address)
{
    return address >= module->start && address < module->end;
}

/* ---- by the loader's own table ---------------------------------------------------------- */

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/* A module begins with its ELF header, as linkers make them. */
static void find_parts(struct xfs_module *module)
{
    ElfW(Ehdr) header;
    memcpy(&header, (const void *)module->start, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) ||
        header.e_phoff % sizeof(uint64_t) != 0 || header.e_phoff > FIRST_PAGE ||
        header.e_phnum * sizeof(ElfW(Phdr)) > FIRST_PAGE - header.e_phoff)
        return;
    module->parts = (const ElfW(Phdr) *)(module->start + header.e_phoff);
    module->part_count = header.e_phnum;
}

static bool ask_loader(uintptr_t address, struct xfs_module *module)
{
    struct dl_find_object found = {0};
    if (find((void *)address, &found) != 0)
        return false;
    *module = (struct xfs_module){
        .start = (uintptr_t)found.dlfo_map_start,
        .end = (uintptr_t)found.dlfo_map_end,
        .bias = found.dlfo_link_map->l_addr,
        .frames = found.dlfo_eh_frame,
    };
    find_parts(module);
    return true;
}
#else
static bool ask_loader(uintptr_t address, struct xfs_module *module)
{
    (void)address, (void)module;
    return false;
}
#endif

/* ---- by its list ------------------------------------------------------------------------ */

struct search {
    uintptr_t address;
    struct xfs_module *module;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *out)
{
    const struct search *search = out;
    struct xfs_module module = {
        .start = UINTPTR_MAX,
        .bias = info->dlpi_addr,
        .parts = info->dlpi_phdr,
        .part_count = info->dlpi_phnum,
    };
    for (unsigned i = 0; i < module.part_count; i++) {
        const ElfW(Phdr) *part = &module.parts[i];
        uintptr_t start = module.bias + part->p_vaddr;
        if (part->p_type == PT_GNU_EH_FRAME)
            module.frames = (const unsigned char *)start;
        if (part->p_type != PT_LOAD)
            continue;
        module.start = start < module.start ? start : module.start;
        module.end = start + part->p_memsz > module.end ? start + part->p_memsz : module.end;
    }
    if (!has(&module, search->address))
        return 0;
    *search->module = module;
    return 1;
}

bool xfs_module_of(uintptr_t address, struct xfs_module *module)
{
    struct search search = {address, module};
    return find ? ask_loader(address, module) : xfs_walk_loaded(look_at, &search) != 0;
}

/* ---- what of it can be read ------------------------------------------------------------- */

size_t xfs_module_rest(const struct xfs_module *module, uintptr_t address)
{
    if (!has(module, address))
        return 0;
    for (unsigned i = 0; i < module->part_count; i++) {
        const ElfW(Phdr) *part = &module->parts[i];
        uintptr_t start = module->bias + part->p_vaddr;
        if (part->p_type == PT_LOAD && part->p_flags & PF_R && address - start < part->p_filesz)
            return part->p_filesz - (address - start);
    }
    return module->part_count ? 0 : module->end - address;
}
