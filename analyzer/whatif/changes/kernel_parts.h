/* Kernels that take less, each by a part of its own. A part of changes.h. */
#ifndef XFW_KERNEL_PARTS_H
#define XFW_KERNEL_PARTS_H

#include "analyzer/whatif/schedule/change.h"

struct xfw_kernel_part {
    uint32_t process;
    uint64_t began_ns; /* as recorded, since the process began to be recorded */
    double ns[XFW_CERTAINTIES];
};

/* No more goes than there is. parts: taken over. */
struct xfw_change *xfw_change_kernel_parts(const struct xfa_analysis *analysis,
                                           struct xfw_kernel_part *parts, size_t count);

#endif
