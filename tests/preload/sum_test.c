/* Hashes of a program's memory (preload/apply/leave_out/sum.h): the same alone and by a team. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/apply/memory/memory.h"
#include "preload/apply/state/state.h"
#include "preload/apply/leave_out/sum.h"
#include "preload/apply/state/report.h"
#include "preload/base/own_stack.h"

/* ---- apply ----------------------------------------------------------------------------------- */

static unsigned threads, started;

unsigned xfs_apply_threads(void)
{
    return threads;
}

uint64_t xfs_locked_bytes(void)
{
    return 0;
}

void xfs_report_started(unsigned copiers, uint64_t locked_bytes)
{
    (void)locked_bytes;
    started = copiers;
}

bool xfs_on_own_stack(void (*work)(void *), void *argument)
{
    work(argument);
    return true;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static struct xfs_sum sum_by(unsigned count, const void *memory, size_t bytes)
{
    threads = count;
    started = 0;
    return xfs_sum_of_program(memory, bytes);
}

static void alone_and_together(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 1 << 20, (2 << 20) + 1, (8 << 20) - 13, (33 << 20) + 7};
    unsigned char *memory = malloc(34 << 20);
    for (size_t i = 0; i < 34 << 20; i++)
        memory[i] = (unsigned char)(i * 2654435761u >> 24);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct xfs_sum alone = sum_by(0, memory, sizes[i]);
        assert_int_equal(started, 0);
        struct xfs_sum together = sum_by(4, memory, sizes[i]);
        assert_int_equal(started, sizes[i] > 2 << 20 ? 4 : 0);
        assert_memory_equal(&alone, &together, sizeof alone);
        memory[sizes[i] - 1] ^= 1;
        together = sum_by(4, memory, sizes[i]);
        assert_memory_not_equal(&alone, &together, sizeof alone);
        memory[sizes[i] - 1] ^= 1;
        memory[sizes[i] / 2] ^= 128;
        together = sum_by(4, memory, sizes[i]);
        assert_memory_not_equal(&alone, &together, sizeof alone);
        memory[sizes[i] / 2] ^= 128;
    }
    free(memory);
}

static void lengths_and_orders_count(void **state)
{
    (void)state;
    char *memory = calloc(1, 8 << 20);
    struct xfs_sum all = sum_by(4, memory, 8 << 20), less = sum_by(4, memory, (8 << 20) - 1);
    assert_memory_not_equal(&all, &less, sizeof all);
    memory[0] = 1;
    struct xfs_sum first = sum_by(4, memory, 8 << 20);
    memory[0] = 0;
    memory[XFS_SUM_CHUNK] = 1;
    struct xfs_sum second = sum_by(4, memory, 8 << 20);
    assert_memory_not_equal(&first, &second, sizeof first);
    free(memory);
}

/* In the thread that asked: it learns of it by a fault of its own. */
static void a_fault_is_the_callers(void **state)
{
    (void)state;
    int status = 0;
    char *memory = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + (5 << 20), 4096, PROT_NONE), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        xfs_sums_after_fork();
        sum_by(4, memory, 8 << 20);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    munmap(memory, 8 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_and_together),
        cmocka_unit_test(lengths_and_orders_count),
        cmocka_unit_test(a_fault_is_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
