#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/analyzer/traces/scenario_report.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Each kind of event at each time, for each time's length, of each size in turn. */
static void times(struct trace_builder *b)
{
    static const uint8_t kinds[] = {
        XFT_EVENT_TRANSFER, XFT_EVENT_DEVICE_COPY, XFT_EVENT_KERNEL,      XFT_EVENT_MEMSET,
        XFT_EVENT_SYNC,     XFT_EVENT_MIGRATION,   XFT_EVENT_RANGE_BEGIN, XFT_EVENT_RANGE_END,
        XFT_EVENT_ALLOC,    XFT_EVENT_FAULT,       XFT_EVENT_LAUNCH,      XFT_EVENT_PERIOD + 1};
    static const uint64_t moments[] = {0,
                                       1,
                                       TEST_START_NS,
                                       TEST_START_NS + 1000,
                                       INT64_MAX,
                                       UINT64_C(1) << 63,
                                       UINT64_MAX - 1,
                                       UINT64_MAX};
    static const uint64_t sizes[] = {1, 4096, 0, UINT64_C(1) << 63, UINT64_MAX, INT64_MAX};
    static const int16_t places[] = {0, 1, XFT_PLACE_UNKNOWN, XFT_PLACE_HOST, INT16_MAX, INT16_MIN};
    struct xft_event events[COUNT(kinds) * COUNT(moments) * COUNT(moments)];
    for (unsigned i = 0; i < COUNT(events); i++) {
        unsigned kind = i % COUNT(kinds), at = i / COUNT(kinds);
        events[i] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE,
                                  sizes[i % COUNT(sizes)], moments[at / COUNT(moments)], 0);
        events[i].end_ns = moments[at % COUNT(moments)];
        events[i].kind = kinds[kind];
        events[i].device = places[i % COUNT(places)];
        events[i].dst_place = places[(i + at) % COUNT(places)];
        events[i].correlation = i % 2 ? UINT32_MAX : i / COUNT(kinds);
        events[i].stack = i % 5;
        if (kinds[kind] >= XFT_EVENT_KERNEL)
            events[i].src = events[i].aux = i % 3;
    }
    build_events(b, 0, 0, events, COUNT(events));
}

/* More than an export keeps: ranges whose names and domains come when there is no room left. */
static void texts(struct trace_builder *b)
{
    enum { TEXTS = 6000, BYTES = 1024 };
    static struct xft_event events[3 * TEXTS];
    char text[BYTES + 1];
    size_t count = 0;
    for (unsigned i = 1; i <= TEXTS; i++) {
        memset(text, 1, BYTES); /* shown or escaped it is six times as long, or eight */
        text[snprintf(text, sizeof text, "%c%u", i > TEXTS / 2 ? 'd' : 'n', i)] = 1;
        text[BYTES] = 0;
        build_text(b, i, text);
    }
    for (unsigned i = 1; i <= TEXTS / 2; i++) {
        struct xft_event range = {.kind = XFT_EVENT_RANGE_BEGIN,
                                  .start_ns = TEST_START_NS + 10 * i,
                                  .aux = i,
                                  .src = i + TEXTS / 2};
        events[count++] = range;
        range.kind = XFT_EVENT_RANGE_END;
        range.start_ns += 5;
        events[count++] = range;
    }
    build_events(b, 0, 0, events, count);
}

void scenario_absurd(struct trace_builder *b, const char *variant)
{
    build_start(b, 4730);
    scenario_names(b);
    if (strcmp(variant, "texts") == 0)
        texts(b);
    else
        times(b);
    if (strcmp(variant, "late") == 0) /* the clock of the day is beyond all years */
        b->header.start_real_ns = UINT64_MAX - 5;
    if (strcmp(variant, "early") == 0)
        b->header.start_real_ns = 1;
    build_close(b, XFT_STATE_CLOSED, 0);
}
