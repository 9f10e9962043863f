/* Transfers whose bytes had moved before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/model/content.h"
#include "analyzer/report/report.h"
#include "tests/analyzer/scenario.h"

#define KIB64 65536

/* Copies and what they are expected to be, one after the other. */
struct play {
    struct xfa_contents contents;
    struct xft_event calls[64];
    enum xfa_same wanted[64];
    uint32_t earlier[64]; /* index of the call */
    size_t count, found;
};

static void hash_of(struct play *play, size_t i, uint64_t hash, uint64_t width)
{
    const struct xft_event *call = &play->calls[i];
    struct xft_event content = {.kind = XFT_EVENT_CONTENT,
                                .start_ns = call->start_ns,
                                .bytes = call->bytes,
                                .src = call->src,
                                .dst = call->dst,
                                .aux = hash,
                                .width = width,
                                .count = 7};
    xfa_contents_gather(&play->contents, &content);
}

static size_t move(struct play *play, unsigned direction, uint64_t src, uint64_t dst,
                   uint64_t bytes, uint64_t hash, enum xfa_same wanted, size_t earlier)
{
    size_t i = play->count++;
    play->calls[i] = (struct xft_event){.kind = XFT_EVENT_TRANSFER,
                                        .start_ns = 1000 + i,
                                        .bytes = bytes,
                                        .src = src,
                                        .dst = dst,
                                        .direction = (uint8_t)direction};
    play->wanted[i] = wanted;
    play->earlier[i] = (uint32_t)earlier;
    if (hash)
        hash_of(play, i, hash, bytes);
    return i;
}

static size_t send(struct play *play, uint64_t dst, uint64_t hash, enum xfa_same wanted,
                   size_t earlier)
{
    return move(play, XFT_DIR_H2D, 0x1000, dst, KIB64, hash, wanted, earlier);
}

static size_t fetch(struct play *play, uint64_t src, uint64_t hash, enum xfa_same wanted,
                    size_t earlier)
{
    return move(play, XFT_DIR_D2H, src, 0x2000, KIB64, hash, wanted, earlier);
}

/* The class is the number of the call. */
static void judged(void *context, enum xfa_same same, uint32_t class, uint32_t earlier,
                   uint64_t bytes, double achieved_ns, bool sampled)
{
    struct play *play = context;
    (void)sampled;
    if (play->wanted[class] != same || (same && play->earlier[class] != earlier))
        fail_msg("call %u: found %d after %u, expected %d after %u", class, (int)same, earlier,
                 (int)play->wanted[class], play->earlier[class]);
    assert_true(bytes == play->calls[class].bytes);
    assert_true(achieved_ns == 100.0 + class);
    play->wanted[class] = XFA_SAME_NONE;
    play->found++;
}

static void judge(struct play *play)
{
    xfa_contents_ready(&play->contents);
    for (size_t i = 0; i < play->count; i++) {
        struct xfa_transfer done = {&play->calls[i], play->calls[i].direction, (uint32_t)i,
                                    100.0 + (double)i, 0};
        if (play->calls[i].kind == XFT_EVENT_FREE)
            xfa_contents_free(&play->contents, &play->calls[i]);
        else
            xfa_contents_transfer(&play->contents, &done);
    }
    xfa_contents_finish(&play->contents, judged, play);
    for (size_t i = 0; i < play->count; i++)
        if (play->wanted[i])
            fail_msg("call %zu was not found", i);
    xfa_contents_release(&play->contents);
}

#define NONE XFA_SAME_NONE
#define AGAIN XFA_SAME_REPEATED
#define BACK XFA_SAME_RETURNED
#define TWICE XFA_SAME_DUPLICATE

static void test_same_place(void **state)
{
    (void)state;
    struct play play = {0};
    size_t first = send(&play, 0xd0000, 11, NONE, 0);
    size_t again = send(&play, 0xd0000, 11, AGAIN, first);
    send(&play, 0xd0000, 12, NONE, 0);
    send(&play, 0xd0000, 11, TWICE, again); /* written since */
    judge(&play);
    assert_int_equal(play.found, 2);
}

/* What writes to the place in between: a part of it, from the device, without a hash; a free. */
static void test_overwritten(void **state)
{
    (void)state;
    struct play play = {0};
    size_t last = send(&play, 0xd0000, 11, NONE, 0);
    move(&play, XFT_DIR_H2D, 0x1000, 0xd8000, 16, 0, NONE, 0);
    last = send(&play, 0xd0000, 11, TWICE, last);
    move(&play, XFT_DIR_D2D, 0xe0000, 0xdfff0, 64, 0, NONE, 0);
    last = send(&play, 0xd0000, 11, TWICE, last);
    size_t i = move(&play, XFT_DIR_UNKNOWN, 0, 0xd0000, KIB64, 0, NONE, 0);
    play.calls[i].kind = XFT_EVENT_FREE;
    last = send(&play, 0xd0000, 11, TWICE, last);
    move(&play, XFT_DIR_H2D, 0x1000, 0xe0000, 16, 0, NONE, 0); /* beside it */
    send(&play, 0xd0000, 11, AGAIN, last);
    judge(&play);
}

static void test_round_trips(void **state)
{
    (void)state;
    struct play play = {0};
    size_t sent = send(&play, 0xd0000, 11, NONE, 0);
    size_t fetched = fetch(&play, 0xd0000, 11, BACK, sent);
    size_t there = send(&play, 0xf0000, 11, BACK, fetched);
    fetch(&play, 0xd0000, 11, BACK, there);
    size_t result = fetch(&play, 0xc0000, 99, NONE, 0);
    result = fetch(&play, 0xc0000, 99, AGAIN, result);
    fetch(&play, 0xb0000, 99, NONE, 0); /* alike, from elsewhere */
    send(&play, 0xd0000, 99, BACK, result + 1);
    judge(&play);
}

static void test_other_devices(void **state)
{
    (void)state;
    struct play play = {0};
    size_t first = send(&play, 0xd0000, 11, NONE, 0);
    size_t other = send(&play, 0x9d0000, 11, NONE, 0); /* another GPU wants it too */
    play.calls[other].device = 1;
    send(&play, 0xe0000, 11, TWICE, first);
    judge(&play);
}

/* Only equal sizes and equal ways of hashing are compared; small ones are not worth a word. */
static void test_not_compared(void **state)
{
    (void)state;
    struct play play = {0};
    move(&play, XFT_DIR_H2D, 1, 0xd0000, 2048, 11, NONE, 0);
    move(&play, XFT_DIR_H2D, 1, 0xe0000, 4096, 11, NONE, 0);
    move(&play, XFT_DIR_H2D, 1, 0xf0000, 1023, 12, NONE, 0);
    move(&play, XFT_DIR_H2D, 1, 0xf0000, 1023, 12, NONE, 0);
    size_t i = move(&play, XFT_DIR_H2D, 1, 0xa0000, KIB64, 0, NONE, 0);
    hash_of(&play, i, 13, KIB64);
    i = move(&play, XFT_DIR_H2D, 1, 0xb0000, KIB64, 0, NONE, 0);
    hash_of(&play, i, 13, 4096); /* by samples */
    judge(&play);
    assert_int_equal(play.found, 0);
}

/* Hashes come in any order, belong to nothing, or are several of the same transfer. */
static void test_hostile(void **state)
{
    (void)state;
    struct play play = {0};
    for (uint64_t i = 0; i < 3000000; i++) {
        struct xft_event content = {.kind = XFT_EVENT_CONTENT,
                                    .start_ns = i * 0x9e3779b97f4a7c15u,
                                    .bytes = UINT64_MAX - i,
                                    .dst = UINT64_MAX - 5,
                                    .aux = 1};
        xfa_contents_gather(&play.contents, &content);
    }
    xfa_contents_ready(&play.contents);
    struct xft_event call = {.kind = XFT_EVENT_TRANSFER, .bytes = UINT64_MAX, .dst = 5};
    struct xfa_transfer done = {&call, XFT_DIR_H2D, 0, 1.0, 0};
    xfa_contents_transfer(&play.contents, &done);
    xfa_contents_finish(&play.contents, judged, &play);
    assert_true(play.contents.count <= XFA_MAX_CONTENTS);
    assert_int_equal(play.contents.hashes, 3000000);
    assert_true(play.contents.not_compared >= 3000000 - XFA_MAX_CONTENTS);
    xfa_contents_release(&play.contents);
}

/* Ranges of memory that are written in any way: the same as a plain array of owners. */
static void test_memory(void **state)
{
    (void)state;
    enum { CELLS = 512 };
    uint32_t owner[CELLS], start_of[CELLS];
    struct xfa_memory memory = {0};
    unsigned seed = 5;
    memset(owner, 0xff, sizeof owner);
    for (uint32_t n = 0; n < 20000; n++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t at = (seed >> 8) % CELLS, bytes = 1 + (seed >> 20) % 40;
        uint32_t end = at + bytes < CELLS ? at + bytes : CELLS;
        uint32_t item = seed % 7 ? n : UINT32_MAX;
        for (uint32_t i = 0; i < CELLS; i++) /* those touched are forgotten as a whole */
            for (uint32_t k = at; owner[i] != UINT32_MAX && k < end; k++)
                if (i != k && owner[k] == owner[i] && start_of[k] == start_of[i])
                    owner[i] = UINT32_MAX;
        for (uint32_t i = at; i < end; i++) {
            owner[i] = item;
            start_of[i] = at;
        }
        xfa_memory_write(&memory, at, end, item);
        assert_true(xfa_memory_find(&memory, at, end) == item);
        for (size_t i = 0; i < memory.count; i++) {
            const struct xfa_stretch *s = &memory.stretches[i];
            assert_true(s->start < s->end && owner[s->start] == s->item);
            assert_true(owner[s->end - 1] == s->item && start_of[s->end - 1] == s->start);
            assert_true(i == 0 || memory.stretches[i - 1].end <= s->start);
        }
    }
    free(memory.stretches);
}

/* From the trace to the finding, both ends named. */
static void test_report(void **state)
{
    (void)state;
    struct trace_builder b;
    struct xft_event events[8];
    char error[256];
    size_t n = 0;
    build_start(&b, 1);
    scenario_names(&b);
    build_meta(&b, "content", "sampled");
    build_meta(&b, "content.ns", "1000");
    static const char *const reasons[] = {"budget",     "memory",    "shape",
                                          "unreadable", "unsettled", "full"};
    for (unsigned i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        char key[48], count[8];
        snprintf(key, sizeof key, "content.skipped.%s", reasons[i]);
        snprintf(count, sizeof count, "%u", 1u << i);
        build_meta(&b, key, count);
    }
    for (int i = 0; i < 4; i++) {
        struct xft_event call = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 1 << 20,
                                              TEST_START_NS + 100000u * (unsigned)i, 50000);
        call.stack = i == 0 ? STACK_UPLOAD : STACK_RESULTS;
        call.dst = 0xd00000;
        events[n++] = call;
        events[n++] = (struct xft_event){.kind = XFT_EVENT_CONTENT,
                                         .start_ns = call.start_ns,
                                         .end_ns = call.start_ns,
                                         .bytes = call.bytes,
                                         .src = call.src,
                                         .dst = call.dst,
                                         .aux = 42,
                                         .width = 4096,
                                         .count = 250};
    }
    build_events(&b, 0, 0, events, n);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 1000000);
    struct xfa_trace *trace = xfa_trace_open_bytes(b.bytes, b.size, error, sizeof error);
    struct xfa_report *report = xfa_report_new("test", NULL);
    xfa_report_add(report, trace);
    xfa_report_finish(report, XFA_SORT_LOST);
    const struct xfa_finding *finding = NULL;
    for (size_t i = 0; i < report->finding_count; i++)
        if (strcmp(report->findings[i].kind, "repeated-transfer") == 0)
            finding = &report->findings[i];
    assert_non_null(finding);
    assert_int_equal(finding->transfers, 3);
    assert_int_equal(finding->bytes, 3 << 20);
    assert_true(finding->lost_ns == 150000);
    assert_non_null(strstr(finding->note, "probably"));
    assert_int_equal(finding->site_count, 1);
    assert_non_null(finding->sites[0].earlier);
    assert_string_not_equal(finding->sites[0].earlier->text, finding->sites[0].row->site->text);
    assert_int_equal(report->run.content.hashes, 4);
    assert_int_equal(report->run.content.by_sample, 4);
    assert_int_equal(report->run.content.skipped, 63); /* one of each, two of the next, ... */
    assert_false(report->run.content.skipped_unknown);
    assert_true(report->run.content.ns == 1000);
    xfa_report_free(report);
    xfa_trace_close(trace);
    build_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_place),   cmocka_unit_test(test_overwritten),
        cmocka_unit_test(test_round_trips),  cmocka_unit_test(test_other_devices),
        cmocka_unit_test(test_not_compared), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_report),
    };
    return cmocka_run_group_tests_name("content", tests, NULL, NULL);
}
