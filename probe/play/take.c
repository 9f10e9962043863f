#include "probe/play/take.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "probe/measure/budget.h"
#include "probe/session.h"

#define SLEEPS_FROM_NS 1000000u /* a wait of that length, when there are too few processors */
#define AWAKE_BEFORE_NS 200000u

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() (void)0
#endif

static uint64_t now_ns(const struct xfp_taker *t)
{
    return xfp_driver_now_ns(t->run->made->sys->cu);
}

static bool has_ended(const struct xfp_play_run *run)
{
    return atomic_load_explicit(&run->stop, memory_order_relaxed) || xfp_interrupted() ||
           xfp_wall_ns() > run->deadline_ns;
}

/* ---- the thread's own time ------------------------------------------------------------------ */

static void sleep_until(uint64_t ns)
{
    struct timespec when = {.tv_sec = (time_t)(ns / 1000000000u),
                            .tv_nsec = (long)(ns % 1000000000u)};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

/* Threads on the simulated machine share its clock: the own time of one passes for all. */
static void spend_until(struct xfp_taker *t, uint64_t until)
{
    static pthread_mutex_t clock = PTHREAD_MUTEX_INITIALIZER;
    uint64_t now;

    pthread_mutex_lock(&clock);
    now = now_ns(t);
    if (now < until)
        t->run->made->sys->cu->simulated_spend_ns(until - now);
    pthread_mutex_unlock(&clock);
}

static void spin_until(struct xfp_taker *t, uint64_t until)
{
    const struct xfp_driver *cu = t->run->made->sys->cu;
    uint64_t now = now_ns(t);

    if (cu->simulated_spend_ns) {
        spend_until(t, until);
        return;
    }
    if (t->run->crowded && now + SLEEPS_FROM_NS < until)
        sleep_until(until - AWAKE_BEFORE_NS);
    while (now_ns(t) < until && !atomic_load_explicit(&t->run->stop, memory_order_relaxed))
        PAUSE();
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* The address of memory for the driver's generic copies. */
static xcu_deviceptr address_of(const struct xfp_buffer *b, uint64_t at)
{
    return (b->host ? (xcu_deviceptr)(uintptr_t)b->host : b->address) + at;
}

static xcu_result copy_rows(const struct xfp_driver *cu, const struct xfp_play_step *s,
                            const struct xfp_buffer *src, const struct xfp_buffer *dst,
                            xcu_stream stream)
{
    struct xcu_memcpy2d copy = {.width = s->row_bytes,
                                .height = s->amount / s->row_bytes,
                                .src_type = src->host ? XCU_MEMORY_HOST : XCU_MEMORY_DEVICE,
                                .src_host = src->host ? src->host + s->src_at : NULL,
                                .src_device = src->address + s->src_at,
                                .src_pitch = (src->host ? 2 : 1) * (size_t)s->row_bytes,
                                .dst_type = dst->host ? XCU_MEMORY_HOST : XCU_MEMORY_DEVICE,
                                .dst_host = dst->host ? dst->host + s->dst_at : NULL,
                                .dst_device = dst->address + s->dst_at,
                                .dst_pitch = (dst->host ? 2 : 1) * (size_t)s->row_bytes};

    return cu->cuMemcpy2DAsync(&copy, stream);
}

static xcu_result copy_async(const struct xfp_driver *cu, const struct xfp_play_step *s,
                             const struct xfp_buffer *src, const struct xfp_buffer *dst,
                             xcu_stream stream)
{
    if (s->row_bytes && cu->cuMemcpy2DAsync)
        return copy_rows(cu, s, src, dst, stream);
    if (src->host)
        return cu->cuMemcpyHtoDAsync(address_of(dst, s->dst_at), src->host + s->src_at, s->amount,
                                     stream);
    if (dst->host)
        return cu->cuMemcpyDtoHAsync(dst->host + s->dst_at, address_of(src, s->src_at), s->amount,
                                     stream);
    if (src->device == dst->device)
        return cu->cuMemcpyDtoDAsync(address_of(dst, s->dst_at), address_of(src, s->src_at),
                                     s->amount, stream);
    return cu->cuMemcpyPeerAsync(address_of(dst, s->dst_at), dst->device->context,
                                 address_of(src, s->src_at), src->device->context, s->amount,
                                 stream);
}

/* The blocking call works on the legacy default stream; on others, an asynchronous copy and a wait.
 */
static xcu_result copy(struct xfp_taker *t, const struct xfp_play_step *s, xcu_stream stream)
{
    const struct xfp_made_stage *made = t->run->made;
    const struct xfp_driver *cu = made->sys->cu;
    const struct xfp_buffer *src = &made->regions[s->src], *dst = &made->regions[s->dst];
    bool blocks = s->flags & XFP_PLAY_BLOCKS;
    xcu_result result;

    if (blocks && !stream && !s->row_bytes && src->host)
        return cu->cuMemcpyHtoD(address_of(dst, s->dst_at), src->host + s->src_at, s->amount);
    if (blocks && !stream && !s->row_bytes && dst->host)
        return cu->cuMemcpyDtoH(dst->host + s->dst_at, address_of(src, s->src_at), s->amount);
    result = copy_async(cu, s, src, dst, stream);
    return result || !blocks ? result : cu->cuStreamSynchronize(stream);
}

/* Copies as many bytes as take that long; more than the buffers' size in several copies. */
static xcu_result copy_for(struct xfp_taker *t, const struct xfp_play_step *s, xcu_stream stream)
{
    const struct xfp_made_stage *made = t->run->made;
    int from = s->src == XFP_PLAY_NONE ? -1 : (int)s->src;
    int to = s->dst == XFP_PLAY_NONE ? -1 : (int)s->dst;
    const struct xfp_pace *pace = &made->gpus[from < 0 ? to : from].pace[xfp_way_of(from, to)];
    double left = (double)s->amount;
    double whole = pace->fixed_ns + XFP_STAGING_BYTES * pace->ns_per_byte;
    xcu_result result = XCU_SUCCESS;

    do {
        double bytes = pace->ns_per_byte > 0 ? (left - pace->fixed_ns) / pace->ns_per_byte : 0;
        uint64_t now = bytes < 1                   ? 1
                       : bytes < XFP_STAGING_BYTES ? (uint64_t)bytes
                                                   : XFP_STAGING_BYTES;

        result = xfp_copy_staging(made, from, to, now, stream);
        left -= whole;
    } while (!result && left > 0 && whole > 0);
    if (result || !(s->flags & XFP_PLAY_BLOCKS))
        return result;
    return made->sys->cu->cuStreamSynchronize(stream);
}

static xcu_result launch(struct xfp_taker *t, const struct xfp_play_step *s, xcu_stream stream)
{
    const struct xfp_made_stage *made = t->run->made;
    const struct xfp_play_gpu *gpu = &made->gpus[s->device];
    bool exclusive = s->flags & XFP_PLAY_EXCLUSIVE;
    double overhead = exclusive ? gpu->exclusive_ns : gpu->kernel_ns;
    double ns = (double)s->amount - overhead;

    return xfp_launch_spin(made->sys, gpu->device, stream, ns > 0 ? (uint64_t)(ns + 0.5) : 0,
                           exclusive ? gpu->blocks : 0);
}

static xcu_result ask(struct xfp_taker *t, const struct xfp_play_step *s, xcu_stream stream)
{
    const struct xfp_made_stage *made = t->run->made;
    const struct xfp_driver *cu = made->sys->cu;
    xcu_result result;

    do
        result = s->what == XFP_PLAY_ASK_EVENT ? cu->cuEventQuery(made->events[s->event])
                                               : cu->cuStreamQuery(stream);
    while (result == XCU_ERROR_NOT_READY && !has_ended(t->run));
    return result == XCU_ERROR_NOT_READY ? XCU_SUCCESS : result;
}

/* ---- memory: what is refused is counted, and its time spent --------------------------------- */

static xcu_result allocate(const struct xfp_made_stage *made, const struct xfp_play_step *s)
{
    const struct xfp_driver *cu = made->sys->cu;
    struct xfp_play_slot *slot = &made->slots[s->dst];
    const unsigned int attach_global = 1;
    unsigned int flags = XCU_HOST_PORTABLE;
    xcu_result result;

    if (slot->taken)
        return XCU_ERROR_INVALID_VALUE;
    slot->memory = s->memory;
    if (s->memory == XFT_MEM_MANAGED)
        result = cu->cuMemAllocManaged
                     ? cu->cuMemAllocManaged(&slot->address, s->amount, attach_global)
                     : XCU_ERROR_NOT_SUPPORTED;
    else if (s->memory == XFT_MEM_DEVICE)
        result = cu->cuMemAlloc(&slot->address, s->amount);
    else {
        flags |= s->memory == XFT_MEM_WRITE_COMBINED ? XCU_HOST_WRITECOMBINED : 0u;
        flags |= s->memory == XFT_MEM_MAPPED ? XCU_HOST_DEVICEMAP : 0u;
        result = cu->cuMemHostAlloc(&slot->host, s->amount, flags);
    }
    slot->taken = !result;
    return result;
}

static xcu_result lock_pages(const struct xfp_made_stage *made, const struct xfp_play_step *s)
{
    const struct xfp_driver *cu = made->sys->cu;
    unsigned char *at = made->regions[s->dst].host + s->dst_at;
    xcu_result result = XCU_SUCCESS;

    if (s->what != XFP_PLAY_UNREGISTER)
        result = cu->cuMemHostRegister(at, s->amount, XCU_HOST_PORTABLE);
    if (!result && s->what != XFP_PLAY_REGISTER)
        result = cu->cuMemHostUnregister(at);
    return result;
}

static void change_memory(struct xfp_taker *t, const struct xfp_play_step *s)
{
    const struct xfp_made_stage *made = t->run->made;
    xcu_result result = s->what == XFP_PLAY_ALLOC  ? allocate(made, s)
                        : s->what == XFP_PLAY_FREE ? xfp_slot_release(made, s->dst)
                                                   : lock_pages(made, s);

    t->failed += result != XCU_SUCCESS;
}

/* ---- a step --------------------------------------------------------------------------------- */

static xcu_result call(struct xfp_taker *t, const struct xfp_play_step *s, xcu_stream stream)
{
    const struct xfp_made_stage *made = t->run->made;
    const struct xfp_driver *cu = made->sys->cu;

    switch ((enum xfp_play_what)s->what) {
    case XFP_PLAY_COPY:
        return copy(t, s, stream);
    case XFP_PLAY_COPY_FOR:
        return copy_for(t, s, stream);
    case XFP_PLAY_SET:
        return cu->cuMemsetD8Async
                   ? cu->cuMemsetD8Async(address_of(&made->regions[s->dst], s->dst_at), 0,
                                         s->amount, stream)
                   : XCU_SUCCESS;
    case XFP_PLAY_KERNEL:
        return launch(t, s, stream);
    case XFP_PLAY_RECORD:
        return cu->cuEventRecord(made->events[s->event], stream);
    case XFP_PLAY_WAIT:
        return cu->cuStreamWaitEvent(stream, made->events[s->event], 0);
    case XFP_PLAY_SYNC_STREAM:
        return cu->cuStreamSynchronize(stream);
    case XFP_PLAY_SYNC_EVENT:
        return cu->cuEventSynchronize(made->events[s->event]);
    case XFP_PLAY_SYNC_DEVICE:
        return cu->cuCtxSynchronize();
    case XFP_PLAY_ASK_STREAM:
    case XFP_PLAY_ASK_EVENT:
        return ask(t, s, stream);
    case XFP_PLAY_ALLOC:
    case XFP_PLAY_FREE:
    case XFP_PLAY_REGISTER:
    case XFP_PLAY_UNREGISTER:
    case XFP_PLAY_PIN:
        change_memory(t, s);
        break;
    case XFP_PLAY_HOST:
    case XFP_PLAY_AFTER:
        break;
    }
    return XCU_SUCCESS;
}

static void wait_for_thread(struct xfp_taker *t, const struct xfp_play_step *s)
{
    const _Atomic uint64_t *taken = &t->run->takers[s->stream].taken;
    bool yields = t->run->crowded || t->run->made->sys->cu->simulated_now_ns;

    while (atomic_load_explicit(taken, memory_order_acquire) < s->amount && !has_ended(t->run)) {
        if (yields)
            sched_yield();
        PAUSE();
    }
}

static void enter(struct xfp_taker *t, int device)
{
    const struct xfp_made_stage *made = t->run->made;

    if (device < 0 || device == t->device)
        return;
    made->sys->cu->cuCtxSetCurrent(made->gpus[device].device->context);
    t->device = device;
}

static bool only_submits(const struct xfp_play_step *s)
{
    return !(s->flags & XFP_PLAY_BLOCKS) &&
           (s->what == XFP_PLAY_COPY || s->what == XFP_PLAY_COPY_FOR || s->what == XFP_PLAY_SET ||
            s->what == XFP_PLAY_KERNEL || s->what == XFP_PLAY_RECORD || s->what == XFP_PLAY_WAIT);
}

static bool may_give_up(const struct xfp_play_step *s)
{
    return s->what == XFP_PLAY_AFTER || s->what == XFP_PLAY_ASK_STREAM ||
           s->what == XFP_PLAY_ASK_EVENT;
}

/* `until`: the time when the step before it ended. Returns the time when this one ends. */
static uint64_t take(struct xfp_taker *t, const struct xfp_play_step *s, uint64_t until)
{
    const struct xfp_made_stage *made = t->run->made;
    bool queued = s->stream != XFP_PLAY_NONE && s->what != XFP_PLAY_AFTER;
    xcu_stream stream = queued ? made->queues[s->stream].handle : NULL;
    uint64_t begun, back;

    if (s->what == XFP_PLAY_AFTER) {
        spin_until(t, until + s->gap_ns);
        wait_for_thread(t, s);
        return now_ns(t);
    }
    enter(t, s->device);
    spin_until(t, until + s->gap_ns);
    begun = now_ns(t);
    t->result = call(t, s, stream);
    if (!t->result && s->event != XFP_PLAY_NONE && only_submits(s) && s->what < XFP_PLAY_RECORD)
        t->result = made->sys->cu->cuEventRecord(made->events[s->event], stream);
    back = now_ns(t);
    if (only_submits(s) && back > begun + s->own_ns)
        t->late_ns += (double)(back - begun - s->own_ns);
    spin_until(t, begun + s->own_ns);
    return now_ns(t);
}

void xfp_get_ready(struct xfp_taker *t)
{
    for (size_t i = 0; i < t->count && t->device < 0; i++)
        enter(t, t->steps[i].device);
}

void xfp_take_steps(struct xfp_taker *t)
{
    const unsigned look = 64; /* steps */
    uint64_t now = now_ns(t);

    for (t->at = 0; t->at < t->count && !t->result; t->at++) {
        if (t->at % look == 0 && has_ended(t->run))
            return;
        now = take(t, &t->steps[t->at], now);
        if (t->result || (may_give_up(&t->steps[t->at]) && has_ended(t->run)))
            break;
        atomic_store_explicit(&t->taken, t->at + 1, memory_order_release);
    }
    t->ended_ns = now;
}
