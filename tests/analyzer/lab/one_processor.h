/* What runs on one processor, as on a machine that has no other. */
#ifndef TESTS_ONE_PROCESSOR_H
#define TESTS_ONE_PROCESSOR_H

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* From here on; `all` are those of before, for sched_setaffinity(). */
static inline void keep_to_one_processor(cpu_set_t *all)
{
    cpu_set_t single;
    assert_int_equal(sched_getaffinity(0, sizeof *all, all), 0);
    CPU_ZERO(&single);
    for (int cpu = 0; CPU_COUNT(&single) == 0; cpu++)
        if (CPU_ISSET(cpu, all))
            CPU_SET(cpu, &single);
    assert_int_equal(sched_setaffinity(0, sizeof single, &single), 0);
}

#endif
