/*
 * The compiled kernels as bytes of this library. XFP_KERNELS_FILE is the fat binary's path, given
 * by CMake when there is an nvcc.
 */
#include "probe/device/kernels.h"

#ifdef XFP_KERNELS_FILE
__asm__(".pushsection .rodata, \"a\"\n"
        ".balign 64\n"
        "xfp_kernel_bytes:\n"
        ".incbin \"" XFP_KERNELS_FILE "\"\n"
        "xfp_kernel_bytes_end:\n"
        ".popsection\n");
extern const char xfp_kernel_bytes[], xfp_kernel_bytes_end[];

const void *xfp_kernel_image(size_t *bytes)
{
    *bytes = (size_t)(xfp_kernel_bytes_end - xfp_kernel_bytes);
    return xfp_kernel_bytes;
}
#else
const void *xfp_kernel_image(size_t *bytes)
{
    *bytes = 0;
    return NULL;
}
#endif
