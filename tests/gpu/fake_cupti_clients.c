#include "tests/gpu/fake_cupti_clients.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/gpu/fake_cupti.h"
#include "xferscope/cupti_abi.h"

#define EXPORT __attribute__((visibility("default")))

static struct client {
    bool used;
    char name[54];
    bool kinds[64];
    xcp_buffer_requested_v2 requested;
    xcp_buffer_completed_v2 completed;
    uint8_t *buffer;
    size_t size, filled;
} clients[3];
#define CLIENTS (sizeof clients / sizeof *clients)
static uint8_t state = XCP_CLIENTS_UNDECIDED;
static bool ever_enabled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define EACH(c) for (struct client *c = clients; c < clients + CLIENTS; c++)

bool fake_clients_is_one(const void *subscriber)
{
    EACH(c)
    if (subscriber == c)
        return c->used;
    return false;
}

/* Whether the next first client may decide anew is not documented: here it may. */
bool fake_clients_leave(const void *subscriber)
{
    struct client *c = (struct client *)subscriber;
    if (!fake_clients_is_one(subscriber))
        return false;
    c->used = false;
    if (--fake_cupti_controls()->clients == 0)
        state = XCP_CLIENTS_UNDECIDED;
    return true;
}

/* ---- records --------------------------------------------------------------------------------- */

static void hand_over(struct client *c)
{
    if (c->buffer)
        c->completed(c->buffer, c->size, c->filled, NULL);
    c->buffer = NULL;
    c->filled = 0;
}

static void put(struct client *c, const void *record, size_t bytes)
{
    size_t most, need = sizeof(uint64_t) + (bytes + 7) / 8 * 8;
    if (c->buffer && c->filled + need > c->size)
        hand_over(c);
    if (c->buffer == NULL) {
        c->requested(&c->buffer, &c->size, &most, NULL);
        memset(c->buffer, 0, c->size); /* nobody has promised that it is */
    }
    memcpy(c->buffer + c->filled, &(uint64_t){need}, sizeof(uint64_t));
    memcpy(c->buffer + c->filled + sizeof(uint64_t), record, bytes);
    c->filled += need;
}

void fake_clients_record(const void *record, size_t bytes)
{
    int kind = ((const struct xcp_activity *)record)->kind;
    pthread_mutex_lock(&lock);
    EACH(c)
    if (c->used && c->requested && c->kinds[kind])
        put(c, record, bytes);
    pthread_mutex_unlock(&lock);
}

void fake_clients_flush(void)
{
    pthread_mutex_lock(&lock);
    EACH(c)
    if (c->used)
        hand_over(c);
    pthread_mutex_unlock(&lock);
}

/* ---- the calls of the second kind ------------------------------------------------------------ */

#define DECLARE(name, params) EXPORT xcp_result cupti##name params;
XCP_NEWER_FUNCTIONS(DECLARE)

static struct client *free_client(void)
{
    EACH(c)
    if (!c->used)
        return c;
    return NULL;
}

static void tell_name(const struct xcp_subscriber_params *p)
{
    EACH(c)
    if (c->used && p->other) {
        snprintf(p->other, p->other_bytes, "CUPTI for %s", c->name);
        return;
    }
}

xcp_result cuptiSubscribe_v2(xcp_subscriber *subscriber, xcp_callback_function callback, void *user,
                             struct xcp_subscriber_params *p)
{
    struct fake_cupti *fake = fake_cupti_controls();
    struct client *c = free_client();
    bool several = p && p->struct_size >= sizeof *p && p->several;
    if (p && p->struct_size == 0)
        return XCP_ERROR_INVALID_PARAMETER;
    if (several && fake->old_driver)
        return XCP_ERROR_NOT_SUPPORTED;
    if (p)
        tell_name(p);
    if (fake->subscribed > fake->unsubscribed && fake->clients == 0)
        return XCP_ERROR_MULTIPLE_SUBSCRIBERS; /* one of the first kind is there */
    if (c == NULL || (fake->clients > 0 && !(several && state == XCP_CLIENTS_SEVERAL)))
        return XCP_ERROR_MULTIPLE_SUBSCRIBERS;
    *c = (struct client){.used = true};
    snprintf(c->name, sizeof c->name, "%s", p && p->name ? p->name : "");
    state = several ? XCP_CLIENTS_SEVERAL : XCP_CLIENTS_ONE;
    fake->clients++;
    if (strcmp(c->name, "the other") != 0) {
        fake->subscribed++;
        fake->subscribed_by = gettid();
        fake->on_call = callback;
    }
    *subscriber = c;
    return XCP_SUCCESS;
}

static bool is_stranger(xcp_subscriber subscriber)
{
    return !fake_clients_is_one(subscriber);
}

xcp_result cuptiActivityEnable_v2(xcp_subscriber subscriber, int kind, void *config)
{
    struct fake_cupti *fake = fake_cupti_controls();
    if (is_stranger(subscriber) || config != NULL)
        return XCP_ERROR_INVALID_PARAMETER;
    ((struct client *)subscriber)->kinds[kind] = ever_enabled = true;
    fake->kinds_enabled[kind]++;
    fake->enabled_by = gettid();
    return XCP_SUCCESS;
}

xcp_result cuptiActivityDisable_v2(xcp_subscriber subscriber, int kind, void *config)
{
    if (is_stranger(subscriber) || config != NULL)
        return XCP_ERROR_INVALID_PARAMETER;
    ((struct client *)subscriber)->kinds[kind] = false;
    fake_cupti_controls()->kinds_disabled[kind]++;
    return XCP_SUCCESS;
}

xcp_result cuptiActivityRegisterCallbacks_v2(xcp_subscriber subscriber, xcp_buffer_requested_v2 r,
                                             xcp_buffer_completed_v2 c)
{
    if (is_stranger(subscriber))
        return XCP_ERROR_INVALID_PARAMETER;
    ((struct client *)subscriber)->requested = r;
    ((struct client *)subscriber)->completed = c;
    fake_cupti_controls()->buffers_registered++;
    return XCP_SUCCESS;
}

xcp_result cuptiActivityGetNextRecord(uint8_t *at, size_t valid, struct xcp_activity **record);

xcp_result cuptiActivityGetNextRecord_v2(xcp_subscriber subscriber, uint8_t *at, size_t valid,
                                         struct xcp_activity **record)
{
    return is_stranger(subscriber) ? XCP_ERROR_INVALID_PARAMETER
                                   : cuptiActivityGetNextRecord(at, valid, record);
}

xcp_result cuptiActivityGetNumDroppedRecords_v2(xcp_subscriber subscriber, void *context,
                                                uint32_t stream, size_t *dropped)
{
    struct fake_cupti *fake = fake_cupti_controls();
    if (is_stranger(subscriber))
        return XCP_ERROR_INVALID_PARAMETER;
    *dropped = fake->dropped;
    fake->dropped = 0;
    return XCP_SUCCESS;
}

xcp_result cuptiActivityGetAttribute_v2(xcp_subscriber subscriber, int attribute, size_t *bytes,
                                        void *value)
{
    struct fake_cupti *fake = fake_cupti_controls();
    if (*bytes != 1)
        return XCP_ERROR_INVALID_PARAMETER;
    if (attribute != XCP_ATTRIBUTE_CLIENTS && attribute != XCP_ATTRIBUTE_HARDWARE_EVENTS)
        return XCP_ERROR_NOT_SUPPORTED;
    *(uint8_t *)value = attribute == XCP_ATTRIBUTE_CLIENTS ? state : (uint8_t)fake->hardware;
    return XCP_SUCCESS;
}

xcp_result cuptiActivitySetAttribute_v2(xcp_subscriber subscriber, int attribute, size_t *bytes,
                                        void *value)
{
    struct fake_cupti *fake = fake_cupti_controls();
    if (*bytes != 1 || attribute != XCP_ATTRIBUTE_HARDWARE_EVENTS)
        return XCP_ERROR_NOT_SUPPORTED;
    fake->hardware_asked++;
    if (fake->clients > 0 || ever_enabled || *(uint8_t *)value != 1)
        return XCP_ERROR_NOT_COMPATIBLE;
    if (fake->no_hardware)
        return XCP_ERROR_NOT_SUPPORTED;
    fake->hardware = 1;
    return XCP_SUCCESS;
}

xcp_result cuptiGetTimestamp_v2(xcp_subscriber subscriber, uint64_t *now)
{
    struct fake_cupti *fake = fake_cupti_controls();
    if (is_stranger(subscriber) || fake->clock_is_broken)
        return XCP_ERROR_INVALID_PARAMETER;
    *now = fake->trace_now() + (uint64_t)fake->clock_offset;
    return XCP_SUCCESS;
}

/* ---- another profiler ------------------------------------------------------------------------ */

static _Alignas(8) uint8_t others_memory[1 << 16];
static int others_records;

static void others_buffer(uint8_t **buffer, size_t *size, size_t *most, void *info)
{
    *buffer = others_memory;
    *size = sizeof others_memory;
    *most = 0;
}

static void others_buffer_back(uint8_t *buffer, size_t size, size_t valid, void *info)
{
    struct xcp_activity *record = NULL;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == XCP_SUCCESS)
        others_records++;
}

EXPORT int fake_cupti_other(int several, int kind)
{
    xcp_subscriber subscriber;
    struct xcp_subscriber_params params = {
        .struct_size = sizeof params, .name = "the other", .several = (uint8_t)several};
    xcp_result result = cuptiSubscribe_v2(&subscriber, NULL, NULL, &params);
    if (result == XCP_SUCCESS) {
        cuptiActivityRegisterCallbacks_v2(subscriber, others_buffer, others_buffer_back);
        ((struct client *)subscriber)->kinds[kind] = true;
    }
    return result;
}

EXPORT int fake_cupti_other_records(void)
{
    return others_records;
}
