/* Bytes of types: MPI's own are asked for once, others each time, since a handle may be used again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/messages/types.h"

/* ---- an MPI ---------------------------------------------------------------------------------- */

enum { OWN = 7, CONTIGUOUS = 3 }; /* combiners */

static struct type {
    xfs_word handle;
    int64_t bytes;
    int combiner;
} types[4];
static unsigned asked; /* sizes */

static const struct type *find(xfs_word handle)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].handle == handle)
            return &types[i];
    return NULL;
}

static int size_of(xfs_word handle, int64_t *bytes)
{
    const struct type *type = find(handle & UINT32_MAX);
    asked++;
    if (type == NULL)
        return 1;
    *bytes = type->bytes;
    return 0;
}

static int envelope_of(xfs_word handle, int *ints, int *addresses, int *others, int *combiner)
{
    const struct type *type = find(handle);
    *ints = *addresses = *others = 0;
    *combiner = type ? type->combiner : -1;
    return type == NULL;
}

static const struct xfs_mpi mpi = {
    .handle_bits = UINT32_MAX, .named = OWN, .type_size = size_of, .envelope = envelope_of};

static int begin(void **state)
{
    memset(types, 0, sizeof types);
    memset(xfs_mpi_types, 0, sizeof xfs_mpi_types);
    asked = 0;
    return 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void own(void **state)
{
    types[0] = (struct type){0x1234, 8, OWN};
    assert_int_equal(xfs_mpi_type_known(0x1234), 0);
    assert_int_equal(xfs_mpi_type_bytes(&mpi, 0x1234), 8);
    assert_int_equal(xfs_mpi_type_known(0x1234), 8);
    assert_int_equal(xfs_mpi_type_bytes(&mpi, 0x1234), 8);
    assert_int_equal(asked, 1);
    assert_int_equal(xfs_mpi_type_bytes(&mpi, (xfs_word)0xabcd << 32 | 0x1234), 8); /* an int */
    assert_int_equal(asked, 1);
    assert_int_equal(xfs_mpi_type_known(0x1235), 0);
}

static void used_again(void **state)
{
    types[0] = (struct type){0x1234, 24, CONTIGUOUS};
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(xfs_mpi_type_bytes(&mpi, 0x1234), 24);
        assert_int_equal(xfs_mpi_type_known(0x1234), 0);
    }
    types[0].bytes = 40; /* freed, and another one made */
    assert_int_equal(xfs_mpi_type_bytes(&mpi, 0x1234), 40);
    assert_int_equal(asked, 3);
}

/* Two of MPI's in one place, and one of the program's. */
static void one_place(void **state)
{
    const xfs_word first = 3, second = 3 + (xfs_word)XFS_TYPES * 512 * 4, third = second * 2 - 3;
    assert_ptr_equal(xfs_mpi_type_place(first), xfs_mpi_type_place(second));
    assert_ptr_equal(xfs_mpi_type_place(first), xfs_mpi_type_place(third));
    types[0] = (struct type){third, 12, CONTIGUOUS};
    types[1] = (struct type){first, 4, OWN};
    types[2] = (struct type){second, 16, OWN};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(xfs_mpi_type_bytes(&mpi, third), 12);
        assert_int_equal(xfs_mpi_type_bytes(&mpi, first), 4);
        assert_int_equal(xfs_mpi_type_bytes(&mpi, second), 16);
    }
    assert_int_equal(xfs_mpi_type_known(first), 4);
}

static void not_kept(void **state)
{
    types[0] = (struct type){0x10, XFS_TYPE_BYTES_MOST + 1, OWN};
    types[1] = (struct type){0x11, 0, OWN};
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(xfs_mpi_type_bytes(&mpi, 0x10), XFS_TYPE_BYTES_MOST + 1);
        assert_int_equal(xfs_mpi_type_bytes(&mpi, 0x11), 0);
        assert_int_equal(xfs_mpi_type_bytes(&mpi, 0x12), 0); /* there is none */
    }
    assert_int_equal(xfs_mpi_type_known(0x10), 0);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(own), TEST(used_again), TEST(one_place),
                                       TEST(not_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
