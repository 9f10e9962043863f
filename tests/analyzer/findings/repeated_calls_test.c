/* repeated-allocation and repeated-registration: what they name, and what the run would save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/play.h"

#define MIB ((uint64_t)1 << 20)

enum { SITE = 10, SITE_OTHER, ROUNDS = 50, TAKE_NS = 30000, GIVE_NS = 20000, COPY_NS = 40000 };

/* Each round: memory is taken, used by a copy that is waited for, and given back. */
struct rounds {
    enum xft_event_kind take, give;
    enum xft_memory memory;
    bool moves;     /* to another address each time */
    bool grows;     /* another size each time */
    unsigned sizes; /* of so many by turns; 0: one, or as many as rounds */
    bool keeps;     /* none is given back */
    bool unnamed;   /* no call stack */
    unsigned small; /* so many small ones, too, that stay */
};

static struct xft_event memory_event(const struct rounds *rounds, unsigned round, bool take)
{
    return (struct xft_event){
        .kind = (uint8_t)(take ? rounds->take : rounds->give),
        .call = CALL_MEMCPY,
        .stack = rounds->unnamed ? 0
                 : take          ? SITE
                                 : SITE_OTHER,
        .dst = 0x7f0000000000 + (rounds->moves || rounds->keeps ? round * 2 * MIB : 0),
        .bytes = MIB + (rounds->grows   ? round
                        : rounds->sizes ? round % rounds->sizes
                                        : 0),
        .dst_mem = (uint8_t)rounds->memory,
        .src_place = XFT_PLACE_UNKNOWN,
        .dst_place = XFT_PLACE_UNKNOWN,
    };
}

static struct analyzed analysis_of(const struct rounds *rounds)
{
    struct xfp_profile *profile = scenario_profile();
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "take", 1);
    play_site(&play, SITE_OTHER, "give", 2);
    for (unsigned i = 0; i < rounds->small; i++) {
        struct xft_event small = memory_event(rounds, i, true);
        small.dst -= (i + 1) * MIB;
        small.bytes = 4096 + i;
        play_event(&play, small, TAKE_NS);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        play_event(&play, memory_event(rounds, i, true), TAKE_NS);
        play_async(&play, STACK_UPLOAD, XFT_DIR_H2D, XFT_MEM_PINNED, MIB, COPY_NS);
        const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
        play_event(&play, wait, COPY_NS);
        if (!rounds->keeps)
            play_event(&play, memory_event(rounds, i, false), GIVE_NS);
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, NULL);
}

static const struct xfa_finding *found(const struct analyzed *a)
{
    for (size_t i = 0; i < a->findings->count; i++) {
        const struct xfa_finding *finding = &a->findings->items[i];
        if (finding->id == XFA_FINDING_ALLOCATION || finding->id == XFA_FINDING_REGISTRATION)
            return finding;
    }
    return NULL;
}

static void check(const struct rounds *rounds, enum xfa_finding_id id, const char *fix)
{
    const double needless = (ROUNDS - 1) * (double)(TAKE_NS + GIVE_NS);
    char text[XFA_REMEDY_CHARS];
    struct analyzed a = analysis_of(rounds);
    const struct xfa_finding *finding = found(&a);
    assert_non_null(finding);
    assert_int_equal(finding->id, id);
    assert_int_equal(finding->site_count, 1);
    assert_non_null(strstr(finding->sites[0].site->text, "take (app.c:1)"));
    assert_null(finding->sites[0].row);
    assert_int_equal(finding->transfers, ROUNDS);
    assert_true(finding->bytes == ROUNDS * MIB + (rounds->grows ? ROUNDS * (ROUNDS - 1) / 2 : 0));
    assert_true(fabs(finding->lost_ns - needless) < 1);
    assert_true(a.findings->whatif->known);
    assert_true(fabs(finding->saving.likely - needless) < 0.001 * needless);
    assert_true(finding->saving.low <= finding->saving.likely);
    assert_true(finding->saving.high >= finding->saving.likely);
    assert_non_null(finding->assumed);
    assert_non_null(strstr(xfa_remedy_text(&finding->remedy, text), fix));
    analyzed_free(&a);
}

static void test_found(void **state)
{
    check(
        &(struct rounds){.take = XFT_EVENT_ALLOC, .give = XFT_EVENT_FREE, .memory = XFT_MEM_DEVICE},
        XFA_FINDING_ALLOCATION, "cudaMallocAsync()");
    check(&(struct rounds){.take = XFT_EVENT_ALLOC,
                           .give = XFT_EVENT_FREE,
                           .memory = XFT_MEM_MANAGED},
          XFA_FINDING_ALLOCATION, "before the loop");
    check(
        &(struct rounds){.take = XFT_EVENT_ALLOC, .give = XFT_EVENT_FREE, .memory = XFT_MEM_PINNED},
        XFA_FINDING_ALLOCATION, "page-locked memory once");
    /* Allocations are alike wherever they come to lie. */
    check(&(struct rounds){.take = XFT_EVENT_ALLOC,
                           .give = XFT_EVENT_FREE,
                           .memory = XFT_MEM_DEVICE,
                           .moves = true},
          XFA_FINDING_ALLOCATION, "cudaMallocAsync()");
    check(&(struct rounds){.take = XFT_EVENT_REGISTER,
                           .give = XFT_EVENT_UNREGISTER,
                           .memory = XFT_MEM_REGISTERED},
          XFA_FINDING_REGISTRATION, "cudaHostRegister()");
    /* Blocks of the largest size would do. */
    check(&(struct rounds){.take = XFT_EVENT_ALLOC,
                           .give = XFT_EVENT_FREE,
                           .memory = XFT_MEM_DEVICE,
                           .grows = true},
          XFA_FINDING_ALLOCATION, "each as large as it gets");
}

static bool is_found(struct rounds rounds)
{
    struct analyzed a = analysis_of(&rounds);
    bool is = found(&a) != NULL;
    analyzed_free(&a);
    return is;
}

/* Memory that is used once each, or that is not given back, or by nobody knows whom. */
static void test_not_found(void **state)
{
    struct rounds registered = {
        .take = XFT_EVENT_REGISTER, .give = XFT_EVENT_UNREGISTER, .memory = XFT_MEM_REGISTERED};
    struct rounds allocated = {
        .take = XFT_EVENT_ALLOC, .give = XFT_EVENT_FREE, .memory = XFT_MEM_DEVICE};
    assert_true(is_found(registered) && is_found(allocated));
    registered.moves = true; /* other buffers: to register each is the only way */
    assert_false(is_found(registered));
    registered.moves = false;
    registered.grows = allocated.grows = true;
    assert_false(is_found(registered));
    assert_true(is_found(allocated));
    allocated.small = 4; /* blocks of the largest size would need five times the memory */
    assert_false(is_found(allocated));
    registered.grows = allocated.grows = false;
    allocated.small = 0;
    registered.keeps = allocated.keeps = true;
    assert_false(is_found(registered) || is_found(allocated));
    registered.keeps = allocated.keeps = false;
    registered.unnamed = allocated.unnamed = true;
    assert_false(is_found(registered) || is_found(allocated));
}

/* Of ten sizes ten blocks would have to be made, of the largest one; of two hardly more than that.
 */
static void test_of_some_sizes(void **state)
{
    struct rounds rounds = {
        .take = XFT_EVENT_ALLOC, .give = XFT_EVENT_FREE, .memory = XFT_MEM_DEVICE, .sizes = 10};
    (void)state;
    for (unsigned kept = 1; kept <= 2; kept++, rounds.sizes = 2) {
        struct analyzed a = analysis_of(&rounds);
        const struct xfa_finding *finding = found(&a);
        assert_non_null(finding);
        assert_int_equal(finding->transfers, ROUNDS);
        const double needless = (ROUNDS - kept) * (double)(TAKE_NS + GIVE_NS);
        assert_true(fabs(finding->lost_ns - needless) < 1);
        assert_true(fabs(finding->saving.likely - needless) < 0.001 * needless);
        analyzed_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_of_some_sizes),
    };
    return cmocka_run_group_tests_name("findings: repeated calls", tests, NULL, NULL);
}
