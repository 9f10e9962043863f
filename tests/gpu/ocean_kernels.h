/*
 * Two kernels like those of section VII of van Werkhoven et al., "Performance models for CPU-GPU
 * data transfers", written from its description: state, which uses each element of its input and
 * output once, and buoydiff, which at level k needs the levels 1, k-1 and k. Each as
 *
 *   _column  a thread for each horizontal point, going down all levels (explicit)
 *   _flat    a thread for each point of the grid, one behind the other  (implicit)
 *   _level   a thread for each point of one level                       (streams, hybrid)
 *
 * Arrays are level by level, `cells` points each. The equation of state is a rational function like
 * those that ocean models use, with coefficients of our own.
 *
 * The functions below named xferscope_simgpu_kernel_… are what the simulated GPU runs in the
 * kernels' stead (docs/simgpu.md).
 */
#ifndef XFERSCOPE_GPU_OCEAN_KERNELS_H
#define XFERSCOPE_GPU_OCEAN_KERNELS_H

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cmath>
#include <cstddef>

struct ocean {
    const double *temperature, *salinity;
    double *out[3]; /* state: density and its derivatives; buoydiff: to the level above, surface */
    size_t cells;
    int levels;
};

struct density {
    double rho, by_temperature, by_salinity;
};

__host__ __device__ inline double pressure_at(int level)
{
    return 5 + 12.5 * level + 1.75 * level * level;
}

/* Of water with temperature t and salinity s at pressure p: a quotient, and the quotient rule. */
__host__ __device__ inline density density_of(double t, double s, double p)
{
    double root = sqrt(s > 0 ? s : 0);
    double above = 999.8 + t * (7.2 + t * (-0.05 + t * 6e-4)) + s * (2.6 - 6e-3 * t + 4e-3 * s) +
                   p * (1.1e-2 + 1.2e-7 * t * t + 5e-6 * s);
    double below = 1 + t * (7.25e-3 + t * (-4.6e-5 + t * 6.8e-7)) +
                   s * (1.8e-3 - 7.1e-6 * t + root * (4.7e-6 + 1.6e-9 * t * t)) +
                   p * (5.3e-6 - 3e-11 * t);
    double above_t = 7.2 + t * (-0.1 + t * 1.8e-3) - 6e-3 * s + 2.4e-7 * p * t;
    double below_t =
        7.25e-3 + t * (-9.2e-5 + t * 2.04e-6) + s * (-7.1e-6 + root * 3.2e-9 * t) - 3e-11 * p;
    double above_s = 2.6 - 6e-3 * t + 8e-3 * s + 5e-6 * p;
    double below_s = 1.8e-3 - 7.1e-6 * t + 1.5 * root * (4.7e-6 + 1.6e-9 * t * t);
    double rho = above / below;

    return {rho, (above_t - rho * below_t) / below, (above_s - rho * below_s) / below};
}

__host__ __device__ inline void state_at(const ocean &o, int level, size_t cell)
{
    size_t i = level * o.cells + cell;
    density d = density_of(o.temperature[i], o.salinity[i], pressure_at(level));

    o.out[0][i] = d.rho;
    o.out[1][i] = d.by_temperature;
    o.out[2][i] = d.by_salinity;
}

/*
 * Water of the surface and of the level above, brought to this level: how buoyant it would be. What
 * it says of the level above is written there, so that each level's kernel writes to two levels.
 */
__host__ __device__ inline void buoydiff_at(const ocean &o, int level, size_t cell)
{
    const double gravity = 9.806;
    size_t here = level * o.cells + cell, above = here - o.cells;
    double p = pressure_at(level);
    double rho, surface, sinking;

    if (level == o.levels - 1)
        o.out[0][here] = 0;
    if (!level) {
        o.out[1][here] = 0;
        return;
    }
    rho = density_of(o.temperature[here], o.salinity[here], p).rho;
    surface = density_of(o.temperature[cell], o.salinity[cell], p).rho;
    sinking = density_of(o.temperature[above], o.salinity[above], p).rho;
    o.out[0][above] = gravity * (1 - sinking / rho);
    o.out[1][here] = gravity * (1 - surface / rho);
}

#define OCEAN_KERNELS(name)                                                                        \
    extern "C" __global__ void name##_column(ocean o)                                              \
    {                                                                                              \
        size_t cell = blockIdx.x * (size_t)blockDim.x + threadIdx.x;                               \
                                                                                                   \
        for (int level = 0; cell < o.cells && level < o.levels; level++)                           \
            name##_at(o, level, cell);                                                             \
    }                                                                                              \
    extern "C" __global__ void name##_flat(ocean o)                                                \
    {                                                                                              \
        size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;                                  \
                                                                                                   \
        if (i < o.cells * o.levels)                                                                \
            name##_at(o, (int)(i / o.cells), i % o.cells);                                         \
    }                                                                                              \
    extern "C" __global__ void name##_level(ocean o, int level)                                    \
    {                                                                                              \
        size_t cell = blockIdx.x * (size_t)blockDim.x + threadIdx.x;                               \
                                                                                                   \
        if (cell < o.cells)                                                                        \
            name##_at(o, level, cell);                                                             \
    }

OCEAN_KERNELS(state)
OCEAN_KERNELS(buoydiff)
#undef OCEAN_KERNELS

/* Reads a level of both inputs so many times, in the order of the flat kernels; writes nothing that
 * anybody reads. */
extern "C" __global__ void read_levels(ocean o, int times)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

    if (i < o.cells * times && o.temperature[i % o.cells] + o.salinity[i % o.cells] == -1e9)
        o.out[0][0] = 0;
}

/* Writes all of an output. */
extern "C" __global__ void write_levels(ocean o)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

    if (i < o.cells * o.levels)
        o.out[0][i] = 0;
}

/* Reads so many inputs and writes so many outputs, each once, as kernels on mapped memory do. */
extern "C" __global__ void pass_levels(ocean o, int reads, int writes)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    double value;

    if (i >= o.cells * o.levels)
        return;
    value = o.temperature[i] + (reads > 1 ? o.salinity[i] : 0);
    for (int j = 0; j < writes; j++)
        o.out[j][i] = value + j;
}

/* ---- on the simulated GPU -------------------------------------------------------------------- */

/* Mapped memory takes the time of the link: the profile says so, since it is not measured here. */
inline void touched(const double *address, size_t elements, int write)
{
    typedef void touch_function(const void *, size_t, int);
    static void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    static touch_function *touch =
        driver ? (touch_function *)dlsym(driver, "xferscope_simgpu_touch") : nullptr;

    if (touch)
        touch(address, elements * sizeof *address, write);
}

#define TWIN(name)                                                                                 \
    extern "C" __attribute__((visibility("default"))) void xferscope_simgpu_kernel_##name(         \
        void **args, const unsigned *, const unsigned *)

inline void whole_grid(const ocean &o, void (*at)(const ocean &, int, size_t), int outputs)
{
    for (size_t i = 0; i < o.cells * o.levels; i++)
        at(o, (int)(i / o.cells), i % o.cells);
    touched(o.temperature, o.cells * o.levels, 0);
    touched(o.salinity, o.cells * o.levels, 0);
    for (int i = 0; i < outputs; i++)
        touched(o.out[i], o.cells * o.levels, 1);
}

inline void one_level(void **args, void (*at)(const ocean &, int, size_t), int outputs)
{
    const ocean &o = *(const ocean *)args[0];
    int level = *(int *)args[1];

    for (size_t cell = 0; cell < o.cells; cell++)
        at(o, level, cell);
    for (int i = 0; i < outputs; i++)
        touched(o.out[i] + level * o.cells, o.cells, 1);
}

TWIN(state_column)
{
    whole_grid(*(const ocean *)args[0], state_at, 3);
}

TWIN(state_flat)
{
    whole_grid(*(const ocean *)args[0], state_at, 3);
}

TWIN(state_level)
{
    one_level(args, state_at, 3);
}

TWIN(buoydiff_column)
{
    whole_grid(*(const ocean *)args[0], buoydiff_at, 2);
}

TWIN(buoydiff_flat)
{
    const ocean &o = *(const ocean *)args[0];

    whole_grid(o, buoydiff_at, 2);
    for (int i = 0; i < 2; i++) { // 3 levels for each but the first, which needs none: 2 more times
        touched(o.temperature, o.cells * (o.levels - 2), 0);
        touched(o.salinity, o.cells * (o.levels - 2), 0);
    }
}

TWIN(buoydiff_level)
{
    one_level(args, buoydiff_at, 2);
}

TWIN(read_levels)
{
    const ocean &o = *(const ocean *)args[0];

    for (int i = 0; i < *(int *)args[1]; i++) {
        touched(o.temperature, o.cells, 0);
        touched(o.salinity, o.cells, 0);
    }
}

TWIN(pass_levels)
{
    const ocean &o = *(const ocean *)args[0];
    int reads = *(int *)args[1], writes = *(int *)args[2];

    for (int i = 0; i < reads; i++)
        touched(i ? o.salinity : o.temperature, o.cells * o.levels, 0);
    for (int i = 0; i < writes; i++)
        touched(o.out[i], o.cells * o.levels, 1);
}

TWIN(write_levels)
{
    const ocean &o = *(const ocean *)args[0];

    for (size_t i = 0; i < o.cells * o.levels; i++)
        o.out[0][i] = 0;
    touched(o.out[0], o.cells * o.levels, 1);
}
#undef TWIN

#endif
