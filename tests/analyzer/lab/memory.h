/* What a test may take of memory for a file that says or holds far more than it is long. */
#ifndef MEMORY_H
#define MEMORY_H

#include <sys/resource.h>

#ifdef __SANITIZE_ADDRESS__ /* keeps freed memory and shadows */
#define MOST_KIB (1024L * 1024)
#else
#define MOST_KIB (256L * 1024)
#endif

static inline long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

#endif
