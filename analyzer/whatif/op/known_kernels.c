#include "analyzer/whatif/op/known_kernels.h"

#define MOST_KNOWN 65536 /* kernels; of further ones nothing is known */

struct kernel_key {
    uint64_t threads;
    uint32_t name, gpu;
};

struct kernel {
    struct kernel_key key;
    double count, mean_ns;
};

void xfw_known_kernels_init(struct xfw_known_kernels *known)
{
    xfa_table_init(&known->kernels, sizeof(struct kernel_key), sizeof(struct kernel));
}

void xfw_known_kernels_free(struct xfw_known_kernels *known)
{
    xfa_table_free(&known->kernels);
}

static struct kernel_key key_of(const struct xfw_op *op)
{
    return (struct kernel_key){op->threads, op->name, (uint32_t)xfw_place_of_gpu(op->gpu)};
}

void xfw_known_kernels_add(struct xfw_known_kernels *known, const struct xfw_op *op)
{
    const struct kernel_key key = key_of(op);
    struct kernel *kernel = xfa_table_get(&known->kernels, &key);
    if (!kernel && known->kernels.count < MOST_KNOWN)
        kernel = xfa_table_put(&known->kernels, &key);
    if (!kernel)
        return;
    kernel->count++;
    kernel->mean_ns += (op->duration_ns - kernel->mean_ns) / kernel->count;
}

double xfw_known_kernels_ns(const struct xfw_known_kernels *known, const struct xfw_op *op)
{
    const struct kernel_key key = key_of(op);
    const struct kernel *kernel = xfa_table_get(&known->kernels, &key);
    return kernel ? kernel->mean_ns : 0;
}
