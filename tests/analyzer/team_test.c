/*
 * A run analyzed by a team: whoever plays which process, and whatever a member has memory for, the
 * report is that of one process, byte for byte.
 *
 * XFERSCOPE_SEED takes another course, XFERSCOPE_LONG_TESTS more runs.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/tally.h"
#include "tests/analyzer/lab/analyzed.h"
#include "analyzer/together.h"
#include "tests/analyzer/lab/members.h"
#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/lab/random_below.h"
#include "tests/analyzer/traces/ranked.h"
#include "tests/analyzer/traces/scenario_report.h"
#include "tests/analyzer/lab/surveyed.h"

enum { MOST_PROCESSES = 9, MOST_MEMBERS = 5, RUNS = 12, LONG_RUNS = 300 };

static uint64_t state_of_random = 1;

static uint32_t below(uint32_t limit)
{
    return random_below(&state_of_random, limit);
}

/* ---- parcels --------------------------------------------------------------------------------- */

static void test_parcels(void **state)
{
    (void)state;
    struct xfa_parcel parcel = {0};
    xfa_parcel_number(&parcel, UINT64_MAX);
    xfa_parcel_real(&parcel, -0.0);
    xfa_parcel_text(&parcel, "two\nlines");
    xfa_parcel_text(&parcel, "");
    xfa_parcel_real(&parcel, NAN);
    struct xfa_unpacking from = xfa_unpack(&parcel);
    assert_true(xfa_unpack_number(&from) == UINT64_MAX);
    assert_true(signbit(xfa_unpack_real(&from)));
    char *text = xfa_unpack_text(&from), *empty = xfa_unpack_text(&from);
    assert_string_equal(text, "two\nlines");
    assert_string_equal(empty, "");
    assert_true(isnan(xfa_unpack_real(&from)));
    assert_false(from.bad);
    assert_int_equal(from.left, 0);
    assert_int_equal(xfa_unpack_number(&from), 0);
    assert_true(from.bad);
    free(text);
    free(empty);
    xfa_parcel_free(&parcel);
}

/* A text that says to be longer than what is there. */
static void test_a_text_cut_off(void **state)
{
    (void)state;
    struct xfa_parcel parcel = {0};
    xfa_parcel_number(&parcel, 9);
    xfa_parcel_put(&parcel, "short", 5);
    struct xfa_unpacking from = xfa_unpack(&parcel);
    char *text = xfa_unpack_text(&from);
    assert_string_equal(text, "");
    assert_true(from.bad);
    free(text);
    xfa_parcel_free(&parcel);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void ask(struct xfa_team *team, void *context, FILE *out)
{
    uint64_t sum = xfa_team_sum(team, (uint64_t)team->rank + 1);
    bool any = xfa_team_any(team, team->rank == 1), none = xfa_team_any(team, false);
    bool all = xfa_team_all(team, true), some = xfa_team_all(team, team->rank != 1);
    bool same = xfa_team_agrees(team, "abc", 3),
         short_one = xfa_team_agrees(team, "abc", team->rank == 2 ? 2 : 3);
    bool other = xfa_team_agrees(team, team->rank == 2 ? "abd" : "abc", 3);
    (void)context;
    fprintf(out, "%d %d%d %d%d %d%d%d", (int)sum, any, none, all, some, same, short_one, other);
}

static void test_what_members_ask(void **state)
{
    (void)state;
    char *said = members_run(3, ask, NULL);
    assert_string_equal(said, "6 10 10 100");
    free(said);
    assert_true(xfa_team_any(NULL, true) && !xfa_team_any(NULL, false));
    assert_true(xfa_team_all(NULL, true) && !xfa_team_all(NULL, false));
    assert_int_equal(xfa_team_sum(NULL, 7), 7);
    assert_true(xfa_team_agrees(NULL, "abc", 3));
}

static void go_astray(struct xfa_team *team, void *context, FILE *out)
{
    struct xfa_parcel parcel = {0};
    (void)context;
    (void)out;
    xfa_team_exchange(team, team->rank == 1 ? "another" : "this", &parcel);
}

/* Members that decide otherwise do not add up what is not alike. */
static void test_another_step(void **state)
{
    (void)state;
    char *said = members_run(2, go_astray, NULL);
    assert_non_null(strstr(said, "failed: rank "));
    assert_non_null(strstr(said, "at another step"));
    free(said);
}

/* ---- shares ---------------------------------------------------------------------------------- */

void __real_xfa_process_share(struct xfa_process *process);
void __wrap_xfa_process_share(struct xfa_process *process);
static const uint32_t *drawn; /* by process: who has it; NULL: as it is */

void __wrap_xfa_process_share(struct xfa_process *process)
{
    __real_xfa_process_share(process);
    if (drawn && process->run->team)
        process->share = drawn[process->number];
}

/* Whoever has the least takes the next one; a process that is walked again stays whose it was. */
static void test_shares(void **state)
{
    (void)state;
    static const uint64_t events[] = {500000, 10, 10, 10, 600000, 20};
    static const uint32_t whose[] = {0, 1, 2, 1, 2, 1};
    struct xfa_team team = {.rank = 1, .count = 3};
    struct xfa_run *run = xfa_run_new("test");
    run->team = &team;
    struct xfa_process processes[6] = {{0}};
    for (size_t i = 0; i < 6; i++) {
        processes[i] = (struct xfa_process){.run = run, .events = events[i]};
        xfa_process_share(&processes[i]);
        assert_int_equal(processes[i].share, whose[i]);
    }
    xfa_process_share(&processes[0]);
    assert_int_equal(processes[0].share, 0);
    assert_true(xfa_process_is_mine(&processes[1]) && !xfa_process_is_mine(&processes[0]));
    run->team = NULL;
    assert_true(xfa_process_is_mine(&processes[0]));
    xfa_run_free(run);
}

/* ---- random runs ----------------------------------------------------------------------------- */

struct drawn_run {
    struct trace_builder traces[MOST_PROCESSES];
    size_t count;
    const struct xfp_profile *profile;
    uint32_t shares[MOST_PROCESSES];
    size_t memory[MOST_MEMBERS];
    bool lost[MOST_PROCESSES]; /* its file is another one when it is to be played */
    bool surveys;              /* its reading is divided, where it can be */
};

/* The thread has slept since then, while others worked. */
static void sleep_since(struct play *play, uint64_t from)
{
    uint64_t ns = play->now - from;
    play_event(play,
               (struct xft_event){.kind = XFT_EVENT_PROCESSOR,
                                  .src = XFT_PROCESSOR_UNTIL_CALL,
                                  .aux = ns / 20,
                                  .width = ns},
               0)
        ->start_ns = from;
}

/* The same in a call that began then. */
static void work_since(struct play *play, uint64_t from)
{
    sleep_since(play, from);
    struct play_lane *lane = &play->lanes[play->lane];
    struct xft_event *event = &lane->events[lane->count - 1];
    event->src = XFT_PROCESSOR_UNTIL_RETURN;
    event->aux = event->width;
}

/* What the busiest of the others worked since then. */
static void window_since(struct play *play, uint64_t from)
{
    sleep_since(play, from);
    struct play_lane *lane = &play->lanes[play->lane];
    struct xft_event *event = &lane->events[lane->count - 1];
    event->src = XFT_PROCESSOR_OF_OTHERS;
    event->aux = event->width * 4 / 5;
}

/* Copies that overlap could hide, of a few sites, in ranges now and then. */
static void play_random(struct trace_builder *b, int pid)
{
    struct play play;
    play_start(&play, b, pid);
    uint32_t steps = 3 + below(40);
    bool sleeps = below(2);
    for (uint32_t i = 0; i < steps; i++) {
        uint64_t from = play.now, bytes = (uint64_t)1 << (10 + below(14));
        unsigned site = 1 + below(3);
        play_copy(&play, site, below(2) ? XFT_DIR_H2D : XFT_DIR_D2H,
                  below(3) ? XFT_MEM_PAGEABLE : XFT_MEM_PINNED, bytes, 2000 + bytes / 4);
        if (below(2))
            play_async(&play, site, XFT_DIR_H2D, XFT_MEM_PINNED, bytes, 2000 + bytes / 40);
        if (sleeps) {
            work_since(&play, from);
            window_since(&play, from);
        }
        from = play.now;
        play.now += below(50000);
        if (sleeps)
            sleep_since(&play, from);
    }
    play_end(&play, XFT_STATE_CLOSED);
}

static void draw_process(struct trace_builder *b, size_t i)
{
    static const char *const scenarios[][2] = {
        {"exchange", "0"},     {"exchange", "1"},
        {"exchange", "2"},     {"exchange", "3"},
        {"ranges", ""},        {"phases", ""},
        {"findings", ""},      {"managed", "threads"},
        {"sites", ""},         {"gpus", ""},
        {"process", "2"},      {"process", "5"},
        {"contents", "whole"}, {"managed", "one-thread"},
        {"rank", "1"},         {"gate", "pinned"},
    };
    uint32_t which = below(2 * sizeof scenarios / sizeof *scenarios);
    if (which >= sizeof scenarios / sizeof *scenarios)
        play_random(b, 7000 + (int)i);
    else
        assert_true(scenario_report(b, scenarios[which][0], scenarios[which][1]));
}

static struct drawn_run draw(const struct xfp_profile *profile, uint32_t members)
{
    static const size_t memory[] = {0, 2000, 100000, XFW_OP_STORE_MOST};
    struct drawn_run run = {.profile = profile, .surveys = below(4) > 0};
    run.count = 1 + below(MOST_PROCESSES);
    for (size_t i = 0; i < run.count; i++) {
        draw_process(&run.traces[i], i);
        run.shares[i] = below(members);
    }
    for (uint32_t i = 0; i < members; i++)
        run.memory[i] = memory[below(4)];
    return run;
}

static void free_drawn(struct drawn_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        build_free(&run->traces[i]);
}

static struct analyzed summed(const struct drawn_run *run, struct xfa_team *team, size_t memory)
{
    struct xfa_survey *survey =
        run->surveys ? surveyed(team, run->profile, run->traces, run->count) : NULL;
    const struct xfa_request as = {.profile = run->profile, .team = team, .survey = survey};
    struct analyzed a = analyzed_traces(xfa_findings_within(memory), as, run->traces, run->count);
    for (size_t i = 0; i < run->count; i++) {
        free(a.analysis->run->processes[i]->file);
        a.analysis->run->processes[i]->file = xfa_print("%zu.trace", i);
    }
    analyzed_finish(&a);
    xfa_survey_free(survey);
    return a;
}

/* xfa_process_reopen() refuses files of another process. Who plays it meets that. */
static void lose_files(const struct drawn_run *run, struct analyzed *a, int by)
{
    for (size_t i = 0; i < run->count; i++)
        if (run->lost[i] && xfa_process_is_mine(a->analysis->run->processes[i]))
            a->analysis->run->processes[i]->pid += by;
}

/* As the command does it. */
static void leave_what_is_not_shared(struct analyzed *a)
{
    struct xfa_team *team = a->analysis->run->team;
    if (!team)
        return;
    if (!xfa_together_share(a->analysis, a->findings->gather))
        return;
    xfw_gather_free(a->findings->gather);
    a->findings->gather = NULL;
}

static void weigh(const struct drawn_run *run, struct analyzed *a)
{
    leave_what_is_not_shared(a);
    lose_files(run, a, 1);
    xfa_findings_weigh(a->findings, a->analysis);
    lose_files(run, a, -1);
    a->analysis->run->team = NULL;
}

static void write_both(struct analyzed *a, FILE *out)
{
    analyzed_write(a, &xfa_format_json, out);
    analyzed_write(a, &xfa_format_text, out);
}

static void analyze_as_member(struct xfa_team *team, void *context, FILE *out)
{
    struct drawn_run *run = context;
    drawn = run->shares;
    struct analyzed a = summed(run, team, run->memory[team->rank]);
    weigh(run, &a);
    write_both(&a, out);
    analyzed_free(&a);
}

static char *analyzed_alone(const struct drawn_run *run)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    drawn = NULL;
    struct analyzed a = summed(run, NULL, XFW_OP_STORE_MOST);
    weigh(run, &a);
    write_both(&a, out);
    fclose(out);
    analyzed_free(&a);
    return text;
}

static size_t with_savings; /* runs in which something would be saved */
static size_t with_sleep;   /* runs in which threads keep others' pace */

static void check_run(struct drawn_run *run, uint32_t members, unsigned i)
{
    char *alone = analyzed_alone(run);
    bool coupled = strstr(alone, "\"together\"") != NULL; /* each member needs room for all */
    for (uint32_t m = 0; m < members && coupled; m++)
        run->memory[m] = XFW_OP_STORE_MOST;
    char *together = members_run(members, analyze_as_member, run);
    with_savings += strstr(alone, "saves ") != NULL;
    with_sleep += strstr(alone, "\"sleepers\"") != NULL;
    if (strcmp(alone, together) != 0) {
        size_t at = 0;
        while (alone[at] == together[at])
            at++;
        at -= at < 60 ? at : 60;
        fail_msg("run %u of %zu processes by %u members:\n%.160s\nalone:\n%.160s", i, run->count,
                 members, together + at, alone + at);
    }
    free(alone);
    free(together);
}

static void test_random_splits(void **state)
{
    const char *seed = getenv("XFERSCOPE_SEED"), *more = getenv("XFERSCOPE_LONG_TESTS");
    struct xfp_profile *profile = scenario_profile();
    (void)state;
    for (unsigned i = 0; i < (more ? LONG_RUNS : RUNS); i++) {
        state_of_random = (seed ? strtoull(seed, NULL, 10) : 1) * 1000 + i;
        below(2);
        uint32_t members = 2 + below(MOST_MEMBERS - 1);
        struct drawn_run run = draw(profile, members);
        check_run(&run, members, i);
        free_drawn(&run);
    }
    assert_true(with_savings > 0);
    assert_true(with_sleep > 0);
    xfp_free(profile);
}

/* Files that members cannot read again are missing to all, and the first one is named. */
static void test_files_that_are_gone(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    (void)state;
    state_of_random = 3;
    struct drawn_run run = {
        .profile = profile, .lost = {false, true, true, true}, .shares = {0, 2, 1, 2}, .count = 4};
    for (size_t i = 0; i < run.count; i++) {
        play_random(&run.traces[i], 7000 + (int)i);
        run.memory[i] = XFW_OP_STORE_MOST;
    }
    check_run(&run, 3, 0);
    char *together = members_run(3, analyze_as_member, &run);
    assert_non_null(strstr(together, "1.trace: is another file now"));
    free(together);
    free_drawn(&run);
    xfp_free(profile);
}

/* Ranks that copy, each as often as its number says, and then wait for each other in a collective.
 */
static void draw_ranks(struct drawn_run *run, uint32_t count)
{
    enum { ROUNDS = 40, US = 1000, STEP = 1000 };
    struct ranked ranks[MOST_PROCESSES];
    run->count = count;
    for (uint32_t r = 0; r < count; r++) {
        ranked_start(&ranks[r], r, count, "node1");
        for (uint64_t i = 0; i < ROUNDS; i++) {
            uint64_t at = (100 + i * STEP) * US;
            for (uint64_t k = 0; k <= r; k++) {
                struct xft_event copy =
                    test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 1 << 20, 0, 0);
                copy.stack = STACK_UPLOAD;
                copy.src = 0x10000000;
                ranked_event(&ranks[r], copy, at + k * 150 * US, at + (k * 150 + 140) * US);
            }
            ranked_collective(&ranks[r], XFT_MESSAGE_ALLREDUCE, 8, at + (r + 1) * 150 * US,
                              at + (count * 150 + 20) * US);
        }
        ranked_end(&ranks[r]);
        run->traces[r] = ranks[r].b;
    }
}

/* Of ranks that are replayed together each member plays all, in some of the ways. Where one has no
 * room for that, each rank is replayed by itself. */
static void test_ranks_together(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    (void)state;
    for (uint32_t members = 2; members <= 4; members++) {
        struct drawn_run run = {.profile = profile, .shares = {0, 1, 1, 0}};
        draw_ranks(&run, 4);
        for (size_t i = 0; i < members; i++)
            run.memory[i] = XFW_OP_STORE_MOST;
        check_run(&run, members, members);
        char *together = members_run(members, analyze_as_member, &run);
        assert_non_null(strstr(together, "\"messages\": 40"));
        free(together);
        run.lost[2] = run.lost[3] = true;
        check_run(&run, members, members);
        free_drawn(&run);
    }
    xfp_free(profile);
}

static void keep_ops(struct xfa_team *team, void *context, FILE *out)
{
    const struct drawn_run *run = context;
    drawn = run->shares;
    struct analyzed a = summed(run, team, XFW_OP_STORE_MOST);
    const bool kept = xfw_gather_kept(a.findings->gather, a.analysis->run);
    uint64_t has = 0;
    for (uint32_t i = 0; i < run->count; i++)
        has += xfw_gather_has(a.findings->gather, i);
    int all_kept = (int)xfa_team_sum(team, kept);
    fprintf(out, "%d %d", all_kept, (int)xfa_team_sum(team, has));
    analyzed_free(&a);
}

/* The ops of its own processes, and of no others. */
static void test_each_keeps_its_own(void **state)
{
    (void)state;
    struct drawn_run run = {.shares = {0, 2, 1, 2}, .count = 4};
    for (size_t i = 0; i < run.count; i++)
        play_random(&run.traces[i], 7000 + (int)i);
    char *kept = members_run(3, keep_ops, &run);
    assert_string_equal(kept, "3 4");
    free(kept);
    free_drawn(&run);
}

/* ---- the sum --------------------------------------------------------------------------------- */

/* Reals whose sum depends on the order of additions. */
static const double spans[] = {1e16, 1, -1e16, 1, 3};
enum { PARTS = sizeof spans / sizeof *spans };

static void add_parts(struct xfa_team *team, void *context, FILE *out)
{
    const uint32_t *shares = context;
    double staged_ns = team && team->rank == 1 ? 9 : 5;
    struct xfw_change change = {.staged_ns = &staged_ns}, *changes[] = {&change};
    struct xfw_way way = {.changes = changes, .count = 1}, *ways[] = {&way};
    struct xfw_whatif whatif = {0};
    struct xfw_tally *tally = xfw_tally_new(ways, 1);
    for (uint32_t i = 0; i < PARTS; i++) {
        if (team && shares[i] != team->rank)
            continue;
        xfw_tally_part(tally, i, 10 * i, i == 2 ? NAN : 1,
                       &(struct xfw_contexts){.ns = 2 * i, .gpus = 1u << i});
        xfw_tally_phases_over(tally);
        xfw_tally_way(tally, 100 - i, spans[i], i == 3 ? 7 : 0, spans[i] / 2);
    }
    assert_null(xfw_tally_sum(tally, team, &whatif, true));
    fprintf(out, "%.17g %.17g %.17g %.17g %.17g %.17g %.17g %g %g %llx", way.run_ns, way.span_ns,
            way.error_ns, way.left_ns, way.least_ns, whatif.recorded_ns, whatif.span.recorded_ns,
            staged_ns, whatif.contexts_ns, (unsigned long long)whatif.contexts_gpus);
    xfw_tally_free(tally);
}

static void test_sums_have_one_order(void **state)
{
    char expected[200];
    double sum = 0, left = 0, least = 0;
    (void)state;
    for (size_t i = 0; i < PARTS; i++) {
        sum += spans[i];
        left += spans[i] / 2;
        least = fmax(least, 100 - (double)i - spans[i] / 2);
    }
    snprintf(expected, sizeof expected, "100 %.17g 7 %.17g %.17g 40 4 9 16 1b", sum, left, least);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t shares[PARTS];
        for (uint32_t k = 0; k < PARTS; k++)
            shares[k] = i >> k & 1;
        char *said = members_run(2, add_parts, shares);
        assert_string_equal(said, expected);
        free(said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parcels),
        cmocka_unit_test(test_a_text_cut_off),
        cmocka_unit_test(test_what_members_ask),
        cmocka_unit_test(test_another_step),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_random_splits),
        cmocka_unit_test(test_files_that_are_gone),
        cmocka_unit_test(test_ranks_together),
        cmocka_unit_test(test_each_keeps_its_own),
        cmocka_unit_test(test_sums_have_one_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
