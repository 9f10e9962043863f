/*
 * Copies that are really made: from which memory to which, by which call.
 */
#include <math.h>
#include <string.h>

#include "analyzer/remeasure/play_script.h"
#include "xferscope/trace.h"

/* ---- copies ---------------------------------------------------------------------------------- */

/* How a copy is to be made. */
struct ends {
    enum xft_direction direction;
    struct xfa_play_kind src, dst;
    uint32_t row_bytes; /* 0: one piece, as a change may have made it */
    bool peer;
};

static const struct xfa_play_locked *locked_at(const struct xfa_play_script *script,
                                               uint64_t address)
{
    for (size_t i = script->locked_count; i-- > 0;)
        if (address - script->locked[i].address < script->locked[i].bytes)
            return &script->locked[i];
    return NULL;
}

/* Registered memory is pageable memory that was registered, where that was seen. */
static struct xfa_play_kind host_kind(const struct xfa_play_script *script,
                                      const struct xfa_class_key *class, const struct xfw_op *op,
                                      bool is_source)
{
    const struct xfp_path *path = op->path;
    uint8_t memory = is_source ? class->row.src_mem : class->row.dst_mem;
    int node = is_source ? class->src_node : class->dst_node;
    if (path) {
        const struct xfp_place *place = is_source ? &path->src : &path->dst;
        memory = (uint8_t)place->memory;
        node = place->numa >= 0 ? place->numa : node;
    }
    if (memory == XFT_MEM_REGISTERED && locked_at(script, is_source ? op->src : op->dst))
        return xfa_play_pageable;
    if (memory == XFT_MEM_REGISTERED)
        memory = XFT_MEM_PINNED;
    return (struct xfa_play_kind){memory, 0, -1, (int16_t)node};
}

static bool can_be_made(const struct xfa_play_kind *kind)
{
    return kind->memory == XFT_MEM_DEVICE || kind->memory == XFT_MEM_PAGEABLE ||
           kind->memory == XFT_MEM_PINNED || kind->memory == XFT_MEM_WRITE_COMBINED ||
           kind->memory == XFT_MEM_MAPPED;
}

static bool ends_of(const struct xfa_play_script *script, const struct xfw_op *op,
                    struct ends *ends)
{
    if (op->class == XFW_NONE)
        return false;
    const struct xfa_class_key *class = &xfa_class_at(script->setting->classes, op->class)->key;
    bool up = class->row.direction == XFT_DIR_H2D, down = class->row.direction == XFT_DIR_D2H;
    bool in_one = class->shape == XFA_LINEAR || (class->shape == XFA_STRIDED && op->row_bytes);
    uint64_t rows = op->path ? op->path->row_bytes : op->row_bytes;
    ends->row_bytes = rows && op->bytes % rows == 0 ? (uint32_t)rows : 0;
    ends->direction = (enum xft_direction) class->row.direction;
    ends->src =
        up ? host_kind(script, class, op, true) : xfa_play_device_kind(script, class->row.src_gpu);
    ends->dst = down ? host_kind(script, class, op, false)
                     : xfa_play_device_kind(script, class->row.dst_gpu);
    ends->peer = op->path ? !strstr(op->path->name, "no-peer") : class->peer == XFA_PEER_ON;
    bool within = ends->direction == XFT_DIR_D2D, between = ends->direction == XFT_DIR_P2P;
    if ((within || between) && (class->row.src_mem != XFT_MEM_DEVICE ||
                                class->row.dst_mem != XFT_MEM_DEVICE || op->row_bytes))
        return false;
    return (up || down || within || between) && in_one && can_be_made(&ends->src) &&
           can_be_made(&ends->dst) && (!up || class->row.dst_mem == XFT_MEM_DEVICE) &&
           (!down || class->row.src_mem == XFT_MEM_DEVICE);
}

/* Is what it takes that of a copy of these bytes between these places? */
static bool is_itself(const struct xfw_op *op, const struct xfw_op *recorded)
{
    return !recorded || op->path || op->bytes != recorded->bytes ||
           fabs(op->duration_ns - recorded->duration_ns) < XFA_PLAY_SAME_NS;
}

static void enable_peers(struct xfa_play_script *script, const struct ends *ends)
{
    int a = ends->src.gpu, b = ends->dst.gpu;
    for (size_t i = 0; i < script->pair_count; i++)
        if (script->pairs[i].from == a && script->pairs[i].to == b)
            return;
    if (a == b || script->pair_count + 2 > XFA_PLAY_PAIRS)
        return;
    script->pairs[script->pair_count++] = (struct xfp_play_pair){a, b};
    script->pairs[script->pair_count++] = (struct xfp_play_pair){b, a};
}

/* The call was one that blocks, and no change has made it an asynchronous one. */
static bool blocks(const struct xfa_play_script *script, const struct xfw_op *op,
                   const struct xfw_op *recorded)
{
    bool async = xfa_class_at(script->setting->classes, op->class)->key.row.async;
    bool let_go = !recorded || (recorded->awaits != op->awaits && op->awaits == XFW_AWAITS_NOTHING);
    return op->awaits == XFW_AWAITS_ITSELF ? !async || op->path : !async && !let_go;
}

void xfa_play_copy(struct xfa_play_script *script, struct xfa_play_thread *thread,
                   const struct xfw_op *op, const struct xfw_op *recorded)
{
    struct xfa_play_memory *memory = &script->setting->memory;
    struct ends ends;
    if (op->bytes == 0 || !ends_of(script, op, &ends) || !is_itself(op, recorded)) {
        xfa_play_use_device(script, xfa_play_device(script, op->gpu));
        xfa_play_copy_for(script, thread, op);
        return;
    }
    struct xfp_play_step *made = xfa_play_work_step(script, thread, op, XFP_PLAY_COPY);
    made->amount = op->bytes;
    made->row_bytes = ends.row_bytes;
    const uint64_t spread = ends.row_bytes ? 2 : 1;
    made->src = xfa_play_memory_use(memory, &ends.src, made->device, op->src, op->bytes * spread);
    made->dst = xfa_play_memory_use(memory, &ends.dst, made->device, op->dst, op->bytes * spread);
    made->src_at = op->src;
    made->dst_at = op->dst;
    made->flags = blocks(script, op, recorded) ? XFP_PLAY_BLOCKS : 0;
    if (ends.direction == XFT_DIR_P2P && ends.peer)
        enable_peers(script, &ends);
}
