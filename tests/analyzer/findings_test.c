/* Findings: their words, sites with one remedy, runs of small transfers. */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/findings/remedy_words.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/play.h"

enum { SITE_A = 10, SITE_B };

/* ---- words ---------------------------------------------------------------------------------- */

/* Every remedy has a word of its own and a sentence in each of the terms. */
static void test_words(void **state)
{
    char text[2][XFA_REMEDY_CHARS];
    for (int i = 0; i < XFA_REMEDY_KINDS; i++) {
        for (int to_host = 0; to_host < 2; to_host++) {
            struct xfa_remedy cuda = {.kind = (enum xfa_remedy_kind)i,
                                      .dialect = XFA_DIALECT_CUDA,
                                      .to_host = to_host,
                                      .node = 1,
                                      .threads = 1};
            struct xfa_remedy torch = {.kind = (enum xfa_remedy_kind)i,
                                       .dialect = XFA_DIALECT_PYTORCH,
                                       .to_host = to_host,
                                       .node = 1,
                                       .threads = 1};
            assert_true(strlen(xfa_remedy_text(&cuda, text[0])) > 20);
            assert_true(strlen(xfa_remedy_text(&torch, text[1])) > 20);
            assert_null(strchr(xfa_remedy_text(&cuda, text[0]), '{'));
            assert_null(strchr(xfa_remedy_text(&torch, text[1]), '{'));
            assert_int_equal(
                xfa_remedy_equal(&cuda, &torch),
                strcmp(xfa_remedy_text(&cuda, text[0]), xfa_remedy_text(&torch, text[1])) == 0);
        }
        struct xfa_remedy brief = {.kind = (enum xfa_remedy_kind)i, .node = 1, .streams = 2};
        assert_in_range(strlen(xfa_remedy_brief(&brief, text[0])), 10, 44);
        assert_null(strchr(xfa_remedy_brief(&brief, text[0]), '{'));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(xfa_remedy_word((enum xfa_remedy_kind)i),
                                    xfa_remedy_word((enum xfa_remedy_kind)j));
    }
    for (int i = 0; i < XFA_RECKONINGS; i++) {
        const char *sure = xfa_reckoning_text((enum xfa_reckoning)i, false);
        const char *probably = xfa_reckoning_text((enum xfa_reckoning)i, true);
        assert_true(strncmp(probably, "probably (", 10) == 0);
        assert_string_equal(strstr(probably, "): ") + 3, sure);
    }
}

/* One of a number's things is said as one. */
static void test_words_of_one(void **state)
{
    char text[XFA_REMEDY_CHARS];
    struct xfa_remedy by_hand = {.kind = XFA_REMEDY_LOCK_BY_HAND, .node = -1, .threads = 1};
    assert_non_null(strstr(xfa_remedy_text(&by_hand, text), " from 1 thread, then "));
    by_hand.threads = 11;
    assert_non_null(strstr(xfa_remedy_text(&by_hand, text), " from 11 threads, then "));
    struct xfa_remedy near = {.kind = XFA_REMEDY_NEAR_NODE, .node = 1};
    assert_non_null(strstr(xfa_remedy_text(&near, text), "--cpunodebind=1 --membind=1"));
}

/* A remedy that is none of the program's. */
static bool is_of_the_machine(int kind)
{
    return kind == XFA_REMEDY_MEND_LINK || kind == XFA_REMEDY_CHECK_LINK;
}

/* A user of a framework gets advice in its terms, in both directions: no sentence is CUDA's. */
static void test_words_of_frameworks(void **state)
{
    char text[2][XFA_REMEDY_CHARS];
    for (int i = 0; i < XFA_REMEDY_KINDS; i++) {
        for (int k = 0; k < 2 * XFA_DIALECTS; k++) {
            struct xfa_remedy cuda = {.kind = (enum xfa_remedy_kind)i, .to_host = k & 1, .node = 1};
            struct xfa_remedy own = cuda;
            own.dialect = (enum xfa_dialect)(k / 2);
            if (own.dialect == XFA_DIALECT_CUDA || is_of_the_machine(i))
                continue;
            const char *said = xfa_remedy_text(&own, text[0]);
            if (strcmp(said, xfa_remedy_text(&cuda, text[1])) == 0)
                fail_msg("%s has no words of its own for dialect %d: %s", xfa_remedy_word(own.kind),
                         (int)own.dialect, said);
            assert_null(strchr(said, '{'));
            assert_true(strlen(said) < XFA_REMEDY_CHARS - 100);
        }
    }
    struct xfa_remedy jax = {.kind = XFA_REMEDY_PIN, .dialect = XFA_DIALECT_JAX, .node = -1};
    assert_non_null(strstr(xfa_remedy_text(&jax, text[0]), "jax.device_put()"));
    jax.dialect = XFA_DIALECT_CUPY;
    assert_non_null(strstr(xfa_remedy_text(&jax, text[0]), "cupyx.empty_pinned()"));
    jax.dialect = XFA_DIALECT_NUMBA;
    assert_non_null(strstr(xfa_remedy_text(&jax, text[0]), "cuda.pinned_array()"));
}

/* The first name of CUDA's runtime in a text; NULL: none. */
static const char *runtime_name(const char *text)
{
    const char *found = strstr(text, "cuda");
    while (found && !isupper((unsigned char)found[strlen("cuda")]))
        found = strstr(found + 1, "cuda");
    return found;
}

/* A program of the driver API is advised by that API's names, all of them. */
static void test_names_of_the_driver(void **state)
{
    char text[XFA_REMEDY_CHARS];
    for (int i = 0; i < 2 * XFA_REMEDY_KINDS; i++) {
        struct xfa_remedy remedy = {
            .kind = (enum xfa_remedy_kind)(i / 2), .driver = true, .to_host = i & 1, .node = 1};
        const char *name = runtime_name(xfa_remedy_text(&remedy, text));
        if (name)
            fail_msg("%s names %.30s", xfa_remedy_word(remedy.kind), name);
        assert_null(runtime_name(xfa_remedy_brief(&remedy, text)));
    }
    struct xfa_remedy stage = {
        .kind = XFA_REMEDY_STAGE, .driver = true, .threads = 1, .buffers = 8, .buffer_kib = 1024};
    assert_non_null(strstr(xfa_remedy_text(&stage, text), "ring of 8 page-locked"));
    assert_non_null(strstr(text, "let 1 thread of"));
    struct xfa_remedy pin = {.kind = XFA_REMEDY_PIN, .driver = true, .node = -1};
    assert_non_null(strstr(xfa_remedy_text(&pin, text), "cuMemAllocHost() (or page-lock it once "
                                                        "with cuMemHostRegister())"));
    pin.dialect = XFA_DIALECT_CUPY;
    assert_non_null(strstr(xfa_remedy_text(&pin, text), "cupyx.empty_pinned()"));
    pin.dialect = XFA_DIALECT_CUDA;
    pin.driver = false;
    assert_non_null(runtime_name(xfa_remedy_text(&pin, text)));
    assert_string_equal(xfa_driver_name("cudaMallocHost", strlen("cudaMallocHost")),
                        "cuMemAllocHost");
    assert_null(xfa_driver_name("cudaMallocHosts", strlen("cudaMallocHosts")));
}

/* A text that is too long is cut off, within its room. */
static void test_words_have_bounds(void **state)
{
    char text[2 * XFA_REMEDY_CHARS], words[XFA_REMEDY_CHARS + 8];
    memset(words, 'x', sizeof words);
    for (size_t length = XFA_REMEDY_CHARS - 40; length < XFA_REMEDY_CHARS + 40; length++) {
        memset(text, ' ', length);
        strcpy(text + length, "cudaMallocHost()");
        xfa_driver_words(text, words);
        size_t full = length + strlen("cuMemAllocHost()");
        assert_int_equal(strlen(words), full < XFA_REMEDY_CHARS ? full : XFA_REMEDY_CHARS - 1);
        assert_int_equal(words[XFA_REMEDY_CHARS], 'x');
    }
}

/* What has no sentence of its own: first that of its direction, then that of the other one. */
static void test_words_of_others(void **state)
{
    char text[2][XFA_REMEDY_CHARS];
    struct xfa_remedy torch = {.kind = XFA_REMEDY_MEND_LINK,
                               .dialect = XFA_DIALECT_PYTORCH,
                               .to_host = true,
                               .node = -1,
                               .threads = 0};
    struct xfa_remedy cuda = {.kind = XFA_REMEDY_MEND_LINK,
                              .dialect = XFA_DIALECT_CUDA,
                              .to_host = true,
                              .node = -1,
                              .threads = 0};
    assert_true(xfa_remedy_equal(&torch, &cuda));
    assert_non_null(strstr(xfa_remedy_text(&torch, text[1]), "PCIe link"));
    torch.kind = cuda.kind = XFA_REMEDY_KEEP;
    assert_false(xfa_remedy_equal(&torch, &cuda));
    torch.to_host = cuda.to_host = false;
    assert_false(xfa_remedy_equal(&torch, &cuda));
    torch = (struct xfa_remedy){.kind = XFA_REMEDY_ASYNCHRONOUS,
                                .dialect = XFA_DIALECT_PYTORCH,
                                .to_host = true,
                                .node = -1,
                                .threads = 0};
    cuda = (struct xfa_remedy){.kind = XFA_REMEDY_ASYNCHRONOUS,
                               .dialect = XFA_DIALECT_PYTORCH,
                               .to_host = false,
                               .node = -1,
                               .threads = 0};
    assert_true(xfa_remedy_equal(&torch, &cuda));
    assert_non_null(strstr(xfa_remedy_text(&torch, text[1]), "non_blocking=True"));
    cuda.kind = XFA_REMEDY_PIN_FOR_ASYNC;
    assert_false(xfa_remedy_equal(&torch, &cuda));
}

/* Parameters are part of what is to be done, and of its words. */
static void test_words_with_numbers(void **state)
{
    struct xfa_remedy one = {.kind = XFA_REMEDY_NEAR_NODE,
                             .dialect = XFA_DIALECT_CUDA,
                             .to_host = false,
                             .node = 1,
                             .threads = 0},
                      twelve = one;
    char text[2][XFA_REMEDY_CHARS];
    assert_true(xfa_remedy_equal(&one, &twelve));
    twelve.node = 12;
    assert_false(xfa_remedy_equal(&one, &twelve));
    const char *written = xfa_remedy_text(&twelve, text[1]);
    assert_non_null(strstr(xfa_remedy_text(&one, text[0]), "--membind=1)"));
    assert_non_null(strstr(written, "--cpunodebind=12 --membind=12)"));
    assert_non_null(strstr(written, "on NUMA node 12: "));
    assert_true(strlen(written) < XFA_REMEDY_CHARS - 100);
    struct xfa_remedy stage = {.kind = XFA_REMEDY_STAGE,
                               .dialect = XFA_DIALECT_CUDA,
                               .to_host = false,
                               .node = -1,
                               .threads = 4},
                      other = stage;
    other.threads = 8;
    assert_false(xfa_remedy_equal(&stage, &other));
    assert_non_null(strstr(xfa_remedy_text(&stage, text[0]), " 4 threads "));
}

/* ---- sites with one remedy ------------------------------------------------------------------- */

/* Copies of the same bytes to one place, which samples tell or all bytes. */
static void repeated(struct play *play, unsigned stack, uint64_t at, bool sampled, uint64_t ns)
{
    for (unsigned i = 0; i < 3; i++) {
        struct xft_event *call = play_copy(play, stack, XFT_DIR_H2D, XFT_MEM_PINNED, 1 << 20, ns);
        call->dst = at;
        struct xft_event content = {.kind = XFT_EVENT_CONTENT,
                                    .bytes = call->bytes,
                                    .src = call->src,
                                    .dst = at,
                                    .aux = at,
                                    .width = sampled ? 4096 : call->bytes};
        uint64_t start = call->start_ns;
        play_event(play, content, 0)->start_ns = start;
    }
}

static struct analyzed repeated_at(bool first_sampled, bool second_sampled)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    build_meta(&b, "content", "whole");
    play_site(&play, SITE_A, "first", 1);
    play_site(&play, SITE_B, "second", 2);
    repeated(&play, SITE_A, 0x1000000, first_sampled, 900000);
    repeated(&play, SITE_B, 0x2000000, second_sampled, 300000);
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&b, NULL);
    build_free(&b);
    return a;
}

/* One finding, which says "probably" when that is so at any of its sites, the worst or not. */
static void test_probably(void **state)
{
    for (int which = 0; which < 4; which++) {
        struct analyzed a = repeated_at(which & 1, which & 2);
        const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_REPEATED, NULL);
        assert_non_null(f);
        assert_int_equal(f->site_count, 2);
        assert_non_null(strstr(f->sites[0].row->site->text, "first"));
        assert_int_equal(f->reckoning, XFA_RECKONED_REPEATED);
        assert_int_equal(f->probably, which != 0);
        assert_int_equal(f->achieved_basis, XFA_BASIS_HOST);
        analyzed_free(&a);
    }
}

/* Findings are the same in every order of the rows. */
static void test_any_order(void **state)
{
    struct analyzed a = repeated_at(false, true);
    char *reports[3];
    for (int sort = XFA_SORT_LOST; sort <= XFA_SORT_COUNT; sort++) {
        struct xfa_report report = {.analysis = a.analysis, .findings = a.findings};
        struct xfa_view view = {.sort = (enum xfa_sort)sort, .width = 120};
        size_t bytes;
        FILE *out = open_memstream(&reports[sort], &bytes);
        xfa_format_text.write(&report, &view, out);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(strstr(reports[sort], "\nFindings"), strstr(reports[0], "\nFindings"));
    }
    assert_non_null(strstr(reports[0], "lost = probably"));
    for (int sort = XFA_SORT_LOST; sort <= XFA_SORT_COUNT; sort++)
        free(reports[sort]);
    analyzed_free(&a);
}

/* ---- runs of small transfers ----------------------------------------------------------------- */

/* Small blocking copies of `ns` from one host node and the other by turns, and what was found. */
static void small_copies(struct trace_builder *b, int pid, unsigned lane, size_t count, uint64_t ns)
{
    struct play play;
    play_start(&play, b, pid);
    play_site(&play, SITE_A, "piece", 1);
    play.lane = lane;
    for (size_t i = 0; i < count; i++)
        play_copy(&play, SITE_A, XFT_DIR_H2D, XFT_MEM_PINNED, 64, ns)->src_place = (int16_t)(i % 2);
    play_end(&play, XFT_STATE_CLOSED);
}

/* A row's transfers may be of several classes: that ends no run. */
static void test_run_of_classes(void **state)
{
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    small_copies(&b, 1, LANE_MAIN, 40, 5000);
    struct analyzed a = analyzed_trace(&b, profile);
    assert_int_equal(a.analysis->classes.classes.count, 2);
    assert_int_equal(a.analysis->row_count, 1);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_SMALL, NULL);
    assert_non_null(f);
    assert_int_equal(f->transfers, 40);
    assert_true(f->achieved_ns == 40 * 5000);
    assert_true(fabs(f->achievable_ns - (LINK_LO_NS + 40 * 64 / LINK_GBPS)) < 1);
    analyzed_free(&a);
    xfp_free(profile);
    build_free(&b);
}

/* The last transfer of a process and the first one of the next are no run, on the same lane. */
static void test_run_of_processes(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct analyzed a = analyzed_start(profile);
    for (int pid = 1; pid <= 3; pid++) {
        struct trace_builder b;
        small_copies(&b, pid, LANE_MAIN, 1, 5000000);
        analyzed_add(&a, &b);
        build_free(&b);
    }
    analyzed_finish(&a);
    assert_int_equal(analyzed_figures(&a, 0)->transfers, 3);
    assert_null(analyzed_finding(&a, XFA_FINDING_SMALL, NULL));
    analyzed_free(&a);
    xfp_free(profile);
}

/* Two threads by turns: each has a run of its own. */
static void test_run_of_threads(void **state)
{
    struct trace_builder b;
    struct play play;
    struct xfp_profile *profile = scenario_profile();
    play_start(&play, &b, 1);
    play_site(&play, SITE_A, "piece", 1);
    play_site(&play, SITE_B, "part", 2);
    for (unsigned i = 0; i < 40; i++) {
        play.lane = i % 2 ? LANE_OTHER : LANE_MAIN;
        play_copy(&play, i % 2 ? SITE_A : SITE_B, XFT_DIR_H2D, XFT_MEM_PINNED, 64, 5000);
    }
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&b, profile);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_SMALL, NULL);
    assert_non_null(f);
    assert_int_equal(f->site_count, 2);
    assert_int_equal(f->transfers, 40);
    assert_true(fabs(f->achievable_ns - 2 * (LINK_LO_NS + 20 * 64 / LINK_GBPS)) < 1);
    analyzed_free(&a);
    xfp_free(profile);
    build_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_words_of_one),
        cmocka_unit_test(test_words_of_frameworks),
        cmocka_unit_test(test_words_of_others),
        cmocka_unit_test(test_names_of_the_driver),
        cmocka_unit_test(test_words_have_bounds),
        cmocka_unit_test(test_words_with_numbers),
        cmocka_unit_test(test_probably),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_run_of_classes),
        cmocka_unit_test(test_run_of_processes),
        cmocka_unit_test(test_run_of_threads),
    };
    return cmocka_run_group_tests_name("findings", tests, NULL, NULL);
}
