/*
 * A run whose reading the members of a team divide (analyzer/analysis/survey.h): all sums, those
 * that show nowhere, too, are those of one process, bit for bit; and where they could not be, all
 * members read all.
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

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"
#include "analyzer/findings/findings_private.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/lab/members.h"
#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/lab/random_below.h"
#include "tests/analyzer/lab/surveyed.h"

#define MIB ((uint64_t)1 << 20)

enum { MOST_PROCESSES = 7, MOST_MEMBERS = 4, LONG_RUNS = 1000 };
#ifdef __SANITIZE_ADDRESS__ /* to fork takes ten times as long */
enum { RUNS = 30 };
#else
enum { RUNS = 100 };
#endif
enum { SITES = 6, FIRST_SITE = 10, KERNEL_TEXT = 7, NAME_TEXT, ARGUMENTS = 3 };
enum { HOST = 0x50000000, MAPPED = 0x60000000, DATA = 0x30000000, KERNEL_NS = 90000 };

static uint64_t state_of_random = 1;

static uint32_t below(uint32_t limit)
{
    return random_below(&state_of_random, limit);
}

/* ---- what a process does --------------------------------------------------------------------- */

static void take_memory(struct play *play, enum xft_event_kind kind, unsigned site,
                        uint64_t address, enum xft_memory memory)
{
    const struct xft_event event = {.kind = (uint8_t)kind,
                                    .stack = site,
                                    .dst = address,
                                    .bytes = 4 * MIB,
                                    .width = 4 * MIB,
                                    .call = (uint16_t)(below(2) ? CALL_MEMCPY : CALL_MEMCPY_ASYNC),
                                    .dst_mem = (uint8_t)memory};
    play_event(play, event, 900 + below(50));
}

static void play_allocations(struct play *play, unsigned site)
{
    for (unsigned i = 0, times = 2 + below(4); i < times; i++) {
        take_memory(play, XFT_EVENT_ALLOC, site, DATA + 16 * MIB, XFT_MEM_DEVICE);
        take_memory(play, XFT_EVENT_FREE, site, DATA + 16 * MIB, XFT_MEM_DEVICE);
    }
}

static void play_registrations(struct play *play, unsigned site)
{
    for (unsigned i = 0, times = 2 + below(4); i < times; i++) {
        take_memory(play, XFT_EVENT_REGISTER, site, HOST + 64 * MIB, XFT_MEM_REGISTERED);
        take_memory(play, XFT_EVENT_UNREGISTER, site, HOST + 64 * MIB, XFT_MEM_REGISTERED);
    }
}

/* Calls of two threads at a time. */
static void play_crowd(struct play *play, unsigned site)
{
    const struct xft_event call = {.kind = XFT_EVENT_SET, .stack = site, .call = CALL_MEMCPY};
    for (unsigned i = 0; i < 40; i++) {
        uint64_t now = play->now;
        play_event(play, call, 6000);
        play->lane = LANE_OTHER;
        play->now = now + 1000;
        play_event(play, call, i < 20 ? 500 : 8000 + below(900));
        play->lane = LANE_MAIN;
        play->now = now + 15000;
    }
}

/* Of a node that is not the GPU's; others wait for it, or not. */
static void play_far(struct play *play, unsigned site)
{
    take_memory(play, XFT_EVENT_ALLOC, FIRST_SITE + below(SITES), HOST, XFT_MEM_PINNED);
    for (unsigned i = 0; i < 3; i++) {
        struct xft_event *call = play_async(play, site, below(2) ? XFT_DIR_H2D : XFT_DIR_D2H,
                                            XFT_MEM_PINNED, MIB << below(2), 0);
        bool up = call->direction == XFT_DIR_H2D;
        *(up ? &call->src_place : &call->dst_place) = (int16_t)below(2);
        *(up ? &call->dst_place : &call->src_place) = call->device = 0;
        *(up ? &call->src : &call->dst) = HOST;
        play_device_copy(play, call, 50001 + below(9));
    }
    take_memory(play, XFT_EVENT_FREE, site, HOST, XFT_MEM_PINNED);
}

static void run_kernel(struct play *play)
{
    const uint32_t correlation = 100000 + play->correlation++;
    const struct xft_event launch = {.kind = XFT_EVENT_LAUNCH,
                                     .correlation = correlation,
                                     .src = KERNEL_TEXT,
                                     .aux = ARGUMENTS},
                           ran = {.kind = XFT_EVENT_KERNEL,
                                  .correlation = correlation,
                                  .src = KERNEL_TEXT};
    play_event(play, launch, 2000);
    play->lane = LANE_DEVICE;
    play_event(play, ran, KERNEL_NS + below(100));
    play->lane = LANE_MAIN;
}

/* What kernels are given was filled by copies, or lies in the host's memory. */
static void play_kernels(struct play *play, unsigned site)
{
    struct xft_event *call =
        play_async(play, site, XFT_DIR_H2D, XFT_MEM_PINNED, 2 * MIB, 40000 + below(100));
    call->src = HOST;
    call->dst = DATA;
    call->device = call->dst_place = 0;
    take_memory(play, XFT_EVENT_ALLOC, site, MAPPED, XFT_MEM_MAPPED);
    for (unsigned i = 0, count = 1 + below(3); i < count; i++)
        run_kernel(play);
}

/* Nobody uses what is sent there again and again. */
static void play_unused(struct play *play, unsigned site)
{
    for (unsigned i = 0, count = 1 + below(3); i < count; i++) {
        struct xft_event *call =
            play_copy(play, site, XFT_DIR_H2D, XFT_MEM_PINNED, MIB, 60000 + below(100));
        call->dst = DATA + 8 * MIB;
        call->device = call->dst_place = 0;
    }
}

static void play_graphs(struct play *play, unsigned site)
{
    for (unsigned i = 0, count = 2 + below(2); i < count; i++) {
        const struct xft_event event = {.kind = XFT_EVENT_GRAPH_LAUNCH,
                                        .correlation = ++play->correlation,
                                        .src = 1,
                                        .count = 1,
                                        .stack = site};
        struct xft_event copy =
            test_transfer(CALL_MEMCPY_ASYNC, XFT_DIR_H2D, XFT_MEM_PINNED, MIB, 0, 0);
        copy.stack = site;
        copy.src = HOST;
        copy.dst = DATA;
        copy.flags = XFT_ASYNC | XFT_GRAPH;
        copy.correlation = play->correlation;
        uint64_t now = play->now;
        play_event(play, event, 2000);
        play->now = now;
        play_device_copy(play, play_event(play, copy, 2000), 70000 + below(9));
    }
}

static void play_waits(struct play *play, unsigned site)
{
    const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT, .stack = site};
    play_async(play, site, XFT_DIR_D2H, XFT_MEM_PAGEABLE, 1000 + below(90), 3001);
    if (below(4) == 0)
        play_copy(play, site, XFT_DIR_H2D, XFT_MEM_PINNED, MIB, 900)->flags |= XFT_FAILED;
    play_event(play, wait, 1001 + below(5000));
}

/* Seen by all members: they have not divided these sums. */
static void play_ranges(struct play *play, unsigned site)
{
    const struct xft_event begin = {.kind = XFT_EVENT_RANGE_BEGIN, .dst = NAME_TEXT},
                           end = {.kind = XFT_EVENT_RANGE_END};
    play_event(play, begin, 0);
    play_waits(play, site);
    play_event(play, end, 0);
}

static void play_combined(struct play *play, unsigned site)
{
    take_memory(play, XFT_EVENT_ALLOC, site, HOST + 128 * MIB, XFT_MEM_WRITE_COMBINED);
    struct xft_event *call =
        play_copy(play, site, XFT_DIR_D2H, XFT_MEM_WRITE_COMBINED, MIB, 50000 + below(100));
    call->dst = HOST + 128 * MIB;
}

typedef void action_fn(struct play *play, unsigned site);
static action_fn *const actions[] = {play_allocations, play_registrations, play_crowd,  play_far,
                                     play_kernels,     play_unused,        play_graphs, play_waits,
                                     play_ranges,      play_combined};
enum { ACTIONS = sizeof actions / sizeof *actions };

/* A function of the program that several call: its sites name them, once the run knows of two. */
static void draw_helper(struct play *play, unsigned stack, unsigned called_by)
{
    char caller[24];
    uint64_t address = 0x420000, by = 0x430000 + 16 * (uint64_t)called_by;
    snprintf(caller, sizeof caller, "caller_%u", called_by);
    build_symbol(play->b, address, 0, "helper", "/src/app.c", 5, "/opt/sample/train");
    build_symbol(play->b, by, 0, caller, "/src/app.c", 40 + called_by, "/opt/sample/train");
    build_stack(play->b, stack, (uint64_t[]){address, by, 0x401200}, 3);
}

/* theme: an action, or ACTIONS for any. Stacks of a process have other sites than another's; some
 * are of its own. */
static void draw_process(struct trace_builder *b, int pid, uint32_t theme)
{
    struct play play;
    uint32_t turn = below(SITES), steps = theme < ACTIONS ? 1 + below(3) : 2 + below(6);
    play_start(&play, b, pid);
    for (unsigned i = 0; i <= SITES; i++) {
        char name[24];
        if (below(3) == 0) {
            draw_helper(&play, FIRST_SITE + i, below(4));
            continue;
        }
        snprintf(name, sizeof name, below(4) ? "at_%u" : "at_%u_of_%d", (i + turn) % SITES, pid);
        play_site(&play, FIRST_SITE + i, name, 1 + below(3));
    }
    build_text(b, KERNEL_TEXT, "step");
    build_text(b, NAME_TEXT, "a range");
    build_arguments(b, ARGUMENTS, (uint64_t[]){DATA, MAPPED}, 2);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    play_event(&play, records, 0);
    const struct xft_event data = {
        .kind = XFT_EVENT_ALLOC, .dst = DATA, .bytes = 12 * MIB, .dst_mem = XFT_MEM_DEVICE};
    play_event(&play, data, 1000);
    for (uint32_t i = 0; i < steps; i++)
        actions[theme < ACTIONS ? theme : below(ACTIONS)](&play, FIRST_SITE + below(SITES));
    play_end(&play, XFT_STATE_CLOSED);
}

/* ---- the same sums --------------------------------------------------------------------------- */

struct drawn {
    struct trace_builder traces[MOST_PROCESSES];
    uint32_t count, shares[MOST_PROCESSES];
    const struct xfp_profile *profile;
};

void __real_xfa_process_share(struct xfa_process *process);
void __wrap_xfa_process_share(struct xfa_process *process);
static const uint32_t *shares; /* NULL: as it is */

void __wrap_xfa_process_share(struct xfa_process *process)
{
    __real_xfa_process_share(process);
    if (shares && process->run->team)
        process->share = shares[process->number];
}

/* What a member gives of them, as it lies in memory, but for what says who gave it. */
static struct xfa_parcel parcel_of(const struct analyzed *a, unsigned id)
{
    const struct xfa_finding_kind *kind = xfa_finding_kind_of(id);
    struct xfa_parcel given = {0}, again = {0};
    void *self = xfa_alloc(kind->self_bytes);
    kind->observe(self);
    xfa_divided_give(kind, a->findings->selves[id], &given);
    struct xfa_unpacking from = xfa_unpack(&given);
    xfa_divided_take(kind, self, a->analysis, &from);
    assert_true(!from.bad && from.left == 0);
    xfa_divided_give(kind, self, &again);
    if (kind->free)
        kind->free(self);
    free(self);
    xfa_parcel_free(&given);
    return again;
}

static void write_sums(const struct analyzed *a, FILE *out)
{
    for (unsigned id = 0; id < XFA_FINDINGS; id++) {
        if (!xfa_is_divided(xfa_finding_kind_of(id)) || !a->findings->by_survey[id])
            continue; /* the report shows those of the others */
        struct xfa_parcel parcel = parcel_of(a, id);
        uint64_t hash = 0xcbf29ce484222325u;
        for (size_t i = 0; i < parcel.count; i++)
            hash = (hash ^ parcel.bytes[i]) * 0x100000001b3u;
        fprintf(out, "%s: %zu bytes, %016llx\n", xfa_finding_word(id), parcel.count,
                (unsigned long long)hash);
        xfa_parcel_free(&parcel);
    }
    const struct xfa_counts *counts = &a->analysis->counts;
    fprintf(out, "%d failed, %d empty, %d of the device only\n", (int)counts->failed,
            (int)counts->empty, (int)counts->device_only);
    for (size_t i = 0; i < a->analysis->run->process_count; i++) {
        const double *alone = a->analysis->run->processes[i]->calls_ns;
        fprintf(out, "process %zu: %.17g ns alone\n", i, alone ? alone[XFT_EVENT_SET] : 0);
    }
    for (size_t i = 0; i < a->analysis->waits.all.count; i++) {
        const struct xfa_wait *wait = xfa_table_at(&a->analysis->waits.all, i);
        fprintf(out, "wait %zu: %u %u, %d times\n", i, wait->key.site, wait->key.function,
                (int)wait->times);
    }
    for (size_t i = 0; i < xfa_run_site_count(a->analysis->run); i++)
        fprintf(out, "site %zu: %s\n", i, xfa_run_site(a->analysis->run, (uint32_t)i)->text);
    for (size_t i = 0; i < a->analysis->run->functions.count; i++)
        fprintf(out, "function %zu: %s\n", i,
                xfa_run_function(a->analysis->run, (uint32_t)i)->name);
    for (size_t i = 0; i < a->analysis->classes.classes.count; i++) {
        const struct xfa_class *class = xfa_class_at(&a->analysis->classes, i);
        fprintf(out, "class %zu: row %u, site %u\n", i, class->row, class->key.row.site);
    }
}

static void analyze(struct xfa_team *team, void *context, FILE *out)
{
    struct drawn *run = context;
    shares = run->shares;
    struct xfa_survey *survey = surveyed(team, run->profile, run->traces, run->count);
    if (team && !survey)
        fprintf(out, "all read all\n");
    const struct xfa_request as = {.profile = run->profile, .team = team, .survey = survey};
    struct analyzed a = analyzed_traces(xfa_findings_new(), as, run->traces, run->count);
    analyzed_finish(&a);
    write_sums(&a, out);
    xfa_findings_weigh(a.findings, a.analysis);
    a.analysis->run->team = NULL;
    analyzed_write(&a, &xfa_format_json, out);
    analyzed_free(&a);
    xfa_survey_free(survey);
}

static struct xfp_profile *two_nodes(void)
{
    static const char path[] = "%s{\"name\": \"copy/%d/%d\", \"method\": \"copy\", \"direction\": "
                               "\"%s\", \"src\": %s, \"dst\": %s, \"device_timed\": true, \"fit\": "
                               "null, \"points\": [{\"bytes\": 1048576, \"median_ns\": %d}, "
                               "{\"bytes\": 2097152, \"median_ns\": %d}]}";
    const char *gpu = "{\"memory\": \"device\", \"device\": 0, \"numa\": -1}";
    struct measured_text text;
    measured_begin(&text,
                   &(struct measured_machine){
                       .id = "aaaa1111", .gpus = 2, .nodes = (int[]){1, -1}, .numa_nodes = 2});
    fputs(", \"paths\": [", text.out);
    for (int i = 0; i < 4; i++) {
        char host[80];
        bool up = i < 2;
        int ns = i % 2 ? 20000 : 49999;
        snprintf(host, sizeof host, "{\"memory\": \"pinned\", \"device\": -1, \"numa\": %d}",
                 i % 2);
        fprintf(text.out, path, i ? ", " : "", i, i, up ? "H2D" : "D2H", up ? host : gpu,
                up ? gpu : host, ns, 2 * ns);
    }
    fputs("]", text.out);
    return measured_end(&text);
}

static size_t most_bytes[XFA_FINDINGS], least_bytes[XFA_FINDINGS]; /* of sums, in any run */

static void note_sizes(const char *report)
{
    for (unsigned id = 0; id < XFA_FINDINGS; id++) {
        char *head = xfa_print("%s: ", xfa_finding_word(id));
        const char *line = strstr(report, head);
        size_t bytes = line ? strtoul(line + strlen(head), NULL, 10) : 0;
        most_bytes[id] = bytes > most_bytes[id] ? bytes : most_bytes[id];
        least_bytes[id] = !least_bytes[id] || bytes < least_bytes[id] ? bytes : least_bytes[id];
        free(head);
    }
}

static void check_drawn(const struct xfp_profile *profile, unsigned number)
{
    struct drawn run = {.count = 1 + below(MOST_PROCESSES), .profile = profile};
    uint32_t members = 2 + below(MOST_MEMBERS - 1), theme = below(2 * ACTIONS);
    for (uint32_t i = 0; i < run.count; i++) {
        draw_process(&run.traces[i], 7000 + (int)i, theme);
        run.shares[i] = below(members);
    }
    char *alone = members_none(analyze, &run);
    char *together = members_run(members, analyze, &run);
    members_same(alone, together, number, members);
    note_sizes(together);
    for (uint32_t i = 0; i < run.count; i++)
        build_free(&run.traces[i]);
    free(alone);
    free(together);
}

/* Kinds whose sums are divided only after a survey: each has some in a run, and none in another. */
static void test_same_sums(void **state)
{
    static const enum xfa_finding_id after[] = {
        XFA_FINDING_CONTENTION,   XFA_FINDING_ALLOCATION,     XFA_FINDING_REGISTRATION,
        XFA_FINDING_PAGE_LOCKING, XFA_FINDING_DEFAULT_STREAM, XFA_FINDING_UNUSED,
        XFA_FINDING_GRAPH_UPLOAD, XFA_FINDING_MAPPED,         XFA_FINDING_REMOTE_NODE,
    };
    const char *seed = getenv("XFERSCOPE_SEED"), *more = getenv("XFERSCOPE_LONG_TESTS");
    struct xfp_profile *profiles[] = {two_nodes(), measured_profile(MEASURED_ALL)};
    (void)state;
    for (unsigned i = 0; i < (more ? LONG_RUNS : RUNS); i++) {
        state_of_random = (seed ? strtoull(seed, NULL, 10) : 1) * 1000 + i;
        below(2);
        check_drawn(profiles[i % 2], i);
    }
    for (size_t i = 0; i < sizeof after / sizeof *after; i++)
        if (most_bytes[after[i]] <= least_bytes[after[i]])
            fail_msg("no run has sums of %s", xfa_finding_word(after[i]));
    xfp_free(profiles[0]);
    xfp_free(profiles[1]);
}

/* The second process has nothing that is new to its member, but a stack by which the third one's
 * site is to name its caller. */
static void test_callers_of_others(void **state)
{
    struct drawn run = {.count = 3, .shares = {1, 1, 0}};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct play play;
        play_start(&play, &run.traces[i], 7000 + (int)i);
        play_site(&play, FIRST_SITE, "step", 1);
        if (i > 0)
            draw_helper(&play, FIRST_SITE + 1, i);
        play_waits(&play, FIRST_SITE + (i == 2));
        play_end(&play, XFT_STATE_CLOSED);
    }
    char *alone = members_none(analyze, &run);
    char *together = members_run(2, analyze, &run);
    members_same(alone, together, 0, 2);
    assert_non_null(strstr(together, "helper (app.c:5), called by caller_2"));
    for (unsigned i = 0; i < 3; i++)
        build_free(&run.traces[i]);
    free(alone);
    free(together);
}

/* Who sees a part of the run has a way to get the rest. */
static void test_all_parts_are_merged(void **state)
{
    (void)state;
    for (unsigned id = 0; id < XFA_FINDINGS; id++) {
        const struct xfa_finding_kind *kind = xfa_finding_kind_of(id);
        void *self = kind->observe ? xfa_alloc(kind->self_bytes) : NULL;
        struct xfa_observer observer = {0};
        if (self)
            observer = kind->observe(self);
        if ((observer.shared || observer.divided) != xfa_is_divided(kind))
            fail_msg("%s", xfa_finding_word(id));
        assert_false(observer.shared && observer.divided);
        if (self && kind->free)
            kind->free(self);
        free(self);
    }
}

/* ---- what cannot be divided ------------------------------------------------------------------ */

static void say_divided(struct xfa_team *team, void *context, FILE *out)
{
    struct drawn *run = context;
    shares = NULL;
    struct xfa_survey *survey = surveyed(team, NULL, run->traces, run->count);
    fprintf(out, "%d", survey != NULL);
    xfa_survey_free(survey);
}

enum ill { PLAIN, MESSAGES, SAMPLED };

/* One of three processes has it, the last. */
static void check_divided(enum ill what, const char *expected)
{
    struct drawn run = {.count = 3};
    for (uint32_t i = 0; i < 3; i++) {
        struct play play;
        const struct xft_event message = {.kind = XFT_EVENT_MESSAGE, .aux = XFT_MESSAGE_BARRIER};
        play_start(&play, &run.traces[i], 7000 + (int)i);
        play_waits(&play, STACK_RESULTS);
        if (i == 2 && what == MESSAGES)
            play_event(&play, message, 100);
        if (i == 2 && what == SAMPLED)
            build_meta(&run.traces[i], "timing.sampled", "1");
        play_end(&play, XFT_STATE_CLOSED);
    }
    char *said = members_run(3, say_divided, &run);
    assert_string_equal(said, expected);
    free(said);
    for (uint32_t i = 0; i < 3; i++)
        build_free(&run.traces[i]);
}

static void test_what_is_divided(void **state)
{
    (void)state;
    check_divided(PLAIN, "1");
    check_divided(MESSAGES, "1");
    check_divided(SAMPLED, "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_sums), cmocka_unit_test(test_callers_of_others),
        cmocka_unit_test(test_all_parts_are_merged), cmocka_unit_test(test_what_is_divided)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
