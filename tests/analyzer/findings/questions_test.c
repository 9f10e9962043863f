/* Findings in words: what is known of a saving, why not, what is assumed, and questions, the same
 * in all formats; and how answers are given. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/described.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

#define MS 1e6
#define RUN (400 * MS)

struct made {
    struct analyzed a;
    struct trace_builder b;
};

/* A weighed run with the finding alone. */
static struct made made_of(enum xfa_finding_id id, struct xfw_saving saving)
{
    struct made made;
    scenario_mixed(&made.b);
    made.a = analyzed_trace(&made.b, NULL);
    xfa_findings_free(made.a.findings);
    made.a.findings = xfa_findings_new();
    made.a.findings->whatif = xfa_alloc(sizeof *made.a.findings->whatif);
    *made.a.findings->whatif = (struct xfw_whatif){.known = true,
                                                   .recorded_ns = RUN,
                                                   .replayed_ns = RUN,
                                                   .alone_ns = RUN,
                                                   .set = {NAN, NAN, NAN}};
    const struct xfa_row *row = analyzed_row(&made.a, 0);
    const struct xfa_remedy remedy = {.kind = XFA_REMEDY_KEEP, .node = -1};
    const struct xfa_finding_site site = {.row = row, .site = row->site, .transfers = 7};
    struct xfa_finding *finding = xfa_findings_add(made.a.findings, id, &remedy);
    finding->saving = saving;
    finding->assumed = "the moon is full";
    finding->transfers = 7;
    xfa_finding_site_add(finding, &site);
    return made;
}

static void forget(struct made *made)
{
    analyzed_free(&made->a);
    build_free(&made->b);
}

static struct xfa_described described_of(const struct made *made)
{
    return xfa_describe(made->a.analysis, made->a.findings, &made->a.findings->items[0]);
}

static void says(const struct made *made, const struct xfa_format *format, const char *wanted,
                 bool said)
{
    char *text = analyzed_report(&made->a, format);
    if ((strstr(text, wanted) != NULL) != said)
        fail_msg("%s: \"%s\" is %s in:\n%s", format->name, wanted, said ? "not" : "there", text);
    free(text);
}

static void test_known(void **state)
{
    (void)state;
    struct made made =
        made_of(XFA_FINDING_REPEATED, (struct xfw_saving){50 * MS, 100 * MS, 120 * MS});
    struct xfa_described described = described_of(&made);
    assert_int_equal(described.known, XFW_KNOWN);
    assert_string_equal(described.brief, "100 ms (50.0-120 ms)");
    assert_string_equal(described.sentence,
                        "100 ms of the run (25 %), between 50.0 ms and 120 ms (modelled)");
    assert_null(described.why_not);
    assert_null(described.question);
    xfa_described_free(&described);
    says(&made, &xfa_format_text, "saves 100 ms of the run (25 %)", true);
    says(&made, &xfa_format_markdown, "Saves 100 ms of the run (25 %)", true);
    forget(&made);
}

/* Only that it is at most so much. */
static void test_at_most(void **state)
{
    (void)state;
    struct made made = made_of(XFA_FINDING_REPEATED, (struct xfw_saving){NAN, NAN, 120 * MS});
    struct xfa_described described = described_of(&made);
    assert_int_equal(described.known, XFW_AT_MOST);
    assert_string_equal(described.brief, "up to 120 ms");
    assert_non_null(described.why_not);
    xfa_described_free(&described);
    says(&made, &xfa_format_text, "repeated-transfer  up to 120 ms", true);
    says(&made, &xfa_format_text,
         "saves up to 120 ms of the run; how much is not known: that takes", true);
    says(&made, &xfa_format_markdown, "Saves up to 120 ms of the run", true);
    says(&made, &xfa_format_json, "\"why_not\": \"that takes a machine profile\"", true);
    forget(&made);
}

/* What is assumed is said where nothing else is known, too. */
static void test_unknown(void **state)
{
    (void)state;
    struct made made = made_of(XFA_FINDING_REPEATED, (struct xfw_saving){NAN, NAN, NAN});
    struct xfa_described described = described_of(&made);
    assert_int_equal(described.known, XFW_UNKNOWN);
    assert_null(described.brief);
    assert_string_equal(described.sentence, "not known: that takes a machine profile");
    xfa_described_free(&described);
    says(&made, &xfa_format_text, "assuming the moon is full", true);
    says(&made, &xfa_format_markdown, "assuming the moon is full", true);
    says(&made, &xfa_format_json, "the moon is full", true);
    made.a.findings->whatif->known = false;
    described = described_of(&made);
    assert_null(described.sentence);
    xfa_described_free(&described);
    forget(&made);
}

/* On the first screen of every format, largest first. */
static void test_question(void **state)
{
    (void)state;
    struct made made = made_of(XFA_FINDING_REPEATED, (struct xfw_saving){-MS, 0, 120 * MS});
    struct xfa_finding *finding = &made.a.findings->items[0];
    finding->question = "the sea is calm at {site}";
    finding->idle = finding->asked = true;
    char wanted[256], *question = xfa_finding_question(finding);
    snprintf(wanted, sizeof wanted, "the sea is calm at %s", finding->sites[0].site->text);
    assert_string_equal(question, wanted);
    free(question);
    struct xfa_described described = described_of(&made);
    assert_string_equal(described.key, "repeated-transfer");
    assert_non_null(strstr(described.question, "up to 120 ms if the sea is calm at "));
    assert_non_null(strstr(described.question, ": copy it once, keep it"));
    xfa_described_free(&described);
    says(&made, &xfa_format_text, "\n?  up to 120 ms if the sea is calm at ", true);
    says(&made, &xfa_format_text, "say so: --assume 'repeated-transfer=yes' (or no)", true);
    says(&made, &xfa_format_text, "Nothing is worth changing for certain; it depends", true);
    says(&made, &xfa_format_text, "would likely save the run nothing", false);
    says(&made, &xfa_format_markdown, "### xferscope: nothing worth changing for certain", true);
    says(&made, &xfa_format_markdown, "**?** up to 120 ms if the sea is calm at ", true);
    says(&made, &xfa_format_json, "\"up_to_s\": 0.12", true);
    says(&made, &xfa_format_json, "\"key\": \"repeated-transfer\"", true);
    made.a.findings->items[0].asked = false;
    says(&made, &xfa_format_text, "\n?  ", false);
    says(&made, &xfa_format_text, "would likely save the run nothing, but at best", true);
    forget(&made);
}

/* Before the findings, where the set saves not a tenth of it at best. */
static void test_before_findings(void **state)
{
    (void)state;
    struct made made = made_of(XFA_FINDING_REPEATED, (struct xfw_saving){-MS, 0, 120 * MS});
    assert_false(xfa_questions_first(made.a.findings)); /* there is none */
    made.a.findings->items[0].question = "the sea is calm at {site}";
    made.a.findings->items[0].idle = made.a.findings->items[0].asked = true;
    assert_false(xfa_questions_first(made.a.findings)); /* the set is not known */
    for (int i = 0; i < 2; i++) {
        made.a.findings->whatif->set = (struct xfw_saving){0, 10 * MS, i ? 13 * MS : 11 * MS};
        assert_int_equal(xfa_questions_first(made.a.findings), i == 0);
        says(&made, &xfa_format_json, i ? "\"first\": false" : "\"first\": true", true);
    }
    forget(&made);
}

static void test_largest_first(void **state)
{
    (void)state;
    struct made made = made_of(XFA_FINDING_REPEATED, (struct xfw_saving){-MS, 0, 20 * MS});
    const struct xfa_finding first = made.a.findings->items[0];
    for (int i = 1; i < 3; i++) {
        struct xfa_finding *other =
            xfa_findings_add(made.a.findings, XFA_FINDING_REPEATED, &first.remedy);
        other->saving = (struct xfw_saving){-MS, 0, (i == 1 ? 90 : 30) * MS};
        xfa_finding_site_add(other, &first.sites[0]);
        other->id = i == 1 ? XFA_FINDING_RETURNED : XFA_FINDING_DUPLICATE;
    }
    for (size_t i = 0; i < 3; i++) {
        made.a.findings->items[i].question = "it is so";
        made.a.findings->items[i].idle = made.a.findings->items[i].asked = true;
    }
    size_t count, *places = xfa_questions(made.a.findings, &count);
    assert_int_equal(count, 3);
    assert_true(places[0] == 1 && places[1] == 2 && places[2] == 0);
    free(places);
    made.a.findings->items[0].id = XFA_FINDING_DUPLICATE; /* one answer is for both */
    places = xfa_questions(made.a.findings, &count);
    assert_true(count == 2 && places[0] == 1 && places[1] == 2);
    free(places);
    char *key = xfa_finding_key(made.a.findings, &made.a.findings->items[0]);
    assert_non_null(strstr(key, "duplicate-transfer@")); /* of several: which one */
    assert_null(strstr(key, "/D2H"));
    free(key);
    struct xfa_site twin = *made.a.findings->items[0].sites[0].site;
    made.a.findings->items[0].remedy.to_host = !made.a.findings->items[2].remedy.to_host;
    key = xfa_finding_key(made.a.findings, &made.a.findings->items[0]); /* still one site */
    assert_null(strstr(key, "/D2H"));
    free(key);
    made.a.findings->items[0].sites[0].site = &twin; /* another one that reads the same */
    places = xfa_questions(made.a.findings, &count);
    assert_int_equal(count, 3);
    free(places);
    for (size_t i = 0; i < 3; i += 2) {
        const struct xfa_finding *of = &made.a.findings->items[i];
        key = xfa_finding_key(made.a.findings, of);
        assert_string_equal(key + strlen(key) - 4, of->remedy.to_host ? "/D2H" : "/H2D");
        free(key);
    }
    forget(&made);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void refused(const char *text)
{
    struct xfa_answers answers = {0};
    char error[512] = "";
    assert_int_equal(xfa_answers_take(&answers, text, error, sizeof error), -1);
    assert_non_null(strstr(error, "KIND[@SITE]=yes|no"));
    xfa_answers_free(&answers);
}

static void test_answers(void **state)
{
    (void)state;
    struct xfa_answers answers = {0};
    struct made made = made_of(XFA_FINDING_REPEATED, (struct xfw_saving){NAN, NAN, NAN});
    const struct xfa_site *site = made.a.findings->items[0].sites[0].site;
    char error[512], text[300];
    snprintf(text, sizeof text, "round-trip@%s=no", site->text);
    assert_int_equal(xfa_answers_take(&answers, "round-trip=yes", error, sizeof error), 0);
    assert_int_equal(xfa_answer_of(&answers, XFA_FINDING_RETURNED, site, false), XFA_ANSWER_YES);
    assert_int_equal(xfa_answer_of(&answers, XFA_FINDING_REPEATED, site, false), XFA_ANSWER_NONE);
    assert_int_equal(xfa_answers_take(&answers, "early-wait@elsewhere=yes", error, sizeof error),
                     0);
    assert_int_equal(xfa_answer_of(&answers, XFA_FINDING_EARLY_WAIT, site, false), XFA_ANSWER_NONE);
    assert_int_equal(xfa_answers_take(&answers, text, error, sizeof error), 0);
    assert_int_equal(xfa_answer_of(&answers, XFA_FINDING_RETURNED, site, false), XFA_ANSWER_NO);
    assert_true(answers.items[0].met && !answers.items[1].met && answers.items[2].met);
    snprintf(text, sizeof text, "round-trip@%s/D2H=yes", site->text);
    assert_int_equal(xfa_answers_take(&answers, text, error, sizeof error), 0);
    assert_int_equal(xfa_answer_of(&answers, XFA_FINDING_RETURNED, site, false), XFA_ANSWER_NO);
    assert_int_equal(xfa_answer_of(&answers, XFA_FINDING_RETURNED, site, true), XFA_ANSWER_YES);
    assert_int_equal(xfa_answers_take(&answers, "round-trip/H2D=yes", error, sizeof error), 0);
    assert_int_equal(xfa_answer_of(&answers, XFA_FINDING_RETURNED, site, false), XFA_ANSWER_YES);
    xfa_answers_free(&answers);
    forget(&made);
    refused("round-trip=maybe");
    refused("round-trips=yes");
    refused("round-trip@=yes");
    refused("=yes");
}

static void test_answers_of_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/xferscope-test-XXXXXX", error[512];
    int file = mkstemp(path);
    static const char lines[] = "# of our solver\n\n  early-wait=no  # it needs them\r\n"
                                "repeated-transfer@step=yes";
    assert_int_equal(write(file, lines, sizeof lines - 1), sizeof lines - 1);
    struct xfa_answers answers = {0};
    assert_int_equal(xfa_answers_take(&answers, path, error, sizeof error), 0);
    assert_int_equal(answers.count, 2);
    assert_true(answers.items[0].id == XFA_FINDING_EARLY_WAIT && !answers.items[0].yes);
    assert_true(answers.items[1].id == XFA_FINDING_REPEATED && answers.items[1].yes);
    assert_string_equal(answers.items[1].site, "step");
    xfa_answers_free(&answers);
    assert_int_equal(write(file, "\nyes\n", 5), 5);
    refused(path);
    close(file);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),           cmocka_unit_test(test_at_most),
        cmocka_unit_test(test_unknown),         cmocka_unit_test(test_question),
        cmocka_unit_test(test_before_findings), cmocka_unit_test(test_largest_first),
        cmocka_unit_test(test_answers),         cmocka_unit_test(test_answers_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
