/*
 * What a walk notes of what it read: with the same words the stack is the same, whatever else lies
 * on it; with another caller, however far up, a noted word is another one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/unwind/unwind.h"
#include "tests/unwind/frames.h"

#define MOST 64
#define WORDS 512 /* of the stack, above the function that walks */

static frames_function *const sorts[] = {frames_without_pointer, frames_with_pointer,
                                         frames_unoptimised};
#define SORTS (sizeof sorts / sizeof *sorts)

struct seen {
    struct xfs_registers from;
    struct xfs_reads reads;
    uintptr_t frames[MOST];
    size_t count;
};

static void walk_from(struct seen *seen)
{
    struct xfs_walk walk;
    uintptr_t frame;
    seen->count = 0;
    xfs_unwind_begin(&walk, &seen->from, &seen->reads);
    while (seen->count < MOST && (frame = xfs_unwind_next(&walk)) != 0)
        seen->frames[seen->count++] = frame;
    xfs_reads_round_up(&seen->reads);
}

static bool is_same(const struct seen *a, const struct seen *b)
{
    return a->count == b->count && memcmp(a->frames, b->frames, a->count * sizeof *a->frames) == 0;
}

static struct seen before; /* the call before this one */
static bool holds;         /* its words are as they were */

/* The second walk: what was not known to be readable in the first is known then. */
__attribute__((noinline)) static void take(void *argument)
{
    struct seen *seen = argument;
    seen->from = xfs_registers_here();
    holds = before.count > 0 && xfs_reads_hold(&before.reads, seen->from.sp);
    walk_from(seen);
    walk_from(seen);
    __asm__ volatile("" ::: "memory"); /* no jump at the end: this is a frame */
}

/* ---- nothing is left out --------------------------------------------------------------------- */

static bool is_noted(const struct seen *seen, const volatile uintptr_t *word)
{
    for (uint32_t i = 0; i < seen->reads.count; i++)
        if ((uintptr_t)word == seen->from.sp + seen->reads.at[i] * sizeof *word)
            return true;
    return false;
}

/* Other values in words above this frame, one after the other, while nobody uses them. */
__attribute__((noinline)) static void disturb(void *argument)
{
    static struct seen now; /* not among the words */
    struct seen *seen = argument;
    volatile uintptr_t *words = (volatile uintptr_t *)__builtin_dwarf_cfa();
    const uintptr_t others[] = {0, ~(uintptr_t)0, (uintptr_t)words, (uintptr_t)disturb};
    seen->from = xfs_registers_here();
    walk_from(seen);
    walk_from(seen);
    assert_true(seen->reads.whole && seen->count > 2);
    now.from = seen->from;
    for (size_t w = 0; w < WORDS; w++)
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            uintptr_t kept = words[w];
            words[w] = others[i];
            bool same = xfs_reads_hold(&seen->reads, seen->from.sp);
            if (same)
                walk_from(&now);
            words[w] = kept;
            assert_true(same == (!is_noted(seen, &words[w]) || kept == others[i]));
            assert_true(!same || is_same(&now, seen));
        }
}

/* One sort of frames on top of another, so that rbp is a frame pointer in some. */
struct mixed {
    struct seen *seen;
    frames_function *upper;
};

static void go_on(void *argument)
{
    struct mixed *mixed = argument;
    mixed->upper(4, disturb, mixed->seen);
}

static void test_complete(void **state)
{
    uintptr_t room[WORDS] = {0}; /* so that so many words lie above */
    static struct seen seen;     /* not among them */
    __asm__ volatile("" ::"r"(room) : "memory");
    for (size_t i = 0; i < SORTS; i++)
        for (size_t j = 0; j < SORTS; j++)
            sorts[j](3, go_on, &(struct mixed){&seen, sorts[i]});
}

/* ---- other callers --------------------------------------------------------------------------- */

/* The same frame, from two places of one function each, which the compiler may not make one. */
#define TWO_PLACES(name, next)                                                                     \
    __attribute__((noinline)) static void name(unsigned way, struct seen *seen)                    \
    {                                                                                              \
        if (way & 1) {                                                                             \
            next(way >> 1, seen);                                                                  \
            __asm__ volatile("# one" ::"r"(way) : "memory");                                       \
        } else {                                                                                   \
            next(way >> 1, seen);                                                                  \
            __asm__ volatile("# the other" ::"r"(way) : "memory");                                 \
        }                                                                                          \
    }

__attribute__((noinline)) static void bottom(unsigned way, struct seen *seen)
{
    take(seen);
    __asm__ volatile("" ::"r"(way) : "memory");
}
TWO_PLACES(third, bottom)
TWO_PLACES(second, third)
TWO_PLACES(first, second)

static void test_other_callers(void **state)
{
    static struct seen seen[2][8];
    for (unsigned i = 0; i < 16; i++)
        first(i % 8, &seen[i / 8][i % 8]);
    for (unsigned way = 0; way < 8; way++) {
        assert_true(seen[0][way].reads.whole);
        assert_true(seen[0][way].from.sp == seen[0][0].from.sp);
        for (unsigned other = 0; other < 8; other++)
            assert_int_equal(is_same(&seen[0][way], &seen[1][other]), way == other);
    }
}

/* As they are looked for: in the next call, at the same place of the stack. */

__attribute__((noinline)) static void look(unsigned way, struct seen *now)
{
    take(now);
    assert_int_equal(holds, before.count > 0 && is_same(&before, now));
    before = *now;
    __asm__ volatile("" ::"r"(way) : "memory");
}
TWO_PLACES(second_look, look)
TWO_PLACES(first_look, second_look)

static void test_next_call(void **state)
{
    static const unsigned ways[] = {0, 0, 1, 1, 3, 2, 2, 0, 3, 3, 1, 0};
    struct seen now;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        first_look(ways[i], &now);
}

/* ---- what is more than words ----------------------------------------------------------------- */

/* Two words a frame, the return address and the saved rbp by which the next one is found. */
static void test_too_many(void **state)
{
    struct seen seen;
    frames_with_pointer(MOST, take, &seen);
    assert_int_equal(seen.count, MOST);
    assert_false(seen.reads.whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_other_callers),
        cmocka_unit_test(test_next_call),
        cmocka_unit_test(test_too_many),
    };
    xfs_unwind_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
