/*
 * A run of ops made by hand, written as a script of steps and played on the simulated GPU. For the
 * test program alone, which includes it once.
 */
#ifndef PLAY_BY_HAND_H
#define PLAY_BY_HAND_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "analyzer/remeasure/play_list.h"
#include "tests/analyzer/lab/hand_ops.h"

/* Of the simulated machine: a call, a launch. */
enum { MOST = 64, CALL = 200, LAUNCH = 2000, SITE = 1 };

#define US 1000.0
#define MIB (1u << 20)

struct test {
    struct xfp_play *play;
    struct xfa_run run;
    struct xfa_places places;
    struct xfa_analysis analysis;
    struct xfw_op ops[MOST];
    size_t count;
};

static struct xfw_op *add(struct test *t, struct xfw_op op)
{
    assert_true(t->count < MOST);
    op.number = t->count;
    t->ops[t->count] = op;
    return &t->ops[t->count++];
}

static struct xfw_op *host(struct test *t, double gap)
{
    struct xfw_op *op = add(t, hand_op(XFW_CALL, XFT_EVENT_NONE, 0));
    op->gap_ns = gap;
    return op;
}

static struct xfw_op *kernel(struct test *t, uint32_t stream, double ns)
{
    return add(t, hand_work(XFW_KERNEL, stream, LAUNCH, LAUNCH, ns));
}

static struct xfw_op *sync_device(struct test *t)
{
    struct xfw_op *op = add(t, hand_wait(0));
    op->own_ns = CALL;
    return op;
}

static struct xfw_op *on_event(struct test *t, enum xfw_what what, uint32_t stream, uint32_t event)
{
    struct xfw_op *op =
        add(t, hand_op(what, what == XFW_CALL ? XFT_EVENT_SYNC : XFT_EVENT_RECORD, CALL));
    op->stream = stream;
    op->event = event;
    if (what == XFW_CALL || what == XFW_QUERY)
        op->awaits = XFW_AWAITS_EVENT;
    return op;
}

/* Classes by number: copies to the device from pageable and from pinned memory, both blocking, from
 * pinned memory asynchronously, to the host the same way, batches. */
enum { PAGEABLE, PINNED, ASYNC, DOWN, BATCH, REGISTERED, CLASSES };

static void make_classes(struct xfa_analysis *analysis)
{
    struct xfa_class_key keys[CLASSES] = {
        {.row = {.src_mem = XFT_MEM_PAGEABLE}},
        {.row = {.src_mem = XFT_MEM_PINNED}},
        {.row = {.src_mem = XFT_MEM_PINNED, .async = 1}},
        {.row = {.dst_mem = XFT_MEM_PINNED, .async = 1, .direction = XFT_DIR_D2H}},
        {.row = {.src_mem = XFT_MEM_PINNED, .async = 1}, .shape = XFA_BATCH},
        {.row = {.src_mem = XFT_MEM_REGISTERED, .async = 1}},
    };
    xfa_classes_init(&analysis->classes, NULL, NULL);
    for (size_t i = 0; i < CLASSES; i++) {
        struct xfa_row_key *row = &keys[i].row;
        if (i != DOWN)
            row->direction = XFT_DIR_H2D;
        *(i == DOWN ? &row->src_mem : &row->dst_mem) = XFT_MEM_DEVICE;
        row->src_gpu = i == DOWN ? 0 : -1;
        row->dst_gpu = i == DOWN ? -1 : 0;
        keys[i].src_node = keys[i].dst_node = -1;
        xfa_class_put(&analysis->classes, &keys[i]);
    }
}

static struct xfw_op *copy(struct test *t, uint32_t class, uint32_t stream, uint64_t bytes,
                           double ns)
{
    struct xfw_op *op = add(t, hand_work(XFW_COPY, stream, LAUNCH, LAUNCH, ns));
    op->class = class;
    op->bytes = bytes;
    op->src = class == DOWN ? 0x7000000000 : 0x5000;
    op->dst = class == DOWN ? 0x5000 : 0x7000000000;
    op->engine = class == DOWN ? XFW_TO_HOST : XFW_TO_DEVICE;
    return op;
}

/* ---- writing and playing --------------------------------------------------------------------- */

/* One script, and what the schedule has for it. */
struct written {
    struct xfa_play_script *script;
    double model_ns;
};

static struct written write_script(struct test *t, struct xfa_play_setting *setting,
                                   struct xfw_change *change, uint64_t last_op, double end_ns)
{
    struct xfa_process process = {.number = 0};
    struct written written = {.script = xfa_play_script_new(setting, last_op, end_ns)};
    struct xfw_tap tap = xfa_play_script_tap(written.script);
    struct xfw_player *player = xfw_player_new(&process, &change, change ? 1 : 0, XFW_LIKELY);
    xfw_player_tap(player, &tap);
    tap.process(tap.self, &process);
    for (size_t i = 0; i < t->count; i++) {
        struct xfw_op op = t->ops[i];
        xfw_op_alone(&op);
        xfw_player_op(player, &op);
    }
    const struct xfw_schedule *schedule = xfw_player_schedule(player);
    written.model_ns = xfw_schedule_total(schedule, 0);
    tap.end(tap.self, &process, schedule, written.model_ns);
    xfw_player_free(player);
    return written;
}

static void begin(struct test *t, struct xfa_play_setting *setting)
{
    xfa_play_setting_init(setting, &t->analysis.classes, &t->places);
}

static double play(struct test *t, struct xfa_play_setting *setting, struct xfa_play_script *script)
{
    struct xfp_play_stage stage;
    struct xfp_played played;
    char error[240] = "";
    xfa_play_stage_make(setting, &stage);
    if (xfp_play_prepare(t->play, &stage, error, sizeof error) != 0)
        fail_msg("%s", error);
    xfa_play_stage_free(&stage);
    if (xfp_play_run(t->play, xfa_play_script_list(script), &played) != 0)
        fail_msg("%s", played.why);
    assert_int_equal(played.failed, 0);
    return played.wall_ns + xfa_play_script_account(script).skipped_ns;
}

/* What it takes when it is played, less what it takes by the schedule. */
static double off(struct test *t, struct xfw_change *change)
{
    struct xfa_play_setting setting;
    begin(t, &setting);
    struct written written = write_script(t, &setting, change, UINT64_MAX, INFINITY);
    struct xfa_play_account account = xfa_play_script_account(written.script);
    assert_null(account.why);
    assert_true(account.whole);
    assert_true(account.model_ns == written.model_ns);
    double took = play(t, &setting, written.script);
    xfa_play_script_free(written.script);
    xfa_play_setting_free(&setting);
    return took - written.model_ns;
}

static int begin_test(void **state)
{
    struct test *t = xfa_alloc(sizeof *t);
    char error[240] = "";
    t->play = xfp_play_open(error, sizeof error);
    if (!t->play)
        fail_msg("%s", error);
    t->places = (struct xfa_places){.run = &t->run, .here = &xfp_play_machine(t->play)->machine};
    make_classes(&t->analysis);
    *state = t;
    return 0;
}

static int end_test(void **state)
{
    struct test *t = *state;
    xfp_free(xfp_play_close(t->play));
    xfa_classes_free(&t->analysis.classes);
    free(t);
    return 0;
}

#endif
