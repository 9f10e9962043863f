/*
 * The process's trace file: created once, then only appended to.
 *
 * The descriptor belongs to the recorder's thread, which has a descriptor table of its own
 * (descriptors.h): no other thread calls the functions below, except xfs_file_was_cut(). Where the
 * table is shared with the program, the program may close descriptors that it does not know. So the
 * descriptor has a high number, is checked against the file's device and inode before each use, and
 * is opened again by path when it is gone; between check and use the program can still close it.
 * The header is mapped and stays valid whatever happens to the descriptor.
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
    bool cut;                       /* truncated by another process, and not mended yet */
    char path[PATH_MAX];
    bool made_directory;
    bool foreign; /* xfs_file_create() failed: the directory belongs to another user */
};

/*
 * Makes `directory` (absolute) if needed, and in it PREFIX and PID-STARTNS.trace with this header;
 * without the prefix where the path gets too long.
 * `must_make`: the directory may not exist before.
 *
 * A directory that exists must look as if we had made it: it has the owner of our files, and others
 * cannot write to it, who could replace files in it by links. With `named` (the user named it, and
 * knows what is there) it may instead lie where others cannot have made it.
 */
bool xfs_file_create(struct xfs_file *file, const char *directory, bool must_make, bool named,
                     const char *prefix, struct xft_file_header *header);

/* Removes what xfs_file_create() made, when recording turns out to be impossible. Keeps errno. */
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

/* True when another process has truncated the file or emptied its first page, or when slabs show it
 * (torn). */
bool xfs_file_was_cut(struct xfs_file *file, bool torn);

/* Restores length and header of a file that was cut, with the damage and the counts of losses as
 * they are now. `header` is then another mapping; the old one stays mapped. */
bool xfs_file_mend(struct xfs_file *file);

/* True when the file has been unlinked: it is gone when the process ends. */
bool xfs_file_is_deleted(struct xfs_file *file);

/* Maps the file as it now is, read-only, private to the caller. NULL on failure, and for a file
 * that was truncated to nothing: *bytes is 0 then. */
void *xfs_file_map(struct xfs_file *file, size_t *bytes);

#endif
