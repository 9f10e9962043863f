#include "analyzer/whatif/changes/loops.h"

static struct xfw_loop_kernel *kernel_of(struct xfw_loops *loops, uint64_t name)
{
    struct xfw_loop_kernel *kernel = &loops->kernels[name % XFW_LOOP_KERNELS];
    if (kernel->name != name)
        *kernel = (struct xfw_loop_kernel){.name = name};
    return kernel;
}

static void end_row(struct xfw_loops *loops, struct xfw_loop *loop, bool by_kernel)
{
    struct xfw_loop_kernel *kernel = kernel_of(loops, loop->launch.name);
    if (loop->launches == 0)
        return;
    kernel->last = loop->launches;
    if (loop->launches >= XFW_LOOP_LEAST)
        (*(by_kernel ? &kernel->by_kernel : &kernel->other))++;
    loop->launches = 0;
}

static bool is_of_row(const struct xfw_loop *loop, const struct xfw_piece_launch *launch)
{
    return loop->launches > 0 && launch->arguments != 0 && launch->name == loop->launch.name &&
           launch->arguments == loop->launch.arguments && launch->stream == loop->launch.stream &&
           launch->gpu == loop->launch.gpu;
}

bool xfw_loops_goes_on(const struct xfw_loops *loops, uint32_t number,
                       const struct xfw_piece_launch *launch)
{
    const struct xfw_loop_kernel *kernel = &loops->kernels[launch->name % XFW_LOOP_KERNELS];
    if (number >= XFW_PIECE_THREADS || !is_of_row(&loops->threads[number], launch))
        return false;
    return kernel->name == launch->name && kernel->by_kernel > kernel->other &&
           (kernel->last >= XFW_LOOP_LEAST || loops->threads[number].launches >= XFW_LOOP_LEAST);
}

bool xfw_loops_next(struct xfw_loops *loops, uint32_t number, const struct xfw_piece_launch *launch)
{
    if (number >= XFW_PIECE_THREADS)
        return false;
    struct xfw_loop *loop = &loops->threads[number];
    bool goes_on = xfw_loops_goes_on(loops, number, launch);
    if (!is_of_row(loop, launch)) {
        end_row(loops, loop, launch->name != loop->launch.name);
        loop->launch = *launch;
    }
    loop->launches = launch->name ? loop->launches + 1 : 0;
    return goes_on;
}

void xfw_loops_break(struct xfw_loops *loops, uint32_t number)
{
    if (number < XFW_PIECE_THREADS)
        end_row(loops, &loops->threads[number], false);
}
