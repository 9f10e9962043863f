/*
 * Access to the counters of the file header that losses.def lists.
 */
#ifndef XFERSCOPE_LOSSES_H
#define XFERSCOPE_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "xferscope/trace.h"

enum xft_loss {
#define XFT_LOSS(name, field, json, metric, what, one) XFT_LOSS_##name,
#include "xferscope/losses.def"
#undef XFT_LOSS
    XFT_LOSS_COUNT
};

static inline uint64_t *xft_loss_at(struct xft_file_header *header, enum xft_loss loss)
{
    static const size_t offsets[XFT_LOSS_COUNT] = {
#define XFT_LOSS(name, field, json, metric, what, one) offsetof(struct xft_file_header, field),
#include "xferscope/losses.def"
#undef XFT_LOSS
    };
    return (uint64_t *)((unsigned char *)header + offsets[loss]);
}

static inline uint64_t xft_loss_of(const struct xft_file_header *header, enum xft_loss loss)
{
    return *xft_loss_at((struct xft_file_header *)header, loss);
}

#endif
