/*
 * What a directory holds, by what its files are, never by their names: is it a run that has
 * ended, and nothing else? And its removal, file by file, so that nothing that came in between goes
 * with it.
 */
#ifndef XFERSCOPE_RUN_LOOK_H
#define XFERSCOPE_RUN_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct run_look {
    dev_t device; /* of the directory */
    ino_t inode;
    uint64_t contents; /* changes with any file's identity, size or time of change */
    char **names;
    size_t count;
    size_t traces; /* of them, whole or begun; the rest is what completing one left behind */
};

/*
 * Looks at `name` in the directory `folder`. A run is a directory of regular files that are traces
 * (their magic), or what was written of one when its completion was killed; an empty directory is
 * one too. Returns 0 and what is there, to be freed; or -1 with one line in error, which calls the
 * directory `shown`: it is something else, holds something else, cannot be looked into, or is still
 * being recorded.
 */
int run_look(int folder, const char *name, const char *shown, struct run_look *look, char *error,
             size_t error_bytes);
void run_look_free(struct run_look *look);

/* The same directory with the same contents. */
bool run_look_same(const struct run_look *a, const struct run_look *b);

/*
 * Removes a run. Each file is looked at once more, under a name that nobody else knows, before it
 * goes. Returns 0, or -1 with one line in error; what is not of a run is then still there.
 */
int run_remove(int folder, const char *name, const char *shown, char *error, size_t error_bytes);

#endif
