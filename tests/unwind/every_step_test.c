/*
 * A thread interrupted at every instruction, one after the other: in the middle of prologues and
 * epilogues, of the linker's stubs and of the C library, our stack there is libunwind's.
 *
 * Where a frame is described by a register that walks of ours do not follow, they end: in the
 * loader's own assembly, and in a function that aligns its stack before it has done so.
 */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
/* cmocka wants some of those before it. */
#include <cmocka.h>

#include "preload/unwind/unwind.h"
#include "tests/unwind/both.h"
#include "tests/unwind/frames.h"

#define TRAP_FLAG 0x100

static struct both both;
static uintptr_t loader_start, loader_end;
static volatile bool enough;
static size_t steps, ended_in_loader, ended_at_once, wrong;

static int find_loader(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size, (void)out;
    if (strstr(info->dlpi_name, "/ld-linux") == NULL)
        return 0;
    loader_start = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            loader_end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    return 1;
}

static bool ends_too_soon(void)
{
    size_t n = both.our_count;
    return n > 2 && n < both.reference_count &&
           memcmp(both.ours, both.reference, n * sizeof *both.ours) == 0;
}

static bool ends_in_loader(void)
{
    uintptr_t last = both.ours[both.our_count - 1];
    return ends_too_soon() && last >= loader_start && last < loader_end;
}

/* This function's caller, the kernel's frame and what was interrupted. */
static bool ends_at_once(void)
{
    return ends_too_soon() && both.our_count == 4;
}

static void on_step(int signal, siginfo_t *info, void *machine)
{
    (void)signal, (void)info;
    if (enough) {
        ((ucontext_t *)machine)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
        return;
    }
    both_take(&both);
    steps++;
    if (ends_in_loader())
        ended_in_loader++;
    else if (ends_at_once())
        ended_at_once++;
    else if (!both_agree(&both))
        wrong++;
}

/* A leaf, so that nothing of it lies below the stack pointer. */
static __attribute__((noinline)) void set_trap(void)
{
    __asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" ::"i"(TRAP_FLAG) : "cc", "memory");
}

/* Called through a stub of the linker, bound when it is first called. */
static void leaf(void *argument)
{
    char *texts = argument;
    texts[0] = (char)strtol("12", NULL, 10);
    texts[1] = (char)abs(-3);
}

static void test_every_step(void **state)
{
    (void)state;
    static frames_function *const sorts[] = {frames_without_pointer, frames_with_pointer,
                                             frames_unoptimised};
    char texts[2];
    dl_iterate_phdr(find_loader, NULL);
    assert_true(loader_end > loader_start);
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    for (size_t i = 0; i < sizeof sorts / sizeof *sorts && wrong == 0; i++) {
        enough = false;
        set_trap();
        sorts[i](13, leaf, texts);
        enough = true;
    }
    assert_int_equal(texts[0] + texts[1], 15);
    printf("%zu instructions; ours ends in the loader at %zu, where a stack is aligned at %zu\n",
           steps, ended_in_loader, ended_at_once);
    assert_int_equal(wrong, 0);
    assert_true(steps > 2000);
    assert_true(ended_at_once < steps / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_step)};
    xfs_unwind_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
