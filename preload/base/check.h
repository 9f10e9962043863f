/*
 * Checks of what must hold between parts of the recorder, where they cost next to nothing.
 *
 * A check that fails is a defect of the recorder, never of the program or of its input: it is
 * reported on stderr, once per check, and counted; the caller continues in a way that does no harm.
 * The trace has the count (META `checks.failed`). With XFERSCOPE_CHECKS=abort, which tests set, the
 * process aborts.
 */
#ifndef XFS_CHECK_H
#define XFS_CHECK_H

#include <stdbool.h>

#include "preload/base/attributes.h"

/* Whether the condition holds; also as a statement. `words`: a literal, the message when it does
 * not. */
#define XFS_EXPECT(condition, words)                                                               \
    ({                                                                                             \
        static int said_;                                                                          \
        bool holds_ = (condition);                                                                 \
        if (__builtin_expect(!holds_, 0))                                                          \
            xfs_check_failed(&said_, words);                                                       \
        holds_;                                                                                    \
    })

/* Allocates nothing, keeps errno; no system call in a sandbox (sandbox.h). */
XFS_COLD void xfs_check_failed(int *said, const char *words);

/* The message of the first check that failed; NULL: none. *count: how many failed in this process,
 * including those of its parent before a fork. */
const char *xfs_checks_failed(unsigned *count);

#endif
