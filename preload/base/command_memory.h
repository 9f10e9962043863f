/*
 * Memory of the command that started the run (a memfd), mapped into a process of it.
 *
 * The command names it PID.DESCRIPTOR.RANDOM in the environment. A process opens it through /proc,
 * and checks that it is the one meant: the command's number may be another process's by now, and
 * the descriptor any file.
 */
#ifndef XFS_COMMAND_MEMORY_H
#define XFS_COMMAND_MEMORY_H

#include <stddef.h>

/* `name`: of the memfd, before RANDOM; `which`: PID.DESCRIPTOR.RANDOM, or "". NULL: there is none,
 * it is another one, or it has fewer than `bytes` bytes. Mapped for ever. */
void *xfs_command_memory(const char *name, const char *which, size_t bytes);

#endif
