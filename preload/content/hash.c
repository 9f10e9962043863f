#define XXH_INLINE_ALL
#include "preload/content/parts.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#define PIECES 64
#define CHUNK_BYTES (64u << 10)

/* ---- reading ------------------------------------------------------------------------------- */

/* Contiguous pieces of the program's memory, copied one after the other. */
struct pieces {
    struct iovec from[PIECES];
    unsigned count;
    size_t bytes;
    unsigned char *to;
};

static bool fetch(struct pieces *pieces)
{
    struct iovec to = {pieces->to, pieces->bytes};
    if (pieces->count == 0)
        return true;
    ssize_t got = process_vm_writev(getpid(), pieces->from, pieces->count, &to, 1, 0);
    bool all = got >= 0 && (size_t)got == pieces->bytes;
    pieces->to += pieces->bytes;
    pieces->count = 0;
    pieces->bytes = 0;
    return all;
}

static uint64_t row_address(const struct xfs_rows *rows, uint64_t row)
{
    return rows->address + row / rows->height * rows->slice + row % rows->height * rows->pitch;
}

/* Adds bytes [at, at + bytes) of the concatenated rows. */
static bool add(struct pieces *pieces, const struct xfs_rows *rows, uint64_t at, uint64_t bytes)
{
    while (bytes > 0) {
        uint64_t row = at / rows->width, in_row = at % rows->width;
        uint64_t n = rows->width - in_row < bytes ? rows->width - in_row : bytes;
        if (pieces->count == PIECES && !fetch(pieces))
            return false;
        pieces->from[pieces->count++] =
            (struct iovec){(void *)(uintptr_t)(row_address(rows, row) + in_row), n};
        pieces->bytes += n;
        at += n;
        bytes -= n;
    }
    return true;
}

/* Rows without gaps are one row. */
static struct xfs_rows flat(const struct xfs_rows *rows)
{
    struct xfs_rows same = *rows;
    if (same.height * same.depth <= 1 ||
        (same.pitch == same.width && (same.depth <= 1 || same.slice == same.pitch * same.height))) {
        same.width = xfs_rows_bytes(rows);
        same.height = same.depth = 1;
    }
    return same;
}

/* ---- chunks -------------------------------------------------------------------------------- */

/* A few buffers are kept for reuse: large hashes come in sequences, from a few threads. */
static void *_Atomic kept[4];

static void *take_chunk(void)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        void *chunk = atomic_exchange(&kept[i], NULL);
        if (chunk)
            return chunk;
    }
    void *chunk =
        mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return chunk == MAP_FAILED ? NULL : chunk;
}

static void put_chunk(void *chunk)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&kept[i], &none, chunk))
            return;
    }
    munmap(chunk, CHUNK_BYTES);
}

/* ---- hashing ------------------------------------------------------------------------------- */

bool xfs_hash_works(void)
{
    static const unsigned char probe[16] = "xferscope";
    struct xfs_rows rows = {(uintptr_t)probe, sizeof probe, 1, 1, 0, 0};
    uint64_t hash, hashed;
    return xfs_hash_sampled(&rows, &hash, &hashed) && hash == XXH3_64bits(probe, sizeof probe);
}

static bool hash_chunks(const struct xfs_rows *rows, unsigned char *chunk, uint64_t *hash)
{
    uint64_t bytes = xfs_rows_bytes(rows);
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (uint64_t at = 0; at < bytes; at += CHUNK_BYTES) {
        uint64_t n = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;
        struct pieces pieces = {.to = chunk};
        if (!add(&pieces, rows, at, n) || !fetch(&pieces))
            return false;
        XXH3_64bits_update(&state, chunk, n);
    }
    *hash = XXH3_64bits_digest(&state);
    return true;
}

bool xfs_hash_whole(const struct xfs_rows *rows, uint64_t *hash, uint64_t *hashed)
{
    struct xfs_rows same = flat(rows);
    *hashed = xfs_rows_bytes(&same);
    if (*hashed <= XFS_SAMPLE_BYTES)
        return xfs_hash_sampled(rows, hash, hashed);
    unsigned char *chunk = take_chunk();
    if (chunk == NULL)
        return false;
    bool good = hash_chunks(&same, chunk, hash);
    put_chunk(chunk);
    return good;
}

bool xfs_hash_sampled(const struct xfs_rows *rows, uint64_t *hash, uint64_t *hashed)
{
    unsigned char sample[XFS_SAMPLE_BYTES];
    struct xfs_rows same = flat(rows);
    struct pieces pieces = {.to = sample};
    uint64_t bytes = xfs_rows_bytes(&same);
    if (bytes == 0)
        return false;
    *hashed = bytes < XFS_SAMPLE_BYTES ? bytes : XFS_SAMPLE_BYTES;
    if (bytes <= XFS_SAMPLE_BYTES && !add(&pieces, &same, 0, bytes))
        return false;
    for (uint64_t i = 0; bytes > XFS_SAMPLE_BYTES && i < XFS_SAMPLE_BLOCKS; i++) {
        /* i * (bytes - block) would overflow for sizes that no machine has. */
        uint64_t step = (bytes - XFS_SAMPLE_BLOCK) / (XFS_SAMPLE_BLOCKS - 1);
        uint64_t rest = (bytes - XFS_SAMPLE_BLOCK) % (XFS_SAMPLE_BLOCKS - 1);
        uint64_t at = i * step + i * rest / (XFS_SAMPLE_BLOCKS - 1);
        if (!add(&pieces, &same, at, XFS_SAMPLE_BLOCK))
            return false;
    }
    if (!fetch(&pieces))
        return false;
    *hash = XXH3_64bits(sample, *hashed);
    return true;
}

enum xfs_content_mode xfs_content_afford(enum xfs_content_mode setting, bool slow_memory,
                                         const struct xfs_hash_ns *spent,
                                         const struct xfs_hash_ns *cost, uint64_t elapsed,
                                         unsigned share)
{
    bool whole = setting == XFS_CONTENT_WHOLE && !slow_memory;
    if (share == 0)
        return whole ? XFS_CONTENT_WHOLE : XFS_CONTENT_SAMPLED;
    uint64_t allowed = elapsed / 100 * share;
    uint64_t samples = setting == XFS_CONTENT_WHOLE ? allowed / 5 : allowed;
    if (whole && spent->whole + cost->whole <= allowed - samples)
        return XFS_CONTENT_WHOLE;
    return spent->sampled + cost->sampled <= samples ? XFS_CONTENT_SAMPLED : XFS_CONTENT_OFF;
}
