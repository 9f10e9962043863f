/*
 * Stacks of our own for work that needs much stack.
 *
 * Threads of the program may have 16 KiB of stack, its signal handlers less, and most of it is
 * spoken for. So what this library does on them beyond a few small frames runs on memory of its
 * own: unwinding, questions to the driver, loading, writing. The calling thread does the work
 * itself, with its own thread-local memory and locks; only the stack is another one.
 *
 * A stack lies where the kernel puts it at an address below the program's own stacks, where that
 * is free: debuggers and longjmp take a caller's frame to lie above. Unwinders walk through
 * xfs_stack_switch into the program's frames. It has room for a signal handler of the program that
 * interrupts the work; what such a handler calls here runs on top of it.
 *
 * A signal handler of the program that interrupts work and leaves it by siglongjmp leaves the
 * stack, too: it is free again when the thread is seen elsewhere.
 *
 * Work that cannot have a stack is not done: false. That is so in a handler on an alternate stack
 * that interrupted work on ours, and (xfs_on_own_stack only) in any handler on an alternate stack:
 * the kernel takes a thread whose stack pointer is elsewhere to have left the alternate stack, and
 * would start the next handler over this one's frames.
 *
 * No exception leaves `work`, and AddressSanitizer need not be notified of the switch: the frames
 * on the new stack poison and heal its own shadow, and are gone when xfs_stack_switch returns.
 */
#ifndef XFS_OWN_STACK_H
#define XFS_OWN_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* Where work on a stack of ours returns to: the next frame is on another stack. */
extern const char xfs_stack_switch_returned[] __attribute__((visibility("hidden")));

/* Small: 256 KiB, kept by the thread between xfs_own_stack_keep() and xfs_own_stack_give_back();
 * a thread that keeps none uses a large one, which takes system calls: in a sandbox not once it
 * should have kept one. No system call where one is kept. */
bool xfs_on_own_stack(void (*work)(void *), void *argument);

/* The same for what must be done in any case: where there is no stack of ours, on the caller's. */
static inline void xfs_on_any_stack(void (*work)(void *), void *argument)
{
    if (!xfs_on_own_stack(work, argument))
        work(argument);
}

/* Large: 1 MiB, mapped for the occasion. For what loads libraries. */
bool xfs_on_large_stack(void (*work)(void *), void *argument);

/* From here on this thread has a stack; false, and no harm, when there is no memory. */
bool xfs_own_stack_keep(void);
void xfs_own_stack_give_back(void);

/* Is this address on the alternate signal stack that this thread has set? */
bool xfs_is_on_alternate_stack(uintptr_t address);

/* Stacks for threads to come: as many as make `ready` of them, by who may call the kernel. */
void xfs_own_stacks_prepare(unsigned ready);

#endif
