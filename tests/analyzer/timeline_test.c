/* The timeline's parts: what is merged, in which order it goes, whose time it is, whose buffers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/html/html.h"
#include "analyzer/timeline/pack.h"
#include "analyzer/timeline/timeline.h"
#include "common/text.h"
#include "tests/analyzer/lab/about.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/lab/random_below.h"
#include "tests/analyzer/traces/scenario.h"

/* ---- tracks ---------------------------------------------------------------------------------- */

struct sums {
    uint64_t count, bytes, busy, slices;
};

static struct sums sums_of(const struct xfa_tracks *tracks)
{
    struct sums sums = {0};
    for (size_t i = 0; i < tracks->table.count; i++) {
        const struct xfa_track *track = xfa_tracks_at(tracks, i);
        for (size_t k = 0; k < track->count; k++) {
            const struct xfa_slice *slice = &track->slices[k];
            assert_true(slice->start <= slice->end);
            assert_true(k == 0 || slice->start >= track->slices[k - 1].start);
            /* What was merged lies within the resolution. */
            uint64_t resolution =
                xfa_track_is_derived(&track->key) ? tracks->derived_resolution : tracks->resolution;
            assert_true(slice->count == 1 || slice->end - slice->start <= resolution);
            sums.count += slice->count;
            sums.bytes += slice->bytes;
            sums.busy += slice->busy;
        }
        sums.slices += track->count;
    }
    return sums;
}

/* The same slices, whatever the budget: short ones and long ones, that overlap, a few too late. */
static struct sums filled(size_t budget, size_t count, uint64_t *resolution)
{
    struct xfa_tracks tracks;
    uint64_t seed = 7, now = 0;
    xfa_tracks_init(&tracks, budget);
    for (size_t i = 0; i < count; i++) {
        struct xfa_track_key key = {.gpu = (int16_t)random_below(&seed, 3),
                                    .kind = (uint8_t)random_below(&seed, XFA_TRACK_KINDS)};
        uint64_t ns =
            random_below(&seed, 50) ? random_below(&seed, 2000) : random_below(&seed, 1000000);
        now += random_below(&seed, 3000);
        uint64_t start = now > 500 && random_below(&seed, 20) == 0 ? now - 500 : now;
        struct xfa_slice slice = {start, start + ns,
                                  1,     random_below(&seed, 1 << 20),
                                  ns,    (uint32_t)random_below(&seed, 4)};
        xfa_tracks_add(&tracks, &key, &slice);
        assert_true(tracks.slices <= budget);
    }
    xfa_tracks_finish(&tracks);
    struct sums sums = sums_of(&tracks);
    assert_int_equal(sums.slices, tracks.slices);
    *resolution = tracks.resolution;
    xfa_tracks_free(&tracks);
    return sums;
}

static void test_merged(void **state)
{
    const size_t count = 30000, budgets[] = {20000, 3000, 500, 40};
    uint64_t resolution, before = 0;
    struct sums all = filled(SIZE_MAX, count, &resolution);
    (void)state;
    assert_int_equal(all.count, count);
    assert_int_equal(all.slices, count); /* nothing is merged that need not be */
    assert_int_equal(resolution, 0);
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        struct sums sums = filled(budgets[i], count, &resolution);
        assert_int_equal(sums.count, all.count);
        assert_int_equal(sums.bytes, all.bytes);
        assert_int_equal(sums.busy, all.busy);
        assert_true(sums.slices <= budgets[i]);
        assert_true(sums.slices >= budgets[i] / 8); /* and not much more than need be */
        assert_true(resolution > before);
        assert_int_equal(resolution & (resolution - 1), 0);
        before = resolution;
    }
}

/* So that they take no more than that; what follows from others is merged before these. */
static void test_packed(void **state)
{
    struct xfa_tracks tracks;
    const struct xfa_track_key copies = {.gpu = 0, .kind = XFA_TRACK_COPIES},
                               host = {.gpu = -1, .kind = XFA_TRACK_HOST};
    struct xfa_packed packed = {0};
    (void)state;
    xfa_tracks_init(&tracks, SIZE_MAX);
    for (uint64_t i = 0; i < 10000; i++) {
        struct xfa_slice copy = {10000 * i, 10000 * i + 4000, 1, i % 3, 4000, 2};
        struct xfa_slice rest = {10000 * i + 4000, 10000 * i + 10000, 1, 0, 6000, XFA_NO_NAME};
        xfa_tracks_add(&tracks, &copies, &copy);
        xfa_tracks_add(&tracks, &host, &rest);
    }
    xfa_tracks_finish(&tracks);
    xfa_pack_track(&packed, xfa_tracks_at(&tracks, 0), 5, NULL);
    /* Five bytes each, and once for each kind what it is. */
    assert_int_equal(packed.count, 10000 * 5 + 3 * 3 - 1);
    static const unsigned char first[] = {5, 0xa0, 0x1f, 0, 1, 0, 3, 0x90, 0x4e, 0xa0, 0x1f, 0};
    assert_memory_equal(packed.bytes, first, sizeof first);
    static const unsigned char fourth[] = {0x90, 0x4e, 0xa0, 0x1f, 2 * 1};
    assert_memory_equal(packed.bytes + 23, fourth, sizeof fourth);
    free(packed.bytes);
    xfa_tracks_fit(&tracks, 70000);
    assert_int_equal(tracks.resolution, 0);
    assert_true(tracks.derived_resolution > 0);
    assert_int_equal(xfa_tracks_at(&tracks, 0)->count, 10000);
    xfa_tracks_fit(&tracks, 10000);
    assert_true(tracks.resolution > 0);
    assert_in_range(sums_of(&tracks).slices, 500, 4000);
    xfa_tracks_free(&tracks);
}

static void test_names_of_merged(void **state)
{
    struct xfa_tracks tracks;
    const struct xfa_track_key one = {.thread = 1}, other = {.thread = 2};
    (void)state;
    xfa_tracks_init(&tracks, 2);
    for (uint32_t i = 0; i < 4; i++) {
        struct xfa_slice slice = {10 * i, 10 * i + 5, 1, 0, 5, 3};
        xfa_tracks_add(&tracks, &one, &slice);
        slice.name = i;
        xfa_tracks_add(&tracks, &other, &slice);
    }
    assert_int_equal(xfa_tracks_at(&tracks, 0)->count, 1);
    assert_int_equal(xfa_tracks_at(&tracks, 0)->slices[0].name, 3);
    assert_int_equal(xfa_tracks_at(&tracks, 1)->count, 1);
    assert_int_equal(xfa_tracks_at(&tracks, 1)->slices[0].name, XFA_NO_NAME);
    xfa_tracks_free(&tracks);
}

static void test_many_tracks(void **state)
{
    struct xfa_tracks tracks;
    (void)state;
    xfa_tracks_init(&tracks, 100000);
    for (int32_t i = 0; i < 5000; i++) {
        struct xfa_track_key key = {.thread = i, .kind = (uint8_t)(i % XFA_TRACK_KINDS)};
        struct xfa_slice slice = {(uint64_t)i, (uint64_t)i + 1, 1, 1, 1, XFA_NO_NAME};
        xfa_tracks_add(&tracks, &key, &slice);
    }
    xfa_tracks_finish(&tracks);
    assert_int_equal(tracks.table.count, XFA_MOST_TRACKS + XFA_TRACK_KINDS);
    assert_int_equal(sums_of(&tracks).count, 5000);
    xfa_tracks_free(&tracks);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void test_order(void **state)
{
    const uint64_t count = 3 * XFA_ORDER_MOST;
    struct xfa_order order = {0};
    struct xfa_span span = {.bytes = 0};
    uint64_t seed = 3, before = 0, taken = 0;
    (void)state;
    for (uint64_t i = 0; i < count; i++) {
        span.start = 1000 * i + random_below(&seed, 1000 * (XFA_ORDER_MOST / 2));
        xfa_order_put(&order, &span);
        assert_true(order.waiting <= XFA_ORDER_MOST + 1);
        for (; xfa_order_take(&order, false, &span); taken++) {
            assert_true(span.start >= before);
            before = span.start;
        }
    }
    for (; xfa_order_take(&order, true, &span); taken++) {
        assert_true(span.start >= before);
        before = span.start;
    }
    assert_int_equal(taken, count);
    xfa_order_free(&order);
}

/* As from threads of which one is ahead of the other; of the same time as they came. */
static void test_order_of_rows(void **state)
{
    struct xfa_order order = {0};
    struct xfa_span span = {.bytes = 0};
    uint64_t before = 0, bytes = 0;
    (void)state;
    for (uint64_t i = 0; i < 4000; i++) {
        span.start = i / 100 % 2 ? i - i % 100 + 50000 : i - i % 100;
        span.bytes = i;
        xfa_order_put(&order, &span);
    }
    assert_int_equal(order.heap_count, 0);
    for (uint64_t i = 0; i < 4000; i++) {
        assert_true(xfa_order_take(&order, true, &span));
        assert_true(span.start > before || (span.start == before && span.bytes >= bytes));
        before = span.start;
        bytes = span.bytes;
    }
    assert_false(xfa_order_take(&order, true, &span));
    xfa_order_free(&order);
}

/* In whichever rows they lie. */
static void test_order_of_equals(void **state)
{
    static const uint64_t starts[] = {5, 9, 5, 1, 5}, taken[] = {3, 0, 2, 4, 1};
    struct xfa_order order = {0};
    struct xfa_span span = {.end = 10};
    (void)state;
    for (span.bytes = 0; span.bytes < 5; span.bytes++) {
        span.start = starts[span.bytes];
        xfa_order_put(&order, &span);
    }
    for (size_t i = 0; i < 5; i++) {
        assert_true(xfa_order_take(&order, true, &span));
        assert_int_equal(span.bytes, taken[i]);
    }
    xfa_order_free(&order);
}

/* ---- shares ---------------------------------------------------------------------------------- */

struct moment {
    enum xfa_activity activity;
    int gpu;
    uint64_t start, end;
};

static void add_moments(struct xfa_shares *shares, uint32_t process, const struct moment *moments,
                        size_t count, uint64_t end)
{
    xfa_shares_begin(shares, process);
    for (size_t i = 0; i < count; i++) {
        struct xfa_span span = {.activity = (uint8_t)moments[i].activity,
                                .gpu = (int16_t)moments[i].gpu,
                                .start = moments[i].start,
                                .end = moments[i].end};
        xfa_shares_add(shares, &span);
    }
    xfa_shares_end(shares, end);
}

static void hold(const struct xfa_shares *shares, double wall, const double wanted[XFA_SHARES])
{
    double of[XFA_SHARES], sum = 0;
    xfa_shares_of_run(shares, wall, of);
    for (unsigned i = 0; i < XFA_SHARES; i++) {
        sum += of[i];
        if (wanted)
            about(of[i], wanted[i]);
        assert_true(of[i] >= 0);
    }
    about(sum, wall);
}

static uint64_t busy_of(const struct xfa_tracks *tracks, enum xfa_track_kind kind, int gpu)
{
    uint64_t busy = 0;
    for (size_t i = 0; i < tracks->table.count; i++) {
        const struct xfa_track *track = xfa_tracks_at(tracks, i);
        for (size_t k = 0; k < track->count; k++)
            busy += track->key.kind == kind && track->key.gpu == gpu ? track->slices[k].busy : 0;
    }
    return busy;
}

static void test_shares(void **state)
{
    static const struct moment moments[] = {
        {XFA_ACTIVE_KERNEL, 0, 1000, 2000},   {XFA_ACTIVE_TRANSFER, 0, 1500, 2500},
        {XFA_ACTIVE_WAIT, -1, 2400, 3000},    {XFA_ACTIVE_KERNEL, 0, 5000, 6000},
        {XFA_ACTIVE_STALL, 0, 5000, 5300},    {XFA_ACTIVE_TRANSFER, 0, 7000, 7100},
        {XFA_ACTIVE_TRANSFER, 0, 7050, 7200}, {XFA_ACTIVE_TRANSFER, -1, 8000, 8100},
    };
    struct xfa_tracks tracks;
    struct xfa_shares shares = {.tracks = &tracks};
    (void)state;
    xfa_tracks_init(&tracks, 100);
    add_moments(&shares, 0, moments, sizeof moments / sizeof *moments, 10000);
    /* The one between places of the host is no GPU's. */
    hold(&shares, 10000, (double[]){1200, 500, 1000, 500, 0, 6800});
    assert_int_equal(busy_of(&tracks, XFA_TRACK_EXPOSED, 0), 1000);
    assert_int_equal(busy_of(&tracks, XFA_TRACK_HOST, -1), 6800);
    /* The run goes on without this process. */
    hold(&shares, 12000, (double[]){1200, 500, 1000, 500, 0, 8800});
    xfa_tracks_free(&tracks);
}

/* Each GPU's time; the mean of them. Until its first work it is the host's. */
static void test_shares_of_gpus(void **state)
{
    static const struct moment moments[] = {
        {XFA_ACTIVE_WAIT, -1, 0, 1000},
        {XFA_ACTIVE_KERNEL, 0, 100, 900},
        {XFA_ACTIVE_TRANSFER, 1, 2000, 2600},
        {XFA_ACTIVE_KERNEL, 0, 2000, 3000},
    };
    struct xfa_tracks tracks;
    struct xfa_shares shares = {.tracks = &tracks};
    (void)state;
    xfa_tracks_init(&tracks, 100);
    add_moments(&shares, 0, moments, sizeof moments / sizeof *moments, 4000);
    hold(&shares, 4000, (double[]){1800 / 2.0, 0, 600 / 2.0, 100 / 2.0, 0, (2100 + 3400) / 2.0});
    /* 0 to 100, 1000 to 2000, 3000 to 4000 */
    assert_int_equal(busy_of(&tracks, XFA_TRACK_HOST, -1), 2100);
    add_moments(&shares, 1, moments, 2, 1000); /* another process, of one GPU */
    hold(&shares, 4000, NULL);
    xfa_tracks_free(&tracks);
}

/* A call that launches a kernel is the time of all GPUs that have had work and have nothing to do,
 * unless a thread waits; in the host's track it is the host's. */
static void test_launches(void **state)
{
    static const struct moment moments[] = {
        {XFA_ACTIVE_LAUNCH, -1, 1000, 1400},  {XFA_ACTIVE_KERNEL, 0, 1300, 1500},
        {XFA_ACTIVE_LAUNCH, -1, 2000, 2500},  {XFA_ACTIVE_WAIT, -1, 2100, 2200},
        {XFA_ACTIVE_KERNEL, 1, 2500, 2900},   {XFA_ACTIVE_LAUNCH, -1, 2600, 2700},
        {XFA_ACTIVE_TRANSFER, 0, 2600, 2800},
    };
    struct xfa_tracks tracks;
    struct xfa_shares shares = {.tracks = &tracks};
    (void)state;
    xfa_tracks_init(&tracks, 100);
    add_moments(&shares, 0, moments, sizeof moments / sizeof *moments, 3000);
    hold(&shares, 3000,
         (double[]){(200 + 400) / 2.0, 0, 200 / 2.0, 100 / 2.0, 400 / 2.0,
                    (3000 - 200 - 200 - 100 - 400 + 3000 - 400) / 2.0});
    assert_int_equal(busy_of(&tracks, XFA_TRACK_HOST, -1), 3000 - 200 - 100 - 400);
    xfa_tracks_free(&tracks);
}

static void test_shares_add_up(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (unsigned round = 0; round < 50; round++) {
        struct moment moments[400];
        struct xfa_tracks tracks;
        struct xfa_shares shares = {.tracks = &tracks};
        uint64_t now = 0;
        xfa_tracks_init(&tracks, 50);
        for (size_t i = 0; i < 400; i++) {
            now += random_below(&seed, 100);
            uint64_t late = now > 50 && random_below(&seed, 30) == 0 ? 50 : 0;
            moments[i] = (struct moment){(enum xfa_activity)random_below(&seed, XFA_ACTIVITIES),
                                         (int)random_below(&seed, 4) - 1, now - late,
                                         now - late + random_below(&seed, 300)};
        }
        uint64_t end = now + random_below(&seed, 1000);
        struct xfa_shares alone = {.tracks = NULL}; /* nothing is drawn: the same shares */
        add_moments(&shares, 0, moments, 400, end);
        add_moments(&alone, 0, moments, 400, end);
        assert_memory_equal(alone.sums, shares.sums, sizeof shares.sums);
        hold(&shares, (double)now + 500, NULL);
        hold(&shares, (double)now / 2, NULL); /* the end of a killed process is not its last work */
        xfa_tracks_free(&tracks);
    }
}

static void test_no_gpu(void **state)
{
    struct xfa_tracks tracks;
    struct xfa_shares shares = {.tracks = &tracks};
    (void)state;
    xfa_tracks_init(&tracks, 50);
    add_moments(&shares, 0, NULL, 0, 1000);
    hold(&shares, 1000, (double[]){[XFA_SHARE_HOST] = 1000});
    xfa_tracks_free(&tracks);
}

/* From 500 to 2000, while one of two ranges was open; the second GPU has its first work within. */
static void test_shares_of_a_phase(void **state)
{
    struct xfa_process process = {.number = 0};
    struct xfa_shares shares = {.phases = xfa_phase_shares_new()};
    (void)state;
    for (unsigned round = 1; round <= 2; round++) { /* two processes */
        uint32_t phase = xfa_phase_number(shares.phases, 0);
        const struct xfa_span spans[] = {
            {.activity = XFA_ACTIVE_KERNEL, .gpu = 0, .start = 100, .end = 900},
            {.activity = XFA_PHASE_OPENS, .name = phase, .gpu = -1, .start = 500, .end = 500},
            {.activity = XFA_PHASE_OPENS, .name = phase, .gpu = -1, .start = 600, .end = 600},
            {.activity = XFA_PHASE_CLOSES, .name = phase, .gpu = -1, .start = 700, .end = 700},
            {.activity = XFA_ACTIVE_TRANSFER, .gpu = 1, .start = 1000, .end = 1600},
            {.activity = XFA_ACTIVE_WAIT, .gpu = -1, .start = 1500, .end = 2500},
            {.activity = XFA_ACTIVE_KERNEL, .gpu = 0, .start = 1800, .end = 3000},
            {.activity = XFA_PHASE_CLOSES, .name = phase, .gpu = -1, .start = 2000, .end = 2000},
            {.activity = XFA_PHASE_CLOSES, .name = phase, .gpu = -1, .start = 2100, .end = 2100},
        };
        const double wanted[XFA_SHARES] = {600, 0, 600, 700, 0, 1100};
        xfa_shares_begin(&shares, round - 1);
        for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
            xfa_shares_add(&shares, &spans[i]);
        xfa_shares_end(&shares, 4000);
        xfa_phase_shares_end(shares.phases, &shares, &process);
        const double *of = xfa_phase_shares_named(shares.phases, "(no name)");
        assert_non_null(of);
        for (unsigned i = 0; i < XFA_SHARES; i++)
            about(of[i], wanted[i] * round);
    }
    assert_null(xfa_phase_shares_named(shares.phases, "train"));
    for (uint64_t name = 0; name <= XFA_PHASES; name++)
        assert_int_equal(xfa_phase_number(shares.phases, name),
                         name < XFA_PHASES ? name : XFA_NO_PHASE);
    xfa_phase_shares_free(shares.phases);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void test_labels(void **state)
{
    struct xfa_labels labels;
    char text[2 * XFA_NAME_CHARS + 1];
    uint32_t code;
    (void)state;
    xfa_labels_init(&labels);
    for (size_t shift = 0; shift < 3; shift++) { /* never half of a character */
        memset(text, 'x', shift);
        for (size_t i = shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 4);
        const char *kept = xfa_labels_text(&labels, xfa_labels_put(&labels, text));
        size_t length = strlen(kept);
        assert_in_range(length, XFA_NAME_CHARS - 4, XFA_NAME_CHARS - 1);
        assert_int_equal(xfc_utf8(kept + length - 3, 3, &code), 3);
    }
    assert_int_equal(xfa_labels_put(&labels, "one"), xfa_labels_put(&labels, "one"));
    for (unsigned i = 0; i < 2 * XFA_MOST_NAMES; i++) {
        snprintf(text, sizeof text, "name %u", i);
        xfa_labels_put(&labels, text);
    }
    assert_int_equal(labels.table.count, XFA_MOST_NAMES);
    assert_int_equal(xfa_labels_put(&labels, "one more"), XFA_NO_NAME);
    xfa_labels_free(&labels);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static void at_address(struct xfa_buffers *buffers, enum xft_event_kind kind, uint64_t address,
                       uint64_t bytes, uint64_t now)
{
    const struct xfa_event event = {.kind = (uint8_t)kind,
                                    .memory = {.address = address},
                                    .bytes = bytes,
                                    .dst_mem = XFT_MEM_DEVICE,
                                    .start_ns = now,
                                    .end_ns = now};
    xfa_buffers_event(buffers, &event);
}

static void upload_to(struct xfa_buffers *buffers, uint64_t address, uint64_t bytes, uint64_t now)
{
    struct xfa_class class = {.key.row = {.src_mem = XFT_MEM_PAGEABLE, .dst_mem = XFT_MEM_DEVICE}};
    const struct xfa_event event = {.bytes = bytes,
                                    .start_ns = now,
                                    .end_ns = now,
                                    .transfer = {.src = 16, .dst = address, .class = &class}};
    xfa_buffers_transfer(buffers, &event);
}

static const struct xfa_buffer *buffer_at(const struct xfa_buffers *buffers, enum xft_memory memory)
{
    for (size_t i = 0; i < buffers->table.count; i++) {
        const struct xfa_buffer *buffer = xfa_table_at(&buffers->table, i);
        if (buffer->key.memory == memory)
            return buffer;
    }
    fail_msg("no buffer of this memory");
    return NULL;
}

static void test_buffers(void **state)
{
    struct xfa_buffers buffers;
    (void)state;
    xfa_buffers_init(&buffers);
    xfa_buffers_begin(&buffers, NULL);
    at_address(&buffers, XFT_EVENT_ALLOC, 0x1000, 0x1000, 1);
    at_address(&buffers, XFT_EVENT_ALLOC, 0x8000, 0x500, 2);
    upload_to(&buffers, 0x1ff0, 0x10, 3);
    at_address(&buffers, XFT_EVENT_FREE, 0x1800, 0, 4); /* no buffer begins there */
    at_address(&buffers, XFT_EVENT_FREE, 0x1000, 0, 5);
    at_address(&buffers, XFT_EVENT_ALLOC, 0x1000, 0x100, 6);
    upload_to(&buffers, 0x1010, 0x20, 7);
    const struct xfa_buffer *device = buffer_at(&buffers, XFT_MEM_DEVICE);
    assert_int_equal(device->allocations, 3);
    assert_int_equal(device->most_live, 0x1500);
    assert_int_equal(device->live, 0x600);
    assert_int_equal(device->traffic, 0x30);
    assert_int_equal(device->transfers, 2);
    assert_null(xfa_buffers_site(&buffers, device));
    assert_int_equal(buffer_at(&buffers, XFT_MEM_PAGEABLE)->traffic, 0x30);
    assert_int_equal(buffer_at(&buffers, XFT_MEM_PAGEABLE)->allocations, 0);
    xfa_buffers_begin(&buffers, NULL); /* the addresses of another process are others */
    upload_to(&buffers, 0x8000, 0x7, 8);
    assert_int_equal(buffer_at(&buffers, XFT_MEM_DEVICE)->most_live, 0x1500);
    uint32_t *sorted = xfa_buffers_sorted(&buffers);
    const struct xfa_buffer *first = xfa_table_at(&buffers.table, sorted[0]);
    assert_int_equal(first->traffic, 0x37);
    free(sorted);
    xfa_buffers_free(&buffers);
}

/* ---- traffic --------------------------------------------------------------------------------- */

static void hold_traffic(const struct xfa_timeline *timeline, size_t i, const char *from,
                         const char *to, json_int_t count, json_int_t bytes)
{
    json_t *all = xfa_traffic_places_json(timeline), *one = json_array_get(all, i);
    assert_non_null(one);
    assert_string_equal(json_string_value(json_object_get(one, "from")), from);
    assert_string_equal(json_string_value(json_object_get(one, "to")), to);
    assert_int_equal(json_integer_value(json_object_get(one, "count")), count);
    assert_int_equal(json_integer_value(json_object_get(one, "bytes")), bytes);
    assert_null(json_array_get(all, i + 1)); /* the last */
    json_decref(all);
}

/* A migration's memory of the host is at the only node there is; of two it is not known at which.
 */
static void test_traffic(void **state)
{
    struct xfp_profile profile = {.machine.numa_nodes = 1};
    struct xfa_run run = {.host_count = 1};
    struct xfa_analysis analysis = {
        .run = &run, .profile = &profile, .achievable.match = XFA_MATCH_YES};
    struct xfa_timeline timeline = {.analysis = &analysis};
    const struct xfa_process process = {.run = &run};
    struct xfa_class class = {.key = {.row = {.direction = XFT_DIR_H2D, .src_gpu = -1}}};
    struct xfa_event event = {.process = (struct xfa_process *)&process,
                              .bytes = 100,
                              .direction = XFT_DIR_H2D,
                              .end_ns = 5,
                              .transfer = {.class = &class, .achieved_ns = NAN}};
    (void)state;
    xfa_traffic_init(&timeline.traffic);
    xfa_traffic_transfer(&timeline.traffic, &event);
    xfa_traffic_migration(&timeline.traffic, &process, &event, 0);
    hold_traffic(&timeline, 0, "host:0", "gpu:0", 2, 200);
    profile.machine.numa_nodes = 2;
    hold_traffic(&timeline, 1, "host", "gpu:0", 1, 100);
    profile.machine.numa_nodes = 1;
    analysis.achievable.match = XFA_MATCH_NO; /* it is of another machine */
    hold_traffic(&timeline, 1, "host", "gpu:0", 1, 100);
    xfa_traffic_free(&timeline.traffic);
    xfa_traffic_init(&timeline.traffic);
    event.direction = XFT_DIR_D2H;
    xfa_traffic_migration(&timeline.traffic, &process, &event, 0);
    hold_traffic(&timeline, 0, "gpu:0", "host", 1, 100);
    xfa_traffic_free(&timeline.traffic);
}

/* ---- the page's blocks ----------------------------------------------------------------------- */

static void escapes(const char *text, const char *wanted)
{
    char *written = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&written, &bytes);
    FILE *escaping = xfa_html_escaping(out);
    for (const char *p = text; *p; p++) { /* in pieces */
        fputc(*p, escaping);
        fflush(escaping);
    }
    assert_int_equal(fclose(escaping), 0);
    fclose(out);
    assert_string_equal(written, wanted);
    free(written);
}

static void test_escaping(void **state)
{
    (void)state;
    escapes("", "");
    escapes("\"a</script><!--&\"", "\"a\\u003c/script\\u003e\\u003c!--\\u0026\"");
    escapes("\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029");
    escapes("\xe2\x82\xac \xe2\x80\xa6", "\xe2\x82\xac \xe2\x80\xa6"); /* others begin so, too */
    escapes("\xe2\xe2\x80\xa8\xe2\x80", "\xe2\\u2028\xe2\x80");
    escapes("\xe2\x80\xe2\x80<", "\xe2\x80\xe2\x80\\u003c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_names_of_merged),
        cmocka_unit_test(test_many_tracks),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_order_of_rows),
        cmocka_unit_test(test_order_of_equals),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_shares_of_gpus),
        cmocka_unit_test(test_shares_add_up),
        cmocka_unit_test(test_no_gpu),
        cmocka_unit_test(test_shares_of_a_phase),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_escaping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
