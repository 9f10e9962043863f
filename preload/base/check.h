/*
 * What must hold between parts of the recorder, looked at where it costs next to nothing.
 *
 * A check that fails is a mistake of ours, never of the program or of its input: it is told on
 * stderr, once for each place, and counted; the caller goes on by a way that does no harm. The
 * trace says so too (META `checks.failed`). With XFERSCOPE_CHECKS=abort, which tests set, the
 * process ends there.
 */
#ifndef XFS_CHECK_H
#define XFS_CHECK_H

#include <stdbool.h>

#include "preload/base/attributes.h"

/* Whether it holds; also as a statement. `words`: a literal that says what does not, when it does
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

/* How many failed in this process, those of its parent before a fork included, and what the first
 * one said; NULL: none. */
const char *xfs_checks_failed(unsigned *count);

#endif
