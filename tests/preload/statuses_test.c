/* Bytes by a status: read at once only where MPI has said that they are what lies there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/messages/statuses.h"

/* ---- an MPI ---------------------------------------------------------------------------------- */

static int64_t says; /* of any status; negative: nothing */
static unsigned asked;

static int elements_of(const void *status, xfs_word type, int64_t *count)
{
    asked++;
    *count = says;
    return says < 0;
}

static const struct xfs_mpi open_mpi = {.wide = true, .elements = elements_of};
static const struct xfs_mpi mpich = {.elements = elements_of};

struct open_status {
    int source, tag, error, cancelled;
    int64_t bytes;
};
struct mpich_status {
    int low, high_and_cancelled, source, tag, error;
};

static int64_t arrived(const struct xfs_mpi *mpi, const void *status)
{
    return xfs_mpi_bytes_arrived(mpi, status);
}

static int begin(void **state)
{
    xfs_mpi_statuses = XFS_STATUSES_UNKNOWN;
    asked = 0;
    return 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void agrees(void **state)
{
    struct open_status status = {.bytes = 0};
    says = 0;
    arrived(&open_mpi, &status); /* nothing arrived: that proves nothing */
    assert_int_equal(xfs_mpi_bytes_at_once(&open_mpi, (char *)&status), -1);
    status.bytes = says = INT64_C(5000000000);
    assert_int_equal(arrived(&open_mpi, &status), says);
    assert_int_equal(asked, 2);
    status.bytes = 17;
    assert_int_equal(arrived(&open_mpi, &status), 17);
    assert_int_equal(xfs_mpi_bytes_at_once(&open_mpi, (char *)&status), 17);
    assert_int_equal(asked, 2);
    status.cancelled = 1;
    assert_int_equal(xfs_mpi_bytes_at_once(&open_mpi, (char *)&status), -1);
}

static void differs(void **state)
{
    struct open_status status = {.bytes = 16};
    says = 2;
    assert_int_equal(arrived(&open_mpi, &status), 2);
    says = 16;
    assert_int_equal(arrived(&open_mpi, &status), 16); /* by chance: it is not believed any more */
    assert_int_equal(xfs_mpi_bytes_at_once(&open_mpi, (char *)&status), -1);
    says = -1;
    assert_int_equal(arrived(&open_mpi, &status), -1);
}

static void of_ints(void **state)
{
    struct mpich_status status = {.low = -2, .high_and_cancelled = 3 << 1};
    says = (INT64_C(3) << 32) + UINT32_MAX - 1;
    assert_int_equal(arrived(&mpich, &status), says);
    assert_int_equal(xfs_mpi_bytes_at_once(&mpich, (char *)&status), says);
    status.high_and_cancelled |= 1;
    assert_int_equal(xfs_mpi_bytes_at_once(&mpich, (char *)&status), -1);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(agrees), TEST(differs), TEST(of_ints)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
