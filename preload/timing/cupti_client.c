#include "preload/timing/cupti_client.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "preload/base/log.h"
#include "preload/lookup/driver.h"

/* Of the newer way. */
static struct {
    struct xcp_library cupti;
    xcp_subscriber subscriber;
    xcp_buffer_requested requested;
    xcp_buffer_completed completed;
} client;
static atomic_bool company, hardware_on;

/* ---- the table's functions, for our subscription --------------------------------------------- */

static xcp_result enable(int kind)
{
    return client.cupti.ActivityEnable_v2(client.subscriber, kind, NULL);
}

static xcp_result disable(int kind)
{
    return client.cupti.ActivityDisable_v2(client.subscriber, kind, NULL);
}

static void requested(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
    client.requested(buffer, size, max_records);
}

static void completed(uint8_t *buffer, size_t size, size_t valid, void *info)
{
    client.completed(NULL, 0, buffer, size, valid);
}

static xcp_result register_callbacks(xcp_buffer_requested r, xcp_buffer_completed c)
{
    client.requested = r;
    client.completed = c;
    return client.cupti.ActivityRegisterCallbacks_v2(client.subscriber, requested, completed);
}

static xcp_result next_record(uint8_t *buffer, size_t valid, struct xcp_activity **record)
{
    return client.cupti.ActivityGetNextRecord_v2(client.subscriber, buffer, valid, record);
}

static xcp_result dropped_records(void *context, uint32_t stream, size_t *dropped)
{
    return client.cupti.ActivityGetNumDroppedRecords_v2(client.subscriber, context, stream,
                                                        dropped);
}

static xcp_result timestamp(uint64_t *now)
{
    return client.cupti.GetTimestamp_v2(client.subscriber, now);
}

/* It has no second version: it concerns all clients. */
static xcp_result flush(uint32_t flag)
{
    return client.cupti.ActivityFlushAll(atomic_load(&company) ? flag & ~(uint32_t)XCP_FLUSH_FORCED
                                                               : flag);
}

static void speak_for_us(struct xcp_library *library)
{
    client.cupti = *library;
    library->ActivityEnable = enable;
    library->ActivityDisable = disable;
    library->ActivityRegisterCallbacks = register_callbacks;
    library->ActivityGetNextRecord = next_record;
    library->ActivityGetNumDroppedRecords = dropped_records;
    library->ActivityFlushAll = flush;
    library->GetTimestamp = timestamp;
    library->ActivitySetAttribute = NULL;
    library->ActivityRegisterTimestampCallback = NULL;
}

/* ---- what there is --------------------------------------------------------------------------- */

static uint32_t version_of(const struct xcp_library *library)
{
    uint32_t version = 0;
    bool known = library->GetVersion && library->GetVersion(&version) == XCP_SUCCESS;
    return known ? version : 0;
}

static bool driver_serves_several(void)
{
    int version = 0, (*ask)(int *) = (__typeof__(ask))xfs_driver_symbol("cuDriverGetVersion");
    return ask && ask(&version) == 0 && version >= XCP_DRIVER_SEVERAL_CLIENTS;
}

static bool serves_several(const struct xcp_library *library)
{
#define MISSING(name, params) || library->name == NULL
    bool missing = library->Unsubscribe == NULL XCP_NEWER_FUNCTIONS(MISSING);
#undef MISSING
    return !missing && version_of(library) >= XCP_VERSION_SEVERAL_CLIENTS &&
           driver_serves_several();
}

/* ---- kernel times from hardware -------------------------------------------------------------- */

/* They then hold for every client of the process until its end: only where there is no other client
 * yet. */
static bool may_ask_for_hardware(const struct xcp_library *library)
{
    uint8_t state = XCP_CLIENTS_ONE;
    size_t bytes = sizeof state;
    return version_of(library) >= XCP_VERSION_HARDWARE_EVENTS &&
           library->ActivityGetAttribute_v2(NULL, XCP_ATTRIBUTE_CLIENTS, &bytes, &state) ==
               XCP_SUCCESS &&
           state == XCP_CLIENTS_UNDECIDED;
}

/* Before the subscription. Where they are not available, nothing changes. */
static void ask_for_hardware(const struct xcp_library *library)
{
    uint8_t yes = 1;
    size_t bytes = sizeof yes;
    if (may_ask_for_hardware(library))
        library->ActivitySetAttribute_v2(NULL, XCP_ATTRIBUTE_HARDWARE_EVENTS, &bytes, &yes);
}

static bool has_hardware(const struct xcp_library *library)
{
    uint8_t on = 0;
    size_t bytes = sizeof on;
    return library->ActivityGetAttribute_v2(NULL, XCP_ATTRIBUTE_HARDWARE_EVENTS, &bytes, &on) ==
               XCP_SUCCESS &&
           on == 1;
}

/* ---- subscribing ----------------------------------------------------------------------------- */

/* Another client that shares CUPTI is there already. */
static bool has_company(const struct xcp_library *library)
{
    uint8_t state = XCP_CLIENTS_ONE;
    size_t bytes = sizeof state;
    return library->ActivityGetAttribute_v2(NULL, XCP_ATTRIBUTE_CLIENTS, &bytes, &state) ==
               XCP_SUCCESS &&
           state == XCP_CLIENTS_SEVERAL;
}

/* A subscription that cannot tell the time is no use: its records' times could not be converted. */
static bool tells_time(const struct xcp_library *library, xcp_subscriber subscriber)
{
    uint64_t now;
    return library->GetTimestamp_v2(subscriber, &now) == XCP_SUCCESS;
}

static bool join_several(struct xcp_library *library, xcp_callback_function on_call, bool hardware,
                         struct xfs_cupti_joined *joined)
{
    struct xcp_subscriber_params params = {
        .struct_size = sizeof params,
        .name = "xferscope",
        .other = joined->other,
        .other_bytes = sizeof joined->other,
        .several = 1,
    };
    atomic_store(&company, has_company(library));
    if (hardware)
        ask_for_hardware(library);
    if (library->Subscribe_v2(&joined->subscriber, on_call, NULL, &params) != XCP_SUCCESS)
        return false;
    if (!tells_time(library, joined->subscriber)) {
        library->Unsubscribe(joined->subscriber);
        return false;
    }
    joined->several = true;
    joined->hardware = has_hardware(library);
    atomic_store(&hardware_on, joined->hardware);
    client.subscriber = joined->subscriber;
    speak_for_us(library);
    return true;
}

xcp_result xfs_cupti_join(struct xcp_library *library, xcp_callback_function on_call, bool hardware,
                          struct xfs_cupti_joined *joined)
{
    *joined = (struct xfs_cupti_joined){0};
    if (serves_several(library)) {
        if (join_several(library, on_call, hardware, joined))
            return XCP_SUCCESS;
        xfs_verbose("device timing: CUPTI does not take us as one of several clients");
    }
    joined->subscriber = NULL;
    joined->other[sizeof joined->other - 1] = '\0';
    return library->Subscribe(&joined->subscriber, on_call, NULL);
}

void xfs_cupti_company(void)
{
    atomic_store(&company, true);
}

bool xfs_cupti_flush_blindly(void)
{
    return atomic_load(&hardware_on);
}
