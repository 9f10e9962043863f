/* Findings that share some of their transfers, in the best set: which has which, and how that is
 * said. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/findings/findings_private.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

#define AT ((uint64_t)0x50000000)

enum {
    DOWN = 10,
    UP,
    LOAD,
    ROWS,
    STEPS = 20,
    /* ns, of 16 MiB: as recorded, page-locked, from GPU to GPU */
    COPY_NS = 500000,
    PINNED = 450000,
    PEER_NS = 50000,
    IDLE_NS = 300000, /* of the host, behind the copy that stays */
    CALLS_NS = 10000, /* what a step's calls take, at most */
};

/* ---- through the host, and another copy ------------------------------------------------------ */

static void write_path(FILE *out, const char *name, const char *src, int from, const char *dst,
                       int to, int ns)
{
    const char *direction = from < 0 ? "H2D" : to < 0 ? "D2H" : "P2P";
    fprintf(out,
            "%s{\"name\": \"copy/%s\", \"method\": \"copy\", \"direction\": \"%s\","
            " \"src\": {\"memory\": \"%s\", \"device\": %d, \"numa\": -1},"
            " \"dst\": {\"memory\": \"%s\", \"device\": %d, \"numa\": -1}, \"device_timed\": true,"
            " \"blocking\": true, \"fit\": null, \"points\": [{\"bytes\": 16777216,"
            " \"median_ns\": %d, \"host_ns\": 1000, \"blocking_ns\": %d}]}",
            from < 0 || to < 0 ? ", " : "", name, direction, src, from, dst, to, ns, ns);
}

/* Two GPUs with copies between them, and page-locked memory. */
static struct xfp_profile *two_gpus(void)
{
    struct measured_text text;
    measured_begin(&text, &(struct measured_machine){.id = "aaaa1111", .gpus = 2});
    fputs(", \"paths\": [", text.out);
    write_path(text.out, "peer/p2p/gpu0-gpu1", "device", 0, "device", 1, PEER_NS);
    write_path(text.out, "registered/h2d/gpu0", "registered", -1, "device", 0, PINNED);
    write_path(text.out, "registered/h2d/gpu1", "registered", -1, "device", 1, PINNED);
    write_path(text.out, "registered/d2h/gpu0", "device", 0, "registered", -1, PINNED);
    fputs("]", text.out);
    return measured_end(&text);
}

static void blocking_copy(struct play *play, unsigned stack, enum xft_direction direction,
                          unsigned memory, int16_t gpu, uint64_t at)
{
    bool up = direction == XFT_DIR_H2D;
    struct xft_event *call = play_copy(play, stack, direction, memory, 16 * MIB, COPY_NS);
    *(up ? &call->src : &call->dst) = at;
    *(up ? &call->dst_place : &call->src_place) = call->device = gpu;
}

/* Down from one GPU and up to the other, and a copy of other memory, behind which the host is busy:
 * from a site of its own, or from that of the copies up. */
static struct analyzed staged(unsigned memory, bool one_site, const struct xfp_profile *profile)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, DOWN, "fetch", 1);
    play_site(&play, UP, "send", 2);
    play_site(&play, LOAD, "load", 3);
    for (int i = 0; i < STEPS; i++) {
        blocking_copy(&play, DOWN, XFT_DIR_D2H, memory, 0, AT);
        blocking_copy(&play, UP, XFT_DIR_H2D, memory, 1, AT);
        blocking_copy(&play, one_site ? UP : LOAD, XFT_DIR_H2D, memory, one_site, AT + 64 * MIB);
        play.now += IDLE_NS;
    }
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&b, profile);
    xfa_findings_weigh(a.findings, a.analysis);
    build_free(&b);
    return a;
}

static const struct xfa_finding_site *site_of(const struct xfa_finding *finding, const char *name)
{
    for (size_t i = 0; i < finding->site_count; i++)
        if (strstr(finding->sites[i].site->text, name))
            return &finding->sites[i];
    fail_msg("no site in %s", name);
    return NULL;
}

static void says(const struct analyzed *a, const struct xfa_format *format, const char *what)
{
    char *report = analyzed_report(a, format);
    if (!strstr(report, what))
        fail_msg("\"%s\" is not in:\n%s", what, report);
    free(report);
}

/* What goes from GPU to GPU is neither page-locked nor made asynchronous; the other copy is, and
 * is hidden behind what the host does. */
static void check_staged(unsigned memory)
{
    struct xfp_profile *profile = two_gpus();
    struct analyzed a = staged(memory, false, profile);
    const struct xfa_finding *direct = analyzed_finding(&a, XFA_FINDING_STAGED_PEER, NULL);
    const struct xfa_finding *async = analyzed_finding(&a, XFA_FINDING_SYNCHRONOUS, NULL);
    assert_true(direct && async);
    assert_int_equal(direct->order, 1);
    assert_int_equal(async->order, 2);
    assert_int_equal(direct->left, 0);
    assert_int_equal(async->left, 2 * STEPS);
    assert_int_equal(site_of(async, "fetch")->left, STEPS);
    assert_int_equal(site_of(async, "send")->left, STEPS);
    assert_int_equal(site_of(async, "load")->left, 0);
    double each = IDLE_NS + COPY_NS - PINNED;
    assert_true(fabs(async->added_ns - STEPS * each) < STEPS * CALLS_NS);
    says(&a, &xfa_format_text, "20 of 60 transfers)");
    says(&a, &xfa_format_text, "; not in the best set\n");
    says(&a, &xfa_format_markdown, "; not in the best set\n");
    says(&a, &xfa_format_json, "\"in_set\": 0");
    says(&a, &xfa_format_json, "\"in_set\": 20");
    analyzed_free(&a);
    xfp_free(profile);
}

static void test_page_locked_in_part(void **state)
{
    check_staged(XFT_MEM_PAGEABLE);
}

static void test_asynchronous_in_part(void **state)
{
    check_staged(XFT_MEM_REGISTERED);
}

/* Of one site some copies are the one's and some the other's. */
static void test_site_of_both(void **state)
{
    struct xfp_profile *profile = two_gpus();
    struct analyzed a = staged(XFT_MEM_REGISTERED, true, profile);
    const struct xfa_finding *direct = analyzed_finding(&a, XFA_FINDING_STAGED_PEER, NULL);
    const struct xfa_finding *async = analyzed_finding(&a, XFA_FINDING_SYNCHRONOUS, NULL);
    assert_true(direct && async);
    assert_int_equal(direct->order, 1);
    assert_int_equal(async->order, 2);
    assert_int_equal(site_of(async, "send")->transfers, 2 * STEPS);
    assert_int_equal(site_of(async, "send")->left, STEPS);
    says(&a, &xfa_format_text, "; in the best set for 20");
    analyzed_free(&a);
    xfp_free(profile);
}

/* ---- rows, and copies in one piece ----------------------------------------------------------- */

enum { ROWS_NS = 300000, LOCKED_MORE_NS = 50000, FEED = 40, ROW = 32, BUSY_NS = 10000000 };

/* Copies of rows, each behind some of one piece that take longer in all; the host is busy behind
 * each for a sixteenth of what a page-locked one takes, and once for 10 ms. */
static struct analyzed with_rows(const struct xfp_profile *profile)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, LOAD, "load", 1);
    play_site(&play, ROWS, "column", 2);
    for (int i = 0; i < FEED; i++) {
        bool rows = i % 4 == 0;
        struct xft_event *call = play_copy(&play, rows ? ROWS : LOAD, XFT_DIR_H2D, XFT_MEM_PAGEABLE,
                                           MIB, rows ? ROWS_NS : 8 * (uint64_t)PAGEABLE_NS);
        call->src = rows ? AT : AT + 64 * MIB;
        call->bytes = rows ? MIB : 8 * MIB;
        call->width = rows ? ROW : 0;
        play.now += (rows ? 1 : 8) * (uint64_t)PINNED_NS / 16 + (i ? 0 : BUSY_NS);
    }
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&b, profile);
    xfa_findings_weigh(a.findings, a.analysis);
    build_free(&b);
    return a;
}

/* Page-locked rows take so much longer than one piece. */
static void measure_rows(struct xfp_profile *profile)
{
    measured_table(profile, "copy-2d/pinned/h2d/gpu0", 0);
    struct xfp_table *table = &profile->tables[profile->table_count - 1];
    table->bytes = MIB;
    table->row_count = 2;
    table->rows[0] = (struct xfp_row){.at = ROW, .cost.median = PINNED_NS + LOCKED_MORE_NS};
    table->rows[1] = (struct xfp_row){.at = MIB, .cost.median = PINNED_NS};
}

/* Page-locking has the rows, too, and joins first; once they are of one piece they take as long as
 * that. Their buffer is locked once. */
static void test_rows_in_one(void **state)
{
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    measure_rows(profile);
    struct analyzed a = with_rows(profile);
    const struct xfa_finding *pinned = analyzed_finding(&a, XFA_FINDING_PAGEABLE, NULL);
    const struct xfa_finding *narrow = analyzed_finding(&a, XFA_FINDING_NARROW, NULL);
    const double count = FEED / 4.0;
    assert_true(pinned && narrow);
    assert_int_equal(pinned->order, 1);
    assert_int_equal(narrow->order, 2);
    assert_int_equal(pinned->left, 0);
    assert_true(fabs(narrow->saving.likely - count * (ROWS_NS - PAGEABLE_NS)) < 1);
    assert_true(fabs(narrow->added_ns - count * LOCKED_MORE_NS) < 1);
    analyzed_free(&a);
    xfp_free(profile);
}

/* ---- what is left out, and what is made faster ------------------------------------------------
 */

enum { ONE_ROW, OTHER_ROW, SEVERAL };

/* A finding that saves so much, of these rows (bits). */
static struct xfa_finding saves(double ns, unsigned rows, struct xfw_change *change)
{
    static struct xfa_row row[SEVERAL];
    struct xfa_finding finding = {.saving = {ns, ns, ns}, .change = change};
    finding.sites = calloc(SEVERAL, sizeof *finding.sites);
    for (unsigned i = 0; i < SEVERAL; i++)
        if (rows >> i & 1)
            finding.sites[finding.site_count++] = (struct xfa_finding_site){.row = &row[i]};
    return finding;
}

/* Savings from the first to the last: as they stand then. */
static void stand(struct xfa_finding three[3], const double wanted[3])
{
    struct xfa_findings findings = {.items = three, .count = 3};
    xfa_findings_left_out_first(&findings);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(three[i].saving.likely == wanted[i]);
        free(three[i].sites);
    }
}

static void test_left_out_first(void **state)
{
    struct xfw_change faster = {0}, leaves_out = {.leaves_out = true};
    const unsigned one = 1 << ONE_ROW, other = 1 << OTHER_ROW;
    (void)state;
    stand((struct xfa_finding[]){saves(105, one | other, &faster), saves(101, one, &faster),
                                 saves(100, one, &leaves_out)},
          (double[]){100, 105, 101});
    stand((struct xfa_finding[]){saves(120, one, &faster), saves(101, one, &faster),
                                 saves(100, one, &leaves_out)},
          (double[]){120, 100, 101}); /* the first saves more than hardly */
    stand((struct xfa_finding[]){saves(105, other, &faster), saves(101, one, &leaves_out),
                                 saves(100, one, &leaves_out)},
          (double[]){105, 101, 100}); /* of other transfers; and one like it */
    struct xfa_finding idle = saves(100, one, &leaves_out);
    idle.idle = true;
    stand((struct xfa_finding[]){saves(105, one, &faster), saves(101, one, NULL), idle},
          (double[]){105, 101, 100});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_locked_in_part), cmocka_unit_test(test_asynchronous_in_part),
        cmocka_unit_test(test_site_of_both),        cmocka_unit_test(test_rows_in_one),
        cmocka_unit_test(test_left_out_first),
    };
    return cmocka_run_group_tests_name("findings: the best set", tests, NULL, NULL);
}
