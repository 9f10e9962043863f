/*
 * Reads the interpreter's objects, with bounds, and without trusting their content.
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
 * addresses. The reads of a walk through the kernel are stored as a habit, and one system call
 * fetches all of them when the next walk begins; only other addresses are then read separately.
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

/* A reader is begun and ended around a walk; `data` need not be set. Threads whose ids have the
 * same last bits share a habit; a thread that finds it in use does without. */
void xfs_python_read_begin(struct xfs_python_reader *reader, struct xfs_python_habit *habit);
void xfs_python_read_end(struct xfs_python_reader *reader);

/* Copies `bytes` from an address; false when that cannot be an address, or holds nothing. */
bool xfs_python_read(struct xfs_python_reader *reader, uintptr_t at, void *out, size_t bytes);

/* The content of a str or bytes object, in place. False when it is neither, or too long. */
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
