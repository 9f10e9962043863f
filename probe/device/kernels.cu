// The probe's kernels; what each does and how it is called stands in kernels.h.

#include <cstdint>

// Nanoseconds of the device's own clock, the same for all multiprocessors.
static __device__ inline uint64_t device_ns()
{
    uint64_t ns;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

extern "C" __global__ void xfp_gate(volatile uint32_t *words, uint64_t limit_ns)
{
    uint64_t start = device_ns();

    while (words[0] == 0) {
        if (device_ns() - start > limit_ns) {
            words[1] = 1;
            __threadfence_system();
            return;
        }
    }
}

extern "C" __global__ void xfp_read(const uint8_t *src, uint64_t bytes, uint32_t *sink)
{
    const uint4 *words = reinterpret_cast<const uint4 *>(src);
    uint64_t count = bytes / sizeof(uint4), step = (uint64_t)gridDim.x * blockDim.x;
    uint32_t seen = 0;

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        uint4 w = words[i];

        seen ^= w.x ^ w.y ^ w.z ^ w.w;
    }
    if (seen)
        atomicXor(sink, seen);
}

extern "C" __global__ void xfp_write(uint8_t *dst, uint64_t bytes, uint32_t value)
{
    uint4 *words = reinterpret_cast<uint4 *>(dst);
    uint64_t count = bytes / sizeof(uint4), step = (uint64_t)gridDim.x * blockDim.x;

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        words[i] = make_uint4(value, value, value, value);
}

extern "C" __global__ void xfp_copy(const uint8_t *src, uint64_t bytes, uint8_t *dst)
{
    const uint4 *from = reinterpret_cast<const uint4 *>(src);
    uint4 *to = reinterpret_cast<uint4 *>(dst);
    uint64_t count = bytes / sizeof(uint4), step = (uint64_t)gridDim.x * blockDim.x;

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        to[i] = from[i];
}

extern "C" __global__ void xfp_chase(const uint64_t *first, uint64_t steps, uint64_t *last)
{
    const char *base = reinterpret_cast<const char *>(first);
    uint64_t at = 0;

    for (uint64_t i = 0; i < steps; i++)
        at = *reinterpret_cast<const volatile uint64_t *>(base + at);
    *last = at;
}

extern "C" __global__ void xfp_spin(uint64_t ns)
{
    uint64_t start = device_ns();

    while (device_ns() - start < ns)
        ;
}
