/* Times of one call in bursts of many, of the calling thread alone, so that others on a busy
 * machine do not count: quartiles. */
#ifndef XFERSCOPE_BENCH_TIMES_H
#define XFERSCOPE_BENCH_TIMES_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BURSTS_MOST 100000
static double burst_ns[BURSTS_MOST];

static double thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ns of a call: the lower quartile, the median, the upper quartile of the bursts. */
static inline void time_bursts(void (*burst)(void (*)(void), long), void (*one)(void), long bursts,
                               long calls)
{
    bursts = bursts < BURSTS_MOST ? bursts : BURSTS_MOST;
    for (long i = 0; i < bursts; i++) {
        double from_ns = thread_ns();
        burst(one, calls);
        burst_ns[i] = (thread_ns() - from_ns) / (double)calls;
    }
    qsort(burst_ns, (size_t)bursts, sizeof *burst_ns, compare_times);
    printf("%.1f %.1f %.1f\n", burst_ns[bursts / 4], burst_ns[bursts / 2],
           burst_ns[bursts * 3 / 4]);
}

#endif
