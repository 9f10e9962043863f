/* Processes that analyze together on one machine (analyzer/base/forked_team.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/forked_team.h"
#include "analyzer/jobs.h"

#define MIB ((uint64_t)1 << 20)

static uint32_t members(uint64_t files, uint64_t bytes, uint64_t processors, uint64_t available)
{
    struct xfa_jobs_work work = {files, bytes, processors, available};
    return xfa_jobs_members(&work);
}

static void test_how_many(void **state)
{
    (void)state;
    const uint64_t much = 64 * 1024 * MIB;
    assert_int_equal(members(40, 100 * MIB, 16, much), 16);
    assert_int_equal(members(10, 100 * MIB, 16, much), 10);
    /* one or two processes, a small run, few processors: as much work as alone, or more */
    assert_int_equal(members(3, 100 * MIB, 16, much), 1);
    assert_int_equal(members(40, 7 * MIB, 16, much), 1);
    assert_int_equal(members(40, 100 * MIB, 2, much), 1);
    /* half of the memory that is available: 64 MiB each, and an eighth of 1,024 */
    assert_int_equal(members(40, 1024 * MIB, 16, 2 * 8 * 192 * MIB), 8);
    assert_int_equal(members(40, 1024 * MIB, 16, 2 * 3 * 192 * MIB), 1);
    assert_int_equal(members(0, 0, 16, much), 1);
}

/* Of each rank another number of bytes, none and more than a socket holds among them. */
static void put(struct xfa_parcel *parcel, uint32_t rank, uint32_t round)
{
    size_t count = rank == round % 4 ? 0 : (size_t)rank * 700001 + round;
    unsigned char *bytes = xfa_alloc(count + 1);
    memset(bytes, (int)(rank * 16 + round), count);
    xfa_parcel_put(parcel, bytes, count);
    free(bytes);
}

static bool is_as_put(const struct xfa_parcel *parcel, uint32_t rank, uint32_t round)
{
    struct xfa_parcel wanted = {0};
    put(&wanted, rank, round);
    bool same = parcel->count == wanted.count &&
                (wanted.count == 0 || memcmp(parcel->bytes, wanted.bytes, wanted.count) == 0);
    xfa_parcel_free(&wanted);
    return same;
}

static void test_exchanges(void **state)
{
    (void)state;
    struct xfa_team *team = xfa_forked_team(4);
    bool right = team->count == 4;
    for (uint32_t round = 0; round < 6; round++) {
        struct xfa_parcel mine = {0};
        put(&mine, team->rank, round);
        struct xfa_parcel *all = xfa_team_exchange(team, "test", &mine);
        for (uint32_t rank = 0; rank < 4; rank++)
            right = right && is_as_put(&all[rank], rank, round);
        xfa_team_free_parcels(team, all);
        xfa_parcel_free(&mine);
    }
    right = xfa_team_sum(team, team->rank + 1) == 10 && right;
    right = xfa_team_all(team, right);
    xfa_forked_team_leave(team); /* to which only rank 0 returns */
    assert_true(right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_how_many),
        cmocka_unit_test(test_exchanges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
