/*
 * Whether the process has descriptors and memory left for code that is not ours.
 *
 * CUPTI ends the program where it cannot open a directory (an exception of its file functions that
 * nobody catches, seen with 13.0), and libc does where it cannot allocate a library's thread-local
 * data. So the recorder checks before it calls code that may need either. Another thread may take
 * the rest between check and call: so the check demands a reserve.
 */
#ifndef XFS_HEADROOM_H
#define XFS_HEADROOM_H

#include <stdbool.h>

#define XFS_HEADROOM_DESCRIPTORS 32
#define XFS_HEADROOM_BYTES (1u << 20)

/* True when there is enough. Makes system calls, opens nothing; errno is kept. */
bool xfs_has_headroom(void);

#endif
