/*
 * What the probe says while it runs: on stderr, and a moving line only on a terminal.
 */
#ifndef XFP_PROGRESS_H
#define XFP_PROGRESS_H

#include "probe/session.h"

/* Shows what is measured now, how far it is and how long it may still take. */
void xfp_progress(struct xfp_session *s, const char *name, uint64_t bytes);

/* Clears the moving line, before anything else is written. */
void xfp_progress_clear(const struct xfp_session *s);

/* "64 B", "32 KiB", "256 MiB". */
const char *xfp_size_text(uint64_t bytes, char *text, size_t room);

#endif
