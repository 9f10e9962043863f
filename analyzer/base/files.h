/*
 * Files that a user names: read without waiting for anybody, written whole or not at all. Used by
 * every command; needs libc only, prints nothing.
 *
 * Functions that can fail say why in words that follow "cannot read FILE: " or "cannot write
 * FILE: "; they belong to errno's texts or to this file and need no freeing.
 */
#ifndef XFA_FILES_H
#define XFA_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* Opens a regular file, links followed. A pipe, a terminal, a device or a directory is refused, and
 * not waited for. The descriptor, or -1 with why. */
int xfa_open_regular(const char *path, const char **why);

/* The whole of a regular file, for the caller to free; NULL with why, also when it is larger than
 * `most` bytes, of which not one is read then. */
char *xfa_read_whole(const char *path, size_t most, size_t *bytes, const char **why);

/* ---- writing --------------------------------------------------------------------------------- */

/*
 * A file that is to replace another one, or to be a new one. What is written lies in a file without
 * a name in the same folder (on file systems that have none: one called .xferscope-XXXXXX), and
 * takes the place of the old one in one step at the end: whoever reads sees the old or the new
 * file, and a process that is killed leaves the old one.
 *
 * - A symbolic link stays one: the file that it leads to is replaced, or made.
 * - A file that exists keeps its permissions, and its owner and group where the system lets them be
 *   kept. One that may not be written is refused, and so is one that has no write permission for
 *   anybody (mode 0444), also for root, whom the system would let.
 * - What is no regular file (a pipe, /dev/null) cannot be replaced and is written directly.
 */
struct xfa_replacement {
    FILE *stream; /* write here; its descriptor reads as well, but when written directly */
    char *target; /* what is replaced; NULL: written directly */
    char *named;  /* the new file's name until then; NULL: it has none */
    const char *why;
    mode_t mode;
    uid_t owner;
    gid_t group;
    bool exists;
};

/* 0, or -1 with r->why, and nothing to end. */
int xfa_replace_begin(struct xfa_replacement *r, const char *path);

/* Puts the new file, which is safely on the disk then, in its place. Gives up what could not be
 * written fully: -1 with r->why, and the old file is as it was. */
int xfa_replace_end(struct xfa_replacement *r);

/* Gives up: the old file stays. */
void xfa_replace_drop(struct xfa_replacement *r);

/* Is `path` a file that is there and is read as `input`: the same one, or a trace in that
 * directory? To replace it would lose what is read. */
bool xfa_replaces(const char *path, const char *input);

/* Will xfa_replace_begin() succeed, as far as can be told without touching anything? NULL, or why
 * not. */
const char *xfa_replace_refused(const char *path);

#endif
