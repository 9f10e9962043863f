/*
 * What must hold between parts of the analyzer, whatever the trace says, looked at where it costs
 * next to nothing.
 *
 * A check that fails is a mistake of ours, never of the input: it is told on stderr, once for each
 * place, and the caller goes on by a way that shows no false figure. With XFERSCOPE_CHECKS=abort,
 * which tests set, the process ends there.
 */
#ifndef XFA_CHECK_H
#define XFA_CHECK_H

#include <stdbool.h>

/* Whether it holds; also as a statement. `words`: a literal that says what does not, when it does
 * not. */
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
