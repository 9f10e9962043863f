/*
 * A table of descriptors of a thread's own.
 *
 * A number that another thread closes, or makes another file's, between two system calls is what no
 * look at it beforehand can help. So the recorder's thread leaves the program's table: what it
 * opens the program cannot close, and what the program opens it does not hold.
 */
#ifndef XFS_DESCRIPTORS_H
#define XFS_DESCRIPTORS_H

#include <stdbool.h>

/*
 * Gives the calling thread a table with nothing of the program's in it, for as long as it lives;
 * its messages still go to the program's stderr (log.h). Numbers 0 to 2 are taken up by something
 * that nobody can write to. False with errno set where that is not allowed: the thread then shares
 * the program's table.
 */
bool xfs_own_descriptors(void);

#endif
