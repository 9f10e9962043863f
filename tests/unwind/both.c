#include "tests/unwind/both.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>
#include <string.h>

#include "preload/unwind/unwind.h"

__attribute__((noinline)) size_t both_take_ours(uintptr_t *frames, size_t most)
{
    struct xfs_registers here = xfs_registers_here();
    struct xfs_walk walk;
    size_t n = 0;
    xfs_unwind_begin(&walk, &here, NULL);
    while (n < most && (frames[n] = xfs_unwind_next(&walk)) != 0)
        n++;
    return n;
}

__attribute__((noinline)) void both_take(struct both *both)
{
    void *reference[BOTH_MOST];
    both->our_count = both_take_ours(both->ours, BOTH_MOST);
    int n = unw_backtrace(reference, BOTH_MOST);
    both->reference_count = n > 0 ? (size_t)n : 0;
    memcpy(both->reference, reference, both->reference_count * sizeof *reference);
    /* The first is in this function, by either of two calls. */
    if (n > 0 && both->our_count > 0)
        both->ours[0] = both->reference[0];
}

bool both_agree(const struct both *both)
{
    size_t bytes = both->our_count * sizeof *both->ours;
    if (both->our_count == both->reference_count && both->our_count > 2 &&
        memcmp(both->ours, both->reference, bytes) == 0)
        return true;
    printf("%zu frames of ours, %zu of libunwind\n", both->our_count, both->reference_count);
    for (size_t i = 0; i < both->our_count || i < both->reference_count; i++)
        printf("%3zu %#18lx %#18lx\n", i, i < both->our_count ? both->ours[i] : 0,
               i < both->reference_count ? both->reference[i] : 0);
    return false;
}
