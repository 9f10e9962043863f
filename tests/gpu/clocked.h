/* The host's clock, and medians of what it measured, for the programs here that print rows. */
#ifndef XFERSCOPE_TESTS_CLOCKED_H
#define XFERSCOPE_TESTS_CLOCKED_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CLOCKED_MOST = 400 }; /* values of a median */

static inline double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline double now_ms(void)
{
    return now_s() * 1e3;
}

static inline int clocked_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline double median(const double *values, int count)
{
    double sorted[CLOCKED_MOST];
    memcpy(sorted, values, (size_t)count * sizeof *values);
    qsort(sorted, (size_t)count, sizeof *sorted, clocked_compare);
    return sorted[count / 2];
}

#endif
