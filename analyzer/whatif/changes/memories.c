#include "analyzer/whatif/changes/memories.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

/* ---- memory of a process --------------------------------------------------------------------- */

#define KIND_BITS 8 /* of what a block keeps: its kind, and above it the site */

void xfw_memories_free(struct xfw_memories *memories)
{
    xfa_blocks_free(&memories->blocks);
}

static void add(struct xfw_memories *memories, uint64_t now, uint64_t first, uint64_t bytes,
                unsigned kind, uint32_t by)
{
    uint32_t kept = by < XFW_NO_SITE ? by : XFW_NO_SITE;
    if (first == 0 || bytes == 0)
        return;
    xfa_blocks_pass(&memories->blocks, now);
    xfa_blocks_add(&memories->blocks, first, xfa_add(first, bytes),
                   kept << KIND_BITS | (kind & ((1u << KIND_BITS) - 1)));
}

void xfw_memories_event(struct xfw_memories *memories, const struct xfa_event *event)
{
    if (event->kind == XFT_EVENT_ALLOC || event->kind == XFT_EVENT_REGISTER)
        add(memories, event->start_ns, event->memory.address, event->bytes, event->dst_mem,
            event->stack ? event->stack : XFW_NO_SITE);
    else if (event->kind == XFT_EVENT_FREE || event->kind == XFT_EVENT_UNREGISTER)
        xfa_blocks_end(&memories->blocks, event->memory.address, event->start_ns);
}

void xfw_memories_op(struct xfw_memories *memories, const struct xfw_op *op)
{
    uint64_t now = op->start_ns > 0 ? (uint64_t)op->start_ns : 0;
    if (op->kind == XFT_EVENT_ALLOC || op->kind == XFT_EVENT_REGISTER)
        add(memories, now, op->dst, op->bytes, op->memory, op->site);
    else if (op->kind == XFT_EVENT_FREE || op->kind == XFT_EVENT_UNREGISTER)
        xfa_blocks_end(&memories->blocks, op->dst, now);
}

bool xfw_memories_find(const struct xfw_memories *memories, uint64_t address,
                       struct xfw_memory *memory)
{
    const struct xfa_block *block = xfa_blocks_find(&memories->blocks, address);
    if (!block)
        return false;
    *memory = (struct xfw_memory){
        .first = block->address,
        .end = block->end,
        .kind = (enum xft_memory)(block->stack & ((1u << KIND_BITS) - 1)),
        .by = block->stack >> KIND_BITS,
    };
    return true;
}

/* ---- what kernels are given ------------------------------------------------------------------ */

bool xfw_launch_pointer(const struct xfa_process *process, uint64_t id, uint32_t k,
                        uint64_t *pointer)
{
    const struct xfa_arguments *arguments =
        id && process->trace ? xfa_trace_arguments(process->trace, id) : NULL;
    if (!arguments || k >= arguments->count)
        return false;
    *pointer = xfa_arguments_pointer(arguments, k);
    return true;
}

static enum xfw_writes signature_writes(const struct xfa_signature *signature, uint32_t pointers,
                                        uint32_t k)
{
    if (!signature->known || signature->others || signature->deep)
        return XFW_MAY_WRITE;
    if (signature->writes == 0)
        return XFW_READS;
    if (signature->pointers != pointers)
        return XFW_MAY_WRITE;
    return signature->writes >> k & 1 ? XFW_WRITES : XFW_READS;
}

static struct xfa_signature signature_of(const struct xfa_process *process, uint64_t name)
{
    const struct xfa_text *text = process->trace ? xfa_trace_text(process->trace, name) : NULL;
    struct xfa_signature signature = {0};
    if (!text)
        return signature;
    char *kept = xfa_kept(text->text, text->bytes);
    signature = xfa_signature_of(kept);
    free(kept);
    return signature;
}

enum xfw_writes xfw_writes(const struct xfa_process *process, uint64_t name, uint64_t id,
                           uint32_t k)
{
    const struct xfa_arguments *arguments =
        id && process->trace ? xfa_trace_arguments(process->trace, id) : NULL;
    struct xfa_signature signature = signature_of(process, name);
    return arguments ? signature_writes(&signature, arguments->count, k) : XFW_MAY_WRITE;
}

enum xfw_writes xfw_signatures_ask(struct xfw_signatures *signatures,
                                   const struct xfa_process *process, uint64_t name,
                                   uint32_t pointers, uint32_t k)
{
    unsigned place = name % XFW_SIGNATURES;
    if (name == 0)
        return XFW_MAY_WRITE;
    if (signatures->of[place].name != name) {
        signatures->of[place].name = name;
        signatures->of[place].signature = signature_of(process, name);
    }
    return signature_writes(&signatures->of[place].signature, pointers, k);
}

enum xfw_given_host xfw_given_host(const struct xfw_memories *memories,
                                   const struct xfa_process *process, uint64_t id)
{
    uint64_t pointer;
    struct xfw_memory memory;
    if (!xfw_launch_pointer(process, id, 0, &pointer))
        return id == 0 ? XFW_GIVEN_UNKNOWN : XFW_GIVEN_NONE;
    if (memories->blocks.count == 0)
        return XFW_GIVEN_NONE;
    for (uint32_t k = 0; xfw_launch_pointer(process, id, k, &pointer); k++)
        if (xfw_memories_find(memories, pointer, &memory) && memory.kind != XFT_MEM_DEVICE &&
            memory.kind != XFT_MEM_ARRAY)
            return XFW_GIVEN_HOST;
    return XFW_GIVEN_NONE;
}
