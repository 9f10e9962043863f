/* A copy engine's time. It takes the copy that is ready first, as a GPU does: one that waits for
 * its stream does not keep those of other streams, though it was submitted before them. */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "tools/simgpu/gpu/objects.h"

/* A copy's time on the engine: alone, or less behind another one; from when on it may begin. */
struct sim_engine_use {
    uint64_t ready, alone_ns, behind_ns;
};
/* Takes all that is free from `ready` on until it has had `ns`, in pieces. Returns its end. */
uint64_t sim_engine_share(struct sim_engine *engine, uint64_t ready, uint64_t ns);

/* Takes the first time that is long enough. Returns its end; *start: when the copy begins. */
uint64_t sim_engine_take(struct sim_engine *engine, const struct sim_engine_use *use,
                         uint64_t *start);

/* When something that takes no time may begin. */
uint64_t sim_engine_free(const struct sim_engine *engine, uint64_t ready);

#endif
