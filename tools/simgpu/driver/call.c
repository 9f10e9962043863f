/*
 * What happens around every API function: the lock, the checks, the clock, the hooks; and the set
 * of live handles.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/simgpu/driver/graph.h"
#include "tools/simgpu/driver/queue.h"
#include "tools/simgpu/driver/sim.h"

_Thread_local struct sim_thread sim_thread = {.numa = -1};
bool sim_initialised;
const struct xferscope_simgpu_hooks *sim_hooks;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t correlations;
static bool forked; /* CUDA does not survive fork */

void sim_lock(void)
{
    pthread_mutex_lock(&lock);
    sim_clock_stop();
}

void sim_unlock(void)
{
    sim_clock_go_on();
    pthread_mutex_unlock(&lock);
}

/* The child inherits locks that nobody will give back. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    forked = forked || sim_initialised;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

uint64_t sim_thread_id(void)
{
    static _Atomic uint64_t threads;
    static _Thread_local uint64_t id;

    if (!id)
        id = atomic_fetch_add(&threads, 1) + 1;
    return id;
}

static xcu_result check(const struct sim_call *call)
{
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
        sim_hooks->call(entering, call->function, sim_function_name(call->function),
                        call->correlation, sim_current(), result);
}

xcu_result sim_enter(struct sim_call *call)
{
    if (forked)
        return XCU_ERROR_NOT_INITIALIZED;
    if (sim_thread.in_callback || sim_thread.kernel_ns)
        return call->need ? XCU_ERROR_NOT_PERMITTED : XCU_SUCCESS;
    call->correlation = atomic_fetch_add(&correlations, 1) + 1;
    tell(1, call, 0);
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

/* ---- handles: open addressing, a deleted slot keeps its chain ---------------------------- */

struct slot {
    const void *object;
    int type; /* enum sim_handle; 0 = free, -1 = deleted */
};

static struct slot *slots;
static size_t slot_count, slots_used;

static size_t slot_of(const void *object)
{
    return ((uintptr_t)object >> 4) * 0x9e3779b97f4a7c15u >> 16;
}

static void put(struct slot *into, size_t count, struct slot what)
{
    size_t i = slot_of(what.object) & (count - 1);

    while (into[i].type > 0)
        i = (i + 1) & (count - 1);
    into[i] = what;
}

static bool grow(void)
{
    size_t live = 0, count = 64;
    struct slot *bigger;

    for (size_t i = 0; i < slot_count; i++)
        live += slots[i].type > 0;
    while (count < live * 4)
        count *= 2;
    bigger = calloc(count, sizeof(*bigger));
    if (!bigger)
        return false;
    for (size_t i = 0; i < slot_count; i++)
        if (slots[i].type > 0)
            put(bigger, count, slots[i]);
    free(slots);
    slots = bigger;
    slot_count = count;
    slots_used = live;
    return true;
}

static struct slot *find(const void *object)
{
    size_t i;

    if (!slot_count)
        return NULL;
    for (i = slot_of(object) & (slot_count - 1); slots[i].type; i = (i + 1) & (slot_count - 1))
        if (slots[i].object == object && slots[i].type > 0)
            return &slots[i];
    return NULL;
}

bool sim_handle_add(const void *object, enum sim_handle type)
{
    if (slots_used * 2 >= slot_count && !grow())
        return false;
    put(slots, slot_count, (struct slot){object, (int)type});
    slots_used++;
    return true;
}

void sim_handle_remove(const void *object)
{
    struct slot *slot = find(object);

    if (slot)
        slot->type = -1;
}

bool sim_handle_is(const void *object, enum sim_handle type)
{
    const struct slot *slot = find(object);

    return slot && slot->type == (int)type;
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

/* When the profile is silent: 10 us and 10 GB/s, as for other copies. */
SIM_EXPORT void xferscope_simgpu_host_copy(const char *table, size_t bytes, unsigned threads)
{
    const struct xfp_table *t = sim_profile ? xfp_find_table(sim_profile, table) : NULL;
    struct xfp_estimate cost = {XFP_UNKNOWN, 0, 0};

    if (t && xfp_by_of(t->by) == XFP_BY_BYTES) {
        cost = xfp_table_at(t, bytes);
        sim_advance((uint64_t)cost.ns);
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
