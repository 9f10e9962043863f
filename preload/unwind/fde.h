/*
 * The description of a function's frames in its module's .eh_frame: Linux Standard Base 5.0, Core,
 * "Exception Frames"; DWARF 5, section 6.4.
 */
#ifndef XFS_FDE_H
#define XFS_FDE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/unwind/module.h"
#include "preload/unwind/reader.h"

struct xfs_fde {
    uintptr_t start, end;              /* the function's code */
    struct xfs_reader common, program; /* instructions: of the CIE first, then its own */
    uint64_t code_unit;
    int64_t data_unit;
    bool is_signal; /* the frame is one that the kernel made for a handler */
    bool is_augmented;
    unsigned char encoding;
};

/* False when the module has no description of this instruction, or one in an unknown format. */
bool xfs_fde_find(const struct xfs_module *module, uintptr_t pc, struct xfs_fde *fde);

/* A pointer in the encoding DW_EH_PE_*; `failed` when code addresses do not use that one. */
uint64_t xfs_read_pointer(struct xfs_reader *reader, unsigned encoding);

#endif
