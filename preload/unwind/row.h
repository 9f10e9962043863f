/*
 * Executes call frame instructions up to one instruction of the code: DWARF 5, section 6.4.2, and
 * GNU's additions. Of the registers only rsp, rbp and the return address are tracked.
 */
#ifndef XFS_ROW_H
#define XFS_ROW_H

#include <stdint.h>

#include "preload/unwind/fde.h"

/* The rule at this instruction of the function. */
uint64_t xfs_row_rule(const struct xfs_fde *fde, uintptr_t pc);

#endif
