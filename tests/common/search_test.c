/* Binary search: the first item that is not before the key, in arrays of every small size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/search.h"

#define MOST 40

struct item {
    char other[3]; /* so that a step is no power of two */
    unsigned char number;
    char behind;
};

static size_t asked;

static bool is_before(const void *item, const void *key)
{
    asked++;
    return ((const struct item *)item)->number < *(const unsigned *)key;
}

static bool is_not_behind(const void *item, const void *key)
{
    return ((const struct item *)item)->number <= *(const unsigned *)key;
}

/* 1, 1, 1, 3, 3, 3, 5, ...: keys below, above, between and three times there. */
static void test_first(void **state)
{
    (void)state;
    struct item items[MOST];
    for (size_t i = 0; i < MOST; i++)
        items[i] = (struct item){.number = (unsigned char)(i / 3 * 2 + 1)};
    for (size_t count = 0; count <= MOST; count++) {
        for (unsigned key = 0; key <= MOST; key++) {
            size_t first = 0, after = 0, steps = 1;
            for (size_t left = count; left > 1; left /= 2)
                steps++;
            while (first < count && items[first].number < key)
                first++;
            while (after < count && items[after].number <= key)
                after++;
            asked = 0;
            assert_int_equal(xfc_partition(items, count, sizeof *items, is_before, &key), first);
            assert_in_range(asked, count > 0, count ? steps : 0);
            assert_int_equal(xfc_partition(items, count, sizeof *items, is_not_behind, &key),
                             after);
        }
    }
    unsigned key = 7;
    assert_int_equal(xfc_partition(NULL, 0, sizeof *items, is_before, &key), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
