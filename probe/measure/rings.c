#include "probe/measure/rings.h"

enum { LEAST_BUFFER_BYTES = 64 << 10, MOST_BUFFER_BYTES = 8 << 20 };

static size_t step_of(bool quick)
{
    return quick ? 4 : 2;
}

size_t xfp_list_rings(bool quick, size_t bytes, struct xfp_staged_cell *cells)
{
    size_t step = step_of(quick), count = 0;

    for (size_t size = LEAST_BUFFER_BYTES; size <= MOST_BUFFER_BYTES; size *= step)
        for (uint32_t n = 2; n <= XFP_MOST_BUFFERS; n *= (uint32_t)step) {
            bool needed = size == LEAST_BUFFER_BYTES || size < bytes;

            if (needed && (n == 2 || n / (uint32_t)step * size < bytes))
                cells[count++] =
                    (struct xfp_staged_cell){.bytes = bytes, .buffer_bytes = size, .buffers = n};
        }
    return count;
}

size_t xfp_ring_bytes(bool quick, size_t most)
{
    const size_t rings = (size_t)XFP_MOST_BUFFERS * MOST_BUFFER_BYTES;
    const size_t fixed = (size_t)XFP_STAGED_BUFFERS * XFP_STAGED_BUFFER_BYTES;
    size_t ring = step_of(quick) * most;

    ring = ring < rings ? ring : rings;
    ring = ring > fixed ? ring : fixed;
    return ring > most ? ring : most;
}
