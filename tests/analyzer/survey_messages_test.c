/*
 * Ranks that send each other messages of MPI and NCCL, in a run whose reading members of a team
 * divide (analyzer/analysis/survey.h): sums, matched calls and the report are those of one process,
 * bit for bit, and so is what ranks that are replayed together would save. Where there would be too
 * many rows all members read all.
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

#include <cmocka.h>

#include "analyzer/together.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/lab/members.h"
#include "tests/analyzer/lab/random_below.h"
#include "tests/analyzer/traces/ranked.h"
#include "tests/analyzer/lab/surveyed.h"

enum { MOST_RANKS = 6, MOST_MEMBERS = 4, RUNS = 40, LONG_RUNS = 400 };
enum { US = 1000, SLOT = 2000 * US, STREAM = 0x5000, HOST = 0x700000, BYTES = 4 << 20 };

static uint64_t state_of_random = 1;

static uint32_t below(uint32_t limit)
{
    return random_below(&state_of_random, limit);
}

/* ---- a run ----------------------------------------------------------------------------------- */

struct drawn {
    struct ranked ranks[MOST_RANKS];
    uint32_t count, shares[MOST_RANKS], correlation;
    const struct xfp_profile *profile;
};

/* What all ranks do at one time; `at` is before all of it. */
typedef void action_fn(struct drawn *run, uint64_t at);

static void copy(struct ranked *r, enum xft_direction direction, uint64_t at, uint64_t to)
{
    struct xft_event event = test_transfer(CALL_MEMCPY, direction, XFT_MEM_PINNED, BYTES, 0, 0);
    event.stack = STACK_UPLOAD;
    event.device = 0;
    *(direction == XFT_DIR_D2H ? &event.dst : &event.src) = HOST;
    ranked_event(r, event, at, to);
}

/* From each to the next, of memory of a GPU: whole, and then on. */
static void stage(struct drawn *run, uint64_t at)
{
    for (uint32_t r = 0; r < run->count; r++) {
        struct ranked *own = &run->ranks[r];
        uint32_t next = (r + 1) % run->count, before = (r + run->count - 1) % run->count;
        copy(own, XFT_DIR_D2H, at, at + 300 * US + below(US));
        ranked_irecv(own, before, 5, BYTES, at + 310 * US, 0xb0)->dst = HOST + 2 * BYTES;
        ranked_send(own, next, 5, BYTES, at + 311 * US, at + 700 * US + below(US))->src = HOST;
        uint64_t from = at + 710 * US, to = at + 800 * US + below(US);
        ranked_wait(own, from, to);
        ranked_ended(own, 0xb0, at + 310 * US, from, to);
    }
}

/* Several small ones to one rank, and one wait for what comes from there. */
static void exchange_small(struct drawn *run, uint64_t at)
{
    uint32_t count = 2 + below(4);
    for (uint32_t r = 0; r < run->count; r++) {
        struct ranked *own = &run->ranks[r];
        uint32_t other = r ^ 1;
        if (other >= run->count)
            continue;
        for (uint32_t i = 0; i < count; i++)
            ranked_irecv(own, other, 6, 64, at + i * US, 0xc0 + i);
        for (uint32_t i = 0; i < count; i++)
            ranked_send(own, other, 6, 64, at + (20 + 10 * i) * US,
                        at + (28 + 10 * i) * US + below(US));
        uint64_t from = at + 500 * US, to = at + 510 * US + below(US);
        ranked_wait(own, from, to);
        for (uint32_t i = 0; i < count; i++)
            ranked_ended(own, 0xc0 + i, at + i * US, from, to);
    }
}

static void reduce(struct drawn *run, uint64_t at)
{
    enum xft_message what = below(2) ? XFT_MESSAGE_ALLREDUCE : XFT_MESSAGE_BARRIER;
    for (uint32_t r = 0; r < run->count; r++)
        ranked_collective(&run->ranks[r], what, 64, at + below(800) * US,
                          at + 900 * US + below(US));
}

static void launch(struct ranked *own, uint32_t correlation, uint64_t at, uint64_t to)
{
    struct xft_event event = {.kind = XFT_EVENT_LAUNCH,
                              .flags = XFT_STREAM_KNOWN,
                              .stream = STREAM,
                              .correlation = correlation};
    ranked_event(own, event, at, at + US);
    event.kind = XFT_EVENT_KERNEL;
    event.flags = 0;
    ranked_event(own, event, at + 4 * US, to);
}

static void reduce_by_nccl(struct drawn *run, uint64_t at)
{
    for (uint32_t r = 0; r < run->count; r++) {
        uint64_t from = at + below(300) * US;
        launch(&run->ranks[r], ++run->correlation, from + US, at + 400 * US + below(US));
        struct xft_event *event =
            ranked_collective(&run->ranks[r], XFT_MESSAGE_ALLREDUCE, 1 << 20, from, from + 3 * US);
        event->call = CALL_NCCL;
        event->flags = XFT_ASYNC | XFT_STREAM_KNOWN;
        event->stream = STREAM;
        event->correlation = run->correlation;
    }
}

/* One rank alone: nobody receives what it sends. */
static void stray(struct drawn *run, uint64_t at)
{
    struct ranked *own = &run->ranks[below(run->count)];
    ranked_send(own, below(run->count), 9, 1000, at, at + 20 * US + below(US));
    copy(own, XFT_DIR_H2D, at + 50 * US, at + 150 * US + below(US));
}

static void compute(struct drawn *run, uint64_t at)
{
    for (uint32_t r = 0; r < run->count; r++)
        launch(&run->ranks[r], ++run->correlation, at, at + (100 + below(900)) * US);
}

static action_fn *const actions[] = {stage, exchange_small, reduce, reduce_by_nccl, stray, compute};
enum { ACTIONS = sizeof actions / sizeof *actions };

static void draw(struct drawn *run, uint32_t members)
{
    run->count = 2 + below(MOST_RANKS - 1);
    for (uint32_t r = 0; r < run->count; r++) {
        ranked_start(&run->ranks[r], r, run->count, r < run->count / 2 ? "node01" : "node02");
        run->ranks[r].offset_ns = r < run->count / 2 ? 0 : 1500000;
        run->shares[r] = below(members);
        const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                          .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
        ranked_event(&run->ranks[r], records, 0, 0);
    }
    for (uint32_t i = 0, steps = 3 + below(25), only = below(2 * ACTIONS); i < steps; i++)
        actions[only < ACTIONS ? only : below(ACTIONS)](run, 100 * US + i * (uint64_t)SLOT);
    for (uint32_t r = 0; r < run->count; r++)
        ranked_end(&run->ranks[r]);
}

/* ---- the same by a team ---------------------------------------------------------------------- */

void __real_xfa_process_share(struct xfa_process *process);
void __wrap_xfa_process_share(struct xfa_process *process);
static const uint32_t *shares; /* by process */

void __wrap_xfa_process_share(struct xfa_process *process)
{
    __real_xfa_process_share(process);
    if (process->run->team)
        process->share = shares[process->number];
}

static void write_rows(const struct xfa_analysis *analysis, FILE *out)
{
    const struct xfa_messages *messages = &analysis->messages;
    for (size_t i = 0; i < messages->rows.count; i++) {
        const struct xfa_message_row *row = xfa_message_row(messages, i);
        fprintf(out, "row %zu: %u %u %u %u, %u ranks, %d calls, %.17g %.17g %.17g %.17g\n", i,
                row->key.site, row->key.function, row->key.from, row->key.to, row->size,
                (int)row->calls, row->ns, row->wait_ns, row->kernel_ns, row->before_ns);
    }
    const struct xfa_kept_message *kept = messages->kept.all;
    for (size_t i = 0; i < messages->kept.count; i++)
        fprintf(out, "kept %zu: process %u, row %u, number %u of %u\n", i, kept[i].at.process,
                kept[i].row, kept[i].at.n, kept[i].at.of);
    fprintf(out, "%zu of NCCL%s\n", messages->nccl.kept.count,
            analysis->matched.meetings ? ", some met in NCCL" : "");
}

static struct xfa_survey *survey_of(struct xfa_team *team, const struct drawn *run,
                                    struct trace_builder traces[MOST_RANKS])
{
    for (uint32_t i = 0; i < run->count; i++)
        traces[i] = run->ranks[i].b;
    shares = run->shares;
    return surveyed(team, run->profile, traces, run->count);
}

static void analyze(struct xfa_team *team, void *context, FILE *out)
{
    struct drawn *run = context;
    struct trace_builder traces[MOST_RANKS];
    struct xfa_survey *survey = survey_of(team, run, traces);
    if (team && !survey)
        fprintf(out, "all read all\n");
    const struct xfa_request as = {.profile = run->profile, .team = team, .survey = survey};
    struct analyzed a = analyzed_traces(xfa_findings_new(), as, traces, run->count);
    analyzed_finish(&a);
    write_rows(a.analysis, out);
    if (team && xfa_together_share(a.analysis, a.findings->gather)) {
        xfw_gather_free(a.findings->gather);
        a.findings->gather = NULL;
    }
    xfa_findings_weigh(a.findings, a.analysis);
    a.analysis->run->team = NULL;
    analyzed_write(&a, &xfa_format_json, out);
    analyzed_write(&a, &xfa_format_text, out);
    analyzed_free(&a);
    xfa_survey_free(survey);
}

/* What some report must have shown. */
static const char *const shown[] = {
    "\"together\"",     "unpipelined-staging", "small-messages",      "exposed-communication",
    "some met in NCCL", "ncclAllReduce",       "\"others_waited_s\"", "MPI_Wait"};
enum { SHOWN = sizeof shown / sizeof *shown };
static unsigned times_shown[SHOWN];

static void check_drawn(const struct xfp_profile *profile, unsigned number)
{
    struct drawn run = {.profile = profile};
    uint32_t members = 2 + below(MOST_MEMBERS - 1);
    draw(&run, members);
    char *alone = members_none(analyze, &run);
    char *together = members_run(members, analyze, &run);
    members_same(alone, together, number, members);
    for (unsigned i = 0; i < SHOWN; i++)
        times_shown[i] += strstr(alone, shown[i]) != NULL;
    for (uint32_t r = 0; r < run.count; r++)
        build_free(&run.ranks[r].b);
    free(alone);
    free(together);
}

static struct xfp_profile *networked(void)
{
    struct xfp_profile *profile = scenario_profile();
    ranked_network(profile, "node01", "node02", 4000, 10);
    ranked_staged(profile, 0, 1, BYTES, 900000, 500000, 0);
    return profile;
}

static void test_same_messages(void **state)
{
    const char *seed = getenv("XFERSCOPE_SEED"), *more = getenv("XFERSCOPE_LONG_TESTS");
    struct xfp_profile *profile = networked();
    (void)state;
    for (unsigned i = 0; i < (more ? LONG_RUNS : RUNS); i++) {
        state_of_random = (seed ? strtoull(seed, NULL, 10) : 1) * 1000 + i;
        below(2);
        check_drawn(profile, i);
    }
    for (unsigned i = 0; i < SHOWN; i++)
        if (times_shown[i] == 0)
            fail_msg("no run shows %s", shown[i]);
    xfp_free(profile);
}

/* ---- calls that are kept --------------------------------------------------------------------- */

enum { PROCESSES = 5, CALLS = 3000, FEW = 60 /* of the last process */, MOST_KEPT = 100 };

static struct xfa_nccl_call call_number(uint32_t i)
{
    const uint64_t some = i * UINT64_C(0x9e3779b97f4a7c15);
    return (struct xfa_nccl_call){.at = {.channel = some % 7,
                                         .n = (uint32_t)(some >> 20) % 1000,
                                         .process = i < CALLS - FEW ? i * 4 / CALLS : 4,
                                         .side = XFA_TAKES_PART},
                                  .correlation = i};
}

static struct xfa_kept_calls kept_none(void)
{
    return (struct xfa_kept_calls){.bytes = sizeof(struct xfa_nccl_call), .most = MOST_KEPT};
}

static void keep_those_of(struct xfa_kept_calls *calls, const uint32_t *of, uint32_t member)
{
    for (uint32_t i = 0; i < CALLS; i++) {
        const struct xfa_nccl_call one = call_number(i);
        if (!of || of[one.at.process] == member)
            xfa_calls_keep(calls, &one, NULL, NULL);
    }
}

static void check_kept(const uint32_t of[PROCESSES])
{
    struct xfa_kept_calls alone = kept_none(), all = kept_none();
    keep_those_of(&alone, NULL, 0);
    for (uint32_t member = 0; member < 3; member++) {
        struct xfa_kept_calls own = kept_none();
        struct xfa_parcel parcel = {0};
        keep_those_of(&own, of, member);
        xfa_calls_give(&own, &parcel);
        struct xfa_unpacking from = xfa_unpack(&parcel);
        xfa_calls_take(&all, &from, PROCESSES);
        assert_true(!from.bad && from.left == 0);
        free(own.all);
        xfa_parcel_free(&parcel);
    }
    xfa_calls_taken(&all);
    assert_true(alone.mask > 0);
    assert_int_equal(all.mask, alone.mask);
    assert_int_equal(all.count, alone.count);
    assert_memory_equal(all.all, alone.all, alone.count * alone.bytes);
    free(alone.all);
    free(all.all);
}

/* Of more than there is room for: the same ones as one process keeps, in its order; also where one
 * member has left out many, and the last one none. */
static void test_same_calls_are_kept(void **state)
{
    (void)state;
    check_kept((const uint32_t[]){1, 0, 1, 0, 2});
    check_kept((const uint32_t[]){0, 0, 0, 0, 2});
}

static void test_calls_of_no_process(void **state)
{
    struct xfa_kept_calls own = kept_none(), none = kept_none();
    struct xfa_parcel parcel = {0};
    (void)state;
    keep_those_of(&own, NULL, 0);
    xfa_calls_give(&own, &parcel);
    struct xfa_unpacking from = xfa_unpack(&parcel);
    xfa_calls_take(&none, &from, PROCESSES - 1);
    assert_true(from.bad);
    free(none.all);
    free(own.all);
    xfa_parcel_free(&parcel);
}

/* ---- no room --------------------------------------------------------------------------------- */

double __real_xfa_messages_filled(const void *self);
double __wrap_xfa_messages_filled(const void *self);
static double filled = NAN; /* NAN: as it is */

double __wrap_xfa_messages_filled(const void *self)
{
    return isnan(filled) ? __real_xfa_messages_filled(self) : filled;
}

static void say_divided(struct xfa_team *team, void *context, FILE *out)
{
    struct drawn *run = context;
    struct trace_builder traces[MOST_RANKS];
    struct xfa_survey *survey = survey_of(team, run, traces);
    fprintf(out, "%d", survey != NULL);
    xfa_survey_free(survey);
}

/* Where members' parts fill the room, each has to read all. */
static void test_no_room_for_all(void **state)
{
    struct drawn run = {.count = 0};
    (void)state;
    state_of_random = 7;
    draw(&run, 2);
    filled = 0.5;
    char *full = members_run(2, say_divided, &run);
    filled = 0.49;
    char *room = members_run(2, say_divided, &run);
    filled = NAN;
    assert_string_equal(full, "0");
    assert_string_equal(room, "1");
    free(full);
    free(room);
    for (uint32_t r = 0; r < run.count; r++)
        build_free(&run.ranks[r].b);
}

/* Its part of the room is that of what there is most of: rows, or more kernels than are kept. */
static void test_filled(void **state)
{
    struct drawn run = {.count = 0};
    struct trace_builder traces[MOST_RANKS];
    (void)state;
    state_of_random = 7;
    draw(&run, 2);
    for (uint32_t i = 0; i < run.count; i++)
        traces[i] = run.ranks[i].b;
    struct analyzed a =
        analyzed_traces(xfa_findings_new(), (struct xfa_request){NULL}, traces, run.count);
    struct xfa_messages *messages = &a.analysis->messages;
    double usual = xfa_messages_filled(messages);
    assert_true(usual > 0 && usual < 0.01);
    messages->most = 4 * messages->rows.count;
    assert_true(xfa_messages_filled(messages) == 0.25);
    messages->nccl.beyond = true;
    assert_true(xfa_messages_filled(messages) == 1);
    analyzed_finish(&a);
    analyzed_free(&a);
    for (uint32_t r = 0; r < run.count; r++)
        build_free(&run.ranks[r].b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_messages), cmocka_unit_test(test_same_calls_are_kept),
        cmocka_unit_test(test_calls_of_no_process), cmocka_unit_test(test_no_room_for_all),
        cmocka_unit_test(test_filled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
