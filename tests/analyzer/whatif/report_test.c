/* What the run would save, as the text report says it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

#define MS 1e6
#define RUN (400 * MS)
#define BEHIND "\nThe run\n" /* the sections before it are about savings */

/* An analysis of a trace, with findings and savings that are made up. */
struct made {
    struct analyzed a;
    struct trace_builder b;
};

static struct made start(void)
{
    struct made made;
    scenario_mixed(&made.b);
    made.a = analyzed_trace(&made.b, NULL);
    xfa_findings_free(made.a.findings);
    made.a.findings = xfa_findings_new();
    made.a.findings->whatif = xfa_alloc(sizeof *made.a.findings->whatif);
    *made.a.findings->whatif = (struct xfw_whatif){
        .known = true,
        .recorded_ns = 1.1 * RUN,
        .replayed_ns = 1.1 * RUN,
        .error = 0.003,
        .alone_ns = RUN,
        .recording_known = true,
        .set = {NAN, NAN, NAN},
    };
    return made;
}

/* With one site, of transfers where the row is known, else of calls. */
static struct xfa_finding *add(struct made *made, enum xfa_finding_id id, bool transfers,
                               double likely_ms)
{
    const struct xfa_remedy remedy = {.kind = transfers ? XFA_REMEDY_PIN : XFA_REMEDY_ALLOCATE_ONCE,
                                      .node = -1};
    const struct xfa_row *row = analyzed_row(&made->a, 0);
    struct xfa_finding *finding = xfa_findings_add(made->a.findings, id, &remedy);
    const struct xfa_finding_site site = {
        .row = transfers ? row : NULL, .site = row->site, .transfers = 7, .lost_ns = 2 * MS};
    finding->transfers = 7;
    finding->lost_ns = 2 * MS;
    finding->saving = (struct xfw_saving){likely_ms * MS / 2, likely_ms * MS, likely_ms * MS * 1.5};
    finding->idle = likely_ms * MS < XFA_LEAST_SAVED * RUN;
    xfa_finding_site_add(finding, &site);
    return finding;
}

static void join(struct xfa_finding *finding, unsigned order, double added_ms)
{
    finding->order = order;
    finding->added_ns = added_ms * MS;
}

static char *written(const struct made *made, const struct xfa_format *format)
{
    struct xfa_report report = {.analysis = made->a.analysis, .findings = made->a.findings};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    format->write(&report, &(struct xfa_view){.width = 80, .top = 20}, out);
    fclose(out);
    return text;
}

static char *section_of(const struct made *made)
{
    char *text = written(made, &xfa_format_text);
    char *behind = strstr(text, BEHIND);
    assert_non_null(behind);
    *behind = '\0';
    return text;
}

static void finish(struct made *made)
{
    analyzed_free(&made->a);
    build_free(&made->b);
}

static void says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void does_not_say(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" is in:\n%s", part, text);
}

/* The head tells of the replay and of the best set; each finding of itself; idle ones are none. */
static void test_savings(void **state)
{
    struct made made = start();
    struct xfw_whatif *whatif = made.a.findings->whatif;
    struct xfw_range_times *phase = xfa_alloc(2 * sizeof *phase);
    phase[0] = (struct xfw_range_times){.name = xfa_text("quiet"),
                                        .times = {.alone_ns = MS, .set_ns = MS}};
    phase[1] = (struct xfw_range_times){.name = xfa_text("work"),
                                        .times = {.alone_ns = 300 * MS, .set_ns = 120 * MS}};
    whatif->ranges = phase;
    whatif->range_count = 2;
    whatif->span = (struct xfw_times){.alone_ns = 350 * MS, .set_ns = 170 * MS};
    whatif->set = (struct xfw_saving){140 * MS, 180 * MS, 200 * MS};
    join(add(&made, XFA_FINDING_PAGEABLE, true, 150), 1, 150);
    struct xfa_finding *second = add(&made, XFA_FINDING_ALLOCATION, false, 40);
    join(second, 2, 30);
    second->assumed = "that there is room";
    second->saving.low = -4 * MS;
    add(&made, XFA_FINDING_SMALL, true, 20);
    add(&made, XFA_FINDING_DUPLICATE, true, NAN);
    add(&made, XFA_FINDING_REPEATED, true, 1);
    struct xfa_finding *last = add(&made, XFA_FINDING_SYNCHRONOUS, true, 0.5);
    xfa_finding_site_add(last, &(struct xfa_finding_site){.site = last->sites[0].site});
    char *text = section_of(&made);
    says(text, "\n350 ms -> 170 ms with changes 1 and 2 (51 % less; 150 to 210 ms)\n");
    says(text, "\n1  pageable-host-memory  150 ms (75.0-225 ms)  H2D, 7 copies\n");
    /* Behind the first what it adds: these figures are the set's together. */
    says(text, "\n2  repeated-allocation  30.0 ms more (alone up to 60.0 ms, may cost 4.00 ms)  7\n"
               "   calls\n   upload (train.c:42)\n   memory allocated and freed again and again\n"
               "   do: ");
    /* Not in the set: two lines, and nothing to do where no member is in its place. */
    says(text, "\n3  needless after 1 and 2: small-transfers  20.0 ms (10.0-30.0 ms)  H2D, 7\n"
               "   copies\n   upload (train.c:42)\n\nmodelled");
    says(text, "\nmodelled, the replay is 1.32 ms off the run\n");
    says(text, "\nFindings, the best set first; what the run would save with each alone\n"
               "  replayed unchanged: 0.3 % off; without what recording cost: 400 ms\n"
               "  best set: 1. pageable-host-memory saves 150 ms, then 2. repeated-allocation\n"
               "            saves 30.0 ms more\n"
               "  from the first work for a GPU to the last wait: 350 ms -> 170 ms\n"
               "  in phase work: 300 ms -> 120 ms\n"
               " 1. pageable-host-memory: copies from or to pageable host memory\n"
               "     saves 150 ms of the run (38 %), between 75.0 ms and 225 ms (modelled)\n"
               "     lost 2.00 ms in 7 transfers\n");
    says(text, "\n 2. repeated-allocation: memory allocated and freed again and again\n"
               "     saves 40.0 ms of the run (10 %), at most 60.0 ms, and may cost up to\n"
               "           4.00 ms (modelled)\n"
               "     assuming that there is room\n"
               "     lost 2.00 ms in 7 calls\n");
    says(text, "     saves 20.0 ms of the run (5.0 %), between 10.0 ms and 30.0 ms (modelled);\n"
               "           not in the best set: needless after 1 and 2\n");
    says(text, "\n 4. duplicate-transfer: the same bytes sent to a device again, to another place\n"
               "     saves not known: that takes a machine profile\n");
    does_not_say(text, " 5. ");
    says(text, "\n  2 more look like waste, but would save the run nothing (less than 0.5 % each:\n"
               "  hidden behind other work, or the fix costs as much): repeated-transfer at\n");
    says(text, "; synchronous-transfer at ");
    says(text, " and 1 other\n");
    does_not_say(text, "quiet");
    free(text);
    finish(&made);
}

/* All findings in the set, or the only one. */
static void test_all_together(void **state)
{
    struct made made = start();
    struct xfw_whatif *whatif = made.a.findings->whatif;
    whatif->set = (struct xfw_saving){80 * MS, 100 * MS, 120 * MS};
    join(add(&made, XFA_FINDING_PAGEABLE, true, 100), 1, 100);
    char *text = section_of(&made);
    says(text, "\n400 ms -> 300 ms with 1 change (25 % less; 280 to 320 ms)\n");
    does_not_say(text, "not in");
    does_not_say(text, "waste");
    free(text);
    struct xfa_finding *second = add(&made, XFA_FINDING_SMALL, true, 20);
    text = section_of(&made);
    says(text, "\n400 ms -> 300 ms with change 1 (");
    says(text, "\n  best set: 1. pageable-host-memory saves 100 ms\n 1. ");
    free(text);
    join(second, 2, 3);
    text = section_of(&made);
    says(text, "\n400 ms -> 300 ms with 2 changes (");
    does_not_say(text, "\n  1. ");
    free(text);
    join(add(&made, XFA_FINDING_REPEATED, true, 1), 3, 1);
    text = section_of(&made);
    says(text, "\n  best set: 1. pageable-host-memory saves 100 ms, then 2. small-transfers saves\n"
               "            3.00 ms more, then repeated-transfer saves 1.00 ms more\n 1. ");
    free(text);
    finish(&made);
}

/* Members that are no advice alone have the headline's word wherever findings are listed. */
static void test_smaller(void **state)
{
    struct made made = start();
    made.a.findings->whatif->set = (struct xfw_saving){80 * MS, 100 * MS, 120 * MS};
    join(add(&made, XFA_FINDING_PAGEABLE, true, 100), 1, 90);
    struct xfa_finding *needless = add(&made, XFA_FINDING_REPEATED, true, 30);
    needless->idle = true;
    char *text = section_of(&made);
    says(text, " with 1 change (25 % less");
    says(text, "\n  1 more would save hardly more than a simpler fix: repeated-transfer at ");
    does_not_say(text, "smaller");
    free(text);
    join(needless, 2, 9);
    add(&made, XFA_FINDING_SMALL, true, 0.8);
    text = section_of(&made);
    says(text, " with 1 change and 1 smaller (25 % less");
    says(text,
         "\n\n   1 smaller, in the best set, too little to be advice alone: repeated-transfer\n");
    says(text, "\n  1 smaller, in the best set, too little to be advice alone: repeated-transfer");
    says(text, ", 9.00 ms more\n");
    does_not_say(text, "simpler");
    says(text, "\n  1 more looks like waste, but would save the run nothing");
    free(text);
    text = written(&made, &xfa_format_markdown);
    says(text,
         "\n1 smaller, in the best set, too little to be advice alone: repeated-transfer at ");
    free(text);
    finish(&made);
}

/* An answer that people want, too. */
static void test_nothing(void **state)
{
    struct made made = start();
    made.a.findings->whatif->recording_known = false;
    char *text = section_of(&made);
    says(text, "\nNothing worth changing was found.\n");
    says(text, "\nFindings, by what the run would save with each alone\n"
               "  replayed unchanged: 0.3 % off; without what recording cost (as far as that is\n"
               "  known): 400 ms\n");
    free(text);
    add(&made, XFA_FINDING_PAGEABLE, true, 0.8);
    add(&made, XFA_FINDING_SMALL, true, -0.4);
    text = section_of(&made);
    says(text, "\nNothing worth changing: the best that was found would save 800 us of the run.\n");
    says(text, "\n  2 look like waste, but would save the run nothing (less than 0.5 % each:\n"
               "  hidden behind other work, or the fix costs as much): pageable-host-memory at\n");
    does_not_say(text, " 1. ");
    free(text);
    for (unsigned i = 0; i < 8; i++)
        add(&made, XFA_FINDING_REPEATED, true, 0);
    text = section_of(&made);
    says(text, "; and 4 more\n");
    free(text);
    finish(&made);
}

/* Likely nothing, and much if all is as it may be: said apart, with how much. */
static void test_at_best(void **state)
{
    (void)state;
    struct made made = start();
    add(&made, XFA_FINDING_SMALL, true, 0.8);
    struct xfa_finding *finding = add(&made, XFA_FINDING_REPEATED, true, 0);
    finding->saving.high = 30 * MS;
    char *text = section_of(&made);
    says(text, "\n  1 would likely save the run nothing, but at best, assuming what cannot be\n"
               "  seen: repeated-transfer at ");
    says(text, ", 30.0 ms\n");
    says(text, "\n  1 looks like waste, but would save the run nothing (less than 0.5 % each:\n");
    free(text);
    finding->saving.high = 5 * MS; /* no more than any replay may be off */
    text = section_of(&made);
    does_not_say(text, "at best");
    says(text, "\n  2 look like waste, but would save");
    free(text);
    finish(&made);
}

/* A set of what would save nothing is none. */
static void test_no_set(void **state)
{
    struct made made = start();
    made.a.findings->whatif->set = (struct xfw_saving){MS, MS, MS};
    join(add(&made, XFA_FINDING_PAGEABLE, true, 1), 1, 1);
    add(&made, XFA_FINDING_SMALL, true, NAN);
    char *text = section_of(&made);
    does_not_say(text, " -> ");
    free(text);
    finish(&made);
}

/* A figure that cannot be trusted is left out, or marked as such. */
static void test_trust(void **state)
{
    struct made made = start();
    struct xfw_whatif *whatif = made.a.findings->whatif;
    add(&made, XFA_FINDING_PAGEABLE, true, 100);
    whatif->error = 0.082;
    whatif->marked = true;
    char *text = section_of(&made);
    says(text, "\nmodelled, the replay is 36.1 ms off the run: too far to trust, every saving "
               "is\nuncertain\n");
    says(text,
         "  replayed unchanged: 8.2 % off, which makes all savings uncertain; without what\n");
    free(text);
    whatif->known = false;
    whatif->why = xfa_text("events were lost");
    made.a.findings->items[0].saving = (struct xfw_saving){NAN, NAN, NAN};
    text = section_of(&made);
    says(text, "\nFindings, worst first (each stands alone: one transfer may be in several)\n"
               "  what the run would save is not known: events were lost\n"
               " 1. pageable-host-memory: ");
    does_not_say(text, "saves");
    does_not_say(text, "replayed");
    free(text);
    finish(&made);
}

/* Calls that are no transfers have no direction. */
static void test_calls_in_json(void **state)
{
    struct made made = start();
    add(&made, XFA_FINDING_ALLOCATION, false, 40);
    char *text = analyzed_report(&made.a, &xfa_format_json);
    char *finding = strstr(text, "\"findings\":");
    assert_non_null(finding);
    says(finding, "\"direction\": null,");
    free(text);
    finish(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_savings), cmocka_unit_test(test_all_together),
        cmocka_unit_test(test_smaller), cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_at_best), cmocka_unit_test(test_trust),
        cmocka_unit_test(test_no_set),  cmocka_unit_test(test_calls_in_json),
    };
    return cmocka_run_group_tests_name("whatif_report", tests, NULL, NULL);
}
