/*
 * Call stacks, each kept once: return addresses, innermost first, without frames of this library;
 * in a Python program, from the interpreter on, its Python frames (python.h).
 *
 * The table of known stacks is read without a lock, keyed by a 64-bit hash of the recorded
 * addresses (of two modules that lay in one place they differ; modules.h); a new stack is written
 * to the file before anybody learns its id.
 */
#ifndef XFS_STACKS_H
#define XFS_STACKS_H

#include <stdint.h>

#include "preload/record/modules.h"
#include "preload/base/numbers.h"
#include "preload/python/python.h"
#include "preload/unwind/unwind.h"

struct xfs_recorder;

#define XFS_STACK_SLOTS (1u << 18)

struct xfs_stacks {
    struct xfs_numbers numbers;   /* no slots: stacks are off */
    uintptr_t own_start, own_end; /* code of this library; both 0 when it is the program */
    struct xfs_modules modules;
    struct xfs_python python;
};

/* Makes the table and finds where this library lies. */
void xfs_stacks_init(struct xfs_recorder *recorder);

/* Id of this stack, or 0 (counted). The addresses become those that are recorded (modules.h). */
uint32_t xfs_stacks_intern(struct xfs_recorder *recorder, uint64_t *addresses, uint32_t depth);

#define XFS_STACK_FRAMES 64

/* Writes the calling thread's stack, from `from` on, to `addresses` (XFS_STACK_FRAMES of them): at
 * most `most` native frames, and as many Python frames if there are any. Returns its depth. `reads`
 * (may be NULL): what the native frames depended on. */
uint32_t xfs_stacks_take(struct xfs_recorder *recorder, const struct xfs_registers *from,
                         uint64_t *addresses, uint32_t most, struct xfs_reads *reads);

#endif
