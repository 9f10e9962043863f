/*
 * The engines of a GPU in the replayed run: when each does a piece of work, and how copies in both
 * directions slow each other. Private to whatif/.
 */
#ifndef XFW_GPU_H
#define XFW_GPU_H

#include "analyzer/whatif/op/op.h"
#include "analyzer/whatif/schedule/busy.h"
#include "analyzer/whatif/schedule/streams.h"

struct xfw_gpu {
    struct xfw_busy engines[XFW_ENGINES];
    struct xfw_busy legacy; /* the legacy stream, where several threads make calls */
};
struct xfw_gpu *xfw_gpu_new(void); /* to be freed */

/* Finds the engine's time for a piece of work that may begin at `ready`, `lead` of which passes
 * before. Streams whose copies it slows end later. */
struct xfw_interval xfw_gpu_place(struct xfw_gpu *gpu, struct xfw_streams *streams,
                                  const struct xfw_op *op, double ready, double lead);

#endif
