/*
 * The process's trace file: created once, then only appended to.
 *
 * The descriptor belongs to the recorder's thread, which has a table of its own (descriptors.h):
 * nobody else calls what needs one, which is all but xfs_file_was_cut() of what follows. Where the
 * table is the program's all the same, it may close what it does not know: so the descriptor is
 * kept high, checked against the file's device and inode before each use, and opened again by path
 * when it is gone; between that look and the use it is at the program's mercy. The header is mapped
 * and stays valid whatever happens to the descriptor.
 *
 * Appending never goes over RLIMIT_FSIZE (SIGXFSZ would end the program). All functions are
 * thread-safe; failures return false with errno set, the file is then as before.
 */
#ifndef XFS_FILE_H
#define XFS_FILE_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "xferscope/trace.h"

struct xfs_file {
    pthread_mutex_t lock;
    int fd;
    dev_t device;
    ino_t inode;
    uint64_t end;                   /* where the next segment goes; a multiple of 8 */
    struct xft_file_header *header; /* mapped, shared; its file_bytes follow `end` */
    struct xft_file_header made;    /* as it was when the file was created, and the damage since */
    bool cut;                       /* truncated by somebody, and not mended yet */
    char path[PATH_MAX];
    bool made_directory;
    bool foreign; /* xfs_file_create() failed since the directory is somebody else's */
};

/*
 * Makes `directory` (absolute) if needed, and in it PREFIX and PID-STARTNS.trace with this header;
 * without the prefix where the path gets too long.
 * `must_make`: the directory may not exist before.
 *
 * One that exists must be such as we make it: of the owner that our files have, and not writable by
 * others, who could put links in the place of what is in it. `named` (by the user, who knows what
 * is there): or it lies where others cannot have made it.
 */
bool xfs_file_create(struct xfs_file *file, const char *directory, bool must_make, bool named,
                     const char *prefix, struct xft_file_header *header);

/* Takes back what xfs_file_create() made: recording was impossible after all. Keeps errno. */
void xfs_file_discard(struct xfs_file *file);

/* Appends whole segments; bytes is a multiple of 8. */
bool xfs_file_append(struct xfs_file *file, const void *segments, size_t bytes);

/* Appends an EVENTS segment and behind it its INDEX: both or none. entry->offset is set here. */
bool xfs_file_append_events(struct xfs_file *file, const void *segment, size_t bytes,
                            struct xft_index_entry *entry);

/*
 * Appends a LANES segment with room for `slabs` slabs, its blocks allocated, and maps them. NULL on
 * failure.
 */
struct xft_slab *xfs_file_append_lanes(struct xfs_file *file, size_t slabs);

/* Appends ROOM segments, of XFT_ROOM_BYTES each, one behind the other, and maps them. NULL on
 * failure. */
unsigned char *xfs_file_append_rooms(struct xfs_file *file, size_t rooms);

/* True when somebody has truncated the file or emptied its first page, or when slabs show it
 * (torn). */
bool xfs_file_was_cut(struct xfs_file *file, bool torn);

/* Gives a file that was cut its length and its header again, with the damage and the counts of
 * losses as they are now; `header` is then another mapping, the old one stays. */
bool xfs_file_mend(struct xfs_file *file);

/* The file has no name any more: with the process it is gone. */
bool xfs_file_is_deleted(struct xfs_file *file);

/* Maps the file as it now is, read-only, private to the caller; NULL on failure, and of a file that
 * somebody has emptied: *bytes is 0 then. */
void *xfs_file_map(struct xfs_file *file, size_t *bytes);

#endif
