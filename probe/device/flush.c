#include "probe/device/flush.h"

#include <stdint.h>

enum { SMALLEST_LINE = 32 };

void xfp_rewrite(void *memory, size_t bytes)
{
    volatile unsigned char *bytes_of = memory;

    for (size_t i = 0; i < bytes; i += SMALLEST_LINE)
        bytes_of[i] = bytes_of[i];
    if (bytes)
        bytes_of[bytes - 1] = bytes_of[bytes - 1];
}

#if defined(__x86_64__)
#include <cpuid.h>

enum { LINE = 64, LEAF_EXTENDED = 7 };

/* clflushopt does not wait for the flush before it, as clflush does. */
static bool has_clflushopt(void)
{
    unsigned int a, b, c, d;

    return __get_cpuid_count(LEAF_EXTENDED, 0, &a, &b, &c, &d) && (b & bit_CLFLUSHOPT);
}

bool xfp_can_flush(void)
{
    return true; /* clflush came with SSE2 */
}

void xfp_flush(const void *memory, size_t bytes)
{
    const char *line = (const char *)((uintptr_t)memory & ~(uintptr_t)(LINE - 1));
    const char *end = (const char *)memory + bytes;

    if (has_clflushopt())
        for (; line < end; line += LINE)
            __asm__ volatile("clflushopt %0" : "+m"(*(volatile char *)(uintptr_t)line));
    else
        for (; line < end; line += LINE)
            __asm__ volatile("clflush %0" : "+m"(*(volatile char *)(uintptr_t)line));
    __asm__ volatile("sfence" ::: "memory");
}
#elif defined(__aarch64__)
bool xfp_can_flush(void)
{
    return true;
}

void xfp_flush(const void *memory, size_t bytes)
{
    uint64_t type;
    uintptr_t line, end = (uintptr_t)memory + bytes;
    size_t step;

    __asm__("mrs %0, ctr_el0" : "=r"(type));
    step = (size_t)4 << ((type >> 16) & 15); /* the smallest data cache's line */
    for (line = (uintptr_t)memory & ~(step - 1); line < end; line += step)
        __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
    __asm__ volatile("dsb sy" ::: "memory");
}
#elif defined(__powerpc64__)
bool xfp_can_flush(void)
{
    return true;
}

void xfp_flush(const void *memory, size_t bytes)
{
    const size_t step = 128;
    uintptr_t line = (uintptr_t)memory & ~(step - 1), end = (uintptr_t)memory + bytes;

    for (; line < end; line += step)
        __asm__ volatile("dcbf 0, %0" : : "r"(line) : "memory");
    __asm__ volatile("sync" ::: "memory");
}
#else
bool xfp_can_flush(void)
{
    return false;
}

void xfp_flush(const void *memory, size_t bytes)
{
}
#endif
