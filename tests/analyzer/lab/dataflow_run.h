/*
 * A run of copies that leave their stream's order, made by hand. Copies and kernels take 100 ns
 * each, calls nothing, unless it is said otherwise. start() makes it empty, finish() frees it.
 */
#ifndef DATAFLOW_RUN_H
#define DATAFLOW_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/changes.h"
#include "tests/analyzer/lab/hand_ops.h"

enum { MOST = 128, NS = 100, BYTES = 1000, POINTERS = 8 };
enum { UP, DOWN, PAGEABLE_UP, CLASSES };
enum { HOST = 0x10000, DEVICE = 0x50000, OTHER = 0x90000 };

struct run {
    struct xfa_analysis analysis;
    struct xfa_trace trace;
    struct xfa_process process;
    struct xfa_run of_machine;
    struct xfp_profile profile;
    struct xfp_overlap overlap;
    struct xfp_scalar costs[2];
    uint64_t given[POINTERS];
    uint32_t given_count;
    struct xfw_op ops[MOST];
    size_t count;
};

static inline void start(struct run *run)
{
    static const uint8_t kinds[CLASSES][3] = {
        [UP] = {XFT_DIR_H2D, XFT_MEM_PINNED, XFT_MEM_DEVICE},
        [DOWN] = {XFT_DIR_D2H, XFT_MEM_DEVICE, XFT_MEM_PINNED},
        [PAGEABLE_UP] = {XFT_DIR_H2D, XFT_MEM_PAGEABLE, XFT_MEM_DEVICE},
    };
    *run = (struct run){.count = 0};
    run->process.trace = &run->trace;
    run->overlap = (struct xfp_overlap){.copy_engines = 2};
    run->costs[0] = (struct xfp_scalar){.name = "event/record/gpu0", .cost = {.median = 2}};
    run->costs[1] = (struct xfp_scalar){.name = "event/wait/gpu0", .cost = {.median = 1}};
    run->profile = (struct xfp_profile){
        .overlap = &run->overlap, .overlap_count = 1, .scalars = run->costs, .scalar_count = 2};
    run->analysis.profile = run->analysis.achievable.profile = &run->profile;
    run->analysis.achievable.run = &run->of_machine;
    run->analysis.achievable.tables = xfa_profile_tables_new(&run->profile);
    xfa_table_init(&run->trace.names.arguments, sizeof(uint32_t), sizeof(struct xfa_arguments));
    xfa_classes_init(&run->analysis.classes, NULL, NULL);
    for (size_t i = 0; i < CLASSES; i++) {
        struct xfa_class_key key = {
            .row = {.direction = kinds[i][0], .src_mem = kinds[i][1], .dst_mem = kinds[i][2]}};
        xfa_class_put(&run->analysis.classes, &key);
    }
}

static inline void finish(struct run *run)
{
    xfa_table_free(&run->trace.names.arguments);
    xfa_classes_free(&run->analysis.classes);
    xfa_profile_tables_free(run->analysis.achievable.tables);
}

static inline struct xfw_op *add(struct run *run, struct xfw_op op)
{
    run->ops[run->count] = op;
    return &run->ops[run->count++];
}

static inline struct xfw_op *copy(struct run *run, uint32_t class, uint64_t src, uint64_t dst)
{
    struct xfw_op *op = add(run, hand_work(XFW_COPY, 0, 0, 0, NS));
    op->engine = class == DOWN ? XFW_TO_HOST : XFW_TO_DEVICE;
    op->class = class;
    op->src = src;
    op->dst = dst;
    op->bytes = BYTES;
    return op;
}

static inline struct xfw_op *up(struct run *run, uint64_t src, uint64_t dst)
{
    return copy(run, UP, src, dst);
}

static inline struct xfw_op *down(struct run *run, uint64_t src, uint64_t dst)
{
    return copy(run, DOWN, src, dst);
}

/* Given this pointer alone; 0: not known what. */
static inline struct xfw_op *kernel(struct run *run, uint64_t pointer)
{
    struct xfw_op *op = add(run, hand_work(XFW_KERNEL, 0, 0, 0, NS));
    if (pointer) {
        uint32_t id = run->given_count + 1;
        struct xfa_arguments *arguments = xfa_table_put(&run->trace.names.arguments, &id);
        run->given[run->given_count] = pointer;
        arguments->count = 1;
        arguments->pointers = (const unsigned char *)&run->given[run->given_count++];
        op->arguments = id;
    }
    return op;
}

static inline void sync(struct run *run)
{
    add(run, hand_wait(0));
}

static inline void allocate(struct run *run, uint64_t address, uint64_t bytes)
{
    struct xfw_op *op = add(run, hand_op(XFW_CALL, XFT_EVENT_ALLOC, 0));
    op->dst = address;
    op->bytes = bytes;
}

static inline double before(struct run *run)
{
    return hand_play_in(&run->process, run->ops, run->count, NULL, XFW_LIKELY);
}

static inline double flow(struct run *run, unsigned buffers, bool to_device,
                          enum xfw_certainty certainty)
{
    struct xfw_change *change = xfw_change_dataflow(
        &run->analysis, &(struct xfw_dataflow_terms){.buffers = buffers, .to_device = to_device});
    double end = hand_play_in(&run->process, run->ops, run->count, change, certainty);
    xfw_change_free(change);
    return end;
}

static inline double with(struct run *run, unsigned buffers)
{
    return flow(run, buffers, true, XFW_LIKELY);
}

static inline double one_way(struct run *run)
{
    return flow(run, 2, false, XFW_LIKELY);
}

#endif
