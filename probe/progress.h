/*
 * Progress on stderr; one line that is overwritten, only on a terminal.
 */
#ifndef XFP_PROGRESS_H
#define XFP_PROGRESS_H

#include "probe/session.h"

/* Says how many benchmarks begin, and how long measuring will take. */
void xfp_progress_begin(const struct xfp_session *s, size_t benchmarks);

/* Shows the current benchmark, its progress and the time that is left. */
void xfp_progress(struct xfp_session *s, const char *name, uint64_t bytes);

/* Clears the progress line; called before other output. */
void xfp_progress_clear(const struct xfp_session *s);

/* "64 B", "32 KiB", "256 MiB". */
const char *xfp_size_text(uint64_t bytes, char *text, size_t room);

#endif
