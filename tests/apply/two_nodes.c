/*
 * A kernel with two NUMA nodes, for a program on a machine with one: preloaded, it answers the
 * calls by which memory is placed. Pages lie on node 1 until they are moved, which takes
 * XFERSCOPE_TEST_MOVE ns each of the simulated clock. What it was asked to move is said at the end,
 * on standard error. XFERSCOPE_TEST_STUCK=1: no page can be moved. XFERSCOPE_TEST_BACK=N: once so
 * many were asked for, each is on node 1 again.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 1 << 18 };

static unsigned long known[PAGES]; /* moved to node 0; 0: a free place */
static unsigned long moved, asked;

static unsigned long *place_of(unsigned long page)
{
    unsigned long at = page * 0x9e3779b97f4a7c15u >> 46;
    while (known[at] && known[at] != page)
        at = (at + 1) % PAGES;
    return &known[at];
}

static void move(unsigned long page, const int *node)
{
    void (*spend)(uint64_t) = (void (*)(uint64_t))dlsym(
        dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "xferscope_simgpu_spend_ns");
    const char *ns = getenv("XFERSCOPE_TEST_MOVE");
    asked++;
    if (spend && ns)
        spend(strtoull(ns, NULL, 10));
    if (*node == 0 && !getenv("XFERSCOPE_TEST_STUCK") && moved < PAGES / 2) {
        moved += *place_of(page) != page;
        *place_of(page) = page;
    }
}

static long move_pages(unsigned long count, void **pages, const int *nodes, int *status)
{
    const char *back = getenv("XFERSCOPE_TEST_BACK");
    static unsigned long looked;
    for (unsigned long i = 0; i < count; i++) {
        unsigned long page = (unsigned long)pages[i] / PAGE;
        if (nodes)
            move(page, &nodes[i]);
        if (!nodes && back && ++looked == strtoul(back, NULL, 10))
            memset(known, 0, sizeof known);
        status[i] = *place_of(page) == page ? 0 : 1;
    }
    return 0;
}

static long of_the_kernel(long number, const long a[6])
{
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_move_pages)
        return move_pages((unsigned long)a[1], (void **)a[2], (const int *)a[3], (int *)a[4]);
    long result = of_the_kernel(number, a);
    if (number == SYS_get_mempolicy && a[1] && a[4] == MPOL_F_MEMS_ALLOWED)
        *(unsigned long *)a[1] |= 2;
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

__attribute__((destructor)) static void end(void)
{
    if (asked)
        fprintf(stderr, "pages: %lu asked, %lu moved\n", asked, moved);
}
