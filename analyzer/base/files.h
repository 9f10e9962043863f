/*
 * Files that a user names: read without blocking, written whole or not at all. Used by every
 * command; needs libc only, prints nothing.
 *
 * Functions that can fail set *why to a text that fits after "cannot read FILE: " or "cannot write
 * FILE: ". The text is static or strerror()'s: do not free it.
 */
#ifndef XFA_FILES_H
#define XFA_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* Opens a regular file; follows links. Refuses a pipe, a terminal, a device or a directory without
 * blocking. Returns the descriptor, or -1 with *why. */
int xfa_open_regular(const char *path, const char **why);

/* Reads a whole regular file, for the caller to free; behind its *bytes stands a '\0'. NULL with
 * *why, also for a file larger than `most` bytes, which is not read. */
char *xfa_read_whole(const char *path, size_t most, size_t *bytes, const char **why);

/* ---- writing --------------------------------------------------------------------------------- */

/*
 * A file that replaces another one, or is new. It is written to an unnamed file in the same
 * directory (on file systems without them to .xferscope-XXXXXX), which replaces the old one
 * atomically at the end: readers see the old or the new file, and a process that is killed leaves
 * the old one.
 *
 * - A symbolic link stays: the file that it points to is replaced, or created.
 * - An existing file keeps its permissions, and its owner and group where the system allows that.
 *   One that the caller may not write is refused; so is one without any write permission (mode
 *   0444), even for root.
 * - Other files than regular ones (a pipe, /dev/null) are written directly.
 */
struct xfa_replacement {
    FILE *stream; /* to be written; its descriptor can be read too, unless written directly */
    char *target; /* path of the file that is replaced; NULL: written directly */
    char *named;  /* name of the new file until then; NULL: unnamed */
    const char *why;
    mode_t mode;
    uid_t owner;
    gid_t group;
    bool exists;
};

/* 0; or -1 with r->why, and r needs no end. */
int xfa_replace_begin(struct xfa_replacement *r, const char *path);

/* Syncs the new file to disk and puts it in place. -1 with r->why when it could not be written
 * completely: the old file is unchanged. errno, when it is called, says why an earlier write to the
 * stream failed. */
int xfa_replace_end(struct xfa_replacement *r);

/* Drops the new file: the old one is unchanged. */
void xfa_replace_drop(struct xfa_replacement *r);

/* Would writing `path` replace `input`? It is the same file, or a trace in that directory. */
bool xfa_replaces(const char *path, const char *input);

/* Why xfa_replace_begin() would fail, as far as is known without changing anything; NULL: it would
 * not. */
const char *xfa_replace_refused(const char *path);

#endif
