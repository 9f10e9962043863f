/* Which way copies go, as their times say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "preload/apply/site/proof.h"

#define MIB ((uint64_t)1 << 20)

/* Copies as the proof has it, each taking the time of its way; how many went our way. */
static int copies(struct xfs_proof *proof, int count, uint64_t asked_ns, uint64_t ours_ns)
{
    int ours = 0;
    for (int i = 0; i < count; i++) {
        bool timed;
        enum xfs_way way = xfs_proof_choose(proof, &timed);
        ours += way == XFS_WAY_OURS;
        if (timed)
            xfs_proof_took(proof, way, 4 * MIB, way == XFS_WAY_OURS ? ours_ns : asked_ns);
    }
    return ours;
}

static void in_turn(void **state)
{
    struct xfs_proof proof = {0};
    (void)state;
    for (int i = 0; i < XFS_TRIALS; i++) {
        bool timed = false;
        assert_int_equal(xfs_proof_choose(&proof, &timed), XFS_WAY_AS_ASKED);
        assert_true(timed);
        xfs_proof_took(&proof, XFS_WAY_AS_ASKED, MIB, 100);
        assert_int_equal(proof.verdict, XFS_TRYING);
        assert_int_equal(xfs_proof_choose(&proof, &timed), XFS_WAY_OURS);
        assert_true(timed);
        xfs_proof_took(&proof, XFS_WAY_OURS, MIB, 50);
    }
    assert_int_equal(proof.verdict, XFS_GAINS);
}

static void needs_a_tenth(void **state)
{
    struct xfs_proof gains = {0}, loses = {0};
    (void)state;
    copies(&gains, 2 * XFS_TRIALS, 1000, 899);
    copies(&loses, 2 * XFS_TRIALS, 1000, 901);
    assert_int_equal(gains.verdict, XFS_GAINS);
    assert_int_equal(loses.verdict, XFS_LOSES);
}

/* Trials in parts decide; what the whole ones took is what others take. */
static void whole_ones(void **state)
{
    struct xfs_proof proof = {0};
    (void)state;
    copies(&proof, 2 * XFS_TRIALS, 4000, 2000);
    assert_int_equal(xfs_proof_expects(&proof, XFS_WAY_OURS, 64 * MIB), 16 * 2000);
    for (unsigned i = 0; i < 2 * XFS_TRIALS; i++)
        xfs_proof_whole(&proof, 64 * MIB, i < XFS_TRIALS ? 9000 + 100 * i : 1);
    assert_int_equal(proof.wholes, XFS_TRIALS);
    assert_int_equal(xfs_proof_expects(&proof, XFS_WAY_OURS, 64 * MIB), 9200);
    assert_int_equal(xfs_proof_expects(&proof, XFS_WAY_AS_ASKED, 64 * MIB), 16 * 4000);
    assert_int_equal(proof.verdict, XFS_GAINS);
    copies(&proof, 2 * 64, 4000, 2000);
    assert_int_equal(proof.verdict, XFS_GAINS);
}

static void medians(void **state)
{
    static const uint64_t ours[XFS_TRIALS] = {9000, 50, 50, 9000, 50};
    struct xfs_proof proof = {0};
    (void)state;
    for (int i = 0; i < XFS_TRIALS; i++) {
        xfs_proof_took(&proof, XFS_WAY_AS_ASKED, 2 * MIB, 100);
        xfs_proof_took(&proof, XFS_WAY_OURS, 2 * MIB, ours[i]);
    }
    assert_int_equal(proof.verdict, XFS_GAINS);
    assert_int_equal(xfs_proof_expects(&proof, XFS_WAY_OURS, 4 * MIB), 100);
    assert_int_equal(xfs_proof_expects(&proof, XFS_WAY_AS_ASKED, MIB), 50);
}

static void stays_and_looks(void **state)
{
    struct xfs_proof proof = {0};
    (void)state;
    copies(&proof, 2 * XFS_TRIALS, 100, 50);
    assert_int_equal(copies(&proof, 63, 100, 50), 63); /* none is compared before */
    assert_int_equal(copies(&proof, 2, 100, 50), 1);   /* one each way */
    assert_int_equal(copies(&proof, 100, 100, 50), 100);
    assert_int_equal(proof.interval, 128);
    copies(&proof, 100000, 100, 50);
    assert_int_equal(proof.interval, 4096);
}

static void changes_its_mind(void **state)
{
    struct xfs_proof proof = {0};
    (void)state;
    copies(&proof, 2 * XFS_TRIALS, 100, 200);
    assert_int_equal(proof.verdict, XFS_LOSES);
    assert_int_equal(copies(&proof, 50, 100, 200), 0);
    copies(&proof, 2000, 100, 10); /* three comparisons make the median */
    assert_int_equal(proof.verdict, XFS_GAINS);
    copies(&proof, 20000, 100, 500);
    assert_int_equal(proof.verdict, XFS_LOSES);
}

static void hopeless(void **state)
{
    struct xfs_proof proof = {0}, bad = {0};
    (void)state;
    assert_int_equal(copies(&proof, 4, 100, 151), 2);
    assert_int_equal(proof.verdict, XFS_LOSES);
    copies(&bad, 4, 100, 149);
    assert_int_equal(bad.verdict, XFS_TRYING);
}

static void gives_up(void **state)
{
    struct xfs_proof proof = {0};
    (void)state;
    copies(&proof, 2 * XFS_TRIALS, 100, 50);
    xfs_proof_give_up(&proof);
    assert_int_equal(copies(&proof, 63, 100, 50), 0);
    assert_int_equal(copies(&proof, 1, 100, 50), 1);
}

/* Copies of 4 MiB that take 400 as asked and 200 our way, with what the program does between them.
 */
static void with_gaps(struct xfs_proof *proof, const uint64_t asked_ns[2],
                      const uint64_t ours_ns[2])
{
    for (int i = 0; i < 2 * XFS_TRIALS; i++) {
        bool timed;
        enum xfs_way way = xfs_proof_choose(proof, &timed);
        xfs_proof_took(proof, way, 4 * MIB, way == XFS_WAY_OURS ? 200 : 400);
        xfs_proof_gap(proof, way, (way == XFS_WAY_OURS ? ours_ns : asked_ns)[i / 2 % 2]);
    }
}

static void lost_between(void **state)
{
    struct xfs_proof loses = {0}, gains = {0}, varies = {0};
    (void)state;
    with_gaps(&loses, (uint64_t[]){1000, 1050}, (uint64_t[]){1160, 1200});
    assert_int_equal(loses.verdict, XFS_LOSES);
    with_gaps(&gains, (uint64_t[]){1000, 1040}, (uint64_t[]){1050, 1080}); /* less than half */
    assert_int_equal(gains.verdict, XFS_GAINS);
    with_gaps(&varies, (uint64_t[]){1000, 2000},
              (uint64_t[]){1900, 2500}); /* as the program does */
    assert_int_equal(varies.verdict, XFS_GAINS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_turn),         cmocka_unit_test(needs_a_tenth),
        cmocka_unit_test(whole_ones),      cmocka_unit_test(medians),
        cmocka_unit_test(stays_and_looks), cmocka_unit_test(changes_its_mind),
        cmocka_unit_test(gives_up),        cmocka_unit_test(hopeless),
        cmocka_unit_test(lost_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
