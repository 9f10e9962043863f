#include "preload/record/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/format/index.h"
#include "preload/format/segments.h"
#include "preload/format/write.h"
#include "preload/record/bus.h"

#define HIGH_FD 1000

/* ---- the descriptor --------------------------------------------------------------------- */

/* Out of the way of programs that count on low numbers or close them all. */
static int move_high(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

/* Held while the process lives, and not inherited by its children: commands see by it that the file
 * is in use. */
static void lock_file(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)fcntl(fd, F_SETLK, &whole); /* without it there is still /proc/PID/maps */
}

static bool is_ours(struct xfs_file *file, int fd)
{
    struct stat now;
    if (fstat(fd, &now) != 0 || now.st_dev != file->device || now.st_ino != file->inode)
        return false;
    if ((uint64_t)now.st_size < file->end && !file->cut) {
        file->cut = true;
        file->made.damaged_places++;
        file->made.damaged_bytes += file->end - (uint64_t)now.st_size;
    }
    return true;
}

/* Lock held. A descriptor that is not ours any more belongs to the program: it is left alone. */
static int descriptor(struct xfs_file *file)
{
    if (file->fd >= 0 && is_ours(file, file->fd))
        return file->fd;
    file->fd = -1;
    int fd = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (!is_ours(file, fd)) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    file->fd = move_high(fd);
    lock_file(file->fd);
    return file->fd;
}

/* ---- creating --------------------------------------------------------------------------- */

/* Its descriptor, for as long as the file is made, or -1. */
static int make_directory(struct xfs_file *file, const char *path, bool must_make)
{
    if (mkdir(path, 0700) == 0)
        file->made_directory = true;
    else if (errno != EEXIST || must_make)
        return -1;
    return open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Compares with a file that was made in it: on some file systems all files have another owner, or
 * modes mean nothing. */
static bool is_own_directory(int directory, int fd, bool named)
{
    struct stat is, made, above;
    if (fstat(directory, &is) != 0 || fstat(fd, &made) != 0)
        return false;
    bool owned = is.st_uid == made.st_uid;
    bool closed = !(is.st_mode & (S_IWGRP | S_IWOTH)) || (made.st_mode & (S_IRWXG | S_IRWXO));
    if ((owned && closed) || !named)
        return owned && closed;
    return owned || (fstatat(directory, "..", &above, 0) == 0 && !(above.st_mode & S_IWOTH));
}

/* An empty directory would block the next run. Other processes of this run make it again. */
static void remove_directory(const struct xfs_file *file, const char *directory)
{
    int error = errno;
    if (file->made_directory)
        rmdir(directory);
    errno = error;
}

static bool set_path(struct xfs_file *file, const char *directory, const char *prefix,
                     const struct xft_file_header *header, unsigned i)
{
    int n = snprintf(file->path, sizeof file->path, "%s/%s%d-%llu.trace", directory, prefix,
                     (int)header->pid, (unsigned long long)header->start_mono_ns + i);
    return n > 0 && (size_t)n < sizeof file->path - sizeof ".tmp";
}

/* Another process with this pid may have recorded here, or one on another host may begin to: the
 * name counts up until it is free. */
static int create_new(struct xfs_file *file, int fd_of_directory, const char *directory,
                      const char *prefix, const struct xft_file_header *header)
{
    for (unsigned i = 0; i < 100; i++) {
        if (!set_path(file, directory, prefix, header, i) &&
            !set_path(file, directory, "", header, i)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = openat(fd_of_directory, strrchr(file->path, '/') + 1,
                        O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Real blocks, so that a store to the mapping cannot find the disk full (SIGBUS). */
static bool allocate(int fd, uint64_t at, uint64_t bytes)
{
    if (!xft_within_limit(at + bytes))
        return false;
    int error = 0;
    do {
        if (fallocate(fd, 0, (off_t)at, (off_t)bytes) == 0)
            return true;
        error = errno;
    } while (error == EINTR);
    if (error == EOPNOTSUPP)
        error = posix_fallocate(fd, (off_t)at, (off_t)bytes);
    errno = error;
    return error == 0;
}

static bool map_header(struct xfs_file *file, const struct xft_file_header *header)
{
    if (!allocate(file->fd, 0, XFT_HEADER_BYTES))
        return false;
    void *map = mmap(NULL, XFT_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
    if (map == MAP_FAILED)
        return false;
    (void)xfs_bus_cover(map, XFT_HEADER_BYTES, XFT_HEADER_BYTES);
    file->header = map;
    file->made = *header;
    *file->header = *header;
    return true;
}

static int create_in(struct xfs_file *file, const char *path, bool must_make, bool named,
                     const char *prefix, const struct xft_file_header *header)
{
    int directory = make_directory(file, path, must_make);
    if (directory < 0)
        return -1;
    int fd = create_new(file, directory, path, prefix, header);
    if (fd >= 0 && !is_own_directory(directory, fd, named)) {
        unlinkat(directory, strrchr(file->path, '/') + 1, 0);
        close(fd);
        fd = -1;
        errno = EPERM;
        file->foreign = true;
    }
    int error = errno;
    close(directory);
    errno = error;
    return fd;
}

bool xfs_file_create(struct xfs_file *file, const char *directory, bool must_make, bool named,
                     const char *prefix, struct xft_file_header *header)
{
    struct stat made;
    *file = (struct xfs_file){.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .end = XFT_HEADER_BYTES};
    for (int tries = 0; file->fd < 0;
         tries++) { /* another process may remove it while it is empty */
        file->fd = create_in(file, directory, must_make, named, prefix, header);
        if (file->fd < 0 && (errno != ENOENT || tries == 3)) {
            remove_directory(file, directory);
            return false;
        }
    }
    file->fd = move_high(file->fd);
    lock_file(file->fd);
    header->state = XFT_STATE_RECORDING;
    xft_header_seal(header);
    if (fstat(file->fd, &made) == 0 && map_header(file, header)) {
        file->device = made.st_dev;
        file->inode = made.st_ino;
        return true;
    }
    xfs_file_discard(file);
    return false;
}

void xfs_file_discard(struct xfs_file *file)
{
    int error = errno;
    close(file->fd);
    file->fd = -1;
    unlink(file->path);
    *strrchr(file->path, '/') = '\0';
    remove_directory(file, file->path);
    errno = error;
}

/* The part of a segment that was written before the disk was full would look like damage. Nothing
 * is mapped beyond the end. */
static void cut_back(const struct xfs_file *file, int fd)
{
    int error = errno;
    if (fd >= 0 && ftruncate(fd, (off_t)file->end) != 0)
        error = errno;
    errno = error;
}

/* Called after the bytes were written: a file shorter than that was truncated. */
static void tell_end(struct xfs_file *file, uint64_t end)
{
    __atomic_store_n(&file->end, end, __ATOMIC_RELAXED); /* the background thread reads it */
    __atomic_store_n(&file->header->file_bytes, end, __ATOMIC_RELEASE);
}

/* ---- appending -------------------------------------------------------------------------- */

bool xfs_file_append(struct xfs_file *file, const void *segments, size_t bytes)
{
    pthread_mutex_lock(&file->lock);
    int fd = descriptor(file);
    bool good = fd >= 0 && xft_write_at(fd, segments, bytes, file->end);
    if (good)
        tell_end(file, file->end + bytes);
    else
        cut_back(file, fd);
    pthread_mutex_unlock(&file->lock);
    return good;
}

bool xfs_file_append_events(struct xfs_file *file, const void *segment, size_t bytes,
                            struct xft_index_entry *entry)
{
    unsigned char index[XFT_INDEX_SPAN];
    pthread_mutex_lock(&file->lock);
    entry->offset = file->end;
    xft_index_pack(entry, index);
    int fd = descriptor(file);
    bool good = fd >= 0 && xft_write_at(fd, segment, bytes, file->end) &&
                xft_write_at(fd, index, sizeof index, file->end + bytes);
    if (good)
        tell_end(file, file->end + bytes + sizeof index);
    else
        cut_back(file, fd);
    pthread_mutex_unlock(&file->lock);
    return good;
}

/* A segment from the end of the file to the page where `bytes` begin that are mapped; it covers
 * them if they are its payload. NULL on failure. */
static unsigned char *append_mapped(struct xfs_file *file, enum xft_segment_type type, size_t bytes,
                                    bool covered, void (*fill)(unsigned char *, size_t))
{
    unsigned char *map = MAP_FAILED;
    struct xfs_bus_region *region = NULL;
    size_t unit = type == XFT_SEG_LANES ? XFT_SLAB_BYTES : XFT_ROOM_BYTES;
    pthread_mutex_lock(&file->lock);
    uint64_t start = XFT_ALIGN(file->end + sizeof(struct xft_segment), 4096);
    uint64_t end = start + bytes;
    uint64_t payload = (covered ? end : start) - file->end - sizeof(struct xft_segment);
    struct xft_segment head = xft_segment_make(type, 0, NULL, payload, payload);
    int fd = descriptor(file);
    if (fd >= 0 && allocate(fd, file->end, end - file->end))
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)start);
    if (map != MAP_FAILED)
        region = xfs_bus_cover(map, bytes, unit);
    /* In the order of the file: a process that ends here leaves no gap before later data. */
    if (map != MAP_FAILED && xft_write_at(fd, &head, sizeof head, file->end)) {
        if (fill)
            fill(map, bytes);
        tell_end(file, end);
    } else if (map != MAP_FAILED) {
        xfs_bus_leave(region);
        munmap(map, bytes);
        map = MAP_FAILED;
    }
    if (map == MAP_FAILED)
        cut_back(file, fd);
    pthread_mutex_unlock(&file->lock);
    return map == MAP_FAILED ? NULL : map;
}

/* ---- cut by somebody --------------------------------------------------------------------- */

/* Lock held. */
static bool is_cut(struct xfs_file *file, bool torn)
{
    if (descriptor(file) >= 0 && !file->cut &&
        (torn || memcmp(file->header->magic, XFT_MAGIC, sizeof file->header->magic) != 0)) {
        file->cut = true; /* it was cut and has grown since */
        file->made.damaged_places++;
    }
    return file->cut;
}

bool xfs_file_was_cut(struct xfs_file *file, bool torn)
{
    pthread_mutex_lock(&file->lock);
    bool cut = is_cut(file, torn);
    pthread_mutex_unlock(&file->lock);
    return cut;
}

/* From `made`: the mapped header may have been replaced by other memory. */
static void put_header(const struct xfs_file *file, unsigned char block[XFT_HEADER_BYTES])
{
    struct xft_file_header header = file->made;
    header.file_bytes = file->end;
    memset(block, 0, XFT_HEADER_BYTES);
    memcpy(block, &header, sizeof header);
}

bool xfs_file_mend(struct xfs_file *file)
{
    unsigned char block[XFT_HEADER_BYTES];
    struct stat now;
    pthread_mutex_lock(&file->lock);
    int fd = descriptor(file);
    put_header(file, block);
    bool good = fd >= 0 && xft_write_at(fd, block, sizeof block, 0) && fstat(fd, &now) == 0 &&
                ((uint64_t)now.st_size >= file->end || ftruncate(fd, (off_t)file->end) == 0);
    void *map = MAP_FAILED;
    if (good)
        map = mmap(NULL, XFT_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) {
        (void)xfs_bus_cover(map, XFT_HEADER_BYTES, XFT_HEADER_BYTES);
        file->header = map;
        file->cut = false;
    }
    pthread_mutex_unlock(&file->lock);
    return map != MAP_FAILED;
}

struct xft_slab *xfs_file_append_lanes(struct xfs_file *file, size_t slabs)
{
    return (struct xft_slab *)append_mapped(file, XFT_SEG_LANES, slabs * XFT_SLAB_BYTES, true,
                                            NULL);
}

static void make_rooms(unsigned char *map, size_t bytes)
{
    size_t payload = XFT_ROOM_BYTES - sizeof(struct xft_segment);
    struct xft_segment head = xft_segment_make(XFT_SEG_ROOM, 0, NULL, payload, payload);
    for (size_t at = 0; at < bytes; at += XFT_ROOM_BYTES)
        memcpy(map + at, &head, sizeof head);
}

unsigned char *xfs_file_append_rooms(struct xfs_file *file, size_t rooms)
{
    return append_mapped(file, XFT_SEG_PAD, rooms * XFT_ROOM_BYTES, false, make_rooms);
}

bool xfs_file_is_deleted(struct xfs_file *file)
{
    struct stat now;
    pthread_mutex_lock(&file->lock);
    int fd = descriptor(file);
    bool deleted = fd >= 0 && fstat(fd, &now) == 0 && now.st_nlink == 0;
    pthread_mutex_unlock(&file->lock);
    return deleted;
}

void *xfs_file_map(struct xfs_file *file, size_t *bytes)
{
    void *map = MAP_FAILED;
    pthread_mutex_lock(&file->lock);
    int fd = descriptor(file);
    struct stat now;
    *bytes = file->end;
    if (fd >= 0 && fstat(fd, &now) == 0 && (uint64_t)now.st_size < file->end)
        *bytes = (size_t)now.st_size; /* reading past its end is SIGBUS */
    if (fd >= 0 && *bytes > 0)
        map = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, fd, 0);
    pthread_mutex_unlock(&file->lock);
    return map == MAP_FAILED ? NULL : map;
}
