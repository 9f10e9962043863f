/*
 * A CUDA runtime that does nothing and holds no lock, so that a copy can be interrupted by another
 * one in a signal handler: the recorder is all there is to go wrong.
 */
#include <signal.h>
#include <stdatomic.h>

#include "tests/programs/runtime_api.h"
#include "tests/unbreakable/fake_cudart.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED xrt_error cudaMalloc(void **pointer, size_t bytes)
{
    static _Atomic size_t next = 1 << 20;
    *pointer = (void *)atomic_fetch_add(&next, bytes);
    return 0;
}

EXPORTED xrt_error cudaMemcpy(void *dst, const void *src, size_t bytes, int kind)
{
    if (kind == FAKE_COPY_RAISES)
        raise(SIGUSR1);
    return 0;
}
