/*
 * Libraries in one source, for reloads.c: with ANSWER, a runtime whose cudaMemcpy() returns that,
 * behind so many bytes of code (PADDING); without, one that calls it, or with JUMPS, one that jumps
 * there, as the last call of a function often is: it returns to who called that function.
 */
#include "runtime_api.h"

#ifdef ANSWER
__asm__(".text\n.skip " PADDING ", 0xcc\n");

xrt_error cudaMemcpy(void *dst, const void *src, size_t bytes, int kind)
{
    (void)dst, (void)src, (void)bytes, (void)kind;
    return ANSWER;
}
#elif defined JUMPS
int call(void);

__attribute__((naked)) int call(void)
{
    __asm__("jmp cudaMemcpy@PLT");
}
#else
int call(void);

int call(void)
{
    volatile xrt_error error =
        cudaMemcpy(NULL, NULL, 0, XRT_COPY_H2D); /* no jump: it returns here */
    return error;
}
#endif
