/* Calls from machine code without unwind tables, or with false ones, with nonsense in the frame
 * pointer. */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "tests/hostile/hostile.h"

/* (frame pointer, function): plain has no tables, lying says that its caller's frame is found from
 * rbp. */
void plain(uintptr_t frame, void (*call)(void));
void lying(uintptr_t frame, void (*call)(void));

#if defined(__x86_64__)
#define SAVE "push %rbp\n push %rbx\n push %r12\n mov %rdi,%rbp\n call *%rsi\n"
#define RESTORE " pop %r12\n pop %rbx\n pop %rbp\n ret\n"
__asm__(".text\n.globl plain\n.type plain,@function\nplain:\n" SAVE RESTORE ".size plain,.-plain\n"
        ".globl lying\n.type lying,@function\nlying:\n.cfi_startproc\n.cfi_def_cfa "
        "rbp,16\n.cfi_offset rip,-8\n" SAVE RESTORE ".cfi_endproc\n.size lying,.-lying\n");
#else
void plain(uintptr_t frame, void (*call)(void))
{
    (void)frame;
    call();
}
void lying(uintptr_t frame, void (*call)(void))
{
    plain(frame, call);
}
#endif

static uintptr_t values[16];
static int count;

static void copy(void)
{
    round_trip(0, 100);
}

static void add(const void *value)
{
    values[count++] = (uintptr_t)value;
}

static void find_values(uintptr_t *cycle)
{
    char *guarded = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(guarded != MAP_FAILED && mprotect(guarded, 4096, PROT_NONE) == 0, "mmap");
    cycle[0] = (uintptr_t)cycle; /* its own caller */
    cycle[2] = (uintptr_t)&cycle[4];
    cycle[4] = (uintptr_t)&cycle[2];
    add(cycle), add(&cycle[2]), add(guarded), add(guarded + 4095), add(guarded + 8184),
        add(guarded + 8192);
    add(NULL), add((void *)1), add((void *)~(uintptr_t)0), add((void *)((uintptr_t)1 << 63));
    add((void *)0x800000000000), add((char *)cycle + 3), add((void *)copy),
        add((void *)~(uintptr_t)7);
}

int main(void)
{
    uintptr_t cycle[8] = {0};
    begin();
    find_values(cycle);
    for (int times = 0; times < 5; times++)
        for (int i = 0; i < count; i++) {
            plain(values[i], copy);
            lying(values[i], copy);
        }
    say("%d frame pointers", count);
    moved();
    return 0;
}
