/*
 * What happens around every function of the interface: the lock, the checks, the clock, the hooks.
 */
#ifndef SIM_CALL_H
#define SIM_CALL_H

#include "tools/simgpu/gpu/objects.h"

/* What a function of the interface needs, and how its host time is counted. */
enum sim_need {
    SIM_NOTHING = 0,
    SIM_INIT = 1,   /* cuInit was called, in this process */
    SIM_CTX = 3,    /* and a context is current */
    SIM_TIMED = 4,  /* it advances the clock itself */
    SIM_UNSAFE = 8, /* refused while a capture forbids it */
};

xcu_result sim_enter(struct sim_call *call);
xcu_result sim_leave(struct sim_call *call, xcu_result result);

#define SIM_WRAPPER(body, name, need, per_thread, params, args)                                    \
    SIM_EXPORT xcu_result name params;                                                             \
    xcu_result name params                                                                         \
    {                                                                                              \
        struct sim_call sim_frame = {SIM_FN_##name, need, per_thread, 0};                          \
        xcu_result sim_state = sim_enter(&sim_frame);                                              \
        return sim_leave(&sim_frame, sim_state ? sim_state : body args);                           \
    }

/* Defines an exported driver function; its body follows and returns a result. */
#define SIM_API(name, need, params, args)                                                          \
    static xcu_result name##_body params;                                                          \
    SIM_WRAPPER(name##_body, name, need, false, params, args)                                      \
    static xcu_result name##_body params

/* The same under two names: the legacy one, and one whose default stream is the thread's own. */
#define SIM_API_PT(name, variant, need, params, args)                                              \
    static xcu_result name##_body params;                                                          \
    SIM_WRAPPER(name##_body, name, need, false, params, args)                                      \
    SIM_WRAPPER(name##_body, variant, need, true, params, args)                                    \
    static xcu_result name##_body params

#define SIM_FUNCTION(base, symbol, version, variant) SIM_FN_##symbol,
enum sim_function_id {
#include "tools/simgpu/driver/functions.def"
    SIM_FUNCTION_COUNT
};
#undef SIM_FUNCTION

#endif
