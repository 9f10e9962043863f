/*
 * Memory that a run takes and gives back: allocations, registrations, and their ends.
 */
#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/remeasure/play_script.h"
#include "xferscope/trace.h"

#define MOST_LOCKED 4096

static void add_alloc(struct xfa_play_script *script, struct xfa_play_thread *thread,
                      const struct xfw_op *op, int device)
{
    struct xfa_play_slot *slot = xfa_table_put(&script->slots, &op->dst);
    slot->slot = (uint32_t)script->slots_used++;
    slot->taken = true;
    if (script->slots_used > script->setting->slots)
        script->setting->slots = script->slots_used;
    struct xfp_play_step *made =
        xfa_play_call_step(script, thread, XFP_PLAY_ALLOC, device, op->own_ns);
    made->memory = op->memory;
    made->amount = op->bytes;
    made->dst = slot->slot;
    slot->by = xfa_play_now(script, thread);
}

static bool add_free(struct xfa_play_script *script, struct xfa_play_thread *thread,
                     const struct xfw_op *op, int device)
{
    struct xfa_play_slot *slot = xfa_table_get(&script->slots, &op->dst);
    if (!slot || !slot->taken)
        return false;
    xfa_play_after(script, thread, slot->by);
    xfa_play_call_step(script, thread, XFP_PLAY_FREE, device, op->own_ns)->dst = slot->slot;
    slot->taken = false;
    return true;
}

static bool add_register(struct xfa_play_script *script, struct xfa_play_thread *thread,
                         const struct xfw_op *op, int device)
{
    if (script->locked_count == MOST_LOCKED || op->bytes == 0)
        return false;
    struct xfp_play_step *made =
        xfa_play_call_step(script, thread, XFP_PLAY_REGISTER, device, op->own_ns);
    made->amount = op->bytes;
    made->dst = xfa_play_memory_use(&script->setting->memory, &xfa_play_pageable, device, op->dst,
                                    op->bytes);
    made->dst_at = op->dst;
    script->locked = xfa_room(script->locked, &script->locked_capacity, script->locked_count + 1,
                              sizeof *script->locked);
    script->locked[script->locked_count++] =
        (struct xfa_play_locked){op->dst, op->bytes, made->dst, xfa_play_now(script, thread)};
    return true;
}

static bool add_unregister(struct xfa_play_script *script, struct xfa_play_thread *thread,
                           const struct xfw_op *op, int device)
{
    for (size_t i = 0; i < script->locked_count; i++) {
        struct xfa_play_locked locked = script->locked[i];
        if (locked.address != op->dst)
            continue;
        xfa_play_after(script, thread, locked.by);
        struct xfp_play_step *made =
            xfa_play_call_step(script, thread, XFP_PLAY_UNREGISTER, device, op->own_ns);
        made->amount = locked.bytes;
        made->dst = locked.kind;
        made->dst_at = locked.address;
        script->locked[i] = script->locked[--script->locked_count];
        return true;
    }
    return false;
}

/* What a change page-locks besides, and unlocks: what that takes is found out. */
static bool add_pin(struct xfa_play_script *script, struct xfa_play_thread *thread,
                    const struct xfw_op *op, int device)
{
    if (op->bytes == 0)
        return false;
    struct xfp_play_step *made = xfa_play_call_step(script, thread, XFP_PLAY_PIN, device, 0);
    made->amount = op->bytes;
    made->dst =
        xfa_play_memory_use(&script->setting->memory, &xfa_play_pageable, device, 0, op->bytes);
    return true;
}

static bool is_memory(const struct xfw_op *op)
{
    return op->kind == XFT_EVENT_ALLOC || op->kind == XFT_EVENT_FREE ||
           op->kind == XFT_EVENT_REGISTER || op->kind == XFT_EVENT_UNREGISTER;
}

/* A change has taken it out; what is left of its time is no call's. */
bool xfa_play_gone(const struct xfw_op *op, const struct xfw_op *recorded)
{
    return recorded && is_memory(op) &&
           (fabs(op->own_ns - recorded->own_ns) > XFA_PLAY_SAME_NS ||
            op->awaits != recorded->awaits);
}

/* Allocations, registrations and their ends; false: it is none, or was taken out. */
bool xfa_play_memory_call(struct xfa_play_script *script, struct xfa_play_thread *thread,
                          const struct xfw_op *op, const struct xfw_op *recorded)
{
    int device = xfa_play_device(script, op->gpu);
    if (!is_memory(op) || xfa_play_gone(op, recorded) || op->pooled)
        return false;
    xfa_play_use_device(script, device);
    if (op->made_up)
        return op->kind == XFT_EVENT_REGISTER && add_pin(script, thread, op, device);
    if (op->kind == XFT_EVENT_ALLOC && op->bytes > 0 && script->slots_used < XFA_PLAY_MOST_STEPS) {
        add_alloc(script, thread, op, device);
        return true;
    }
    return op->kind == XFT_EVENT_FREE ? add_free(script, thread, op, device)
           : op->kind == XFT_EVENT_REGISTER
               ? add_register(script, thread, op, device)
               : op->kind == XFT_EVENT_UNREGISTER && add_unregister(script, thread, op, device);
}
