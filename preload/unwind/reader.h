/*
 * Reads numbers of .eh_frame in sequence, within bounds: beyond the end all are 0, and `failed` is
 * set. The bytes within the bounds must be readable.
 */
#ifndef XFS_READER_H
#define XFS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct xfs_reader {
    const unsigned char *at, *end;
    bool failed;
};

static inline bool xfs_reader_is_done(const struct xfs_reader *reader)
{
    return reader->failed || reader->at >= reader->end;
}

/* `bytes` of them, at most 8; little-endian, as the machine is. */
static inline uint64_t xfs_read(struct xfs_reader *reader, size_t bytes)
{
    uint64_t value = 0;
    if (reader->failed || (size_t)(reader->end - reader->at) < bytes) {
        reader->failed = true;
        return 0;
    }
    memcpy(&value, reader->at, bytes);
    reader->at += bytes;
    return value;
}

static inline int64_t xfs_read_signed(struct xfs_reader *reader, size_t bytes)
{
    unsigned unused = 64 - 8 * (unsigned)bytes;
    return (int64_t)(xfs_read(reader, bytes) << unused) >> unused;
}

static inline uint64_t xfs_read_leb(struct xfs_reader *reader, bool is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = xfs_read(reader, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && (byte & 0x40) && shift < 64)
        value |= UINT64_MAX << shift;
    return value;
}

static inline uint64_t xfs_read_uleb(struct xfs_reader *reader)
{
    return xfs_read_leb(reader, false);
}

static inline int64_t xfs_read_sleb(struct xfs_reader *reader)
{
    return (int64_t)xfs_read_leb(reader, true);
}

/* The next `bytes` as a reader of their own. */
static inline struct xfs_reader xfs_read_part(struct xfs_reader *reader, uint64_t bytes)
{
    struct xfs_reader part = {reader->at, reader->at, false};
    if (reader->failed || (uint64_t)(reader->end - reader->at) < bytes)
        part.failed = reader->failed = true;
    else
        part.end = reader->at += bytes;
    return part;
}

#endif
