/*
 * DWARF expressions (DWARF 5, section 2.5) as far as frames have them: sums of rsp, rbp, the CFA or
 * rip with numbers, and what lies there. They are evaluated with symbolic registers, not with
 * values, so the result is valid for every frame at this instruction.
 */
#ifndef XFS_EXPRESSION_H
#define XFS_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/unwind/reader.h"
#include "preload/unwind/rule.h"

struct xfs_term {
    enum xfs_base base; /* XFS_UNCHANGED: none, it is a number */
    int64_t offset;
    bool lies_there; /* it is what lies at base + offset */
};

/* `on_top`: the initial stack; NULL: empty. False when the result is not a single term. */
bool xfs_expression(struct xfs_reader code, uintptr_t pc, const struct xfs_term *on_top,
                    struct xfs_term *value);

#endif
