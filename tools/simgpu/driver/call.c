#include "tools/simgpu/driver/call.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/gpu/capture.h"
#include "tools/simgpu/gpu/machine.h"
#include "tools/simgpu/gpu/queue.h"

static const char *const names[] = {
#define SIM_FUNCTION(base, symbol, version, variant) #symbol,
#include "tools/simgpu/driver/functions.def"
#undef SIM_FUNCTION
};

static _Atomic uint32_t correlations;

/* The status that XFERSCOPE_SIMGPU_FAIL demands of this call. Its text is one function's. */
static xcu_result demanded(const struct sim_call *call)
{
    static unsigned long calls;
    const char *text = sim_settings.fail, *name = names[call->function];
    size_t length = strlen(name);
    char *end;

    if (!text || strncmp(text, name, length) != 0 || text[length] != ':')
        return XCU_SUCCESS;
    unsigned long from = strtoul(text + length + 1, &end, 10);
    return ++calls >= from && *end == ':' ? atoi(end + 1) : XCU_SUCCESS;
}

static xcu_result check(const struct sim_call *call)
{
    xcu_result r = demanded(call);

    if (r)
        return r;
    if ((call->need & SIM_INIT) && !sim_initialised)
        return XCU_ERROR_NOT_INITIALIZED;
    if ((call->need & SIM_CTX) == SIM_CTX && !sim_current())
        return sim_thread.depth ? XCU_ERROR_CONTEXT_IS_DESTROYED : XCU_ERROR_INVALID_CONTEXT;
    if (call->need & SIM_UNSAFE)
        return sim_capture_unsafe();
    return XCU_SUCCESS;
}

static void tell(int entering, const struct sim_call *call, int result)
{
    if (sim_hooks && sim_hooks->call)
        sim_hooks->call(entering, call->function, names[call->function], call->correlation,
                        sim_current(), result);
}

xcu_result sim_enter(struct sim_call *call)
{
    if (sim_forked)
        return XCU_ERROR_NOT_INITIALIZED;
    if (sim_thread.in_callback || sim_thread.kernel_ns)
        return call->need ? XCU_ERROR_NOT_PERMITTED : XCU_SUCCESS;
    call->correlation = atomic_fetch_add(&correlations, 1) + 1;
    tell(1, call, 0);
    sim_clock_take_turn();
    sim_lock();
    sim_thread.call = call;
    sim_pump();
    if (!(call->need & SIM_TIMED) && call->need)
        sim_advance(sim_settings.call_ns);
    return check(call);
}

xcu_result sim_leave(struct sim_call *call, xcu_result result)
{
    if (sim_thread.call != call)
        return result; /* never got in */
    sim_thread.call = NULL;
    sim_unlock();
    tell(0, call, result);
    return result;
}

/* ---- what is exported beyond CUDA -------------------------------------------------------- */

SIM_EXPORT uint64_t xferscope_simgpu_now_ns(void)
{
    return sim_now();
}

SIM_EXPORT const char *xferscope_simgpu_machine(void)
{
    return sim_machine_name;
}

SIM_EXPORT void xferscope_simgpu_spend_ns(uint64_t ns)
{
    sim_advance(ns);
}

SIM_EXPORT void xferscope_simgpu_sleep_ns(uint64_t ns)
{
    sim_clock_sleep(ns);
}

SIM_EXPORT int xferscope_simgpu_thread_begin(unsigned number, unsigned of)
{
    return sim_clock_begin_own(number, of);
}

SIM_EXPORT uint64_t xferscope_simgpu_thread_ns(void)
{
    return sim_clock_worked_ns();
}

SIM_EXPORT uint64_t xferscope_simgpu_process_ns(void)
{
    return sim_clock_worked_by_all_ns();
}

SIM_EXPORT unsigned xferscope_simgpu_threads(struct xferscope_simgpu_thread *threads, unsigned most)
{
    return sim_clock_worked_by_each(threads, most);
}

SIM_EXPORT int xferscope_simgpu_is_real(void)
{
    return sim_clock_is_real();
}

SIM_EXPORT void xferscope_simgpu_thread_end(void)
{
    sim_clock_end_own();
}

SIM_EXPORT void xferscope_simgpu_lock(const void *lock)
{
    sim_clock_lock(lock);
}

SIM_EXPORT void xferscope_simgpu_unlock(const void *lock)
{
    sim_clock_unlock(lock);
}

SIM_EXPORT void xferscope_simgpu_take(unsigned *semaphore)
{
    sim_clock_take(semaphore);
}

SIM_EXPORT void xferscope_simgpu_post(unsigned *semaphore)
{
    sim_clock_post(semaphore);
}

/* Where the profile has no table: 10 us and 10 GB/s, as for other copies. */
SIM_EXPORT void xferscope_simgpu_host_copy(const char *table, size_t bytes, unsigned threads)
{
    const struct xfp_table *t = sim_profile ? xfp_find_table(sim_profile, table) : NULL;
    struct xfp_estimate cost = {XFP_UNKNOWN, 0, 0};

    if (t && xfp_by_of(t->by) == XFP_BY_BYTES) {
        sim_advance(sim_table_ns(table, bytes));
        return;
    }
    if (t && t->bytes)
        cost = xfp_table_at(t, threads);
    sim_advance(cost.basis ? (uint64_t)(cost.ns * (double)bytes / (double)t->bytes)
                           : 10000 + bytes / 10);
}

SIM_EXPORT void xferscope_simgpu_warm(int warm)
{
    sim_thread.warm = warm;
}

SIM_EXPORT void xferscope_simgpu_set_hooks(const struct xferscope_simgpu_hooks *hooks)
{
    sim_hooks = hooks;
}
