/*
 * A walk up the calling thread's stack, from frame to frame: return addresses.
 *
 * It takes no lock and no descriptor, allocates nothing and does not touch the program's signals;
 * so it can run at any moment, also in signal handlers and forked children. (libunwind needs a
 * pipe, two of the program's descriptors, to test whether memory can be read.)
 *
 * The rule of an instruction says where the caller's stack pointer, return address and frame
 * pointer are, relative to this frame's registers. Rules come from the module's .eh_frame (fde.h,
 * row.h, expression.h) by way of the loader's _dl_find_object, and are kept in one table for the
 * whole process (rules.h), which forgets all of them when a module is unloaded. Frames of code that
 * no module has (what a JIT made) or that says nothing of its frames are taken to begin with the
 * saved frame pointer and the return address, where that makes sense. Where no rule can be had the
 * walk ends; rules that need other registers than rsp and rbp are none.
 *
 * A walk only goes up: each frame lies above the one before it, but where xfs_stack_switch left
 * the program's stack. It reads nothing but words of the stack that it knows to be readable
 * (known.h), so a damaged frame ends it and does no harm.
 */
#ifndef XFS_UNWIND_H
#define XFS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/unwind/known.h"

struct xfs_registers {
    uintptr_t pc, sp, fp;
};

/* The registers of the function that this is inlined into, valid until it returns. The frame
 * pointer is read first, since the compiler may reuse its register. */
__attribute__((always_inline)) static inline struct xfs_registers xfs_registers_here(void)
{
    struct xfs_registers here;
    __asm__ volatile("mov %%rbp, %0\n\tmov %%rsp, %1\n\tlea 0(%%rip), %2"
                     : "=&r"(here.fp), "=&r"(here.sp), "=&r"(here.pc));
    return here;
}

/*
 * What a walk depended on except where it began and the rules: the words of the stack that led it,
 * and the first frame pointer, if it was used. The same of all these give the same walk. Not
 * `whole`: it depended on more, or on more words.
 *
 * A saved frame pointer counts only where a frame is found by it: compilers keep other things in
 * that register, which differ from call to call.
 */
#define XFS_READS 80
struct xfs_reads {
    bool whole;
    bool of_first_fp;
    uint32_t count;
    uint16_t at[XFS_READS]; /* words above the first stack pointer */
    uintptr_t value[XFS_READS];
};

struct xfs_walk {
    struct xfs_registers at;
    struct xfs_known stack;
    uint64_t stamp;              /* of valid rules (rules.h) */
    struct xfs_reads *reads;     /* NULL: not wanted */
    uintptr_t first_sp, fp_word; /* where at.fp was read; or one of walk.c's */
    bool interrupted;            /* pc is where a signal came, not where a call returns to */
};

/* Once per process, before the first walk; takes memory. Without it every rule is computed each
 * time. */
void xfs_unwind_init(void);

/* From registers of a function of this thread that has not returned. `reads` (may be NULL) is
 * filled in as the walk goes on. */
void xfs_unwind_begin(struct xfs_walk *walk, const struct xfs_registers *from,
                      struct xfs_reads *reads);

/* Words are looked at so many at once, since every hook with a stack does so: the last one counts
 * as often as it takes for a whole number of rounds. */
#define XFS_READS_AT_ONCE 4
_Static_assert(XFS_READS % XFS_READS_AT_ONCE == 0, "there is room for it");
static inline void xfs_reads_round_up(struct xfs_reads *reads)
{
    for (; reads->count % XFS_READS_AT_ONCE != 0; reads->count++) {
        reads->at[reads->count] = reads->at[reads->count - 1];
        reads->value[reads->count] = reads->value[reads->count - 1];
    }
}

/* Are these words (rounded up) as they were, in a walk from this stack pointer? A word is read only
 * when those that led to it are the same: so nothing is touched that the walk itself would not
 * touch. Sanitizers watch the words between a function's variables. */
__attribute__((always_inline, no_sanitize("address", "thread", "undefined"))) static inline bool
xfs_reads_hold(const struct xfs_reads *reads, uintptr_t sp)
{
    const uintptr_t *const stack = (const uintptr_t *)sp;
#define XFS_HOLDS(i) (__atomic_load_n(&stack[reads->at[i]], __ATOMIC_RELAXED) == reads->value[i])
    for (size_t i = 0; i < reads->count; i += XFS_READS_AT_ONCE)
        if (!XFS_HOLDS(i) || !XFS_HOLDS(i + 1) || !XFS_HOLDS(i + 2) || !XFS_HOLDS(i + 3))
            return false;
#undef XFS_HOLDS
    return true;
}

/* The next return address, or where a signal interrupted; 0 at the end. May change errno. */
uintptr_t xfs_unwind_next(struct xfs_walk *walk);

#endif
