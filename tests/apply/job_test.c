/* Copies between memory and slots, by one thread and by several; memory that is not there. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "preload/apply/team/job.h"

enum { KIB = 1024, SLOT = 64 * KIB, CHUNK = 16 * KIB, PAGE = 4096 };

static char slots[XFS_JOB_SLOTS * SLOT];

static void begin(struct xfs_job *job, char *program, size_t bytes, bool up)
{
    job->base = atomic_load(&job->open);
    job->slots = slots;
    job->program = program;
    job->bytes = bytes;
    job->slot_bytes = job->piece_bytes = SLOT;
    job->chunk_bytes = CHUNK;
    job->chunks = SLOT / CHUNK;
    job->up = up;
    job->asks = true;
    atomic_store(&job->bad, false);
}

static char *mapped(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static void fill(char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (char)(i * 7 + i / 251);
}

static void one_thread(void **state)
{
    size_t bytes = 3 * SLOT + CHUNK + 5;
    char *source = malloc(bytes), *found = calloc(1, bytes + 1);
    struct xfs_job job = {0};
    (void)state;
    fill(source, bytes);
    for (int round = 0; round < 3; round++) { /* the numbers of chunks go on */
        begin(&job, source, bytes, true);
        assert_false(xfs_job_step(&job)); /* nothing is open */
        for (uint64_t piece = 0; piece < 4; piece++)
            assert_true(xfs_job_open(&job, piece));
        while (xfs_job_step(&job))
            ;
        xfs_job_close(&job);
        assert_memory_equal(slots, source, bytes);
        memset(found, 0, bytes + 1);
        begin(&job, found, bytes, false);
        for (uint64_t piece = 0; piece < 4; piece++)
            assert_true(xfs_job_open(&job, piece));
        while (xfs_job_step(&job))
            ;
        xfs_job_close(&job);
        assert_memory_equal(found, source, bytes);
        assert_int_equal(found[bytes], 0); /* nothing behind it */
    }
    free(source);
    free(found);
}

static atomic_bool over;

static void *steps(void *job)
{
    while (!atomic_load(&over))
        (void)xfs_job_step(job);
    return NULL;
}

/* More pieces than slots: one is written only when the one before it in its slot was taken out. */
static void several_threads(void **state)
{
    enum { PIECES = 200, THREADS = 3 };
    size_t bytes = (size_t)PIECES * SLOT - 77;
    char *source = malloc(bytes), *found = malloc(bytes);
    struct xfs_job job = {0};
    pthread_t threads[THREADS];
    (void)state;
    fill(source, bytes);
    atomic_store(&over, false);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, steps, &job);
    begin(&job, source, bytes, true);
    for (uint64_t opened = 0, taken = 0; taken < PIECES;) {
        while (opened < PIECES && opened < taken + XFS_JOB_SLOTS)
            assert_true(xfs_job_open(&job, opened++));
        if (atomic_load(&job.left[taken % XFS_JOB_SLOTS]) > 0)
            continue;
        size_t start = (size_t)taken * SLOT, left = bytes - start;
        memcpy(found + start, slots + taken++ % XFS_JOB_SLOTS * SLOT, left < SLOT ? left : SLOT);
    }
    xfs_job_close(&job);
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_memory_equal(found, source, bytes);
    free(source);
    free(found);
}

/* Whoever is waited for may have been put off this thread's processor by its priority. */
static void waits_asleep_at_last(void **state)
{
    struct rusage before, after;
    unsigned rounds = 0;
    (void)state;
    getrusage(RUSAGE_THREAD, &before);
    while (rounds < 20000 && (rounds < 10 || after.ru_nvcsw == before.ru_nvcsw)) {
        xfs_job_pause(&rounds);
        getrusage(RUSAGE_THREAD, &after);
    }
    assert_true(after.ru_nvcsw > before.ru_nvcsw);
}

/* The program's memory is touched with the program's errno, which a handler may see; and the thread
 * is as it was. */
static void touched_as_the_program(void **state)
{
    char *source = calloc(1, SLOT);
    struct xfs_job job = {0};
    struct xfs_guard guard = {.saved_errno = ERANGE, .cancel_state = PTHREAD_CANCEL_ENABLE};
    int cancel, type;
    (void)state;
    begin(&job, source, SLOT, true);
    job.guard = &guard;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    errno = EINVAL;
    assert_true(xfs_job_open(&job, 0));
    assert_int_equal(errno, ERANGE);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    assert_int_equal(cancel, PTHREAD_CANCEL_DISABLE);
    assert_int_equal(type, PTHREAD_CANCEL_DEFERRED);
    xfs_job_close(&job);
    free(source);
}

static void closed_early(void **state)
{
    char *source = calloc(1, 4 * SLOT);
    struct xfs_job job = {0};
    (void)state;
    begin(&job, source, 4 * SLOT, true);
    for (uint64_t piece = 0; piece < 4; piece++)
        assert_true(xfs_job_open(&job, piece));
    assert_true(xfs_job_step(&job));
    xfs_job_close(&job);
    assert_false(xfs_job_step(&job));
    assert_int_equal(atomic_load(&job.done), atomic_load(&job.open));
    free(source);
}

static void not_mapped(void **state)
{
    char *memory = mapped(2 * SLOT);
    struct xfs_job job = {0};
    (void)state;
    memset(memory, 1, 2 * SLOT);
    munmap(memory + SLOT + PAGE, PAGE);
    begin(&job, memory, 2 * SLOT, true);
    assert_true(xfs_job_open(&job, 0));
    assert_false(xfs_job_open(&job, 1));
    while (xfs_job_step(&job))
        ;
    xfs_job_close(&job);
    munmap(memory, 2 * SLOT);
}

/* Memory that was never touched, and may not be: no thread faults. */
static void not_there(void **state)
{
    struct xfs_job job = {0};
    char *memory = mapped(2 * SLOT);
    (void)state;
    if (!xfs_job_can_ask(memory))
        skip();
    begin(&job, memory, 2 * SLOT, false);
    memset(slots, 5, sizeof slots);
    mprotect(memory + SLOT, SLOT, PROT_NONE);
    assert_true(xfs_job_open(&job, 0));
    assert_true(xfs_job_open(&job, 1));
    while (xfs_job_step(&job))
        ;
    assert_true(atomic_load(&job.bad));
    xfs_job_close(&job);
    assert_int_equal(memory[SLOT - 1], 5);
    munmap(memory, 2 * SLOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread),
        cmocka_unit_test(several_threads),
        cmocka_unit_test(waits_asleep_at_last),
        cmocka_unit_test(touched_as_the_program),
        cmocka_unit_test(closed_early),
        cmocka_unit_test(not_mapped),
        cmocka_unit_test(not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
