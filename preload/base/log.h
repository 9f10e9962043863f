/*
 * Messages of the recorder: single lines on stderr that begin with "xferscope: ". Allocates
 * nothing, keeps errno.
 *
 * The program may close stderr and open a file of its own under the same number: lines go out only
 * while descriptor 2 is still what it was at xfs_log_start().
 */
#ifndef XFS_LOG_H
#define XFS_LOG_H

#include <stdbool.h>

/* Remembers what descriptor 2 is. Until then nothing is said. One thread at a time. */
void xfs_log_start(void);

/* The calling thread has left the program's descriptor table (descriptors.h). Its lines still go to
 * the program's descriptor 2: at once where pidfd_getfd works, else they are kept. One thread of a
 * process at a time. */
void xfs_log_apart(void);

/* In a thread of the program, at the end: prints the lines that were kept. */
void xfs_log_say_kept(void);

/* As printf, without floating point; cut at 512 bytes. */
void xfs_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether xfs_verbose() says anything: from the settings, XFERSCOPE_VERBOSE=1. */
void xfs_log_verbose(bool wanted);

/* The same, only when verbose. */
void xfs_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* True at the first call for this flag: for messages that are printed once. */
bool xfs_once(int *flag);

#endif
