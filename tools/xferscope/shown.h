/*
 * What `run` and `again` show of a run, each by a step of its own (own_step.h). All of it goes to
 * standard error.
 */
#ifndef XFERSCOPE_SHOWN_H
#define XFERSCOPE_SHOWN_H

#include <stdbool.h>

#include "tools/xferscope/record.h"

/* The first screen of a run's report. `profile`: "" = none. False: it was interrupted, or failed,
 * which has been said. */
bool shown_screen(const char *run, const char *profile);

/* Writes NAME.html beside NAME.xft and says so. A file of that name is replaced with --force only.
 */
void shown_page(const struct record_options *options, const char *run, const char *profile);

/* One line: what was promised before the change, and what it gave. */
void shown_promise(const char *before, const char *after, const char *profile);

#endif
