/*
 * What a program that may die at any moment tells from outside its trace: a file that it maps and
 * the checker reads afterwards. Thread i copies to its own buffer; its copy number n has
 * told_size(n) bytes, so that one that is missing, torn or doubled shows.
 */
#ifndef TOLD_H
#define TOLD_H

#include <stdint.h>

#define TOLD_THREADS 64
#define TOLD_SIZES 1021
#define TOLD_HANDLER 4096 /* where a signal handler copies to */

struct told {
    uint64_t buffer[TOLD_THREADS];   /* device address; 0 = this thread has not begun */
    uint64_t returned[TOLD_THREADS]; /* copies whose call has returned */
    uint64_t handled;                /* copies made in signal handlers */
};

static inline uint64_t told_size(uint64_t n)
{
    return 1 + n % TOLD_SIZES;
}

#endif
