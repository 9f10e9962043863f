/*
 * Initialisation, contexts, peer access.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/gpu/capture.h"
#include "tools/simgpu/gpu/memory.h"
#include "tools/simgpu/gpu/paths.h"
#include "tools/simgpu/gpu/queue.h"
#include "tools/simgpu/gpu/streams.h"

static unsigned context_ids;
static atomic_int alive; /* contexts, those in the making included */

SIM_EXPORT int xferscope_simgpu_contexts(void)
{
    return atomic_load(&alive);
}

SIM_EXPORT int xferscope_simgpu_cupti_late(void)
{
    return sim_settings.cupti_late != 0;
}

/* Making a context takes a real driver a fifth of a second, in which other threads' calls go on. */
static void begin_context(void)
{
    time_t ms = (time_t)sim_settings.context_ms;

    atomic_fetch_add(&alive, 1);
    sim_advance(sim_settings.context_ns);
    if (ms == 0)
        return;
    sim_unlock();
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    sim_lock();
}

static void end_context(void)
{
    atomic_fetch_sub(&alive, 1);
}

static void start_device(int ordinal, int number)
{
    struct sim_device *d = &sim_devices[ordinal];

    d->ordinal = ordinal;
    d->gpu = &sim_profile->machine.gpus[number];
}

SIM_API(cuInit, SIM_NOTHING, (unsigned flags), (flags))
{
    static bool failed;
    int numbers[SIM_MAX_DEVICES];

    if (flags)
        return XCU_ERROR_INVALID_VALUE;
    if (sim_initialised)
        return XCU_SUCCESS;
    if (failed || !sim_machine_load()) {
        failed = true;
        return XCU_ERROR_NO_DEVICE;
    }
    sim_device_count = sim_machine_visible(numbers);
    if (sim_device_count == 0) {
        failed = true;
        return XCU_ERROR_NO_DEVICE;
    }
    for (int i = 0; i < sim_device_count; i++)
        start_device(i, numbers[i]);
    sim_initialised = true;
    return XCU_SUCCESS;
}

static xcu_result context_new(int device, unsigned flags, struct sim_context **out)
{
    struct sim_context *c = calloc(1, sizeof(*c));

    if (!c || !sim_handle_add(c, SIM_CONTEXT)) {
        free(c);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    c->device = device;
    c->flags = flags;
    c->id = ++context_ids;
    c->stack_limit[0] = 1024;
    c->stack_limit[1] = 1 << 20;
    c->stack_limit[2] = 8 << 20;
    if (sim_stream_new(c, 0, 0, &c->legacy)) {
        sim_handle_remove(c);
        free(c);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    c->next = sim_contexts;
    sim_contexts = c;
    *out = c;
    return XCU_SUCCESS;
}

static void context_free(struct sim_context *context)
{
    struct sim_context **at = &sim_contexts;

    sim_wait_context(context);
    sim_memory_release(context);
    while (context->streams)
        sim_stream_free(context->streams);
    while (*at != context)
        at = &(*at)->next;
    *at = context->next;
    sim_handle_remove(context);
    free(context);
    end_context();
}

static struct sim_context *primary(int device)
{
    struct sim_device *d = &sim_devices[device];

    if (d->primary)
        return d->primary;
    begin_context();
    if (d->primary || context_new(device, d->primary_flags, &d->primary))
        end_context(); /* made by another thread meanwhile, or not at all */
    else
        d->primary->primary = true;
    return d->primary;
}

static bool is_device(xcu_device device)
{
    return device >= 0 && device < sim_device_count;
}

/* ---- primary contexts -------------------------------------------------------------------- */

SIM_API(cuDevicePrimaryCtxRetain, SIM_INIT, (xcu_context * out, xcu_device device), (out, device))
{
    struct sim_context *c;

    if (!out)
        return XCU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return XCU_ERROR_INVALID_DEVICE;
    c = primary(device);
    if (!c)
        return XCU_ERROR_OUT_OF_MEMORY;
    c->retained++;
    *out = c;
    return XCU_SUCCESS;
}

static void primary_drop(struct sim_device *d)
{
    context_free(d->primary);
    d->primary = NULL;
}

static xcu_result primary_release(xcu_device device)
{
    struct sim_device *d = &sim_devices[device];

    if (!is_device(device))
        return XCU_ERROR_INVALID_DEVICE;
    if (!d->primary || !d->primary->retained)
        return XCU_ERROR_INVALID_CONTEXT;
    if (--d->primary->retained == 0)
        primary_drop(d);
    return XCU_SUCCESS;
}

SIM_API(cuDevicePrimaryCtxRelease, SIM_INIT, (xcu_device device), (device))
{
    return primary_release(device);
}

SIM_API(cuDevicePrimaryCtxRelease_v2, SIM_INIT, (xcu_device device), (device))
{
    return primary_release(device);
}

/* The context stays the thread's current one on a real driver; so does its handle here. */
static xcu_result primary_reset(xcu_device device)
{
    struct sim_context *c;

    if (!is_device(device))
        return XCU_ERROR_INVALID_DEVICE;
    c = sim_devices[device].primary;
    if (c) {
        sim_wait_context(c);
        sim_memory_release(c);
        c->peers = 0;
    }
    return XCU_SUCCESS;
}

SIM_API(cuDevicePrimaryCtxReset, SIM_INIT, (xcu_device device), (device))
{
    return primary_reset(device);
}

SIM_API(cuDevicePrimaryCtxReset_v2, SIM_INIT, (xcu_device device), (device))
{
    return primary_reset(device);
}

static xcu_result primary_flags(xcu_device device, unsigned flags)
{
    if (!is_device(device))
        return XCU_ERROR_INVALID_DEVICE;
    if (flags & ~0x7fu)
        return XCU_ERROR_INVALID_VALUE;
    sim_devices[device].primary_flags = flags;
    if (sim_devices[device].primary)
        sim_devices[device].primary->flags = flags;
    return XCU_SUCCESS;
}

SIM_API(cuDevicePrimaryCtxSetFlags, SIM_INIT, (xcu_device device, unsigned flags), (device, flags))
{
    return primary_flags(device, flags);
}

SIM_API(cuDevicePrimaryCtxSetFlags_v2, SIM_INIT, (xcu_device device, unsigned flags),
        (device, flags))
{
    return primary_flags(device, flags);
}

SIM_API(cuDevicePrimaryCtxGetState, SIM_INIT, (xcu_device device, unsigned *flags, int *active),
        (device, flags, active))
{
    if (!is_device(device))
        return XCU_ERROR_INVALID_DEVICE;
    if (flags)
        *flags = sim_devices[device].primary_flags;
    if (active)
        *active = sim_devices[device].primary != NULL;
    return XCU_SUCCESS;
}

/* ---- current context --------------------------------------------------------------------- */

static xcu_result push(struct sim_context *context)
{
    if (!sim_handle_is(context, SIM_CONTEXT))
        return XCU_ERROR_INVALID_CONTEXT;
    if (sim_thread.depth == (int)(sizeof(sim_thread.stack) / sizeof(sim_thread.stack[0])))
        return XCU_ERROR_OUT_OF_MEMORY;
    sim_thread.stack[sim_thread.depth++] = context;
    return XCU_SUCCESS;
}

static xcu_result create(xcu_context *out, unsigned flags, xcu_device device)
{
    struct sim_context *c;
    xcu_result r;

    if (!out)
        return XCU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return XCU_ERROR_INVALID_DEVICE;
    begin_context();
    r = context_new(device, flags, &c);
    if (r) {
        end_context();
        return r;
    }
    *out = c;
    return push(c);
}

SIM_API(cuCtxCreate_v2, SIM_INIT, (xcu_context * out, unsigned flags, xcu_device device),
        (out, flags, device))
{
    return create(out, flags, device);
}

SIM_API(cuCtxCreate_v3, SIM_INIT,
        (xcu_context * out, void *affinity, int count, unsigned flags, xcu_device device),
        (out, affinity, count, flags, device))
{
    return create(out, flags, device);
}

SIM_API(cuCtxCreate_v4, SIM_INIT,
        (xcu_context * out, void *params, unsigned flags, xcu_device device),
        (out, params, flags, device))
{
    return create(out, flags, device);
}

static xcu_result pop(xcu_context *out)
{
    if (!sim_thread.depth)
        return XCU_ERROR_INVALID_CONTEXT;
    sim_thread.depth--;
    if (out)
        *out = sim_thread.stack[sim_thread.depth];
    return XCU_SUCCESS;
}

static xcu_result destroy(struct sim_context *context)
{
    if (!sim_handle_is(context, SIM_CONTEXT))
        return XCU_ERROR_INVALID_CONTEXT;
    if (context->primary)
        return XCU_ERROR_INVALID_CONTEXT;
    if (sim_current() == context)
        sim_thread.depth--;
    context_free(context);
    return XCU_SUCCESS;
}

SIM_API(cuCtxDestroy, SIM_INIT, (xcu_context context), (context))
{
    return destroy(context);
}

SIM_API(cuCtxDestroy_v2, SIM_INIT, (xcu_context context), (context))
{
    return destroy(context);
}

SIM_API(cuCtxPushCurrent, SIM_INIT, (xcu_context context), (context))
{
    return push(context);
}

SIM_API(cuCtxPushCurrent_v2, SIM_INIT, (xcu_context context), (context))
{
    return push(context);
}

SIM_API(cuCtxPopCurrent, SIM_INIT, (xcu_context * out), (out))
{
    return pop(out);
}

SIM_API(cuCtxPopCurrent_v2, SIM_INIT, (xcu_context * out), (out))
{
    return pop(out);
}

SIM_API(cuCtxSetCurrent, SIM_INIT, (xcu_context context), (context))
{
    if (context && !sim_handle_is(context, SIM_CONTEXT))
        return XCU_ERROR_INVALID_CONTEXT;
    if (sim_thread.depth)
        sim_thread.depth--;
    return context ? push(context) : XCU_SUCCESS;
}

SIM_API(cuCtxGetCurrent, SIM_INIT | SIM_TIMED, (xcu_context * out), (out))
{
    if (!out)
        return XCU_ERROR_INVALID_VALUE;
    *out = sim_thread.depth ? sim_thread.stack[sim_thread.depth - 1] : NULL;
    return XCU_SUCCESS;
}

SIM_API(cuCtxGetDevice, SIM_CTX, (xcu_device * out), (out))
{
    if (!out)
        return XCU_ERROR_INVALID_VALUE;
    *out = sim_current()->device;
    return XCU_SUCCESS;
}

SIM_API(cuCtxGetDevice_v2, SIM_INIT, (xcu_device * out, xcu_context handle), (out, handle))
{
    struct sim_context *c = sim_context_of(handle);

    if (!out)
        return XCU_ERROR_INVALID_VALUE;
    if (!c)
        return XCU_ERROR_INVALID_CONTEXT;
    *out = c->device;
    return XCU_SUCCESS;
}

SIM_API(cuCtxGetFlags, SIM_CTX, (unsigned *flags), (flags))
{
    if (!flags)
        return XCU_ERROR_INVALID_VALUE;
    *flags = sim_current()->flags;
    return XCU_SUCCESS;
}

SIM_API(cuCtxSetFlags, SIM_CTX, (unsigned flags), (flags))
{
    sim_current()->flags = flags;
    return XCU_SUCCESS;
}

SIM_API(cuCtxGetId, SIM_INIT, (xcu_context handle, unsigned long long *id), (handle, id))
{
    struct sim_context *c = sim_context_of(handle);

    if (!id)
        return XCU_ERROR_INVALID_VALUE;
    if (!c)
        return XCU_ERROR_INVALID_CONTEXT;
    *id = c->id;
    return XCU_SUCCESS;
}

SIM_API(cuCtxGetApiVersion, SIM_INIT, (xcu_context handle, unsigned *version), (handle, version))
{
    if (!version)
        return XCU_ERROR_INVALID_VALUE;
    if (!sim_context_of(handle))
        return XCU_ERROR_INVALID_CONTEXT;
    *version = 3020;
    return XCU_SUCCESS;
}

static xcu_result synchronize(struct sim_context *c)
{
    if (!c)
        return XCU_ERROR_INVALID_CONTEXT;
    xcu_result r = sim_capture_forbids_wait(c);
    if (!r)
        sim_wait_context(c);
    return r;
}

SIM_API(cuCtxSynchronize, SIM_CTX | SIM_UNSAFE, (void), ())
{
    return synchronize(sim_current());
}

SIM_API(cuCtxSynchronize_v2, SIM_INIT | SIM_UNSAFE, (xcu_context handle), (handle))
{
    return synchronize(sim_context_of(handle));
}

SIM_API(cuCtxSetLimit, SIM_CTX, (int limit, size_t value), (limit, value))
{
    if (limit < 0 || limit >= 10)
        return XCU_ERROR_INVALID_VALUE;
    sim_current()->stack_limit[limit] = value;
    return XCU_SUCCESS;
}

SIM_API(cuCtxGetLimit, SIM_CTX, (size_t * value, int limit), (value, limit))
{
    if (!value || limit < 0 || limit >= 10)
        return XCU_ERROR_INVALID_VALUE;
    *value = sim_current()->stack_limit[limit];
    return XCU_SUCCESS;
}

SIM_API(cuCtxGetStreamPriorityRange, SIM_CTX, (int *least, int *greatest), (least, greatest))
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return XCU_SUCCESS;
}

/* ---- peer access ------------------------------------------------------------------------- */

/* Devices are peers when the profile knows a path between them, and nothing forbids it. */
static bool peers(int from, int to)
{
    struct xfp_place a = {XFT_MEM_DEVICE, from, -1}, b = {XFT_MEM_DEVICE, to, -1};

    return from != to && !sim_settings.no_peers && sim_find_path(XFP_COPY, a, b, false);
}

SIM_API(cuDeviceCanAccessPeer, SIM_INIT, (int *can, xcu_device device, xcu_device peer),
        (can, device, peer))
{
    if (!can)
        return XCU_ERROR_INVALID_VALUE;
    if (!is_device(device) || !is_device(peer))
        return XCU_ERROR_INVALID_DEVICE;
    *can = peers(device, peer);
    return XCU_SUCCESS;
}

enum { PERFORMANCE_RANK = 1, ACCESS_SUPPORTED = 2, NATIVE_ATOMIC = 3, ARRAY_ACCESS = 4 };

SIM_API(cuDeviceGetP2PAttribute, SIM_INIT,
        (int *value, int attribute, xcu_device device, xcu_device peer),
        (value, attribute, device, peer))
{
    if (!value || attribute < PERFORMANCE_RANK || attribute > ARRAY_ACCESS)
        return XCU_ERROR_INVALID_VALUE;
    if (!is_device(device) || !is_device(peer) || device == peer)
        return XCU_ERROR_INVALID_DEVICE;
    *value = attribute == PERFORMANCE_RANK ? 0 : peers(device, peer);
    return XCU_SUCCESS;
}

SIM_API(cuCtxEnablePeerAccess, SIM_CTX, (xcu_context peer, unsigned flags), (peer, flags))
{
    struct sim_context *c = sim_current(), *p = peer ? sim_context_of(peer) : NULL;

    if (flags)
        return XCU_ERROR_INVALID_VALUE;
    if (!p || p == c)
        return XCU_ERROR_INVALID_CONTEXT;
    if (!peers(c->device, p->device))
        return XCU_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (c->peers >> p->device & 1)
        return XCU_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    c->peers |= 1u << p->device;
    return XCU_SUCCESS;
}

SIM_API(cuCtxDisablePeerAccess, SIM_CTX, (xcu_context peer), (peer))
{
    struct sim_context *c = sim_current(), *p = peer ? sim_context_of(peer) : NULL;

    if (!p)
        return XCU_ERROR_INVALID_CONTEXT;
    if (!(c->peers >> p->device & 1))
        return XCU_ERROR_PEER_ACCESS_NOT_ENABLED;
    c->peers &= ~(1u << p->device);
    return XCU_SUCCESS;
}
