/*
 * A descriptor table of a thread's own.
 *
 * No check beforehand helps when another thread closes a descriptor, or reuses its number, between
 * two system calls. So the recorder's thread leaves the program's table: the program cannot close
 * what it opens, and it holds no file that the program opens.
 */
#ifndef XFS_DESCRIPTORS_H
#define XFS_DESCRIPTORS_H

#include <stdbool.h>

/*
 * Gives the calling thread, until it ends, a table without the program's descriptors; its messages
 * still go to the program's stderr (log.h). Numbers 0 to 2 are taken by descriptors that cannot be
 * written to. False with errno set where that is not allowed: the thread then shares the program's
 * table.
 */
bool xfs_own_descriptors(void);

#endif
