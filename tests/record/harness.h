/*
 * The recorder as a shared library with three invented calls, as libxferscope.so has it inside.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stdint.h>

/* One "intercepted call": an event with these bytes and aux. False when it was not recorded. */
bool harness_call(uint64_t bytes, uint64_t aux);

/* The same, and `between` is called after begin and before commit. */
bool harness_call_around(uint64_t bytes, void (*between)(void));

bool harness_ready(void);

/* ns that this many captures of the caller's stack take. */
uint64_t harness_capture_ns(uint32_t times);
/* The number of a text; 0 = not kept. */
uint32_t harness_name(const char *text, uint64_t bytes);
/* The number of a set of pointers; 0 = not kept. */
uint32_t harness_arguments(const uint64_t *pointers, uint32_t count);
/* A check of the recorder's own code; false when it fails. */
bool harness_expect(bool holds);
/* Something was lost: a number of losses.h, and how often. */
void harness_lose(unsigned loss, uint64_t n);
void harness_meta(const char *key, const char *value);

#endif
