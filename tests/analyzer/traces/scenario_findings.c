#include <stdlib.h>
#include <string.h>

#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/traces/scenario_report.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define MOST_COMPARED (1u << 20) /* transfers, by the analyzer */

enum {
    SITE_PIECES = 10, /* and the six behind it */
    SITE_RESULT = 20,
    SITE_PINNED,
    SITE_TINY_UP,
    SITE_TINY_DOWN,
    SITE_TINY_BOTH,
    SITE_ASYNC,
    SITE_OTHER_GPU,
    SITE_PYTHON,
    SITE_GENERATED,
    SITE_TORCH_UP,
    SITE_TORCH_DOWN,
    SITE_TORCH_PINNED,
    SITE_BACKWARD,
};

/* A stack of PyTorch that differs from the others' in libtorch, without a name there. */
static void torch_site(struct trace_builder *b, unsigned stack)
{
    build_stack(
        b, stack,
        (uint64_t[]){0x7f1000001000, 0x7f2000001000, 0x7f3000002000 + 16 * stack, 0x7f4000001000},
        4);
}

static void sites(struct play *play)
{
    static const char *const pieces[] = {"piece_a", "piece_b", "piece_c", "piece_d",
                                         "piece_e", "piece_f", "piece_g"};
    uint64_t python = XFT_PYTHON_FRAME | 0x10, engine = 0x7f3000005000;
    uint64_t generated = XFT_PYTHON_FRAME | 0x20, library = XFT_PYTHON_FRAME | 0x30;
    uint64_t frozen = XFT_PYTHON_FRAME | 0x40;
    struct trace_builder *b = play->b;
    for (unsigned i = 0; i < 7; i++)
        play_site(play, SITE_PIECES + i, pieces[i], 100 + i);
    play_site(play, SITE_RESULT, "fetch_result", 201);
    play_site(play, SITE_PINNED, "upload_pinned", 202);
    play_site(play, SITE_TINY_UP, "upload_tiny", 203);
    play_site(play, SITE_TINY_DOWN, "fetch_tiny", 204);
    play_site(play, SITE_TINY_BOTH, "upload_tiny_at_times", 205);
    play_site(play, SITE_ASYNC, "upload_async", 206);
    play_site(play, SITE_OTHER_GPU, "upload_other_gpu", 207);
    build_symbol(b, python, 0, "load_batch", "/home/user/train.py", 12, "");
    build_symbol(b, generated, 0, "<lambda>", "<string>", 1, "");
    build_symbol(b, library, 0, "to", "/usr/lib/python3.11/site-packages/torch/tensor.py", 8, "");
    build_symbol(b, frozen, 0, "_call", "<frozen importlib>", 241, "");
    build_stack(b, SITE_PYTHON,
                (uint64_t[]){0x7f1000001000, 0x7f3000001000, frozen, library, generated, python,
                             0x7f4000001000},
                7);
    build_stack(b, SITE_GENERATED,
                (uint64_t[]){0x7f1000001000, 0x7f3000001000, library, generated, frozen}, 5);
    torch_site(b, SITE_TORCH_UP);
    torch_site(b, SITE_TORCH_DOWN);
    torch_site(b, SITE_TORCH_PINNED);
    build_symbol(b, engine, 0, "torch::autograd::Engine::thread_main(int)", "", 0,
                 "/usr/lib/libtorch_cpu.so");
    build_stack(b, SITE_BACKWARD, (uint64_t[]){0x7f1000001000, 0x7f3000001000, engine}, 3);
}

/* ---- pageable, synchronous, small --------------------------------------------------------- */

static void blocking_copies(struct play *play)
{
    for (unsigned i = 0; i < 7; i++)
        for (unsigned times = 0; times <= i; times++)
            play_copy(play, SITE_PIECES + i, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 4 * MIB + i,
                      400000 + 30000 * i);
    play_copy(play, SITE_RESULT, XFT_DIR_D2H, XFT_MEM_PAGEABLE, 2 * MIB, 700000);
    play_copy(play, SITE_PINNED, XFT_DIR_H2D, XFT_MEM_PINNED, 3 * MIB, 180000);
    play_async(play, SITE_ASYNC, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 5 * MIB, 0)->end_ns += 600000;
    play->now += 600000;
    struct xft_event *other =
        play_copy(play, SITE_OTHER_GPU, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 6 * MIB, 550000);
    other->dst_place = other->device = 1;
}

static void small_copies(struct play *play)
{
    for (unsigned i = 0; i < 50; i++)
        play_async(play, SITE_TINY_UP, XFT_DIR_H2D, XFT_MEM_PINNED, 128, 0);
    for (unsigned i = 0; i < 60; i++)
        play_async(play, SITE_TINY_DOWN, XFT_DIR_D2H, XFT_MEM_PINNED, 64, 3000);
    for (unsigned i = 0; i < 20; i++)
        play_async(play, SITE_TINY_BOTH, XFT_DIR_H2D, XFT_MEM_PINNED, 256, 3100);
    play_copy(play, SITE_PINNED, XFT_DIR_H2D, XFT_MEM_PINNED, 3 * MIB, 190000); /* ends the run */
    for (unsigned i = 0; i < 20; i++)
        play_async(play, SITE_TINY_BOTH, XFT_DIR_H2D, XFT_MEM_PINNED, 256, 0);
}

static void torch_copies(struct play *play)
{
    for (unsigned i = 0; i < 30; i++) {
        play_async(play, SITE_TORCH_UP, XFT_DIR_H2D, XFT_MEM_PINNED, 512, 3300);
        play->now += 10;
    }
    for (unsigned i = 0; i < 30; i++)
        play_async(play, SITE_TORCH_DOWN, XFT_DIR_D2H, XFT_MEM_PINNED, 32, 3400);
    play_copy(play, SITE_TORCH_DOWN, XFT_DIR_D2H, XFT_MEM_PAGEABLE, 8 * MIB, 900000);
    play_copy(play, SITE_TORCH_PINNED, XFT_DIR_H2D, XFT_MEM_PINNED, 7 * MIB, 390000);
    play_copy(play, SITE_PYTHON, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 9 * MIB, 1100000);
    play_copy(play, SITE_GENERATED, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 6 * MIB, 800000);
    play_copy(play, SITE_BACKWARD, XFT_DIR_D2H, XFT_MEM_PAGEABLE, 1 * MIB, 260000);
}

void scenario_findings(struct trace_builder *b, const char *variant)
{
    struct play play;
    (void)variant;
    play_start(&play, b, 4721);
    sites(&play);
    blocking_copies(&play);
    small_copies(&play);
    torch_copies(&play);
    play_end(&play, XFT_STATE_CLOSED);
}

/* ---- contents ------------------------------------------------------------------------------- */

struct contents {
    struct play play;
    bool sampled;
    unsigned times; /* as many bytes */
    enum xft_memory memory;
};

/* One copy, and the hash of what it moved. `at` is the device's address. */
static void moved(struct contents *c, unsigned stack, enum xft_direction direction, uint64_t at,
                  uint64_t bytes, uint64_t hash)
{
    uint64_t ns = 50000 + 1000 * c->play.lanes[LANE_MAIN].count;
    struct xft_event *call = play_copy(&c->play, stack, direction, c->memory, bytes, ns);
    *(direction == XFT_DIR_H2D ? &call->dst : &call->src) = at;
    struct xft_event content = {.kind = XFT_EVENT_CONTENT,
                                .bytes = bytes,
                                .src = call->src,
                                .dst = call->dst,
                                .aux = hash,
                                .width = c->sampled ? bytes / 4 : bytes,
                                .count = 700};
    uint64_t start = call->start_ns;
    play_event(&c->play, content, 0)->start_ns = start;
}

static void repeated(struct contents *c)
{
    for (unsigned i = 0; i < 4; i++)
        moved(c, SITE_PIECES, XFT_DIR_H2D, 0x1000000, c->times * 256 * KIB, 11);
    moved(c, SITE_PIECES + 1, XFT_DIR_H2D, 0x1000000, c->times * 256 * KIB, 11);
    for (unsigned i = 0; i < 3; i++)
        moved(c, SITE_PYTHON, XFT_DIR_H2D, 0x2000000, c->times * 512 * KIB, 22);
    for (unsigned i = 0; i < 3; i++)
        moved(c, SITE_RESULT, XFT_DIR_D2H, 0x3000000, c->times * 128 * KIB, 33);
}

static void returned(struct contents *c)
{
    moved(c, SITE_RESULT, XFT_DIR_D2H, 0x4000000, 1 * MIB, 44);
    moved(c, SITE_PINNED, XFT_DIR_H2D, 0x4800000, 1 * MIB, 44);
    moved(c, SITE_PIECES + 2, XFT_DIR_H2D, 0x5000000, 2 * MIB, 55);
    moved(c, SITE_PIECES + 3, XFT_DIR_D2H, 0x5000000, 2 * MIB, 55);
}

/* To another place, and one of which no time is known. */
static void duplicate(struct contents *c)
{
    moved(c, SITE_PIECES + 4, XFT_DIR_H2D, 0x6000000, 256 * KIB, 11);
    moved(c, SITE_ASYNC, XFT_DIR_H2D, 0x7000000, 300 * KIB, 66);
    moved(c, SITE_ASYNC, XFT_DIR_H2D, 0x7800000, 300 * KIB, 66);
    struct play_lane *lane = &c->play.lanes[LANE_MAIN];
    lane->events[lane->count - 2].flags = XFT_ASYNC;
    moved(c, SITE_PIECES + 5, XFT_DIR_H2D, 0x8000000, 512, 77); /* too small to be shown */
    moved(c, SITE_PIECES + 5, XFT_DIR_H2D, 0x8000000, 512, 77);
}

/* What was there is written by a copy without a hash, or freed: it is sent to "another place". */
static void forgotten(struct contents *c)
{
    play_copy(&c->play, SITE_PIECES + 5, XFT_DIR_H2D, XFT_MEM_PINNED, 128 * KIB, 50500)->dst =
        0x1000000;
    moved(c, SITE_PIECES + 6, XFT_DIR_H2D, 0x1000000, 256 * KIB, 11);
    struct xft_event freed = {.kind = XFT_EVENT_FREE, .dst = 0x2000000, .bytes = 512 * KIB};
    play_event(&c->play, freed, 400);
    moved(c, SITE_PIECES + 6, XFT_DIR_H2D, 0x2000000, 512 * KIB, 22);
    struct xft_event lonely = {.kind = XFT_EVENT_CONTENT, .bytes = 4096, .aux = 88, .width = 4096};
    play_event(&c->play, lonely, 0); /* its transfer was lost */
}

void scenario_contents(struct trace_builder *b, const char *variant)
{
    struct contents c = {
        .sampled = strcmp(variant, "sampled") == 0, .times = 1, .memory = XFT_MEM_PINNED};
    if (strcmp(variant, "large") == 0) {
        c.times = 4;
        c.memory = XFT_MEM_PAGEABLE;
    }
    bool refused = strcmp(variant, "refused") == 0, killed = strcmp(variant, "killed") == 0;
    play_start(&c.play, b, 4722);
    sites(&c.play);
    build_meta(b, "content", refused ? "off" : c.sampled ? "sampled" : "whole");
    if (refused)
        build_meta(b, "content.why", "no memory for it");
    if (!refused && !killed)
        build_meta(b, "content.ns", "1");
    if (!refused && strcmp(variant, "whole") != 0) {
        build_meta(b, "content.skipped.budget", killed ? "0" : "3");
        build_meta(b, "content.skipped.shape", killed ? "0" : "4");
    }
    if (strcmp(variant, "simulated") == 0)
        build_meta(b, "gpu.simulated", "1");
    if (!refused) {
        repeated(&c);
        returned(&c);
        duplicate(&c);
        forgotten(&c);
    }
    play_end(&c.play, killed ? XFT_STATE_RECORDING : XFT_STATE_CLOSED);
}

void scenario_many_contents(struct trace_builder *b, const char *variant)
{
    static struct xft_event events[8 * XFT_SLAB_EVENTS];
    const size_t room = sizeof events / sizeof *events, all = MOST_COMPARED + 1;
    (void)variant;
    build_start(b, 4723);
    scenario_names(b);
    build_meta(b, "content", "whole");
    build_meta(b, "content.skipped.full", "9");
    for (size_t i = 0; i < room; i++)
        events[i] = (struct xft_event){.kind = XFT_EVENT_CONTENT, .bytes = 4096, .width = 4096};
    for (size_t done = 0; done < all; done += room) {
        for (size_t i = 0; i < room; i++)
            events[i].start_ns = events[i].end_ns = TEST_START_NS + done + i;
        build_events(b, 0, done, events, all - done < room ? all - done : room);
    }
    build_close(b, XFT_STATE_CLOSED, 2 * TEST_START_NS);
}
