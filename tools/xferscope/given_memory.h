/*
 * Memory of this command that the processes of a run map, too: the command's side of
 * preload/base/command_memory.h.
 */
#ifndef XFERSCOPE_GIVEN_MEMORY_H
#define XFERSCOPE_GIVEN_MEMORY_H

#include <stddef.h>

#define GIVEN_MEMORY_NAME 64

/* Zeroes, until this process ends. `name`: of the memfd, before RANDOM; `which` becomes
 * PID.DESCRIPTOR.RANDOM, unlike any other run's, also where there is no memory: then NULL. */
void *given_memory(const char *name, size_t bytes, char which[GIVEN_MEMORY_NAME]);

#endif
