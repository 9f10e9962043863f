/*
 * The module (program, library) that contains an address, by _dl_find_object, which takes no lock.
 * With a C library that lacks it (2.34), by dl_iterate_phdr, which takes one.
 */
#ifndef XFS_MODULE_H
#define XFS_MODULE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xfs_module {
    uintptr_t start, end, bias;
    const unsigned char *frames; /* .eh_frame_hdr; NULL: it has none */
    const ElfW(Phdr) * parts;
    unsigned part_count; /* 0: not known; all from start to end counts as its own */
};

void xfs_module_init(void);

/* False when no module has the address. */
bool xfs_module_of(uintptr_t address, struct xfs_module *module);

/* How many bytes from the address on lie in one readable part of the module; 0: it is in none. */
size_t xfs_module_rest(const struct xfs_module *module, uintptr_t address);

#endif
