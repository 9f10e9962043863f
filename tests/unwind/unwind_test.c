/*
 * Stacks that libunwind takes rightly: ours are the same, frame by frame.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
/* cmocka wants some of those before it. */
#include <cmocka.h>

#include "preload/base/sandbox.h"
#include "preload/unwind/unwind.h"
#include "tests/unwind/both.h"
#include "tests/unwind/frames.h"

#define KIB ((size_t)1024)

static frames_function *const sorts[] = {frames_without_pointer, frames_with_pointer,
                                         frames_unoptimised};
#define SORTS (sizeof sorts / sizeof *sorts)

static void take(void *argument)
{
    both_take(argument);
}

static bool agrees_at(frames_function *frames, int depth)
{
    struct both both;
    frames(depth, take, &both);
    return both_agree(&both) && both.our_count > (size_t)depth;
}

static bool agree_to(int deepest)
{
    for (size_t i = 0; i < SORTS; i++)
        for (int depth = 0; depth <= deepest; depth++)
            if (!agrees_at(sorts[i], depth) || !agrees_at(sorts[i], depth))
                return false;
    return true;
}

/* One sort of frames on top of another, so that rbp is a frame pointer in some. */
struct mixed {
    struct both *both;
    frames_function *upper;
};

static void go_on(void *argument)
{
    struct mixed *mixed = argument;
    mixed->upper(7, take, mixed->both);
}

static void test_frames(void **state)
{
    (void)state;
    assert_true(agree_to(60));
    for (size_t i = 0; i < SORTS; i++)
        for (size_t j = 0; j < SORTS; j++) {
            struct both both;
            struct mixed mixed = {&both, sorts[j]};
            sorts[i](9, go_on, &mixed);
            assert_true(both_agree(&both));
        }
}

/* ---- called back by the C library --------------------------------------------------------- */

static struct both sorted;

static int compare(const void *a, const void *b)
{
    both_take(&sorted);
    return memcmp(a, b, 1);
}

static void test_library(void **state)
{
    (void)state;
    char few[] = "cab";
    qsort(few, 3, 1, compare);
    assert_string_equal(few, "abc");
    assert_true(both_agree(&sorted));
}

/* ---- without return ----------------------------------------------------------------------- */

static jmp_buf back;

static void take_and_leave(void *argument)
{
    both_take(argument);
    longjmp(back, 1);
}

static void test_noreturn(void **state)
{
    (void)state;
    static void (*const ends[])(frames_leaf *, void *) = {
        frames_end_without_pointer, frames_end_with_pointer, frames_end_unoptimised};
    for (volatile size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        static struct both both;
        memset(&both, 0, sizeof both);
        if (setjmp(back) == 0)
            ends[i](take_and_leave, &both);
        assert_true(both_agree(&both));
    }
}

/* ---- large frames ------------------------------------------------------------------------- */

static __attribute__((noinline)) void with_megabytes(void *argument)
{
    volatile char room[3u << 20];
    room[0] = 1;
    both_take(argument);
    room[1] = room[0];
}

static void test_large_frames(void **state)
{
    (void)state;
    struct both both;
    for (int i = 0; i < 2; i++) {
        frames_without_pointer(5, with_megabytes, &both);
        assert_true(both_agree(&both));
    }
}

/* ---- threads ------------------------------------------------------------------------------ */

struct thread {
    pthread_t id;
    int deepest, rounds;
    bool good;
};

static void *run_thread(void *argument)
{
    struct thread *thread = argument;
    struct both both;
    thread->good = true;
    for (int i = 0; i < thread->rounds && thread->good; i++)
        thread->good = agree_to(thread->deepest);
    frames_without_pointer(thread->deepest, take, &both);
    thread->good = thread->good && both_agree(&both);
    return NULL;
}

static void run_threads(struct thread *threads, int count, size_t stack_bytes)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i].id, &attributes, run_thread, &threads[i]), 0);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i].id, NULL);
        assert_true(threads[i].good);
    }
    pthread_attr_destroy(&attributes);
}

static void test_small_stacks(void **state)
{
    (void)state;
    struct thread thread = {.deepest = 12, .rounds = 2};
    run_threads(&thread, 1, 64 * KIB);
}

static void test_threads(void **state)
{
    (void)state;
    struct thread threads[8];
    for (int i = 0; i < 8; i++)
        threads[i] = (struct thread){.deepest = 20 + i, .rounds = 10};
    run_threads(threads, 8, 512 * KIB);
}

/* A thread that may not call the kernel has its frames' word for what can be read. */
static void test_sandbox(void **state)
{
    (void)state;
    struct thread thread = {.deepest = 30, .rounds = 1};
    atomic_store(&xfs_sandbox_seen, true);
    run_threads(&thread, 1, 512 * KIB);
    atomic_store(&xfs_sandbox_seen, false);
}

/* ---- coroutines --------------------------------------------------------------------------- */

static ucontext_t outer, inner;
static bool coroutine_good;

static void coroutine(void)
{
    coroutine_good = agree_to(9);
    swapcontext(&inner, &outer);
    coroutine_good = coroutine_good && agree_to(12);
}

static void run_coroutine(char *stack, size_t bytes)
{
    getcontext(&inner);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = bytes;
    inner.uc_link = &outer;
    makecontext(&inner, coroutine, 0);
    for (int i = 0; i < 2; i++) {
        swapcontext(&outer, &inner);
        assert_true(coroutine_good);
        assert_true(agree_to(3));
    }
}

static void test_coroutines(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        char *map =
            mmap(NULL, 256 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(map, MAP_FAILED);
        assert_int_equal(mprotect(map, 4 * KIB, PROT_NONE), 0);
        assert_int_equal(mprotect(map + 252 * KIB, 4 * KIB, PROT_NONE), 0);
        run_coroutine(map + 4 * KIB, 248 * KIB);
        munmap(map, 256 * KIB);
    }
}

/* ---- signals ------------------------------------------------------------------------------ */

static struct both handled;

static void on_signal(int signal)
{
    if (signal == SIGUSR1)
        raise(SIGUSR2);
    else
        both_take(&handled);
}

static void raise_it(void *argument)
{
    (void)argument;
    raise(SIGUSR1);
}

static void test_handlers(void **state)
{
    (void)state;
    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, on_signal);
    for (size_t i = 0; i < SORTS; i++) {
        sorts[i](11, raise_it, NULL);
        assert_true(both_agree(&handled));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),       cmocka_unit_test(test_library),
        cmocka_unit_test(test_noreturn),     cmocka_unit_test(test_large_frames),
        cmocka_unit_test(test_small_stacks), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_sandbox),      cmocka_unit_test(test_coroutines),
        cmocka_unit_test(test_handlers),
    };
    xfs_unwind_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
