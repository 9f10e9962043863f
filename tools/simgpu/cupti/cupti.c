/*
 * The simulated CUPTI: activity records of copies, memsets and kernels, and callbacks around the
 * driver calls that copy, set and launch. It stands on the hooks of the simulated driver
 * (../simgpu.h) and knows no other GPU. One subscriber per process, as in the real one.
 *
 * Records go to one buffer at a time, for all contexts. They are written when the simulation
 * carries out the work: their times may still lie ahead of the clock.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/simgpu/simgpu.h"
#include "tools/simgpu/cupti/records.h"
#include "xferscope/cupti_abi.h"
#include "xferscope/trace.h"

enum {
    INVALID_PARAMETER = 1,
    MAX_LIMIT_REACHED = 12,
    NOT_INITIALIZED = 15,
    INVALID_KIND = 21,
    NOT_SUPPORTED = 27,
    LAST_KIND = 64,
};

#define API(name, params)                                                                          \
    __attribute__((visibility("default"))) xcp_result cupti##name params;                          \
    xcp_result cupti##name params

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool enabled[LAST_KIND];
static xcp_buffer_requested request;
static xcp_buffer_completed complete;
static struct {
    uint8_t *start;
    size_t bytes, used;
} buffer;
static size_t dropped;
static int64_t clock_offset; /* the client's clock minus the simulation's */
static xcp_timestamp_callback client_clock;

/* ---- records ------------------------------------------------------------------------------ */

static size_t record_bytes(int kind)
{
    switch (kind) {
    case SIM_CUPTI_MEMCPY:
        return sizeof(struct sim_cupti_memcpy);
    case SIM_CUPTI_MEMCPY2:
        return sizeof(struct sim_cupti_memcpy2);
    case SIM_CUPTI_MEMSET:
        return sizeof(struct sim_cupti_memset);
    case SIM_CUPTI_KERNEL:
    case SIM_CUPTI_CONCURRENT_KERNEL:
        return sizeof(struct sim_cupti_kernel);
    case SIM_CUPTI_COUNTER:
        return sizeof(struct sim_cupti_counter);
    }
    return 0;
}

static void hand_over(void)
{
    uint8_t *start = buffer.start;

    buffer.start = NULL;
    if (start)
        complete(NULL, 0, start, buffer.bytes, buffer.used);
}

/* Room for a record, under the lock; NULL when the client has none: the record is lost. */
static void *room_for(size_t bytes)
{
    size_t most = 0;
    void *at;

    if (buffer.start && buffer.used + bytes > buffer.bytes)
        hand_over();
    if (!buffer.start) {
        buffer.used = 0;
        request(&buffer.start, &buffer.bytes, &most);
    }
    if (!buffer.start || bytes > buffer.bytes) {
        dropped++;
        return NULL;
    }
    at = buffer.start + buffer.used;
    buffer.used += bytes;
    return at;
}

static uint64_t client_time(uint64_t ns)
{
    return ns + (uint64_t)clock_offset;
}

static int memory_kind(int memory)
{
    switch (memory) {
    case XFT_MEM_PAGEABLE:
        return XCP_MEMORY_PAGEABLE;
    case XFT_MEM_DEVICE:
        return XCP_MEMORY_DEVICE;
    case XFT_MEM_ARRAY:
        return XCP_MEMORY_ARRAY;
    case XFT_MEM_MANAGED:
        return XCP_MEMORY_MANAGED;
    }
    return XCP_MEMORY_PINNED;
}

static int copy_kind(const struct xferscope_simgpu_activity *a)
{
    bool from_array = a->src_memory == XFT_MEM_ARRAY, to_array = a->dst_memory == XFT_MEM_ARRAY;

    if (a->half)
        return a->half == 1 ? XCP_COPY_DTOH : XCP_COPY_HTOD;
    if (a->src_device < 0)
        return to_array ? XCP_COPY_HTOA : XCP_COPY_HTOD;
    if (a->dst_device < 0)
        return from_array ? XCP_COPY_ATOH : XCP_COPY_DTOH;
    if (a->src_device != a->dst_device)
        return XCP_COPY_PTOP;
    if (from_array)
        return to_array ? XCP_COPY_ATOA : XCP_COPY_ATOD;
    return to_array ? XCP_COPY_DTOA : XCP_COPY_DTOD;
}

static bool write_copy(const struct xferscope_simgpu_activity *a)
{
    struct sim_cupti_memcpy *r = room_for(sizeof(*r));

    if (!r)
        return false;
    *r = (struct sim_cupti_memcpy){.kind = SIM_CUPTI_MEMCPY,
                                   .copy_kind = (uint8_t)copy_kind(a),
                                   .src_kind = (uint8_t)memory_kind(a->src_memory),
                                   .dst_kind = (uint8_t)memory_kind(a->dst_memory),
                                   .flags = a->asynchronous ? XCP_MEMCPY_ASYNC : 0,
                                   .bytes = a->bytes,
                                   .start = client_time(a->start_ns),
                                   .end = client_time(a->end_ns),
                                   .device = a->device,
                                   .context = a->context,
                                   .stream = a->stream,
                                   .correlation = a->correlation,
                                   .graph_node = a->graph ? a->graph_node : 0,
                                   .graph = a->graph,
                                   .copy_count = a->count};
    return true;
}

static bool write_peer_copy(const struct xferscope_simgpu_activity *a)
{
    struct sim_cupti_memcpy2 *r = room_for(sizeof(*r));

    if (!r)
        return false;
    *r = (struct sim_cupti_memcpy2){.kind = SIM_CUPTI_MEMCPY2,
                                    .copy_kind = XCP_COPY_PTOP,
                                    .src_kind = (uint8_t)memory_kind(a->src_memory),
                                    .dst_kind = (uint8_t)memory_kind(a->dst_memory),
                                    .flags = a->asynchronous ? XCP_MEMCPY_ASYNC : 0,
                                    .bytes = a->bytes,
                                    .start = client_time(a->start_ns),
                                    .end = client_time(a->end_ns),
                                    .device = a->device,
                                    .context = a->context,
                                    .stream = a->stream,
                                    .src_device = (uint32_t)a->src_device,
                                    .dst_device = (uint32_t)a->dst_device,
                                    .correlation = a->correlation,
                                    .graph_node = a->graph ? a->graph_node : 0,
                                    .graph = a->graph};
    return true;
}

static bool write_memset(const struct xferscope_simgpu_activity *a)
{
    struct sim_cupti_memset *r = room_for(sizeof(*r));

    if (!r)
        return false;
    *r = (struct sim_cupti_memset){.kind = SIM_CUPTI_MEMSET,
                                   .value = a->value,
                                   .bytes = a->bytes,
                                   .start = client_time(a->start_ns),
                                   .end = client_time(a->end_ns),
                                   .device = a->device,
                                   .context = a->context,
                                   .stream = a->stream,
                                   .correlation = a->correlation,
                                   .flags = a->asynchronous ? XCP_MEMSET_ASYNC : 0,
                                   .memory_kind = XCP_MEMORY_DEVICE,
                                   .graph_node = a->graph ? a->graph_node : 0,
                                   .graph = a->graph};
    return true;
}

static bool write_kernel(const struct xferscope_simgpu_activity *a, int kind)
{
    struct sim_cupti_kernel *r = room_for(sizeof(*r));

    if (!r)
        return false;
    *r = (struct sim_cupti_kernel){.kind = kind,
                                   .start = client_time(a->start_ns),
                                   .end = client_time(a->end_ns),
                                   .completed = client_time(a->end_ns),
                                   .device = a->device,
                                   .context = a->context,
                                   .stream = a->stream,
                                   .correlation = a->correlation,
                                   .name = a->name,
                                   .graph_node = a->graph ? a->graph_node : 0,
                                   .graph = a->graph};
    for (int i = 0; i < 3; i++) {
        r->grid[i] = (int32_t)a->grid[i];
        r->block[i] = (int32_t)a->block[i];
    }
    return true;
}

/* The counters that were asked for, by number. */
static uint32_t counters;

static int counter_of(const struct xferscope_simgpu_activity *a)
{
    if (a->what == XFERSCOPE_SIMGPU_FAULT)
        return a->dst_device < 0 ? XCP_COUNTER_CPU_FAULT : XCP_COUNTER_GPU_FAULT;
    if (a->src_device >= 0 && a->dst_device >= 0)
        return XCP_COUNTER_DTOD;
    return a->dst_device < 0 ? XCP_COUNTER_DTOH : XCP_COUNTER_HTOD;
}

static int access_kind(const struct xferscope_simgpu_activity *a)
{
    return a->write ? XFT_ACCESS_WRITE : XFT_ACCESS_READ;
}

static uint32_t device_number(int device)
{
    return device < 0 ? 0 : (uint32_t)device; /* as CUPTI has it: the host is 0, too */
}

static bool write_counter(const struct xferscope_simgpu_activity *a)
{
    int counter = counter_of(a);
    bool host = counter == XCP_COUNTER_CPU_FAULT, fault = a->what == XFERSCOPE_SIMGPU_FAULT;
    struct sim_cupti_counter *r;

    if (!(counters & 1u << counter) || !(r = room_for(sizeof(*r))))
        return false;
    *r = (struct sim_cupti_counter){.kind = SIM_CUPTI_COUNTER,
                                    .counter = counter,
                                    .value = a->bytes,
                                    .start = client_time(a->start_ns),
                                    .end = host ? 0 : client_time(a->end_ns),
                                    .address = (uint64_t)(uintptr_t)a->address,
                                    .src = device_number(fault ? a->dst_device : a->src_device),
                                    .dst = device_number(a->dst_device),
                                    .process = (uint32_t)getpid(),
                                    .flags = (uint32_t)(fault ? access_kind(a) : a->cause)};
    if (fault)
        r->value = host ? (uint64_t)(uintptr_t)a->instruction : a->count;
    return true;
}

static bool is_counter(const struct xferscope_simgpu_activity *a)
{
    return a->what == XFERSCOPE_SIMGPU_MIGRATION || a->what == XFERSCOPE_SIMGPU_FAULT;
}

static bool write_record(const struct xferscope_simgpu_activity *a)
{
    bool between_devices = a->what == XFERSCOPE_SIMGPU_COPY && copy_kind(a) == XCP_COPY_PTOP;

    if (a->what == XFERSCOPE_SIMGPU_COPY && between_devices)
        return enabled[SIM_CUPTI_MEMCPY2] && write_peer_copy(a);
    if (a->what == XFERSCOPE_SIMGPU_COPY)
        return enabled[SIM_CUPTI_MEMCPY] && write_copy(a);
    if (a->what == XFERSCOPE_SIMGPU_MEMSET)
        return enabled[SIM_CUPTI_MEMSET] && write_memset(a);
    if (a->what == XFERSCOPE_SIMGPU_KERNEL && enabled[SIM_CUPTI_CONCURRENT_KERNEL])
        return write_kernel(a, SIM_CUPTI_CONCURRENT_KERNEL);
    if (a->what == XFERSCOPE_SIMGPU_KERNEL)
        return enabled[SIM_CUPTI_KERNEL] && write_kernel(a, SIM_CUPTI_KERNEL);
    return is_counter(a) && enabled[SIM_CUPTI_COUNTER] && write_counter(a);
}

static int on_activity(const struct xferscope_simgpu_activity *a)
{
    bool recorded;

    pthread_mutex_lock(&lock);
    recorded = request && write_record(a);
    pthread_mutex_unlock(&lock);
    return recorded;
}

/* ---- callbacks ---------------------------------------------------------------------------- */

/* The driver numbers its functions in the order of its list; CUPTI has numbers of its own. */
#define SIM_FUNCTION(base, symbol, version, variant) FN_##symbol,
enum driver_function {
#include "tools/simgpu/driver/functions.def"
    FUNCTIONS
};
#undef SIM_FUNCTION
/* Listed by CUPTI, not exported by this driver. */
enum { FN_cuMemcpy_v2 = FUNCTIONS, FN_cuLaunch, FN_cuLaunchGrid, FN_cuLaunchGridAsync, LISTED };

static const uint16_t numbers[LISTED] = {
#define X(number, name) [FN_##name] = number,
#include "xferscope/cupti_calls.def"
#include "xferscope/cupti_launches.def"
#undef X
};

static xcp_callback_function callback;
static void *callback_user;
static atomic_bool call_enabled[FUNCTIONS + 1];
static int subscribed; /* its address is the subscriber's handle */

static void on_call(int entering, unsigned function, const char *name, uint32_t correlation,
                    void *context, int result)
{
    static _Thread_local uint64_t correlation_data;
    struct xcp_callback_data data = {.site = entering ? XCP_SITE_ENTER : 1,
                                     .function = name,
                                     .return_value = entering ? NULL : &result,
                                     .context = context,
                                     .correlation_data = &correlation_data,
                                     .correlation = correlation};

    if (function < FUNCTIONS && atomic_load(&call_enabled[function]) && callback)
        callback(callback_user, XCP_DOMAIN_DRIVER, numbers[function], &data);
}

static const struct xferscope_simgpu_hooks hooks = {on_activity, on_call};

static bool saw_all_contexts; /* being made: the subscriber came first */

/* A real CUPTI sometimes crashes where it is attached while contexts exist or are being made. This
 * one always aborts, so that tests find such code. XFERSCOPE_SIMGPU_CUPTI_LATE=1 allows it, for
 * programs with a profiler of their own. */
static void refuse_late(const char *what)
{
    if (xferscope_simgpu_cupti_late())
        return;
    fprintf(stderr, "simulated CUPTI: %s beside %d contexts that it has not seen being made\n",
            what, xferscope_simgpu_contexts());
    abort();
}

API(Subscribe, (xcp_subscriber * out, xcp_callback_function function, void *user))
{
    xcp_result result = XCP_SUCCESS;

    if (!out)
        return INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    if (subscribed) {
        result = XCP_ERROR_MULTIPLE_SUBSCRIBERS;
    } else {
        saw_all_contexts = xferscope_simgpu_contexts() == 0;
        if (!saw_all_contexts)
            refuse_late("cuptiSubscribe");
        subscribed = 1;
        callback = function;
        callback_user = user;
        *out = &subscribed;
        xferscope_simgpu_set_hooks(&hooks);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static bool is_subscriber(xcp_subscriber subscriber)
{
    return subscribed && subscriber == &subscribed;
}

API(Unsubscribe, (xcp_subscriber subscriber))
{
    if (!is_subscriber(subscriber))
        return INVALID_PARAMETER;
    for (int i = 0; i < FUNCTIONS; i++)
        atomic_store(&call_enabled[i], false);
    subscribed = 0;
    saw_all_contexts = false;
    return XCP_SUCCESS;
}

API(EnableCallback, (uint32_t enable, xcp_subscriber subscriber, int domain, uint32_t number))
{
    bool has_number = false;

    if (!is_subscriber(subscriber))
        return INVALID_PARAMETER;
    if (domain != XCP_DOMAIN_DRIVER)
        return XCP_SUCCESS; /* nothing is ever called from the others */
    for (int i = 0; i < FUNCTIONS; i++)
        if (numbers[i] && numbers[i] == number) {
            atomic_store(&call_enabled[i], enable != 0);
            has_number = true;
        }
    return has_number ? XCP_SUCCESS : INVALID_PARAMETER;
}

API(EnableDomain, (uint32_t enable, xcp_subscriber subscriber, int domain))
{
    if (!is_subscriber(subscriber))
        return INVALID_PARAMETER;
    for (int i = 0; domain == XCP_DOMAIN_DRIVER && i < FUNCTIONS; i++)
        atomic_store(&call_enabled[i], enable && numbers[i]);
    return XCP_SUCCESS;
}

/* ---- activity ----------------------------------------------------------------------------- */

API(ActivityRegisterCallbacks, (xcp_buffer_requested requested, xcp_buffer_completed completed))
{
    if (!requested || !completed)
        return INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    request = requested;
    complete = completed;
    pthread_mutex_unlock(&lock);
    xferscope_simgpu_set_hooks(&hooks);
    return XCP_SUCCESS;
}

static xcp_result set_kind(int kind, bool on)
{
    if (!record_bytes(kind))
        return kind < 0 ? INVALID_KIND : NOT_SUPPORTED;
    if (on && !saw_all_contexts && xferscope_simgpu_contexts() > 0)
        refuse_late("cuptiActivityEnable");
    pthread_mutex_lock(&lock);
    enabled[kind] = on;
    pthread_mutex_unlock(&lock);
    return XCP_SUCCESS;
}

/* For programs that wait for a profiler to switch records (tests/programs/dense.c): whether those
 * of this kind are on. */
__attribute__((visibility("default"))) int xferscope_simgpu_cupti_records(int kind);
int xferscope_simgpu_cupti_records(int kind)
{
    pthread_mutex_lock(&lock);
    int on = kind > 0 && kind < LAST_KIND && enabled[kind];
    pthread_mutex_unlock(&lock);
    return on;
}

API(ActivityEnable, (int kind))
{
    return set_kind(kind, true);
}

API(ActivityDisable, (int kind))
{
    return set_kind(kind, false);
}

API(ActivityConfigureUnifiedMemoryCounter, (struct xcp_counter_config * config, uint32_t count))
{
    if (!config || !count)
        return INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bit =
            config[i].counter > 0 && config[i].counter < 32 ? 1u << config[i].counter : 0;

        counters = config[i].enable ? counters | bit : counters & ~bit;
    }
    pthread_mutex_unlock(&lock);
    return XCP_SUCCESS;
}

API(ActivityFlushAll, (uint32_t flag))
{
    pthread_mutex_lock(&lock);
    if (complete)
        hand_over();
    pthread_mutex_unlock(&lock);
    return complete ? XCP_SUCCESS : NOT_INITIALIZED;
}

API(ActivityGetNextRecord, (uint8_t * at, size_t valid, struct xcp_activity **record))
{
    uint8_t *next = at;

    if (!record)
        return INVALID_PARAMETER;
    if (!at || !valid)
        return MAX_LIMIT_REACHED;
    if (*record)
        next = (uint8_t *)*record + record_bytes((*record)->kind);
    if (next >= at + valid)
        return MAX_LIMIT_REACHED;
    *record = (struct xcp_activity *)next;
    return record_bytes((*record)->kind) ? XCP_SUCCESS : INVALID_KIND;
}

API(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *out))
{
    if (!out)
        return INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    *out = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return XCP_SUCCESS;
}

/* Buffer sizes and the like make no difference here. */
API(ActivitySetAttribute, (int attribute, size_t *bytes, void *value))
{
    return bytes && value ? XCP_SUCCESS : INVALID_PARAMETER;
}

API(ActivityRegisterTimestampCallback, (xcp_timestamp_callback clock))
{
    uint64_t before, theirs, after;

    if (!clock)
        return INVALID_PARAMETER;
    before = xferscope_simgpu_now_ns();
    theirs = clock();
    after = xferscope_simgpu_now_ns();
    client_clock = clock;
    /* between the two readings it is the simulation's own clock */
    clock_offset = theirs >= before && theirs <= after ? 0 : (int64_t)(theirs - before);
    return XCP_SUCCESS;
}

API(GetTimestamp, (uint64_t * out))
{
    if (!out)
        return INVALID_PARAMETER;
    *out = client_clock ? client_clock() : xferscope_simgpu_now_ns();
    return XCP_SUCCESS;
}

API(GetVersion, (uint32_t * out))
{
    if (!out)
        return INVALID_PARAMETER;
    *out = SIM_CUPTI_VERSION;
    return XCP_SUCCESS;
}

API(GetResultString, (xcp_result result, const char **out))
{
    static const struct {
        xcp_result result;
        const char *name;
    } names[] = {
        {XCP_SUCCESS, "CUPTI_SUCCESS"},
        {INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
        {MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
        {NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
        {INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
        {NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
        {XCP_ERROR_MULTIPLE_SUBSCRIBERS, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
    };

    for (size_t i = 0; out && i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].result == result) {
            *out = names[i].name;
            return XCP_SUCCESS;
        }
    return INVALID_PARAMETER;
}
