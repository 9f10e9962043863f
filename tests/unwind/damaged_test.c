/*
 * Stacks and descriptions of frames that are not what they should be: no walk faults, none goes on
 * for ever, and none tells of a frame that is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
/* cmocka wants some of those before it. */
#include <cmocka.h>

#include "preload/base/sandbox.h"
#include "preload/unwind/fde.h"
#include "preload/unwind/row.h"
#include "preload/unwind/unwind.h"
#include "tests/unwind/both.h"
#include "tests/unwind/frames.h"

#define PAGE ((size_t)4096)
#define WORDS (4 * PAGE / sizeof(uintptr_t))
#define ROUNDS 100000

static struct both real; /* a stack as it should be */

static void take(void *argument)
{
    both_take(argument);
}

/* Pages that can be read between two that cannot. */
static unsigned char *between_guards(size_t bytes)
{
    unsigned char *map =
        mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(mprotect(map + PAGE, bytes, PROT_READ | PROT_WRITE), 0);
    return map + PAGE;
}

static uint64_t any(void)
{
    static uint64_t now = 88172645463325252u;
    now ^= now << 13;
    now ^= now >> 7;
    return now ^= now << 17;
}

/* ---- stacks ------------------------------------------------------------------------------- */

static uintptr_t any_word(const uintptr_t *stack)
{
    uintptr_t somewhere = (uintptr_t)stack + any() % (WORDS * sizeof *stack + 2 * PAGE) - PAGE;
    switch (any() % 8) {
    case 0:
        return any();
    case 1:
        return any() % 4096;
    case 2:
        return somewhere;
    case 3:
    case 4:
        return somewhere & ~(uintptr_t)7;
    default:
        return real.ours[any() % real.our_count];
    }
}

static void walk_any(uintptr_t *stack)
{
    struct xfs_walk walk;
    for (size_t i = 0; i < 64; i++)
        stack[any() % WORDS] = any_word(stack);
    struct xfs_registers from = {
        .pc = any_word(stack), .sp = (uintptr_t)&stack[any() % WORDS], .fp = any_word(stack)};
    size_t frames = 0;
    xfs_unwind_begin(&walk, &from, NULL);
    while (xfs_unwind_next(&walk) != 0)
        assert_true(++frames <= WORDS);
}

static void test_any_stack(void **state)
{
    (void)state;
    uintptr_t *stack = (uintptr_t *)between_guards(WORDS * sizeof(uintptr_t));
    for (size_t i = 0; i < WORDS; i++)
        stack[i] = any_word(stack);
    for (size_t i = 0; i < ROUNDS; i++)
        walk_any(stack);
}

/* A frame by a saved rbp that somebody has overwritten: the frames below it are still found. */
static void spoil(void *argument)
{
    volatile uintptr_t *frame = __builtin_frame_address(0);
    uintptr_t kept = *frame;
    *frame = (uintptr_t)argument;
    real.our_count = both_take_ours(real.ours, BOTH_MOST);
    *frame = kept;
}

static void test_spoilt_frame(void **state)
{
    (void)state;
    static const uintptr_t values[] = {
        0, 1, 8, 0x1000, 0x7fff00000000, ~(uintptr_t)7, ~(uintptr_t)0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        frames_with_pointer(6, spoil, (void *)values[i]);
        assert_in_range(real.our_count, 2, 10);
    }
    frames_with_pointer(6, take, &real);
    assert_true(real.our_count > 10);
}

/* ---- code that no module has --------------------------------------------------------------- */

typedef void made_code(void (*leaf)(void *), void *argument);

static made_code *make(const unsigned char *code, size_t bytes)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    memcpy(page, code, bytes);
    assert_int_equal(mprotect(page, PAGE, PROT_READ | PROT_EXEC), 0);
    return (made_code *)page;
}

/* push rbp; mov rbp, rsp; mov rax, rdi; mov rdi, rsi; call rax; pop rbp; ret */
static const unsigned char with_pointer[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
                                             0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
/* sub rsp, 8; mov rax, rdi; mov rdi, rsi; call rax; add rsp, 8; ret */
static const unsigned char without_pointer[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x89,
                                                0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0,
                                                0x48, 0x83, 0xc4, 0x08, 0xc3};
/* push rbp; sub rsp, 16; mov rbp, rdi; mov rdi, rsi; call rbp; ...: it has a number in rbp */
static const unsigned char with_number[] = {0x55, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0xf8,
                                            0x48, 0x89, 0xf7, 0xbd, 0x78, 0x56, 0x34, 0x12,
                                            0xff, 0xd0, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};

static struct both outside, inside; /* before the call of what was made, and in it */
static made_code *made;

static void call_made(void *argument)
{
    (void)argument;
    both_take(&outside);
    made(take, &inside);
}

/* From the frame behind the made one on, ours may leave out frames, but tells of none that is not
 * there. `least`: how many it tells. */
static void check_made(size_t least)
{
    uintptr_t page = (uintptr_t)made;
    size_t at = 0, seen = 0;
    while (at < inside.our_count && (inside.ours[at] & ~(PAGE - 1)) != page)
        at++;
    assert_true(at < inside.our_count);
    for (size_t i = at + 1, j = 1; i < inside.our_count; i++, seen++) {
        if (i == at + 1 && inside.ours[i] - outside.ours[1] + 64 < 128)
            continue; /* the same function, by the other call */
        while (j < outside.our_count && outside.ours[j] != inside.ours[i])
            j++;
        assert_true(j < outside.our_count);
    }
    assert_true(seen >= least);
}

static void run_made(const unsigned char *code, size_t bytes, bool is_whole)
{
    static frames_function *const sorts[] = {frames_without_pointer, frames_with_pointer,
                                             frames_unoptimised};
    made = make(code, bytes);
    for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++) {
        sorts[i](9, call_made, NULL);
        check_made(is_whole ? outside.our_count - 2 : 0);
    }
    munmap((void *)made, PAGE);
}

static void test_made_code(void **state)
{
    (void)state;
    run_made(with_pointer, sizeof with_pointer, true);
    run_made(without_pointer, sizeof without_pointer, false);
    run_made(with_number, sizeof with_number, false);
    atomic_store(&xfs_sandbox_seen, true);
    run_made(with_pointer, sizeof with_pointer, true);
    run_made(with_number, sizeof with_number, false);
    atomic_store(&xfs_sandbox_seen, false);
}

/* ---- descriptions -------------------------------------------------------------------------- */

/* The header of this program's, which lies before its .eh_frame. */
static size_t own_frames(struct xfs_module *module, const unsigned char **header)
{
    assert_true(xfs_module_of((uintptr_t)own_frames, module));
    *header = module->frames;
    return xfs_module_rest(module, (uintptr_t)*header);
}

static void test_without_table(void **state)
{
    (void)state;
    struct xfs_module module;
    const unsigned char *header;
    int32_t distance;
    own_frames(&module, &header);
    memcpy(&distance, header + 4, sizeof distance);
    uint64_t frames = (uintptr_t)header + 4 + (uintptr_t)(intptr_t)distance;
    unsigned char without[12] = {1, 0x04, 0xff, 0xff};
    memcpy(without + 4, &frames, sizeof frames);
    struct xfs_module other = {.start = 4096, .end = (uintptr_t)1 << 47, .frames = without};
    size_t found = 0;
    frames_unoptimised(20, take, &real);
    for (size_t i = 0; i < real.our_count; i++) {
        struct xfs_fde one, two;
        if (!xfs_fde_find(&module, real.ours[i] - 1, &one))
            continue;
        found++;
        assert_true(xfs_fde_find(&other, real.ours[i] - 1, &two));
        assert_int_equal(one.start, two.start);
        assert_int_equal(one.end, two.end);
        assert_int_equal(xfs_row_rule(&one, real.ours[i] - 1),
                         xfs_row_rule(&two, real.ours[i] - 1));
    }
    assert_true(found > 20);
}

static void test_any_description(void **state)
{
    (void)state;
    struct xfs_module module;
    const unsigned char *header;
    size_t bytes = own_frames(&module, &header), room = (bytes + PAGE - 1) / PAGE * PAGE;
    uint64_t found_rules = 0;
    assert_true(bytes > 500);
    unsigned char *copy = between_guards(room) + (room - bytes);
    struct xfs_module other = {(uintptr_t)copy, (uintptr_t)copy + bytes, 0, copy, NULL, 0};
    memcpy(copy, header, bytes);
    for (size_t i = 0; i < ROUNDS; i++) {
        struct xfs_fde fde;
        size_t at = i % 3 ? any() % bytes : any() % 12;
        unsigned char kept = copy[at];
        copy[at] = (unsigned char)any();
        uintptr_t pc = copy - header + real.ours[any() % real.our_count] - 1;
        if (xfs_fde_find(&other, pc, &fde))
            found_rules += xfs_row_rule(&fde, pc) != 0;
        if (any() % 4)
            copy[at] = kept;
    }
    assert_true(found_rules > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_stack),       cmocka_unit_test(test_spoilt_frame),
        cmocka_unit_test(test_made_code),       cmocka_unit_test(test_without_table),
        cmocka_unit_test(test_any_description),
    };
    xfs_unwind_init();
    frames_with_pointer(20, take, &real);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
