/* A thread's first call while the process ends: it is let in and recorded, or it is one of after
 * the end; it is not lost. The thread is held up where it gets its lane until recording has ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/record/hot.h"
#include "preload/record/record.h"
#include "tests/record/decode.h"

enum { PATIENCE_MS = 60000 };

static atomic_bool held_up, over;
static bool ends; /* the process that the test makes */
static XFS_TLS bool is_late;

static void wait_until(bool (*so)(void))
{
    for (int ms = 0; !so(); ms++) {
        if (ms == PATIENCE_MS)
            _exit(4);
        usleep(1000);
    }
}

static bool is_held_up(void)
{
    return held_up;
}

static bool is_over(void)
{
    return over;
}

static bool has_ended(void)
{
    return !xfs_recording();
}

int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    int result = __real_pthread_setspecific(key, value);
    if (is_late && value) {
        held_up = true;
        wait_until(has_ended);
    }
    return result;
}

static bool call(void)
{
    bool ready = xfs_call_ready_now();
    if (!ready)
        return false;
    xfs_event_write(&(struct xft_event){.kind = XFT_EVENT_TRANSFER, .bytes = 1});
    xfs_call_over(xfs_self);
    return true;
}

static void *call_late(void *unused)
{
    is_late = true;
    (void)call();
    over = true;
    return unused;
}

/* The last of all that happens: after the recorder's own. */
__attribute__((destructor(101))) static void stay(void)
{
    if (ends)
        wait_until(is_over);
}

static void end_meanwhile(void)
{
    pthread_t thread;
    ends = true;
    if (!call() || pthread_create(&thread, NULL, call_late, NULL) != 0)
        _exit(2);
    wait_until(is_held_up);
    exit(0);
}

static void test_first_call(void **state)
{
    const char *folder = *state;
    int status;
    pid_t child = fork();
    if (child == 0)
        end_meanwhile();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct decoded *trace = decode_only_file(folder);
    assert_non_null(trace);
    assert_int_equal(trace->count, 1);
    assert_int_equal(trace->header.events_lost, 0);
    assert_int_equal(trace->header.calls_after_end, 1);
    decode_free(trace);
}

int main(void)
{
    char folder[] = "/tmp/xferscope-first-call-XXXXXX";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_first_call, folder),
    };
    if (mkdtemp(folder) == NULL || setenv("XFERSCOPE_OUTPUT", folder, 1) != 0)
        return 1;
    int failed = cmocka_run_group_tests_name("first-call", tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
