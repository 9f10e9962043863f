#include "tools/simgpu/gpu/effect.h"

#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/gpu/known_kernels.h"
#include "tools/simgpu/gpu/range.h"

static bool still_there(const struct sim_side *side)
{
    return side->memory != XFT_MEM_DEVICE || sim_range_at(side->start);
}

static void do_copies(const struct sim_copy *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (still_there(&list[i].src) && still_there(&list[i].dst))
            sim_copy_move(&list[i]);
}

static void do_fill(const struct sim_fill *f)
{
    for (size_t y = 0; sim_range_at(f->dst) && y < f->height; y++) {
        uint8_t *row = f->dst + y * f->pitch;

        if (f->element == 1)
            memset(row, (int)f->value, f->width);
        else
            for (size_t x = 0; x < f->width; x++)
                memcpy(row + x * f->element, &f->value, f->element);
    }
}

void sim_effect_do(const struct sim_op *op)
{
    struct sim_range *range;

    switch (op->kind) {
    case SIM_OP_COPY:
        do_copies(sim_op_copies(op), op->u.copy.count);
        break;
    case SIM_OP_MEMSET:
        do_fill(&op->u.fill);
        break;
    case SIM_OP_KERNEL:
        if (op->u.kernel.function->known >= 0)
            sim_known_do(&op->u.kernel);
        break;
    case SIM_OP_FREE:
        range = sim_range_at((void *)op->u.address);
        if (range && (uint64_t)range->start == op->u.address)
            sim_range_free(range);
        break;
    case SIM_OP_WRITE:
        memcpy(op->u.write.address, &op->u.write.value, op->u.write.bytes);
        break;
    default: /* they have a place in the order, no effect */
        break;
    }
}

static bool is_upload_of_pageable(const struct sim_copy *copy)
{
    return copy->src.memory == XFT_MEM_PAGEABLE && copy->dst.device >= 0;
}

/* Copies the source to `to`, rows without gaps, and takes that for the source; returns its end. */
static uint8_t *stage(struct sim_copy *copy, uint8_t *to)
{
    struct sim_copy down = *copy;

    copy->src.start = down.dst.start = to;
    copy->src.pitch = down.dst.pitch = copy->width;
    copy->src.slice = down.dst.slice = copy->width * copy->height;
    sim_copy_move(&down);
    return to + sim_copy_bytes(copy);
}

bool sim_stage(struct sim_op *op)
{
    struct sim_copy *list = op->u.copy.count > 1 ? op->u.copy.list : &op->u.copy.one;
    size_t bytes = 0;
    uint8_t *to;

    if (op->kind != SIM_OP_COPY || !op->asynchronous)
        return true;
    for (size_t i = 0; i < op->u.copy.count; i++)
        bytes += is_upload_of_pageable(&list[i]) ? sim_copy_bytes(&list[i]) : 0;
    to = op->staged = bytes ? malloc(bytes) : NULL;
    for (size_t i = 0; to && i < op->u.copy.count; i++)
        if (is_upload_of_pageable(&list[i]))
            to = stage(&list[i], to);
    return !bytes || op->staged;
}
