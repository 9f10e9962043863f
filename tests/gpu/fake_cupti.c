#include "tests/gpu/fake_cupti.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "tests/gpu/fake_cupti_clients.h"
#include "xferscope/cupti_abi.h"

#define EXPORT __attribute__((visibility("default")))

static struct fake_cupti fake = {.version = 130001, .counters_most = 5};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static xcp_buffer_requested requested;
static xcp_buffer_completed completed;
static uint8_t *buffer;
static size_t size, used;

EXPORT struct fake_cupti *fake_cupti_controls(void)
{
    return &fake;
}

static void check_zeroed(void)
{
    for (size_t i = 0; i < size; i++) {
        if (buffer[i] != 0) {
            fake.dirty_buffers++;
            return;
        }
    }
}

static void hand_over(void)
{
    if (buffer)
        completed(NULL, 0, buffer, size, used);
    buffer = NULL;
    used = 0;
}

/* Records are stored one behind the other, each after its length. */
EXPORT void fake_cupti_record(const void *record, size_t bytes)
{
    if (fake.clients > 0) {
        fake_clients_record(record, bytes);
        return;
    }
    pthread_mutex_lock(&lock);
    size_t max_records, need = sizeof(uint64_t) + (bytes + 7) / 8 * 8;
    if (buffer && used + need > size)
        hand_over();
    if (buffer == NULL) {
        requested(&buffer, &size, &max_records);
        if (buffer)
            check_zeroed();
    }
    if (buffer) {
        memcpy(buffer + used, &(uint64_t){need}, sizeof(uint64_t));
        memcpy(buffer + used + sizeof(uint64_t), record, bytes);
        used += need;
    } else {
        fake.dropped++;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- what CUPTI offers ---------------------------------------------------------------------- */

EXPORT xcp_result cuptiSubscribe(xcp_subscriber *subscriber, xcp_callback_function callback,
                                 void *user);
EXPORT xcp_result cuptiUnsubscribe(xcp_subscriber subscriber);
EXPORT xcp_result cuptiEnableCallback(uint32_t enable, xcp_subscriber subscriber, int domain,
                                      uint32_t call);
EXPORT xcp_result cuptiActivityEnable(int kind);
EXPORT xcp_result cuptiActivityDisable(int kind);
EXPORT xcp_result cuptiActivityRegisterCallbacks(xcp_buffer_requested r, xcp_buffer_completed c);
EXPORT xcp_result cuptiActivityGetNextRecord(uint8_t *at, size_t valid,
                                             struct xcp_activity **record);
EXPORT xcp_result cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream,
                                                    size_t *dropped);
EXPORT xcp_result cuptiActivityFlushAll(uint32_t flag);
EXPORT xcp_result cuptiGetTimestamp(uint64_t *now);
EXPORT xcp_result cuptiActivitySetAttribute(int attribute, size_t *bytes, void *value);
EXPORT xcp_result cuptiActivityConfigureUnifiedMemoryCounter(struct xcp_counter_config *config,
                                                             uint32_t count);
EXPORT xcp_result cuptiActivityRegisterTimestampCallback(xcp_timestamp_callback clock);
EXPORT xcp_result cuptiGetVersion(uint32_t *version);

/* The two kinds of calls exclude each other. */
static bool mixes(void)
{
    fake.mixed += fake.clients > 0;
    return fake.clients > 0;
}

xcp_result cuptiSubscribe(xcp_subscriber *subscriber, xcp_callback_function callback, void *user)
{
    if (mixes())
        return XCP_ERROR_MULTIPLE_SUBSCRIBERS;
    if (fake.subscribe_result == XCP_SUCCESS) {
        fake.subscribed++;
        fake.subscribed_by = gettid();
        fake.on_call = callback;
        *subscriber = &fake;
    }
    return fake.subscribe_result;
}

xcp_result cuptiUnsubscribe(xcp_subscriber subscriber)
{
    fake.unsubscribed += subscriber == &fake || fake_clients_leave(subscriber);
    return XCP_SUCCESS;
}

xcp_result cuptiEnableCallback(uint32_t enable, xcp_subscriber subscriber, int domain,
                               uint32_t call)
{
    bool known = subscriber == &fake || fake_clients_is_one(subscriber);
    fake.calls_watched += enable == 1 && known && domain == XCP_DOMAIN_DRIVER;
    return XCP_SUCCESS;
}

xcp_result cuptiActivityEnable(int kind)
{
    fake.enabled_by = gettid();
    if (mixes())
        return XCP_ERROR_MULTIPLE_SUBSCRIBERS;
    if (kind == fake.refused_kind)
        return XCP_ERROR_NOT_SUPPORTED;
    if (fake.enable_result == XCP_SUCCESS && requested != NULL && fake.subscribed)
        fake.kinds_enabled[kind]++;
    return fake.enable_result;
}

xcp_result cuptiActivityRegisterCallbacks(xcp_buffer_requested r, xcp_buffer_completed c)
{
    if (mixes())
        return XCP_ERROR_MULTIPLE_SUBSCRIBERS;
    fake.buffers_registered++;
    requested = r;
    completed = c;
    return XCP_SUCCESS;
}

xcp_result cuptiActivityGetNextRecord(uint8_t *at, size_t valid, struct xcp_activity **record)
{
    size_t next = 0;
    if (*record) {
        uint64_t step;
        uint8_t *last = (uint8_t *)*record - sizeof step;
        memcpy(&step, last, sizeof step);
        next = (size_t)(last - at) + step;
    }
    if (next >= valid)
        return 12; /* CUPTI_ERROR_MAX_LIMIT_REACHED */
    *record = (struct xcp_activity *)(at + next + sizeof(uint64_t));
    return XCP_SUCCESS;
}

xcp_result cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    *dropped = fake.dropped;
    fake.dropped = 0;
    return XCP_SUCCESS;
}

xcp_result cuptiActivityFlushAll(uint32_t flag)
{
    fake.flushes++;
    fake.forced_flushes += flag == XCP_FLUSH_FORCED;
    while (fake.hang_in_flush && flag == XCP_FLUSH_FORCED)
        pause();
    fake_clients_flush();
    pthread_mutex_lock(&lock);
    if (!fake.hang_in_flush) /* nor by the flush of each second, should it come in between */
        hand_over();
    pthread_mutex_unlock(&lock);
    return XCP_SUCCESS;
}

xcp_result cuptiGetTimestamp(uint64_t *now)
{
    if (mixes())
        return XCP_ERROR_NOT_COMPATIBLE;
    *now = fake.trace_now() + (uint64_t)fake.clock_offset;
    return XCP_SUCCESS;
}

xcp_result cuptiActivitySetAttribute(int attribute, size_t *bytes, void *value)
{
    if (mixes())
        return XCP_ERROR_MULTIPLE_SUBSCRIBERS;
    fake.zeroed_promised =
        attribute == XCP_ATTRIBUTE_ZEROED_BUFFERS && *bytes == 1 && *(uint8_t *)value == 1;
    return XCP_SUCCESS;
}

xcp_result cuptiActivityDisable(int kind)
{
    if (mixes())
        return XCP_ERROR_MULTIPLE_SUBSCRIBERS;
    fake.kinds_disabled[kind]++;
    return XCP_SUCCESS;
}

xcp_result cuptiActivityConfigureUnifiedMemoryCounter(struct xcp_counter_config *config,
                                                      uint32_t count)
{
    if (count > fake.counters_most)
        return 24; /* CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE or the like */
    for (uint32_t i = 0; i < count; i++)
        fake.counters += config[i].enable && config[i].scope == XCP_COUNTER_SCOPE_ALL &&
                         fake.kinds_enabled[XCP_ACTIVITY_COUNTER] == 0;
    return XCP_SUCCESS;
}

xcp_result cuptiActivityRegisterTimestampCallback(xcp_timestamp_callback clock)
{
    if (mixes())
        return XCP_ERROR_MULTIPLE_SUBSCRIBERS;
    fake.clock = clock;
    return fake.clock_result;
}

xcp_result cuptiGetVersion(uint32_t *version)
{
    *version = fake.version;
    return XCP_SUCCESS;
}
