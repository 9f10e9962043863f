#include "tests/analyzer/traces/scenario_replay.h"

#include "tests/analyzer/traces/play.h"

enum { SITE = 10 };

static void play_rows(struct play *play)
{
    struct xft_event *call =
        play_async(play, SITE, XFT_DIR_H2D, XFT_MEM_PINNED, REPLAY_ROWS, 20000);
    call->width = REPLAY_ROW;
}

static void play_others(struct play *play)
{
    struct xft_event *call =
        play_async(play, SITE, XFT_DIR_H2D, XFT_MEM_PINNED, REPLAY_BATCH, 9000);
    call->count = 4;
    call = play_copy(play, SITE, XFT_DIR_H2H, XFT_MEM_PAGEABLE, REPLAY_WITHIN, 1000);
    call->src_mem = call->dst_mem = XFT_MEM_PAGEABLE;
    call = play_async(play, SITE, XFT_DIR_D2D, XFT_MEM_DEVICE, REPLAY_WITHIN, 3000);
    call->src_mem = call->dst_mem = XFT_MEM_DEVICE;
    call->src_place = call->dst_place = 0;
}

void scenario_replay(struct trace_builder *b, bool simulated)
{
    struct play play;
    play_start(&play, b, 1);
    if (simulated)
        build_meta(b, "gpu.simulated", "1");
    play_site(&play, SITE, "step", 1);
    for (int i = 0; i < 20; i++)
        play_copy(&play, SITE, XFT_DIR_H2D, XFT_MEM_PAGEABLE, REPLAY_PAGEABLE, 400000);
    for (int i = 0; i < 30; i++)
        play_async(&play, SITE, XFT_DIR_H2D, XFT_MEM_PINNED, REPLAY_PINNED, 60000);
    for (int i = 0; i < 5; i++)
        play_copy(&play, SITE, XFT_DIR_D2H, XFT_MEM_PINNED, REPLAY_DOWN, 30000);
    for (int i = 0; i < 4; i++)
        play_rows(&play);
    play_others(&play);
    play_end(&play, XFT_STATE_CLOSED);
}

void scenario_replay_two(struct trace_builder *b)
{
    struct play play;
    struct xft_event *call;
    play_start(&play, b, 1);
    build_meta(b, "gpu.simulated", "1");
    build_meta(b, "gpu.count", "2");
    build_meta(b, "gpu.1.name", "Test GPU");
    build_meta(b, "gpu.1.uuid", "GPU-11111111-1111-2222-3333-444444444444");
    play_site(&play, SITE, "step", 1);
    for (int i = 0; i < 3; i++) {
        call = play_async(&play, SITE, XFT_DIR_H2D, XFT_MEM_PINNED, REPLAY_FAR, 0);
        call->src_place = 0;
        call->dst_place = call->device = 1;
        play_device_copy(&play, call, 50000);
    }
    for (int i = 0; i < 2; i++) {
        call = play_async(&play, SITE, XFT_DIR_P2P, XFT_MEM_DEVICE, REPLAY_PEER, 0);
        call->src_mem = call->dst_mem = XFT_MEM_DEVICE;
        call->src_place = 0;
        call->dst_place = 1;
    }
    play_end(&play, XFT_STATE_CLOSED);
}
