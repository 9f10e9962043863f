/* Hashes of the program's memory: what is hashed, what cannot be read, what may be spent. */
#define XXH_INLINE_ALL
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "preload/content/parts.h"

static unsigned char *some_bytes(size_t bytes)
{
    unsigned char *memory = malloc(bytes);
    unsigned seed = 1;
    assert_non_null(memory);
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
    return memory;
}

static struct xfs_rows linear(const void *address, uint64_t bytes)
{
    return (struct xfs_rows){(uintptr_t)address, bytes, 1, 1, 0, 0};
}

/* The documented definition, spelled out. */
static uint64_t sampled_by_hand(const unsigned char *memory, uint64_t bytes)
{
    unsigned char sample[XFS_SAMPLE_BYTES];
    if (bytes <= sizeof sample)
        return XXH3_64bits(memory, bytes);
    for (uint64_t i = 0; i < 64; i++)
        memcpy(sample + i * 64, memory + i * (bytes - 64) / 63, 64);
    return XXH3_64bits(sample, sizeof sample);
}

static void test_what_is_hashed(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1,     63,    64,    4095,   4096,   4097,
                                     65535, 65536, 65537, 131072, 999999, 5000000};
    unsigned char *memory = some_bytes(5000000);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct xfs_rows rows = linear(memory, sizes[i]);
        uint64_t hash, hashed;
        assert_true(xfs_hash_whole(&rows, &hash, &hashed));
        assert_true(hash == XXH3_64bits(memory, sizes[i]));
        assert_true(hashed == sizes[i]);
        assert_true(xfs_hash_sampled(&rows, &hash, &hashed));
        assert_true(hash == sampled_by_hand(memory, sizes[i]));
        assert_true(hashed == (sizes[i] < 4096 ? sizes[i] : 4096));
    }
    free(memory);
}

/* The last byte, and the first one, are always looked at. */
static void test_samples_see_both_ends(void **state)
{
    (void)state;
    unsigned char *memory = some_bytes(1000003);
    struct xfs_rows rows = linear(memory, 1000003);
    uint64_t before, after, hashed;
    assert_true(xfs_hash_sampled(&rows, &before, &hashed));
    memory[1000002] ^= 1;
    assert_true(xfs_hash_sampled(&rows, &after, &hashed));
    assert_true(before != after);
    memory[1000002] ^= 1;
    memory[0] ^= 1;
    assert_true(xfs_hash_sampled(&rows, &after, &hashed));
    assert_true(before != after);
    free(memory);
}

/* Rows with gaps hash as the same bytes without: 3 slices of `height` rows. */
static void one_shape(const unsigned char *packed, uint64_t width, uint64_t height, uint64_t pitch,
                      uint64_t slice)
{
    uint64_t bytes = width * height * 3, whole, sampled, hashed;
    unsigned char *memory = calloc(1, slice * 3);
    assert_non_null(memory);
    for (uint64_t row = 0; row < height * 3; row++)
        memcpy(memory + row / height * slice + row % height * pitch, packed + row * width, width);
    struct xfs_rows rows = {(uintptr_t)memory, width, height, 3, pitch, slice};
    assert_true(xfs_hash_whole(&rows, &whole, &hashed));
    assert_true(whole == XXH3_64bits(packed, bytes) && hashed == bytes);
    assert_true(xfs_hash_sampled(&rows, &sampled, &hashed));
    assert_true(sampled == sampled_by_hand(packed, bytes));
    free(memory);
}

static void test_rows(void **state)
{
    (void)state;
    unsigned char *packed = some_bytes(3 * 100 * 1000);
    one_shape(packed, 1, 3000, 7, 7 * 3001);
    one_shape(packed, 100, 1000, 128, 128 * 1000);
    one_shape(packed, 100, 1000, 100, 100 * 1000); /* no gaps */
    one_shape(packed, 100, 1000, 100, 100 * 1000 + 5);
    one_shape(packed, 4000, 20, 4096, 4096 * 20);
    free(packed);
}

/* Memory that is not there, or may not be read, is reported, without a signal. */
static void test_unreadable(void **state)
{
    (void)state;
    const size_t bytes = 1 << 20, page = 4096;
    uint64_t hash, hashed;
    unsigned char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    struct xfs_rows rows = linear(memory, bytes);
    mprotect(memory, bytes, PROT_READ);
    assert_true(xfs_hash_whole(&rows, &hash, &hashed));
    mprotect(memory + bytes - page, page, PROT_NONE); /* only the end */
    assert_false(xfs_hash_whole(&rows, &hash, &hashed));
    assert_false(xfs_hash_sampled(&rows, &hash, &hashed));
    munmap(memory, bytes);
    assert_false(xfs_hash_whole(&rows, &hash, &hashed));
    assert_false(xfs_hash_sampled(&rows, &hash, &hashed));
    rows = linear(NULL, 100);
    assert_false(xfs_hash_sampled(&rows, &hash, &hashed));
    rows = linear((void *)(UINTPTR_MAX - 10), 100); /* round the end of the address space */
    assert_false(xfs_hash_sampled(&rows, &hash, &hashed));
}

/* A hash reads the memory of the process that asks for it. */
static void test_fork(void **state)
{
    (void)state;
    unsigned char *memory = some_bytes(100000);
    struct xfs_rows rows = linear(memory, 100000);
    uint64_t parent, child, hashed;
    assert_true(xfs_hash_whole(&rows, &parent, &hashed));
    pid_t pid = fork();
    if (pid == 0) {
        memory[50000] ^= 1;
        bool good = xfs_hash_whole(&rows, &child, &hashed) && child != parent &&
                    child == XXH3_64bits(memory, 100000);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(xfs_hash_whole(&rows, &child, &hashed) && child == parent);
    free(memory);
}

static void test_what_may_be_spent(void **state)
{
    (void)state;
    const uint64_t s = 1000000000, share = s / 20; /* of a second, at 5 percent */
    const struct {
        enum xfs_content_mode setting;
        bool slow;
        struct xfs_hash_ns spent, cost;
        unsigned share;
        enum xfs_content_mode expected;
    } rows[] = {
        {XFS_CONTENT_WHOLE, false, {0, 0}, {share / 5 * 4, 1}, 5, XFS_CONTENT_WHOLE},
        {XFS_CONTENT_WHOLE, false, {0, 0}, {share / 5 * 4 + 1, 1}, 5, XFS_CONTENT_SAMPLED},
        {XFS_CONTENT_WHOLE, false, {0, share}, {share / 2, 1}, 5, XFS_CONTENT_WHOLE},
        {XFS_CONTENT_WHOLE, false, {share, share / 5 - 9}, {1, 9}, 5, XFS_CONTENT_SAMPLED},
        {XFS_CONTENT_WHOLE, false, {share, share / 5 - 9}, {1, 10}, 5, XFS_CONTENT_OFF},
        {XFS_CONTENT_WHOLE, true, {0, 0}, {1, 1}, 5, XFS_CONTENT_SAMPLED},
        {XFS_CONTENT_WHOLE, true, {0, share / 5}, {1, 1}, 5, XFS_CONTENT_OFF},
        {XFS_CONTENT_SAMPLED, false, {0, share - 9}, {1, 9}, 5, XFS_CONTENT_SAMPLED},
        {XFS_CONTENT_SAMPLED, false, {0, share - 9}, {1, 10}, 5, XFS_CONTENT_OFF},
        {XFS_CONTENT_WHOLE, false, {s, s}, {s, s}, 0, XFS_CONTENT_WHOLE}, /* no bound */
        {XFS_CONTENT_WHOLE, true, {s, s}, {s, s}, 0, XFS_CONTENT_SAMPLED},
        {XFS_CONTENT_SAMPLED, false, {s, s}, {s, s}, 0, XFS_CONTENT_SAMPLED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(xfs_content_afford(rows[i].setting, rows[i].slow, &rows[i].spent,
                                            &rows[i].cost, s, rows[i].share),
                         rows[i].expected);
}

/* The share is what is taken in all, in any run of transfers; whole hashes and samples go on beside
 * each other; what took longer than expected is saved later. */
static void check_share(enum xfs_content_mode setting, unsigned percent, uint64_t longer)
{
    uint64_t now = 0, most = 0;
    struct xfs_hash_ns spent = {0, 0};
    unsigned seed = percent, late[XFS_CONTENT_WHOLE + 1] = {0};
    for (int i = 0; i < 200000; i++) {
        seed = seed * 1664525u + 1013904223u;
        struct xfs_hash_ns cost = {1000 + (seed >> 12), 12000}; /* to a millisecond: far too much */
        now += 50000 + (seed >> 20);
        enum xfs_content_mode mode =
            xfs_content_afford(setting, i % 7 == 0, &spent, &cost, now, percent);
        uint64_t took = longer * (mode == XFS_CONTENT_WHOLE     ? cost.whole
                                  : mode == XFS_CONTENT_SAMPLED ? cost.sampled
                                                                : 0);
        *(mode == XFS_CONTENT_WHOLE ? &spent.whole : &spent.sampled) += took;
        late[mode] += i >= 100000;
        most = took > most ? took : most;
        uint64_t over = longer > 1 ? 2 * most : 0; /* the last ones took more than was expected */
        assert_true(spent.whole + spent.sampled <= now / 100 * percent + over);
        now += took;
    }
    assert_true(late[XFS_CONTENT_OFF] > 0 && late[XFS_CONTENT_SAMPLED] > 0);
    assert_true((late[XFS_CONTENT_WHOLE] > 0) == (setting == XFS_CONTENT_WHOLE));
    assert_true(spent.whole + spent.sampled >=
                now / 100 * percent / 10 * 9); /* and is made use of */
}

static void test_the_share_is_all(void **state)
{
    (void)state;
    for (unsigned percent = 1; percent <= 10; percent++) {
        check_share(XFS_CONTENT_WHOLE, percent, 1);
        check_share(XFS_CONTENT_WHOLE, percent, 3);
        check_share(XFS_CONTENT_SAMPLED, percent, 1);
        check_share(XFS_CONTENT_SAMPLED, percent, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_hashed),
        cmocka_unit_test(test_samples_see_both_ends),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_what_may_be_spent),
        cmocka_unit_test(test_the_share_is_all),
    };
    return cmocka_run_group_tests_name("content", tests, NULL, NULL);
}
