#include "tests/analyzer/fuzz_damage.h"

#include <string.h>

#include "xferscope/trace.h"

enum { MOST_BYTES = 4096, HEADS = 64 };

static uint64_t next(uint64_t *random) /* splitmix64 */
{
    uint64_t z = *random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Numbers at which a program that reads them may be wrong. */
static uint64_t edge(uint64_t *random, size_t size)
{
    const uint64_t edges[] = {0,
                              1,
                              7,
                              8,
                              39,
                              40,
                              size,
                              size - 1,
                              size / 2,
                              XFT_SLAB_EVENTS,
                              XFT_SLAB_EVENTS + 1,
                              XFT_ROOM_BYTES,
                              INT32_MAX,
                              UINT32_MAX,
                              INT64_MAX,
                              UINT64_MAX,
                              UINT64_MAX - 7};
    return edges[next(random) % (sizeof edges / sizeof *edges)];
}

static void put(uint8_t *at, uint64_t value, size_t bytes)
{
    memcpy(at, &value, bytes);
}

/* A head with that magic number, at a multiple of 8; one of the first HEADS. NULL: there is none.
 */
static uint8_t *find_head(uint8_t *trace, size_t size, uint32_t magic, size_t head,
                          uint64_t *random)
{
    uint8_t *found[HEADS];
    size_t count = 0;
    for (size_t at = 0; at + head <= size && count < HEADS; at += 8)
        if (memcmp(trace + at, &magic, sizeof magic) == 0)
            found[count++] = trace + at;
    return count ? found[next(random) % count] : NULL;
}

static void change_segment(uint8_t *trace, size_t size, uint64_t *random)
{
    uint8_t *at = find_head(trace, size, XFT_SEGMENT_MAGIC, sizeof(struct xft_segment), random);
    if (!at)
        return;
    switch (next(random) % 4) {
    case 0:
        put(at + offsetof(struct xft_segment, type), next(random) % (XFT_SEG_KNOWN + 2), 2);
        break;
    case 1:
        put(at + offsetof(struct xft_segment, flags), next(random) % 4, 2);
        break;
    case 2:
        put(at + offsetof(struct xft_segment, stored_bytes), edge(random, size), 8);
        break;
    default:
        put(at + offsetof(struct xft_segment, raw_bytes), edge(random, size), 8);
    }
}

static void change_slab(uint8_t *trace, size_t size, uint64_t *random)
{
    uint8_t *at = find_head(trace, size, XFT_SLAB_MAGIC, sizeof(struct xft_slab), random);
    if (!at)
        return;
    switch (next(random) % 4) {
    case 0:
        put(at + offsetof(struct xft_slab, state), next(random) % 4, 4);
        break;
    case 1:
        put(at + offsetof(struct xft_slab, lane), next(random) % 3, 4);
        break;
    case 2:
        put(at + offsetof(struct xft_slab, first_seq), edge(random, size), 8);
        break;
    default:
        put(at + offsetof(struct xft_slab, committed), edge(random, size), 4);
    }
}

static void change_room(uint8_t *trace, size_t size, uint64_t *random)
{
    size_t head = sizeof(struct xft_segment) + sizeof(struct xft_room);
    for (int tries = 0; tries < 8; tries++) {
        uint8_t *at = find_head(trace, size, XFT_SEGMENT_MAGIC, head, random);
        uint16_t type;
        if (!at)
            return;
        memcpy(&type, at + offsetof(struct xft_segment, type), sizeof type);
        if (type == XFT_SEG_ROOM) {
            put(at + sizeof(struct xft_segment), edge(random, size), 8);
            return;
        }
    }
}

/* A stretch that never reached the disk, or that lies where another one should. */
static void change_stretch(uint8_t *trace, size_t size, uint64_t *random)
{
    size_t bytes = (size_t)8 << next(random) % 10, unit = next(random) % 2 ? bytes : 8;
    if (bytes > size)
        return;
    size_t to = next(random) % (size - bytes + 1) / unit * unit;
    size_t from = next(random) % (size - bytes + 1) / unit * unit;
    uint8_t kept[MOST_BYTES];
    memcpy(kept, trace + to, bytes);
    switch (next(random) % 3) {
    case 0:
        memset(trace + to, 0, bytes);
        break;
    case 1:
        memmove(trace + to, trace + from, bytes);
        break;
    default:
        memmove(trace + to, trace + from, bytes);
        memcpy(trace + from, kept, bytes);
    }
}

size_t damage_unfinished(uint8_t *trace, size_t size, uint64_t random)
{
    if (size < sizeof(struct xft_file_header))
        return size;
    put(trace + offsetof(struct xft_file_header, state), XFT_STATE_RECORDING, 4);
    for (uint64_t times = next(&random) % 4 + 1; times > 0; times--) {
        switch (next(&random) % 8) {
        case 0:
        case 1:
            change_segment(trace, size, &random);
            break;
        case 2:
            change_slab(trace, size, &random);
            break;
        case 3:
            change_room(trace, size, &random);
            break;
        case 4:
            put(trace + offsetof(struct xft_file_header, file_bytes), edge(&random, size), 8);
            break;
        case 5:
            trace[next(&random) % size] ^= (uint8_t)(1u << next(&random) % 8);
            break;
        default:
            change_stretch(trace, size, &random);
        }
    }
    size_t unit = next(&random) % 2 ? 512 : 8;
    return next(&random) % 4 ? size : next(&random) % (size / unit + 1) * unit;
}
