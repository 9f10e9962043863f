/*
 * Sums that the members of a team divide (analyzer/findings/divided.h): what is found is the same
 * to the bit, whoever has which process; and what cannot be another member's sums is refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/exact.h"
#include "analyzer/findings/divided.h"
#include "analyzer/findings/findings_private.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/lab/members.h"
#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/lab/random_below.h"
#include "tests/analyzer/lab/surveyed.h"

enum { MOST_PROCESSES = 6, MOST_MEMBERS = 4, RUNS = 16, SITES = 6, FIRST_SITE = 10, ROUNDS = 40 };
enum { HOST = 0x50000000, DATA = 0x30000000, KERNEL_TEXT = 7, ARGUMENTS = 3 };

static uint64_t state_of_random = 1;

static uint32_t below(uint32_t limit)
{
    return random_below(&state_of_random, limit);
}

/* ---- exact sums ------------------------------------------------------------------------------ */

/* 1e16 + 1 rounds; a sum of doubles depends on where the two are. */
static void test_exact_in_any_order(void **state)
{
    const double addends[] = {1e16, 1, -1e16, 0.1, 3, 0x1p-60, -1e-9};
    enum { COUNT = sizeof addends / sizeof *addends };
    (void)state;
    struct xfa_exact whole = {0};
    for (size_t i = 0; i < COUNT; i++)
        xfa_exact_add(&whole, addends[i]);
    for (uint32_t split = 0; split < 1 << COUNT; split++) {
        struct xfa_exact parts[2] = {{0}, {0}};
        for (size_t i = COUNT; i-- > 0;)
            xfa_exact_add(&parts[split >> i & 1], addends[i]);
        xfa_exact_merge(&parts[0], &parts[1]);
        assert_true(parts[0].parts == whole.parts);
    }
    assert_true(fabs(xfa_exact_value(&whole) - (4.1 - 1e-9)) < 1e-15);
    struct xfa_exact small = {0};
    xfa_exact_add(&small, 0.1);
    assert_true(xfa_exact_value(&small) == 0.1); /* nothing is rounded off above 2^-8 */
}

static void test_exact_not_known(void **state)
{
    const double beyond[] = {NAN, INFINITY, -INFINITY, 0x1p67, -1e300};
    (void)state;
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        struct xfa_exact sum = {0}, with = {0};
        xfa_exact_add(&sum, 1);
        xfa_exact_add(&with, beyond[i]);
        xfa_exact_merge(&with, &sum);
        assert_true(isnan(xfa_exact_value(&with)));
        assert_true(xfa_exact_value(&sum) == 1);
    }
    struct xfa_exact full = {0}, other = {0};
    xfa_exact_add(&full, XFA_EXACT_MOST);
    xfa_exact_merge(&other, &full);
    assert_true(xfa_exact_value(&full) == XFA_EXACT_MOST);
    xfa_exact_merge(&full, &other);
    assert_true(isnan(xfa_exact_value(&full)));
}

/* ---- random processes ------------------------------------------------------------------------ */

static uint64_t device_free; /* when the device has done what it was given */

static struct xft_event *copy(struct play *play, unsigned site, enum xft_direction direction,
                              uint64_t bytes, uint64_t ns)
{
    struct xft_event *call = play_async(play, site, direction, XFT_MEM_PINNED, bytes, ns);
    device_free = call->start_ns + 500 + ns;
    return call;
}

static void wait_at(struct play *play, unsigned site)
{
    const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT, .stack = site};
    play_event(play, wait, (device_free > play->now ? device_free - play->now : 0) + 2000);
}

static void play_pieces(struct play *play, unsigned site)
{
    unsigned pieces = 2 + below(7);
    for (unsigned i = 0; i < pieces; i++) {
        struct xft_event *call =
            copy(play, below(3) ? site : FIRST_SITE, XFT_DIR_H2D, 300 + below(300), 1001);
        call->src = HOST + i * (uint64_t)4096;
    }
    wait_at(play, site);
}

static void play_early_wait(struct play *play, unsigned site)
{
    copy(play, site, XFT_DIR_D2H, 16 << 20, 330000 + below(1000));
    wait_at(play, site);
    play->now += below(500000);
}

static void in_stream(struct play *play, unsigned site, unsigned stream)
{
    const struct xft_event wait = {.kind = XFT_EVENT_SYNC,
                                   .aux = XFT_SYNC_STREAM,
                                   .stream = 0x5000 + 16 * stream,
                                   .flags = XFT_STREAM_KNOWN};
    play_event(play, wait, 1500);
    play->now += 500000;
    struct xft_event *call = copy(play, site, XFT_DIR_H2D, 4 << 20, 300000);
    call->flags |= XFT_STREAM_KNOWN;
    call->stream = 0x5000 + 16 * stream;
    call->src = HOST + stream * ((uint64_t)1 << 30);
    call->dst = DATA + stream * ((uint64_t)1 << 30);
}

static void play_overbroad_waits(struct play *play, unsigned site)
{
    for (unsigned i = 0; i < 8; i++) {
        in_stream(play, site, i % 2);
        wait_at(play, site);
    }
}

static void play_staged(struct play *play, unsigned site)
{
    uint64_t place = HOST + below(4) * ((uint64_t)64 << 20);
    struct xft_event *down = copy(play, site, XFT_DIR_D2H, 16 << 20, 500000 + below(100));
    down->dst = place;
    down->src_place = down->device = 0;
    wait_at(play, site);
    struct xft_event *up = copy(play, site + 1, XFT_DIR_H2D, 16 << 20, 500000 + below(100));
    up->src = place;
    up->dst_place = up->device = 1;
    wait_at(play, site);
}

/* A kernel that runs when the device has done what it was given. */
static void launch(struct play *play, uint64_t ns)
{
    struct xft_event event = {.kind = XFT_EVENT_LAUNCH,
                              .correlation = ++play->correlation,
                              .src = KERNEL_TEXT,
                              .aux = ARGUMENTS};
    uint64_t now = play_event(play, event, 2000)->start_ns + 2100;
    event.kind = XFT_EVENT_KERNEL;
    event.aux = 0;
    play->lane = LANE_DEVICE;
    play->now = device_free > now ? device_free : now;
    device_free = play_event(play, event, ns)->end_ns;
    play->lane = LANE_MAIN;
    play->now = now;
}

static void play_serial(struct play *play, unsigned site)
{
    for (unsigned i = 0; i < 20; i++) {
        copy(play, site, XFT_DIR_H2D, 16 << 20, 330000)->dst = DATA;
        launch(play, 300000 + below(1000));
        wait_at(play, site);
    }
}

/* Values that are sent, a kernel, a value that is fetched. */
static void play_rounds(struct play *play, unsigned site)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        copy(play, site, XFT_DIR_H2D, 64, 1500)->dst = DATA + below(2) * (uint64_t)4096;
        launch(play, 10000);
        copy(play, site, XFT_DIR_D2H, 4, 1500)->src = DATA;
        wait_at(play, site);
    }
}

static void play_pageable(struct play *play, unsigned site)
{
    uint64_t bytes = (uint64_t)1 << (12 + below(12)), at = HOST + below(3) * ((uint64_t)8 << 20);
    for (unsigned i = 0; i < 10; i++)
        play_copy(play, site, XFT_DIR_H2D, XFT_MEM_PAGEABLE, bytes, 3000 + bytes / 4)->src = at;
}

static void play_slow(struct play *play, unsigned site)
{
    for (unsigned i = 0; i < 8; i++)
        copy(play, site, XFT_DIR_H2D, 64 << 20, 3000000 + below(100000));
    wait_at(play, site);
}

typedef void action_fn(struct play *play, unsigned site);
static action_fn *const actions[] = {play_pieces, play_early_wait, play_overbroad_waits,
                                     play_staged, play_rounds,     play_pageable,
                                     play_slow,   play_serial};
enum { ACTIONS = sizeof actions / sizeof *actions };

/* which: an action, or ACTIONS for any. Stacks of a process have other sites than another's. */
static void draw_process(struct trace_builder *b, int pid, uint32_t which)
{
    struct play play;
    play_start(&play, b, pid);
    uint32_t turn = below(SITES);
    device_free = 0;
    for (unsigned i = 0; i <= SITES; i++) {
        char name[16];
        snprintf(name, sizeof name, "at_%u", (i + turn) % SITES);
        play_site(&play, FIRST_SITE + i, name, 1 + (i + turn) % SITES);
    }
    build_text(b, KERNEL_TEXT, "step");
    build_arguments(b, ARGUMENTS, (uint64_t[]){DATA, DATA + 4096}, 2);
    const struct xft_event data = {
        .kind = XFT_EVENT_ALLOC, .dst = DATA, .bytes = 32 << 20, .dst_mem = XFT_MEM_DEVICE};
    play_event(&play, data, 1000);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    play_event(&play, records, 0);
    for (uint32_t i = 0, steps = 3 + below(5); i < steps; i++)
        actions[which < ACTIONS ? which : below(ACTIONS)](&play, FIRST_SITE + below(SITES));
    play_end(&play, XFT_STATE_CLOSED);
}

/* ---- the same findings ----------------------------------------------------------------------- */

struct drawn {
    struct trace_builder traces[MOST_PROCESSES];
    uint32_t count, shares[MOST_PROCESSES];
    const struct xfp_profile *profile;
    bool surveys; /* its reading is divided */
};

void __real_xfa_process_share(struct xfa_process *process);
void __wrap_xfa_process_share(struct xfa_process *process);
static const uint32_t *shares;

void __wrap_xfa_process_share(struct xfa_process *process)
{
    __real_xfa_process_share(process);
    if (process->run->team)
        process->share = shares[process->number];
}

static void write_finding(const struct xfa_finding *f, FILE *out)
{
    fprintf(out, "%s: %d, %d transfers, %d bytes, %.17g %.17g %.17g %.17g\n",
            xfa_finding_word(f->id), (int)f->remedy.kind, (int)f->transfers, (int)f->bytes,
            f->achieved_ns, f->achievable_ns, f->lost_ns, f->error);
    for (size_t i = 0; i < f->site_count; i++)
        fprintf(out, "    %s %s %d %d %.17g\n", f->sites[i].site->text,
                f->sites[i].function ? f->sites[i].function->name : "", (int)f->sites[i].transfers,
                (int)f->sites[i].bytes, f->sites[i].lost_ns);
}

static void analyze(struct xfa_team *team, void *context, FILE *out)
{
    struct drawn *run = context;
    shares = run->shares;
    struct xfa_survey *survey =
        run->surveys ? surveyed(team, run->profile, run->traces, run->count) : NULL;
    if (team && run->surveys && !survey)
        fprintf(out, "not divided\n");
    const struct xfa_request as = {.profile = run->profile, .team = team, .survey = survey};
    struct analyzed a = analyzed_traces(xfa_findings_new(), as, run->traces, run->count);
    analyzed_finish(&a);
    for (size_t i = 0; i < a.findings->count; i++)
        write_finding(&a.findings->items[i], out);
    xfa_findings_weigh(a.findings, a.analysis);
    a.analysis->run->team = NULL;
    for (size_t i = 0; i < a.findings->count; i++)
        write_finding(&a.findings->items[i], out);
    analyzed_write(&a, &xfa_format_json, out);
    analyzed_free(&a);
    xfa_survey_free(survey);
}

static void check(struct drawn *run, uint32_t members, unsigned number, char *alone)
{
    char *together = members_run(members, analyze, run);
    members_same(alone, together, number, members);
    free(together);
}

static bool met[XFA_FINDINGS]; /* kinds that were found in any run */

static void check_drawn(uint32_t which, const struct xfp_profile *profile, unsigned number)
{
    struct drawn run = {
        .count = 1 + below(MOST_PROCESSES), .profile = profile, .surveys = below(3) > 0};
    uint32_t members = 2 + below(MOST_MEMBERS - 1);
    for (uint32_t i = 0; i < run.count; i++) {
        draw_process(&run.traces[i], 7000 + (int)i, which);
        run.shares[i] = below(members);
    }
    char *alone = members_none(analyze, &run);
    check(&run, members, number, alone);
    for (unsigned id = 0; id < XFA_FINDINGS; id++) {
        char *line = xfa_print("%s: ", xfa_finding_word(id));
        met[id] = met[id] || strstr(alone, line);
        free(line);
    }
    for (uint32_t i = 0; i < run.count; i++)
        build_free(&run.traces[i]);
    free(alone);
}

static struct xfp_profile *two_gpus(void)
{
    static const char paths[] =
        ", \"paths\": [{\"name\": \"copy/peer/p2p/gpu0-gpu1\", \"method\": \"copy\","
        " \"direction\": \"P2P\", \"src\": {\"memory\": \"device\", \"device\": 0, \"numa\": -1},"
        " \"dst\": {\"memory\": \"device\", \"device\": 1, \"numa\": -1}, \"device_timed\": true,"
        " \"fit\": null, \"points\": [{\"bytes\": 16777216, \"median_ns\": 50000, \"host_ns\": "
        "1000}]}]";
    struct measured_text text;
    measured_begin(&text, &(struct measured_machine){.id = "aaaa1111", .gpus = 2});
    fprintf(text.out, "%s", paths);
    return measured_end(&text);
}

/* Of each kind that is divided something is found. */
static void test_same_findings(void **state)
{
    static const enum xfa_finding_id divided[] = {
        XFA_FINDING_PAGEABLE, XFA_FINDING_SMALL,       XFA_FINDING_EARLY_WAIT,
        XFA_FINDING_READBACK, XFA_FINDING_PARAMETERS,  XFA_FINDING_OVERBROAD_WAIT,
        XFA_FINDING_SERIAL,   XFA_FINDING_STAGED_PEER, XFA_FINDING_DEGRADED_LINK,
    };
    const char *seed = getenv("XFERSCOPE_SEED");
    struct xfp_profile *profiles[] = {scenario_profile(), measured_profile(MEASURED_ALL),
                                      two_gpus()};
    (void)state;
    for (unsigned i = 0; i < RUNS + 3 * ACTIONS; i++) {
        state_of_random = (seed ? strtoull(seed, NULL, 10) : 1) * 1000 + i;
        below(2);
        check_drawn(i < RUNS ? ACTIONS : (i - RUNS) % ACTIONS, profiles[i % 3], i);
    }
    for (size_t i = 0; i < sizeof divided / sizeof *divided; i++)
        if (!met[divided[i]])
            fail_msg("no run has %s", xfa_finding_word(divided[i]));
    for (size_t i = 0; i < 3; i++)
        xfp_free(profiles[i]);
}

/* ---- order ----------------------------------------------------------------------------------- */

struct item {
    uint32_t key;
    struct xfa_met met;
    uint64_t sum;
};

static bool is_item(const void *analysis, const void *item)
{
    (void)analysis;
    return ((const struct item *)item)->key < 100;
}

static void add_item(void *item, const void *more)
{
    ((struct item *)item)->sum += ((const struct item *)more)->sum;
}

static const struct xfa_met_table of_items = {offsetof(struct item, met), is_item, add_item};

static void give_items(struct xfa_parcel *parcel, const struct item *items, size_t count)
{
    struct xfa_table table;
    xfa_table_init(&table, sizeof(uint32_t), sizeof(struct item));
    for (size_t i = 0; i < count; i++)
        *(struct item *)xfa_table_put(&table, &items[i].key) = items[i];
    xfa_met_give(&table, parcel);
    xfa_table_free(&table);
}

static void check_item(const struct xfa_table *table, size_t i, const struct item *expected)
{
    const struct item *item = xfa_table_at(table, i);
    assert_int_equal(item->key, expected->key);
    assert_int_equal(item->sum, expected->sum);
    assert_true(xfa_table_get(table, &expected->key) == item);
}

/* As one process that reads process 0, 1, 2 meets them, whoever gave them. */
static void test_order_of_one_process(void **state)
{
    static const struct item first[] = {{5, {1, 0}, 1}, {7, {2, 0}, 2}, {9, {2, 0}, 4}},
                             second[] = {{9, {0, 0}, 8}, {8, {0, 0}, 16}};
    static const struct item expected[] = {
        {9, {0, 0}, 12}, {8, {0, 1}, 16}, {5, {1, 0}, 1}, {7, {2, 1}, 2}};
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        struct xfa_parcel parcels[2] = {{0}, {0}};
        struct xfa_table table;
        give_items(&parcels[turned], first, 3);
        give_items(&parcels[!turned], second, 2);
        xfa_table_init(&table, sizeof(uint32_t), sizeof(struct item));
        for (int i = 0; i < 2; i++) {
            struct xfa_unpacking from = xfa_unpack(&parcels[i]);
            xfa_met_take(&table, &of_items, NULL, &from);
            assert_true(!from.bad && from.left == 0);
            xfa_parcel_free(&parcels[i]);
        }
        xfa_met_sort(&table, &of_items);
        assert_int_equal(table.count, 4);
        for (size_t i = 0; i < 4; i++)
            check_item(&table, i, &expected[i]);
        xfa_table_free(&table);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* Each kind's own sums with one of their numbers changed, or cut off: the others do not read beyond
 * the end, nor count what the run does not have. Without sanitizers that may just do no harm. */
static void spoil(struct analyzed *a, unsigned id)
{
    const struct xfa_finding_kind *kind = xfa_finding_kind_of(id);
    struct xfa_parcel parcel = {0};
    size_t refused = 0;
    xfa_divided_give(kind, a->findings->selves[id], &parcel);
    for (size_t i = 0; i < 400; i++) {
        void *self = xfa_alloc(kind->self_bytes);
        struct xfa_parcel ill = {0};
        xfa_parcel_put(&ill, parcel.bytes, parcel.count);
        kind->observe(self);
        if (i % 2)
            ill.count = below((uint32_t)parcel.count);
        else
            memset(ill.bytes + below((uint32_t)parcel.count / 8) * (size_t)8, 0xff, 8);
        struct xfa_unpacking from = xfa_unpack(&ill);
        xfa_divided_take(kind, self, a->analysis, &from);
        refused += from.bad || from.left > 0;
        if (kind->free)
            kind->free(self);
        free(self);
        xfa_parcel_free(&ill);
    }
    assert_true(refused >= 200); /* all that were cut off */
    xfa_parcel_free(&parcel);
}

/* Of other processes than one's own, too: ranks that are played together want them. */
static void test_marks_and_buffers(void **state)
{
    struct xfw_marks marks = {0}, taken = {0};
    struct xfw_buffers buffers = {0}, others = {0};
    struct xfa_parcel parcel = {0};
    (void)state;
    xfw_mark(&marks, 1, 3);
    xfw_mark(&marks, 3, 200);
    xfw_mark(&taken, 0, 3);
    xfw_buffers_add(&buffers, 3, 9, 1000, 100);
    xfw_marks_give(&marks, &parcel);
    xfw_buffers_give(&buffers, &parcel);
    struct xfa_unpacking from = xfa_unpack(&parcel);
    xfw_marks_take(&taken, &from, 4);
    xfw_buffers_take(&others, &from, 4);
    assert_true(!from.bad && from.left == 0);
    assert_true(xfw_marked(&taken, 0, 3) && xfw_marked(&taken, 1, 3) && xfw_marked(&taken, 3, 200));
    assert_false(xfw_marked(&taken, 0, 200) || xfw_marked(&taken, 1, 200));
    assert_true(xfw_buffers_find(&others, 3, 1050) == 0);
    assert_true(xfw_buffers_find(&others, 0, 1050) == SIZE_MAX);
    from = xfa_unpack(&parcel);
    xfw_marks_take(&taken, &from, 3); /* the run has no process 3 */
    assert_true(from.bad);
    xfw_marks_free(&marks);
    xfw_marks_free(&taken);
    xfw_buffers_free(&buffers);
    xfw_buffers_free(&others);
    xfa_parcel_free(&parcel);
}

/* Numbers that the run does not have. */
static void refuse(const struct analyzed *a, enum xfa_finding_id id, size_t at)
{
    const struct xfa_finding_kind *kind = xfa_finding_kind_of(id);
    struct xfa_parcel parcel = {0};
    void *self = xfa_alloc(kind->self_bytes);
    const uint32_t none = UINT32_MAX;
    kind->observe(self);
    xfa_divided_give(kind, a->findings->selves[id], &parcel);
    assert_true(parcel.count > at + sizeof none);
    memcpy(parcel.bytes + at, &none, sizeof none);
    struct xfa_unpacking from = xfa_unpack(&parcel);
    xfa_divided_take(kind, self, a->analysis, &from);
    assert_true(from.bad);
    if (kind->free)
        kind->free(self);
    free(self);
    xfa_parcel_free(&parcel);
}

static void test_ill_sums(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct trace_builder b;
    (void)state;
    state_of_random = 5;
    struct analyzed a = analyzed_start(profile);
    for (int i = 0; i < 4; i++) {
        draw_process(&b, 7000 + i, ACTIONS);
        analyzed_add(&a, &b);
        build_free(&b);
    }
    analyzed_finish(&a);
    for (unsigned id = 0; id < XFA_FINDINGS; id++)
        if (xfa_is_divided(xfa_finding_kind_of(id)))
            spoil(&a, id);
    refuse(&a, XFA_FINDING_EARLY_WAIT, 8); /* the first site, behind how many there are */
    refuse(&a, XFA_FINDING_OVERBROAD_WAIT, 8);
    refuse(&a, XFA_FINDING_PAGEABLE, 8); /* class */
    refuse(&a, XFA_FINDING_SMALL, 8);    /* row */
    refuse(&a, XFA_FINDING_SMALL, 12);   /* that of its group */
    refuse(&a, XFA_FINDING_READBACK, 0); /* rows */
    analyzed_free(&a);
    xfp_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_in_any_order), cmocka_unit_test(test_exact_not_known),
        cmocka_unit_test(test_same_findings),      cmocka_unit_test(test_order_of_one_process),
        cmocka_unit_test(test_marks_and_buffers),  cmocka_unit_test(test_ill_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
