/*
 * Puts jumps at the beginning of the driver's functions that allocate and free memory, and what
 * they overwrite elsewhere, as UCX does: only if it begins with instructions that UCX moves, else
 * it says so and exits with 1. Then calls each, and prints how often each jump was taken.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xferscope/cuda_abi.h"

#define CALLS(X)                                                                                   \
    X(cuInit, (unsigned))                                                                          \
    X(cuDeviceGet, (xcu_device *, int))                                                            \
    X(cuDevicePrimaryCtxRetain, (xcu_context *, xcu_device))                                       \
    X(cuCtxSetCurrent, (xcu_context))                                                              \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                                                 \
    X(cuMemHostRegister_v2, (void *, size_t, unsigned))                                            \
    PATCHED(X)
#define PATCHED(X)                                                                                 \
    X(cuMemAlloc_v2, (xcu_deviceptr *, size_t))                                                    \
    X(cuMemAllocPitch_v2, (xcu_deviceptr *, size_t *, size_t, size_t, unsigned))                   \
    X(cuMemAllocManaged, (xcu_deviceptr *, size_t, unsigned))                                      \
    X(cuMemAllocAsync, (xcu_deviceptr *, size_t, xcu_stream))                                      \
    X(cuMemFree_v2, (xcu_deviceptr))                                                               \
    X(cuMemFreeHost, (void *))                                                                     \
    X(cuMemFreeAsync, (xcu_deviceptr, xcu_stream))                                                 \
    X(cuMemHostUnregister, (void *))

#include "tests/programs/calls_by_name.h"

enum { FAR_JUMP = 12, MOST_CODE = 64, BYTES = 1 << 20 };

typedef xcu_result any_function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

#define HOOKED(name, parameters)                                                                   \
    static any_function *moved_##name;                                                             \
    static unsigned taken_##name;                                                                  \
    static xcu_result hook_##name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e) \
    {                                                                                              \
        taken_##name++;                                                                            \
        return moved_##name(a, b, c, d, e);                                                        \
    }
PATCHED(HOOKED)

/* Bytes of an instruction that UCX moves as it is; 0: another. */
static size_t movable(const unsigned char *at)
{
    size_t rex = (at[0] & 0xf0) == 0x40;
    unsigned char prefix = rex ? at[0] : 0, op = at[rex];
    if ((prefix == 0 || prefix == 0x41) && (op & 0xf0) == 0x50)
        return rex + 1; /* push, pop */
    if (prefix == 0 && (op & 0xf8) == 0xb8)
        return 5; /* mov imm32, reg */
    if (prefix == 0x48 && (op == 0x83 || op == 0x81) && at[2] == 0xec)
        return op == 0x83 ? 4 : 7; /* sub imm, rsp */
    if (prefix == 0x48 && op == 0x89 && at[2] == 0xe5)
        return 3; /* mov rsp, rbp */
    return 0;
}

static void jump(unsigned char *from, uintptr_t to)
{
    static const unsigned char mov_rax[] = {0x48, 0xb8}, jmp_rax[] = {0xff, 0xe0};
    memcpy(from, mov_rax, 2);
    memcpy(from + 2, &to, 8);
    memcpy(from + 10, jmp_rax, 2);
}

static any_function *patch(const char *name, void *of, any_function *hook)
{
    static unsigned char *room;
    unsigned char *code = of, *copy;
    uintptr_t page = (uintptr_t)code & ~(uintptr_t)(getpagesize() - 1);
    size_t bytes = 0;
    while (bytes < FAR_JUMP) {
        size_t next = movable(code + bytes);
        if (next == 0)
            fail(name, code[bytes]);
        bytes += next;
    }
    if (room == NULL)
        room = mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED ||
        mprotect((void *)page, 2 * (size_t)getpagesize(), PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        fail("memory", errno);
    copy = room;
    room += MOST_CODE;
    memcpy(copy, code, bytes);
    jump(copy + bytes, (uintptr_t)(code + bytes));
    jump(code, (uintptr_t)hook);
    return (any_function *)(uintptr_t)copy;
}

static void work(void)
{
    xcu_deviceptr there, rows, managed, ordered;
    void *host, *registered = aligned_alloc(BYTES, BYTES);
    size_t pitch;
    CALL(cuMemAlloc_v2, &there, BYTES);
    CALL(cuMemAllocPitch_v2, &rows, &pitch, 1000, 100, 4);
    CALL(cuMemAllocManaged, &managed, BYTES, 1);
    CALL(cuMemAllocAsync, &ordered, BYTES, NULL);
    CALL(cuMemHostAlloc, &host, BYTES, 0);
    CALL(cuMemHostRegister_v2, registered, BYTES, 0);
    CALL(cuMemFree_v2, there);
    CALL(cuMemFree_v2, rows);
    CALL(cuMemFree_v2, managed);
    CALL(cuMemFreeAsync, ordered, NULL);
    CALL(cuMemFreeHost, host);
    CALL(cuMemHostUnregister, registered);
    free(registered);
}

int main(void)
{
    xcu_context context;
    xcu_device device;
    find_calls();
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);
#define PATCH(name, parameters)                                                                    \
    moved_##name = patch(#name, (void *)(uintptr_t)cu.name, hook_##name);
    PATCHED(PATCH)
    work();
#define SAY(name, parameters) printf("%s %u\n", #name, taken_##name);
    PATCHED(SAY)
    return 0;
}
