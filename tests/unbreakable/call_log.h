/*
 * What a program that may die at any moment logs outside its trace: a file that it maps and
 * check_log reads afterwards. Thread i copies to its own buffer; its copy number n has
 * logged_bytes(n) bytes, so that one that is missing, torn or doubled shows.
 */
#ifndef CALL_LOG_H
#define CALL_LOG_H

#include <stdint.h>

#define LOG_THREADS 64
#define LOG_SIZES 1021
#define LOG_HANDLER 4096 /* where a signal handler copies to */

struct call_log {
    uint64_t buffer[LOG_THREADS];   /* device address; 0 = this thread has not begun */
    uint64_t returned[LOG_THREADS]; /* copies whose call has returned */
    uint64_t handled;               /* copies made in signal handlers */
};

static inline uint64_t logged_bytes(uint64_t n)
{
    return 1 + n % LOG_SIZES;
}

#endif
