/*
 * Runs work that may crash, hang or run out of memory in a process of its own.
 */
#ifndef XFERSCOPE_GUARDED_H
#define XFERSCOPE_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* 0: success. It writes the result to `out`. */
typedef int guarded_work(void *context, FILE *out);

/*
 * Runs the work for a limited number of seconds, without standard error. True and its result (cut
 * to `bytes`, terminated) on success; else false and the reason in a few words. The process is
 * killed when this one ends.
 */
bool guarded_text(guarded_work *work, void *context, unsigned seconds, char *text, size_t bytes,
                  const char **why);

#endif
