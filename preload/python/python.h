/*
 * Python frames in call stacks.
 *
 * A thread inside one of our hooks is inside a call that its own Python code made, so its chain of
 * frames and their code objects do not change until the hook returns: they are read in place. The
 * GIL is neither needed nor taken, no reference is counted, and only functions of the interpreter
 * are called that read one thread-local value, one flag and the version.
 *
 * Only one of these may end while it is read: a thread that outlives the interpreter. So nothing is
 * read once the interpreter is finalizing, and what a thread other than the main one reads goes
 * through process_vm_readv, which fails where plain loads would fault. So does the first walk of a
 * process, which decides whether the layout (python_offsets.h) fits; META python.frames tells.
 * In a sandbox (sandbox.h) other threads read plainly too once the layout is known to fit, since
 * the system call would end the program for certain, and the load only where all else has failed.
 * On all walks every object's type is checked before it is used, and all lengths are bounded.
 *
 * A frame in a stack is XFT_PYTHON_FRAME | number. The number stands for a code object and an
 * instruction in it; its SYMBOLS entry is in the file before anybody learns the number. A code
 * object whose memory is used again by another is another one: its version number differs, or
 * (before 3.12) its names and its line table.
 *
 * Python must be loaded when recording starts, as it is in a program that is run by it. Threads
 * without Python frames, and programs without Python, have native stacks only.
 */
#ifndef XFS_PYTHON_H
#define XFS_PYTHON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "preload/base/numbers.h"
#include "preload/python/python_offsets.h"

struct xfs_recorder;

#define XFS_PYTHON_FRAMES 32 /* of one stack, innermost first */
#define XFS_PYTHON_SLOTS (1u << 16)

#define XFS_PYTHON_HABITS 64

struct xfs_python_habit; /* python_memory.h */

enum xfs_python_state { XFS_PYTHON_OFF, XFS_PYTHON_UNTRIED, XFS_PYTHON_ON };

/* Functions of the recorder: write a SYMBOLS entry and META to the file, and wait. */
struct xfs_python_host {
    bool (*write_symbol)(struct xfs_recorder *recorder, const void *payload, size_t bytes);
    bool (*write_meta)(struct xfs_recorder *recorder, const char *key, const char *value);
    xfs_number_wait *wait;
};

struct xfs_python {
    struct xfs_recorder *recorder;
    const struct xfs_python_host *host;
    pid_t pid;
    _Atomic(enum xfs_python_state) state;
    struct xfs_python_layout layout;
    void *(*thread_state)(void); /* PyGILState_GetThisThreadState */
    int (*finalizing)(void);     /* NULL: the interpreter has no such function */
    uintptr_t code_type, string_type, bytes_type;
    uintptr_t start, end;            /* the interpreter's code */
    struct xfs_python_habit *habits; /* XFS_PYTHON_HABITS, of threads other than the main one */
    struct xfs_numbers numbers;      /* of places in the program */
};

/* Looks for an interpreter, once per recorder; writes META. */
void xfs_python_init(struct xfs_recorder *recorder, const struct xfs_python_host *host,
                     struct xfs_python *python);

static inline bool xfs_python_is_on(const struct xfs_python *python)
{
    return atomic_load_explicit(&python->state, memory_order_acquire) != XFS_PYTHON_OFF;
}

/* The calling thread's Python frames, cut to `most`; 0 when there are none, or one of them could
 * not be kept. `tid` is its number. */
uint32_t xfs_python_take(struct xfs_python *python, pid_t tid, uint64_t *addresses, uint32_t most);

#endif
