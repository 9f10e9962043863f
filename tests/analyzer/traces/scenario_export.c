/* Runs of what exports have to tell apart. */
#include <stdio.h>

#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/traces/scenario_report.h"

enum { STREAM = 1, LEAKED = 1100, STEPS = 1100, LEVELS = 40, PASSES = 3 };
enum { TEXT_LEAK = 1, TEXT_STEP, TEXT_EPOCH, TEXT_FORGOTTEN, TEXT_DOMAIN, TEXT_LEVEL };
enum { SITE_STEP = 10, SITE_LEVEL, SITE_EPOCH };

static void range(struct play *play, unsigned kind, uint64_t domain, uint64_t name, uint64_t id)
{
    struct xft_event event = {.kind = (uint8_t)kind, .src = domain, .aux = name, .dst = id};
    play_event(play, event, 100);
}

static void copy(struct play *play, unsigned stack)
{
    play_copy(play, stack, XFT_DIR_H2D, XFT_MEM_PINNED, 4096, 3000);
}

static void texts(struct trace_builder *b)
{
    char text[32];
    build_text(b, TEXT_LEAK, "leak");
    build_text(b, TEXT_STEP, "step");
    build_text(b, TEXT_EPOCH, "epoch");
    build_text(b, TEXT_FORGOTTEN, "forgotten");
    build_text(b, TEXT_DOMAIN, "Trainer");
    for (unsigned i = 0; i < LEVELS; i++) {
        snprintf(text, sizeof text, "level %02u", i);
        build_text(b, TEXT_LEVEL + i, text);
    }
}

/* A library starts a range in each step, and ends none. */
static void steps(struct play *play)
{
    for (unsigned i = 0; i < STEPS; i++) {
        if (i < LEAKED)
            range(play, XFT_EVENT_RANGE_BEGIN, 0, TEXT_LEAK, 100 + i);
        range(play, XFT_EVENT_RANGE_BEGIN, 0, TEXT_STEP, 0);
        copy(play, SITE_STEP);
        range(play, XFT_EVENT_RANGE_END, 0, 0, 0);
    }
}

static void levels(struct play *play)
{
    for (unsigned pass = 0; pass < PASSES; pass++) {
        for (unsigned i = 0; i < LEVELS; i++)
            range(play, XFT_EVENT_RANGE_BEGIN, i % 2 ? TEXT_DOMAIN : 0, TEXT_LEVEL + i, 0);
        copy(play, SITE_LEVEL);
        for (unsigned i = LEVELS; i-- > 0;)
            range(play, XFT_EVENT_RANGE_END, i % 2 ? TEXT_DOMAIN : 0, 0, 0);
    }
}

/* More open ranges than were followed once, deeper, ended by another thread, or never. */
void scenario_ranges(struct trace_builder *b, const char *variant)
{
    struct play play;
    (void)variant;
    play_start(&play, b, 4730);
    texts(b);
    play_site(&play, SITE_STEP, "step", 401);
    play_site(&play, SITE_LEVEL, "level", 402);
    play_site(&play, SITE_EPOCH, "epoch", 403);
    range(&play, XFT_EVENT_RANGE_BEGIN, 0, TEXT_EPOCH, 1);
    steps(&play);
    play.lane = LANE_OTHER;
    levels(&play);
    copy(&play, SITE_EPOCH);
    range(&play, XFT_EVENT_RANGE_END, 0, 0, 1);
    range(&play, XFT_EVENT_RANGE_END, 0, 0, 2); /* what never began */
    range(&play, XFT_EVENT_RANGE_BEGIN, 0, TEXT_FORGOTTEN, 0);
    copy(&play, SITE_EPOCH);
    play_end(&play, XFT_STATE_CLOSED);
}

/* ---- calls that move nothing ----------------------------------------------------------------- */

static void kernel(struct play *play, uint32_t correlation)
{
    struct xft_event event = {.kind = XFT_EVENT_KERNEL, .correlation = correlation};
    unsigned lane = play->lane;
    play->lane = LANE_DEVICE;
    play_event(play, event, 700);
    play->lane = lane;
}

/* Each kind of copy once as it should be, failed, captured, and of no bytes; a kernel that was
 * launched, and one whose launch is not there. */
void scenario_moved_nothing(struct trace_builder *b, const char *variant)
{
    static const uint8_t directions[] = {XFT_DIR_H2D, XFT_DIR_D2H};
    struct play play;
    (void)variant;
    play_start(&play, b, 4731);
    play_site(&play, SITE_STEP, "step", 401);
    for (unsigned i = 0; i < sizeof directions; i++) {
        enum xft_direction direction = directions[i];
        play_async(&play, SITE_STEP, direction, XFT_MEM_PINNED, 1000 + i, 500);
        struct xft_event *event =
            play_copy(&play, SITE_STEP, direction, XFT_MEM_PINNED, 20000, 900);
        event->flags |= XFT_FAILED;
        event->status = 1;
        event = play_async(&play, SITE_STEP, direction, XFT_MEM_PINNED, 300000, 0);
        event->flags |= XFT_CAPTURED;
        play_copy(&play, SITE_STEP, direction, XFT_MEM_PINNED, 0, 100);
        play_copy(&play, SITE_STEP, direction, XFT_MEM_PAGEABLE, 50 + i, 700);
    }
    play_event(&play, (struct xft_event){.kind = XFT_EVENT_LAUNCH, .correlation = 500}, 300);
    kernel(&play, 500);
    kernel(&play, 501);
    play_end(&play, XFT_STATE_CLOSED);
}

/* ---- waits by queries ------------------------------------------------------------------------ */

static void polled(struct play *play, uint32_t queries, uint64_t polled_ns, uint64_t worked_ns)
{
    const struct xft_event query = {.kind = XFT_EVENT_QUERY,
                                    .aux = XFT_SYNC_STREAM,
                                    .device = 0,
                                    .stack = queries ? SITE_STEP : 0,
                                    .count = queries,
                                    .width = polled_ns,
                                    .dst = queries ? xft_polled(60000, true, worked_ns) : 0};
    play_async(play, SITE_STEP, XFT_DIR_D2H, XFT_MEM_PINNED, 100000, 42000);
    play->now += polled_ns;
    play_event(play, query, 500);
}

/* Three of 100 us, in which the thread slept, worked, and nobody knows; and one query alone. */
void scenario_polled(struct trace_builder *b, const char *variant)
{
    struct play play;
    (void)variant;
    play_start(&play, b, 4731);
    play_site(&play, SITE_STEP, "step", 401);
    polled(&play, 10, 100000, 2000);
    polled(&play, 11, 100000, 90000);
    polled(&play, 12, 100000, 0);
    play.lanes[LANE_MAIN].events[play.lanes[LANE_MAIN].count - 1].dst = xft_polled(60000, false, 0);
    polled(&play, 0, 0, 0);
    play_end(&play, XFT_STATE_CLOSED);
}
