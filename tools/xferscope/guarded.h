/*
 * Work that may crash, hang or run out of memory without harm: it is done in a process of its own.
 */
#ifndef XFERSCOPE_GUARDED_H
#define XFERSCOPE_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* 0: it went well. What it writes to `out` is the caller's text. */
typedef int guarded_work(void *context, FILE *out);

/*
 * Does the work, for at most so many seconds, without standard error. True, and what it wrote (cut
 * to `bytes`, the last of them 0), when it went well; false, and why not in a few words. The
 * process goes with this one.
 */
bool guarded_text(guarded_work *work, void *context, unsigned seconds, char *text, size_t bytes,
                  const char **why);

#endif
