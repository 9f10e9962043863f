/*
 * The plan of this process (xferscope/plan.h): which call sites are to be changed, and how.
 *
 * It is read once, as the library is loaded, from memory of the command that XFERSCOPE_APPLY_PLAN
 * names (base/command_memory.h), copied, and checked before anything of it is used: what does not
 * hold is said in one line, and nothing is carried out. Modules are found by the build id that they
 * have in memory, whenever they were loaded.
 *
 * Look-ups take no lock and allocate nothing; a module's headers are read as the unwinder reads
 * them.
 */
#ifndef XFS_APPLY_PLAN_H
#define XFS_APPLY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "xferscope/plan.h"

#define XFS_PLAN_NAME "xferscope-plan-" /* of the memfd, before RANDOM */

/* Takes a copy of the bytes: at most XFT_PLAN_BYTES_MOST, of which those behind the plan are not
 * looked at. False: they are no plan. Once, before other threads. */
bool xfs_plan_take(const void *bytes, size_t count);

/* Does the plan have sites of the class? */
bool xfs_plan_has(enum xft_plan_class what);

/* A line of a Python program. */
struct xfs_line {
    uint64_t file, function; /* xft_plan_text_hash() of its path, and of the function's name */
    uint32_t line;
};

/* A call stack: return addresses from the call on, then lines; innermost first. */
struct xfs_plan_stack {
    const uintptr_t *addresses;
    const struct xfs_line *lines;
    unsigned depth, line_count;
};

/* Have all of them this flag? False where there are none. */
bool xfs_plan_grants(enum xft_plan_class what, uint32_t flag);

/* Arguments of the kernel, by its name, of which it is granted that it only reads what they point
 * to: bit k, the one of number k. */
uint64_t xfs_plan_reads(const char *kernel);

/* The site of the class that this stack is of. NULL: none. */
const struct xft_plan_site *xfs_plan_match(enum xft_plan_class what,
                                           const struct xfs_plan_stack *stack);

/* Does the plan have sites of the class that are lines, or have one as their caller? */
bool xfs_plan_has_lines(enum xft_plan_class what);

bool xfs_plan_is_at(const struct xft_plan_site *site, const struct xfs_line *line);

/* Does a site name this line, or its function as a caller? */
bool xfs_plan_names(const struct xfs_line *line);

#endif
