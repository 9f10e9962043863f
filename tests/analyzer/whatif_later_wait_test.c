/* Waits that come later: which move, and behind what. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/later_wait.h"
#include "tests/analyzer/measured.h"
#include "tests/analyzer/play.h"
#include "tests/analyzer/played.h"

#define COPY_NS 300000.0 /* on the device, of 16 MiB */
#define OWN_NS 500000.0  /* of the thread: too short to read 16 MiB */

enum { SITE = 3 };

static struct analyzed empty(void)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_copy(&play, 0, XFT_DIR_H2D, XFT_MEM_PINNED, MIB, 1000);
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&b, NULL);
    build_free(&b);
    return a;
}

/* Fetch, wait, own work, fetch again. */
static void step(struct played *played, uint64_t bytes, uint32_t site)
{
    struct xfw_op *copy = played_copy(played, 0, 1000, COPY_NS);
    copy->engine = XFW_TO_HOST;
    copy->bytes = bytes;
    played_sync(played, 0)->site = site;
    played_call(played, OWN_NS, 2000);
}

static double later(const struct analyzed *a, const struct played *played,
                    enum xfw_certainty certainty)
{
    struct xfw_set sites = {0};
    xfw_set_add(&sites, SITE);
    struct xfw_change *change = xfw_change_later_wait(a->analysis, &sites);
    double ns = played_ns(played, a->analysis, change, certainty);
    xfw_change_free(change);
    return ns;
}

/* The copy goes on behind the thread's own work. */
static void test_later(void **state)
{
    struct analyzed a = empty();
    struct played played = {0};
    step(&played, 16 * MIB, SITE);
    step(&played, 16 * MIB, SITE);
    double unchanged = played_ns(&played, a.analysis, NULL, XFW_LIKELY);
    assert_true(unchanged == 2 * (COPY_NS + OWN_NS + 2000));
    assert_true(later(&a, &played, XFW_LIKELY) == 2 * (1000 + OWN_NS + 2000));
    assert_true(later(&a, &played, XFW_HIGH) == 2 * (1000 + OWN_NS + 2000));
    assert_true(later(&a, &played, XFW_LOW) == unchanged);
    analyzed_free(&a);
}

/* Longer than the own work: the wait still waits for the rest. */
static void test_rest(void **state)
{
    struct analyzed a = empty();
    struct played played = {0};
    step(&played, 16 * MIB, SITE);
    played.ops[0].duration_ns = 3 * OWN_NS;
    assert_true(later(&a, &played, XFW_LIKELY) == 3 * OWN_NS + 2000);
    analyzed_free(&a);
}

/* There was time to read it; nothing was fetched; another site: as before, but at best. */
static void test_not_moved(void **state)
{
    struct analyzed a = empty();
    struct played played = {0};
    step(&played, MIB, SITE);
    double unchanged = COPY_NS + OWN_NS + 2000;
    assert_true(later(&a, &played, XFW_LIKELY) == unchanged);
    assert_true(later(&a, &played, XFW_HIGH) == 1000 + OWN_NS + 2000);
    played = (struct played){0};
    step(&played, 16 * MIB, SITE);
    played.ops[0].engine = XFW_TO_DEVICE;
    assert_true(later(&a, &played, XFW_LIKELY) == unchanged);
    played = (struct played){0};
    step(&played, 16 * MIB, SITE + 1);
    assert_true(later(&a, &played, XFW_HIGH) == unchanged);
    analyzed_free(&a);
}

/* Work that another thread handed back is what the wait comes behind, not what was before it. */
static void test_handed(void **state)
{
    struct analyzed a = empty();
    struct played played = {0};
    step(&played, 16 * MIB, SITE);
    played.ops[played.count++] = played.ops[2];
    played.ops[2] = xfw_op_none();
    played.ops[2].thread = 1;
    played.ops[2].own_ns = 2 * OWN_NS;
    played.ops[3].handed_by = 1;
    played.ops[3].handed_ns = 7000;
    /* The other thread begins where the first one is. */
    assert_true(later(&a, &played, XFW_LIKELY) == 1000 + 2 * OWN_NS + 7000 + 2000);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_rest),
        cmocka_unit_test(test_not_moved),
        cmocka_unit_test(test_handed),
    };
    return cmocka_run_group_tests_name("what-if: later waits", tests, NULL, NULL);
}
