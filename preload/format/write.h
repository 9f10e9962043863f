/*
 * Writes at an offset: completely, or it is a failure.
 *
 * Nothing is written past RLIMIT_FSIZE: there the kernel would send SIGXFSZ to the program.
 */
#ifndef XFT_WRITE_H
#define XFT_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False with errno EFBIG when a file may not reach `end` bytes. */
bool xft_within_limit(uint64_t end);

/* False with errno set when not all of it could be written. */
bool xft_write_at(int fd, const void *bytes, size_t n, uint64_t at);

#endif
