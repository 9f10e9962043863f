/*
 * Reading the interpreter's objects: bounded, and without trust in what is there.
 */
#ifndef XFS_PYTHON_MEMORY_H
#define XFS_PYTHON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "python.h"

struct xfs_python_reader {
    const struct xfs_python *python;
    pid_t pid; /* 0: plain loads; else this process, whose memory the kernel reads for us */
};

/* Copies `bytes` from an address; false when that cannot be an address, or holds nothing. */
bool xfs_python_read(const struct xfs_python_reader *reader, uintptr_t at, void *out, size_t bytes);

/* The content of a str or bytes object, where it lies. False when it is none, or none of bearable
 * length. */
struct xfs_python_content {
    uintptr_t at;
    size_t units;  /* characters, bytes */
    unsigned kind; /* bytes per unit */
};
bool xfs_python_string(const struct xfs_python_reader *reader, uintptr_t object,
                       struct xfs_python_content *content);
bool xfs_python_bytes(const struct xfs_python_reader *reader, uintptr_t object,
                      struct xfs_python_content *content);

/* A hash of the content: of all of it when it is short, else of its length, its first and its last
 * bytes. False when it cannot be read. */
bool xfs_python_sample(const struct xfs_python_reader *reader,
                       const struct xfs_python_content *content, uint64_t *hash);

/* The first (or the last, if `tail`) XFS_PYTHON_TEXT characters as UTF-8, *bytes of it: `out` has
 * room for 4 * XFS_PYTHON_TEXT. False when they cannot be read. */
#define XFS_PYTHON_TEXT 1024
bool xfs_python_text(const struct xfs_python_reader *reader,
                     const struct xfs_python_content *content, bool tail, char *out,
                     uint32_t *bytes);

#endif
