/* Transfers whose bytes had moved before. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"
#include "tests/analyzer/lab/observed.h"

#define KIB64 65536

/* Copies and what they are expected to be, one after the other. */
struct play {
    struct xft_event calls[64];
    struct xft_event hashes[64]; /* of the calls; kind 0: none */
    enum xfa_same wanted[64];
    uint32_t earlier[64]; /* index of the call */
    size_t count;
    const char *mode; /* META content; NULL: the trace does not say */
};

static void observed_start(struct observed *observed, struct xfa_contents *contents,
                           const char *mode)
{
    build_start(&observed->b, 1);
    if (mode)
        build_meta(&observed->b, "content", mode);
    *contents = (struct xfa_contents){0};
    observed_open(observed, xfa_contents_observer(contents));
}

static void observed_stop(struct observed *observed, struct xfa_contents *contents)
{
    xfa_contents_free(contents);
    observed_free(observed);
}

static void hash_of(struct play *play, size_t i, uint64_t hash, uint64_t width)
{
    const struct xft_event *call = &play->calls[i];
    play->hashes[i] = (struct xft_event){.kind = XFT_EVENT_CONTENT,
                                         .start_ns = call->start_ns,
                                         .bytes = call->bytes,
                                         .src = call->src,
                                         .dst = call->dst,
                                         .aux = hash,
                                         .width = width,
                                         .count = 7};
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

/* Calls of one time come as a walk gives them: the hash before the transfer, behind it, or behind
 * all of that time. */
static void observe_play(struct observed *observed, const struct play *play, unsigned order)
{
    size_t next = 0;
    for (size_t i = 0; i < play->count; i = next) {
        for (next = i; next < play->count && play->calls[next].start_ns == play->calls[i].start_ns;
             next++) {
            const struct xft_event *call = &play->calls[next], *hash = &play->hashes[next];
            if (hash->kind && order == 0)
                observe(observed, hash, 0);
            if (call->kind == XFT_EVENT_FREE)
                observe(observed, call, 0);
            else
                observe_transfer(observed, call, 0, (uint32_t)next,
                                 next % 2 ? XFA_TIMED_DEVICE : XFA_TIMED_HOST,
                                 100.0 + (double)next);
            if (hash->kind && order == 1)
                observe(observed, hash, 0);
        }
        for (size_t k = i; order == 2 && k < next; k++)
            if (play->hashes[k].kind)
                observe(observed, &play->hashes[k], 0);
    }
}

/* The row is the number of the call. */
static size_t check_call(const struct xfa_contents *contents, const struct play *play, size_t i)
{
    size_t found = 0;
    const struct xfa_same_row *row = xfa_contents_row(contents, (uint32_t)i);
    for (enum xfa_same same = XFA_SAME_REPEATED; same < XFA_SAMES; same++) {
        struct xfa_same_sum sum = row ? row->same[same] : (struct xfa_same_sum){0};
        if (sum.moved.sum.transfers != (same == play->wanted[i]))
            fail_msg("call %zu: %d %lu times, expected %d", i, (int)same,
                     (unsigned long)sum.moved.sum.transfers, (int)play->wanted[i]);
        if (sum.moved.sum.transfers == 0)
            continue;
        if (sum.earlier != play->earlier[i] + 1)
            fail_msg("call %zu: after %u, expected %u", i, sum.earlier - 1, play->earlier[i]);
        assert_true(sum.moved.sum.bytes == play->calls[i].bytes);
        assert_true(sum.moved.sum.ns == 100.0 + (double)i);
        assert_int_equal(sum.moved.timed, 1);
        assert_int_equal(sum.moved.by_device, i % 2);
        assert_int_equal(sum.sampled, play->hashes[i].width < play->calls[i].bytes);
        found++;
    }
    return found;
}

/* How many were found. */
static size_t judge(const struct play *play)
{
    size_t found = 0;
    for (unsigned order = 0; order < 3; order++) {
        struct observed observed;
        struct xfa_contents contents;
        observed_start(&observed, &contents, play->mode);
        observe_play(&observed, play, order);
        observe_end(&observed);
        found = 0;
        for (size_t i = 0; i < play->count; i++)
            found += check_call(&contents, play, i);
        observed_stop(&observed, &contents);
    }
    return found;
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
    assert_int_equal(judge(&play), 2);
}

/* A copy without a hash is taken to have carried what the hashed ones before and after it did, once
 * some were alike; not where the next one is other, nor behind the last one. */
static void test_presumed(void **state)
{
    (void)state;
    struct play play = {0};
    size_t last = send(&play, 0xd0000, 11, NONE, 0);
    last = send(&play, 0xd0000, 0, NONE, 0); /* the next one is the first that is alike */
    last = send(&play, 0xd0000, 11, AGAIN, last);
    last = send(&play, 0xd0000, 0, AGAIN, last);
    for (int i = 0; i < 3; i++)
        last = send(&play, 0xd0000, 11, AGAIN, last);
    send(&play, 0xd0000, 0, NONE, 0); /* it may be either */
    send(&play, 0xd0000, 12, NONE, 0);
    send(&play, 0xd0000, 13, NONE, 0);
    last = send(&play, 0xd0000, 0, NONE, 0);
    last = send(&play, 0xd0000, 13, AGAIN, last); /* five were alike, and two were not */
    move(&play, XFT_DIR_H2D, 0x8000, 0xd0000, KIB64, 0, NONE, 0); /* of other memory: not known */
    send(&play, 0xd0000, 13, TWICE, last);
    send(&play, 0xd0000, 0, NONE, 0);
    assert_int_equal(judge(&play), 7);
}

/* It is likely, not sure; so is what is known by it. */
static void test_presumed_is_likely(void **state)
{
    (void)state;
    static const struct xfa_same_sum wanted[] = {
        {.by_evidence = {0, 0, 0}},
        {.by_evidence = {1, 0, 0}},
        {.by_evidence = {0, 1, 0}, .presumed = 1},
        {.by_evidence = {0, 1, 0}, .presumed = 1},
        {.by_evidence = {1, 0, 0}},
    };
    struct play play = {0};
    struct observed observed;
    struct xfa_contents contents;
    for (size_t i = 0; i < 5; i++)
        send(&play, 0xd0000, i == 2 ? 0 : 11, NONE, 0);
    observed_start(&observed, &contents, NULL);
    observe_play(&observed, &play, 0);
    observe_end(&observed);
    for (size_t i = 1; i < 5; i++) {
        const struct xfa_same_row *row = xfa_contents_row(&contents, (uint32_t)i);
        assert_non_null(row);
        const struct xfa_same_sum *sum = &row->same[AGAIN];
        for (size_t e = 0; e < XFA_NEEDED; e++)
            assert_int_equal(sum->by_evidence[e], wanted[i].by_evidence[e]);
        assert_int_equal(sum->presumed, wanted[i].presumed);
        assert_true(xfw_marked(&contents.marks[AGAIN][XFA_UNSEEN], 0, i) == sum->presumed);
    }
    observed_stop(&observed, &contents);
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
    assert_int_equal(judge(&play), 0);
}

/* Several transfers of one time (a graph's), two of them alike: the first hash is the first one's.
 */
static void test_of_one_time(void **state)
{
    (void)state;
    struct play play = {0};
    size_t first = send(&play, 0xd0000, 11, NONE, 0);
    size_t other = send(&play, 0xe0000, 12, NONE, 0);
    size_t alike = send(&play, 0xd0000, 13, NONE, 0);
    size_t last = send(&play, 0xe0000, 12, AGAIN, other);
    for (size_t i = first; i <= last; i++)
        play.calls[i].start_ns = play.hashes[i].start_ns = 1000;
    send(&play, 0xd0000, 13, AGAIN, alike);
    send(&play, 0xe0000, 12, AGAIN, last);
    send(&play, 0xf0000, 11, TWICE, first);
    assert_int_equal(judge(&play), 4);
}

/* A trace that does not say that there are hashes, or says there are none, and has some. */
static void test_not_announced(void **state)
{
    (void)state;
    struct play play = {.mode = NULL};
    send(&play, 0xd0000, 0, NONE, 0);
    size_t first = send(&play, 0xd0000, 11, NONE, 0);
    send(&play, 0xd0000, 11, AGAIN, first);
    assert_int_equal(judge(&play), 1);
    struct observed observed;
    struct xfa_contents contents;
    observed_start(&observed, &contents, "off");
    observe_play(&observed, &play, 0);
    observe_end(&observed);
    assert_non_null(xfa_contents_row(&contents, 2));
    assert_false(contents.whole || contents.on_samples || contents.skipped_unknown);
    observed_stop(&observed, &contents);
}

static size_t memory_used(void)
{
    struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

/* Without hashes nothing is kept: neither of a process without, nor before the first comes. */
static void test_nothing_kept(void **state)
{
    (void)state;
    static const char *const modes[] = {NULL, "off", "whole"};
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        struct observed observed;
        struct xfa_contents contents;
        observed_start(&observed, &contents, modes[m]);
        size_t before = memory_used();
        for (uint64_t i = 0; i < 100000; i++) {
            struct xft_event call = {.kind = XFT_EVENT_TRANSFER,
                                     .start_ns = 1000 + i,
                                     .bytes = 4096,
                                     .dst = 0xd0000 + 4096 * i,
                                     .direction = XFT_DIR_H2D};
            observe_transfer(&observed, &call, 0, 0, XFA_TIMED_HOST, 1);
        }
        assert_true(memory_used() < before + 4096);
        observe_end(&observed);
        assert_int_equal(contents.row_count, 0);
        assert_int_equal(contents.skipped_unknown, modes[m] && strcmp(modes[m], "off") != 0);
        observed_stop(&observed, &contents);
    }
}

/* Hashes belong to nothing, come all at one time, or are more than are compared. */
static void test_hostile(void **state)
{
    (void)state;
    enum { ALL = 3000000 };
    for (unsigned at_once = 0; at_once < 2; at_once++) {
        struct observed observed;
        struct xfa_contents contents;
        observed_start(&observed, &contents, "whole");
        struct xft_event call = {.kind = XFT_EVENT_TRANSFER,
                                 .start_ns = 5,
                                 .bytes = UINT64_MAX,
                                 .dst = 5,
                                 .direction = XFT_DIR_H2D};
        for (uint64_t i = 0; i < ALL; i++) {
            struct xft_event content = {.kind = XFT_EVENT_CONTENT,
                                        .start_ns = at_once ? 5 : 5 + i,
                                        .bytes = UINT64_MAX - i,
                                        .dst = UINT64_MAX - 5,
                                        .aux = 1};
            observe(&observed, &content, 0);
            if (i < 10 || i > ALL - 10)
                observe_transfer(&observed, &call, 0, 0, XFA_TIMED_HOST, 1);
        }
        observe_end(&observed);
        assert_int_equal(contents.hashes, ALL);
        assert_int_equal(contents.not_compared, ALL - XFA_MAX_CONTENTS);
        assert_int_equal(contents.row_count, 0);
        observed_stop(&observed, &contents);
    }
}

/* As many as are compared are; what comes then still writes to memory. */
static void test_limit(void **state)
{
    (void)state;
    struct observed observed;
    struct xfa_contents contents;
    observed_start(&observed, &contents, "whole");
    for (uint64_t i = 0; i < XFA_MAX_CONTENTS + 2; i++) {
        bool same = i < 2 || i >= XFA_MAX_CONTENTS - 1;
        struct xft_event call = {.kind = XFT_EVENT_TRANSFER,
                                 .start_ns = 1000 + i,
                                 .bytes = 4096,
                                 .dst = same ? 0xd0000 : 0xe0000,
                                 .direction = XFT_DIR_H2D};
        struct xft_event content = call;
        content.kind = XFT_EVENT_CONTENT;
        content.aux = same ? 7 : 100 + i;
        content.width = 4096;
        observe_transfer(&observed, &call, 0, same, XFA_TIMED_HOST, 1);
        observe(&observed, &content, 0);
    }
    observe_end(&observed);
    assert_null(xfa_contents_row(&contents, 0));
    const struct xfa_same_row *row = xfa_contents_row(&contents, 1);
    assert_int_equal(row->same[XFA_SAME_REPEATED].moved.sum.transfers,
                     2); /* the last one compared too */
    assert_int_equal(row->same[XFA_SAME_DUPLICATE].moved.sum.transfers, 0);
    assert_int_equal(contents.not_compared, 2);
    observed_stop(&observed, &contents);
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

static void skipped_for(struct trace_builder *b)
{
    static const char *const reasons[] = {"budget",     "memory",    "shape",
                                          "unreadable", "unsettled", "full"};
    for (unsigned i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        char key[48], count[8];
        snprintf(key, sizeof key, "content.skipped.%s", reasons[i]);
        snprintf(count, sizeof count, "%u", 1u << i);
        build_meta(b, key, count);
    }
}

/* From the trace to the finding, both ends named; hashes in another lane, which lies behind the
 * transfers' in the file or before it. */
static void report_one(bool hashes_first)
{
    struct trace_builder b;
    struct xft_event calls[4], hashes[4];
    build_start(&b, 1);
    scenario_names(&b);
    build_meta(&b, "content", "sampled");
    build_meta(&b, "content.ns", "1000");
    skipped_for(&b);
    for (unsigned i = 0; i < 4; i++) {
        calls[i] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 1 << 20,
                                 TEST_START_NS + 100000u * i, 50000);
        calls[i].stack = i == 0 ? STACK_UPLOAD : STACK_RESULTS;
        calls[i].dst = 0xd00000;
        hashes[i] = (struct xft_event){.kind = XFT_EVENT_CONTENT,
                                       .start_ns = calls[i].start_ns,
                                       .end_ns = calls[i].start_ns,
                                       .bytes = calls[i].bytes,
                                       .src = calls[i].src,
                                       .dst = calls[i].dst,
                                       .aux = 42,
                                       .width = 4096,
                                       .count = 250};
    }
    build_events(&b, hashes_first ? 0 : 1, 0, hashes_first ? hashes : calls, 4);
    build_events(&b, hashes_first ? 1 : 0, 0, hashes_first ? calls : hashes, 4);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 1000000);
    struct analyzed all = analyzed_trace(&b, NULL);
    const struct xfa_finding *finding = analyzed_finding(&all, XFA_FINDING_REPEATED, NULL);
    assert_non_null(finding);
    assert_int_equal(finding->transfers, 3);
    assert_int_equal(finding->bytes, 3 << 20);
    assert_true(finding->lost_ns == 150000);
    assert_true(finding->probably);
    assert_int_equal(finding->site_count, 1);
    assert_non_null(finding->sites[0].earlier);
    assert_string_not_equal(finding->sites[0].earlier->text, finding->sites[0].row->site->text);
    const struct xfa_contents *contents = &all.analysis->contents;
    assert_true(contents->on_samples && !contents->whole);
    assert_int_equal(contents->hashes, 4);
    assert_int_equal(contents->sampled, 4);
    assert_int_equal(contents->skipped, 63); /* one of each, two of the next, ... */
    assert_false(contents->skipped_unknown);
    assert_true(contents->hash_ns == 1000);
    analyzed_free(&all);
    build_free(&b);
}

static void test_report(void **state)
{
    (void)state;
    report_one(false);
    report_one(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presumed),      cmocka_unit_test(test_presumed_is_likely),
        cmocka_unit_test(test_same_place),    cmocka_unit_test(test_overwritten),
        cmocka_unit_test(test_round_trips),   cmocka_unit_test(test_other_devices),
        cmocka_unit_test(test_not_compared),  cmocka_unit_test(test_of_one_time),
        cmocka_unit_test(test_not_announced), cmocka_unit_test(test_nothing_kept),
        cmocka_unit_test(test_hostile),       cmocka_unit_test(test_limit),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_report),
    };
    return cmocka_run_group_tests_name("content", tests, NULL, NULL);
}
