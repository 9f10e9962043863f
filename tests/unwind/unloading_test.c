/*
 * Libraries that go, and others that come to where they were: what was learned of the code there
 * goes with them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka wants some of those before it. */
#include <cmocka.h>

#include "preload/base/unloads.h"
#include "preload/unwind/unwind.h"
#include "tests/unwind/both.h"

/* As the library has it (preload/lookup/resolve.c). */
int dlclose(void *library)
{
    return xfs_unload(library, NULL);
}

typedef void caller(void (*leaf)(void *), void *argument);

struct taken {
    uintptr_t frames[BOTH_MOST];
    size_t count;
};

static void take(void *argument)
{
    struct taken *taken = argument;
    taken->count = both_take_ours(taken->frames, BOTH_MOST);
}

/* Behind the library's frame comes this function's, and then what called it. */
static __attribute__((noinline)) bool walks_through(caller *call)
{
    struct taken taken;
    uintptr_t function = (uintptr_t)call, back = (uintptr_t)__builtin_return_address(0);
    call(take, &taken);
    for (size_t i = 0; i + 2 < taken.count; i++)
        if (taken.frames[i] > function && taken.frames[i] < function + 64)
            return taken.frames[i + 2] == back;
    return false;
}

static void *load(const char *path, caller **call)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *call = (caller *)dlsym(library, "same_place_call");
    assert_non_null(*call);
    return library;
}

static void test_same_place(void **state)
{
    (void)state;
    caller *small, *large;
    uint64_t before = xfs_unloads();
    for (int i = 0; i < 3; i++) {
        void *library = load(SMALL, &small);
        assert_true(walks_through(small));
        assert_true(walks_through(small));
        dlclose(library);
        library = load(LARGE, &large);
        assert_ptr_equal(large, small);
        assert_true(walks_through(large));
        dlclose(library);
    }
    assert_int_equal(xfs_unloads(), before + 6);
}

/* ---- while one is being unloaded ---------------------------------------------------------- */

static caller *of_the_ending;
static bool good_at_end;
static uint64_t unloads_at_end;

static void at_end(void)
{
    unloads_at_end = xfs_unloads();
    good_at_end = walks_through(of_the_ending);
}

static void test_ending(void **state)
{
    (void)state;
    caller *large;
    void *library = load(SMALL, &of_the_ending);
    *(void (**)(void))dlsym(library, "same_place_at_end") = at_end;
    dlclose(library);
    assert_true(good_at_end);
    assert_true(unloads_at_end == XFS_UNLOADING);
    library = load(LARGE, &large);
    assert_ptr_equal(large, of_the_ending);
    assert_true(walks_through(large));
    dlclose(library);
}

static void fork_at_end(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        return;
    waitpid(child, &status, 0);
    good_at_end = WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The child comes back from the same dlclose. */
static void test_fork_while_unloading(void **state)
{
    (void)state;
    pid_t self = getpid();
    uint64_t before = xfs_unloads();
    void *library = load(SMALL, &of_the_ending);
    *(void (**)(void))dlsym(library, "same_place_at_end") = fork_at_end;
    good_at_end = false;
    dlclose(library);
    if (getpid() != self)
        _exit(xfs_unloads() > before && xfs_unloads() != XFS_UNLOADING ? 0 : 1);
    assert_true(good_at_end);
    assert_int_equal(xfs_unloads(), before + 1);
}

static pthread_barrier_t barrier;

static void wait_at_end(void)
{
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
}

static void *unload(void *library)
{
    dlclose(library);
    return NULL;
}

/* Of a thread that the child does not have. */
static void test_fork_beside_unloading(void **state)
{
    (void)state;
    pthread_t thread;
    int status;
    void *library = load(SMALL, &of_the_ending);
    *(void (**)(void))dlsym(library, "same_place_at_end") = wait_at_end;
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, unload, library), 0);
    pthread_barrier_wait(&barrier);
    assert_true(xfs_unloads() == XFS_UNLOADING);
    pid_t child = fork();
    if (child == 0)
        _exit(xfs_unloads() == XFS_UNLOADING);
    waitpid(child, &status, 0);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(xfs_unloads() != XFS_UNLOADING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_place),
        cmocka_unit_test(test_ending),
        cmocka_unit_test(test_fork_while_unloading),
        cmocka_unit_test(test_fork_beside_unloading),
    };
    xfs_unwind_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
