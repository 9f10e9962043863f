/*
 * Checks of the analyzer's own code: what must hold for every trace, where checking costs next to
 * nothing.
 *
 * A check that fails is a defect of the analyzer, never of the input. It is reported on stderr,
 * once for each place, and the caller goes on in a way that shows no false figure. With
 * XFERSCOPE_CHECKS=abort, which tests set, the process aborts.
 */
#ifndef XFA_CHECK_H
#define XFA_CHECK_H

#include <stdbool.h>

/* The value of the condition; usable as a statement. words: a string literal that says what does
 * not hold. */
#define XFA_EXPECT(condition, words)                                                               \
    ({                                                                                             \
        static int said_;                                                                          \
        bool holds_ = (condition);                                                                 \
        if (__builtin_expect(!holds_, 0))                                                          \
            xfa_check_failed(&said_, words);                                                       \
        holds_;                                                                                    \
    })

__attribute__((cold, noinline)) void xfa_check_failed(int *said, const char *words);

#endif
