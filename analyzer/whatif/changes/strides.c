#include "analyzer/whatif/changes/strides.h"

#include <stddef.h>

/* Do `bytes` at `address` meet one of `count` rows? */
static bool meets(uint64_t address, uint64_t bytes, uint64_t base, uint64_t step,
                  const struct xfw_stride *rows)
{
    uint64_t behind = rows->count - 1;
    if ((int64_t)step < 0) {
        base += behind * step;
        step = -step;
    }
    if (address + bytes <= base)
        return false;
    uint64_t number =
        step ? (address + bytes - 1 - base) / step : 0; /* the last that begins there */
    number = number < behind ? number : behind;
    return base + number * step + rows->bytes > address;
}

static bool depends(const struct xfw_stride *rows, uint64_t src, uint64_t dst, uint64_t bytes)
{
    return meets(src, bytes, rows->dst, rows->dst_step, rows) ||
           meets(dst, bytes, rows->dst, rows->dst_step, rows) ||
           meets(dst, bytes, rows->src, rows->src_step, rows);
}

/* As a pitch is: at least the row's length. Rows that go backwards can be copied the other way. */
static bool is_pitch(uint64_t src_step, uint64_t dst_step, uint64_t bytes)
{
    int64_t src = (int64_t)src_step, dst = (int64_t)dst_step, row = (int64_t)bytes;
    return (src >= row && dst >= row) || (src <= -row && dst <= -row);
}

static bool goes_on(struct xfw_stride *rows, uint64_t src, uint64_t dst, uint64_t bytes)
{
    if (bytes != rows->bytes)
        return false;
    if (rows->count == 1) {
        uint64_t src_step = src - rows->src, dst_step = dst - rows->dst;
        if (!is_pitch(src_step, dst_step, bytes))
            return false;
        rows->src_step = src_step;
        rows->dst_step = dst_step;
    }
    if (src != rows->src + rows->count * rows->src_step ||
        dst != rows->dst + rows->count * rows->dst_step)
        return false;
    rows->count++;
    return true;
}

bool xfw_strides_take(struct xfw_strides *strides, uint64_t src, uint64_t dst, uint64_t bytes)
{
    struct xfw_stride *last = strides->count ? &strides->items[strides->count - 1] : NULL;
    for (unsigned i = 0; i < strides->count; i++)
        if (depends(&strides->items[i], src, dst, bytes))
            return false;
    if (last && goes_on(last, src, dst, bytes))
        return true;
    bool rows = strides->count == 1 && last->count >= XFW_LEAST_ROWS;
    if (rows || strides->count == XFW_MOST_STRIDES)
        return false;
    strides->items[strides->count++] =
        (struct xfw_stride){.src = src, .dst = dst, .bytes = bytes, .count = 1};
    return true;
}
