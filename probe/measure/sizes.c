#include "probe/measure/sizes.h"

size_t xfp_sweep_sizes(const struct xfp_probe_options *options, uint64_t *sizes, size_t room)
{
    int step = options->quick ? 2 : 1;
    size_t count = 0;

    for (int power = 0; power < 63 && count < room; power += step) {
        uint64_t bytes = 1ull << power;

        if (bytes >= options->min_bytes && bytes <= options->max_bytes)
            sizes[count++] = bytes;
    }
    return count;
}

static bool one_size(const struct xfp_session *s)
{
    return s->options->min_bytes == s->options->max_bytes;
}

size_t xfp_coarse_most(const struct xfp_session *s, uint64_t most)
{
    return one_size(s) || s->sys.most_bytes < most ? s->sys.most_bytes : most;
}

size_t xfp_coarse_sizes(const struct xfp_session *s, uint64_t least, uint64_t most, uint64_t *sizes,
                        size_t room)
{
    int shift = s->options->quick ? 4 : 2;
    size_t count = 0;

    if (one_size(s) && s->options->min_bytes >= least) {
        sizes[0] = s->options->min_bytes;
        return sizes[0] <= most;
    }
    for (uint64_t bytes = least; bytes <= most && count < room; bytes <<= shift)
        if (bytes >= s->options->min_bytes && bytes <= s->options->max_bytes)
            sizes[count++] = bytes;
    return count;
}

size_t xfp_add_large_sizes(const struct xfp_session *s, uint64_t *sizes, size_t count, size_t room)
{
    static const uint64_t large[] = {UINT64_C(64) << 20, UINT64_C(256) << 20};

    for (size_t i = 0; i < sizeof(large) / sizeof(*large) && count > 0 && count < room; i++)
        if (!s->options->sized && large[i] > sizes[count - 1])
            sizes[count++] = large[i];
    return count;
}

bool xfp_has_sizes(const struct xfp_session *s, uint64_t least, uint64_t most)
{
    uint64_t one;

    if (one_size(s))
        return s->options->min_bytes >= least;
    return xfp_coarse_sizes(s, least, most, &one, 1);
}

/* ---- rings of staged copies ------------------------------------------------------------------ */

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
