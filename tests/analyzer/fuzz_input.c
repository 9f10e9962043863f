#include "tests/analyzer/fuzz_input.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "xferscope/trace.h"

enum { MEND_SUMS = 1, ADD_ZEROS = 2, ADD_SLAB = 4, ROOM = 640 * 1024 };
enum { FIRST_SLAB = 2 * XFT_HEADER_BYTES, COPIED = 16384 };

static void mend_header(uint8_t *file, size_t size)
{
    struct xft_file_header header;
    if (size < sizeof header)
        return;
    memcpy(&header, file, sizeof header);
    header.checksum = XXH3_64bits(&header, offsetof(struct xft_file_header, checksum));
    memcpy(file, &header, sizeof header);
}

static void mend_segments(uint8_t *file, size_t size)
{
    struct xft_segment head;
    for (size_t at = XFT_HEADER_BYTES; at + sizeof head <= size; at += 8) {
        memcpy(&head, file + at, sizeof head);
        if (head.magic != XFT_SEGMENT_MAGIC)
            continue;
        if (head.stored_bytes <= size - at - sizeof head)
            head.payload_sum = XXH3_64bits(file + at + sizeof head, head.stored_bytes);
        head.header_sum = XXH3_64bits(&head, offsetof(struct xft_segment, header_sum));
        memcpy(file + at, &head, sizeof head);
    }
}

/* As if another thread, or the same, had gone on in the next slab. */
static void add_slab(uint8_t *file, size_t size, unsigned how)
{
    struct xft_slab slab;
    if (size < ROOM)
        return;
    uint8_t *to = file + FIRST_SLAB + XFT_SLAB_BYTES;
    memcpy(to, file + FIRST_SLAB, COPIED);
    memcpy(&slab, to, sizeof slab);
    slab.lane ^= how & 1;
    slab.first_seq += how / 2 * 8;
    memcpy(to, &slab, sizeof slab);
}

uint8_t *fuzz_trace(const uint8_t *data, size_t size, size_t *bytes)
{
    if (size < 1)
        return NULL;
    size_t trace = size - 1;
    *bytes = data[0] & ADD_ZEROS && trace < ROOM ? ROOM : trace;
    uint8_t *file = calloc(1, *bytes ? *bytes : 1);
    memcpy(file, data + 1, trace);
    if (data[0] & ADD_SLAB)
        add_slab(file, *bytes, data[0] >> 4);
    if (data[0] & MEND_SUMS) {
        mend_header(file, *bytes);
        mend_segments(file, *bytes);
    }
    return file;
}
