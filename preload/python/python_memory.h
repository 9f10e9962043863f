/*
 * Reading the interpreter's objects: bounded, and without trust in what is there.
 */
#ifndef XFS_PYTHON_MEMORY_H
#define XFS_PYTHON_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "preload/python/python.h"

/*
 * A thread mostly reads what it read the last time: the same frames and code objects, at the same
 * addresses. What a walk has read through the kernel is remembered, and all of it fetched with one
 * system call when the next walk begins; only what differs is then read by itself.
 */
#define XFS_PYTHON_READS 192
#define XFS_PYTHON_READ_BYTES 12288
struct xfs_python_habit {
    atomic_flag busy;
    uint32_t count;
    struct {
        uintptr_t at;
        size_t bytes;
    } reads[XFS_PYTHON_READS];
};

struct xfs_python_reader {
    const struct xfs_python *python;
    pid_t pid; /* 0: plain loads; else this process, whose memory the kernel reads for us */
    struct xfs_python_habit *habit; /* NULL: none */
    uint32_t next;                  /* read of the habit */
    size_t used, fetched;           /* bytes of data */
    unsigned char data[XFS_PYTHON_READ_BYTES];
};

/* A reader is begun and ended around a walk; `data` need not be set. Habits are shared by the
 * threads whose numbers end alike: one that finds its habit in use goes without. */
void xfs_python_read_begin(struct xfs_python_reader *reader, struct xfs_python_habit *habit);
void xfs_python_read_end(struct xfs_python_reader *reader);

/* Copies `bytes` from an address; false when that cannot be an address, or holds nothing. */
bool xfs_python_read(struct xfs_python_reader *reader, uintptr_t at, void *out, size_t bytes);

/* The content of a str or bytes object, where it lies. False when it is none, or none of bearable
 * length. */
struct xfs_python_content {
    uintptr_t at;
    size_t units;  /* characters, bytes */
    unsigned kind; /* bytes per unit */
};
bool xfs_python_string(struct xfs_python_reader *reader, uintptr_t object,
                       struct xfs_python_content *content);
bool xfs_python_bytes(struct xfs_python_reader *reader, uintptr_t object,
                      struct xfs_python_content *content);

/* A hash of the content: of all of it when it is short, else of its length, its first and its last
 * bytes. False when it cannot be read. */
bool xfs_python_sample(struct xfs_python_reader *reader, const struct xfs_python_content *content,
                       uint64_t *hash);

/* The first (or the last, if `tail`) XFS_PYTHON_TEXT characters as UTF-8, *bytes of it: `out` has
 * room for 4 * XFS_PYTHON_TEXT. False when they cannot be read. */
#define XFS_PYTHON_TEXT 1024
bool xfs_python_text(struct xfs_python_reader *reader, const struct xfs_python_content *content,
                     bool tail, char *out, uint32_t *bytes);

#endif
