/*
 * Reading a mapped file that others may cut meanwhile: what was there is gone then, and touching it
 * is SIGBUS.
 */
#ifndef XFS_SHRINKING_H
#define XFS_SHRINKING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Does `work`; false when it was broken off because bytes of the mapped file were gone. What it had
 * opened and allocated by then is its caller's affair. For commands: SIGBUS of the process is taken
 * for that long, and one call at a time does so. Another SIGBUS takes its usual course.
 */
bool xfs_while_there(const void *file, size_t size, void (*work)(void *context), void *context);

#endif
