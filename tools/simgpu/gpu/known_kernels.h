/* The probe's kernels (probe/device/kernels.h), simulated. */
#ifndef SIM_KNOWN_KERNELS_H
#define SIM_KNOWN_KERNELS_H

#include "tools/simgpu/gpu/kernel.h"

enum sim_known_kernel {
    SIM_KERNEL_GATE,
    SIM_KERNEL_READ,
    SIM_KERNEL_WRITE,
    SIM_KERNEL_CHASE,
    SIM_KERNEL_SPIN,
    SIM_KERNEL_COPY,
    SIM_KERNELS
};

/* Which kernel that is, or -1. */
int sim_known_kernel(const char *name);
/* Sizes of its parameters in bytes, ended by 0. */
const size_t *sim_known_sizes(int kernel);
/* ns that it takes (not the gate). Moves the managed memory that it touches. */
uint64_t sim_known_ns(const struct sim_kernel *kernel, int device);
/* Does what the kernel does to memory. */
void sim_known_do(const struct sim_kernel *kernel);
/* Fills gate and limit from the parameters; false when they are not memory. */
bool sim_gate_of(struct sim_kernel *kernel);

#endif
