/*
 * The referee: what CUPTI itself says was copied, for comparison with xferscope's trace.
 *
 * The CUDA driver loads this library into the process that initialises it:
 *
 *     CUDA_INJECTION64_PATH=libcount_cupti.so XFERSCOPE_CUPTI_COUNT_OUT=counts PROGRAM
 *
 * At exit it writes counts.PID, one JSON object: number and bytes of memcpy records per direction
 * (arrays count as device memory), memsets, what CUPTI lost, and "details": the same by CUPTI's
 * numbers for the kind of copy and of both memories. With XFERSCOPE_CUPTI_COUNT_DEVICE=1 it also
 * has "kernels" and "managed": bytes migrated each way, host faults, groups of device faults and
 * the faults in them. It shares no code with the recorder but the search for libcupti; records are
 * read through NVIDIA's own headers.
 *
 * Between devices without peer access the driver stages a copy through host memory, and CUPTI has a
 * record for each half: "device to host" and "host to device", both between device memories. The
 * first half counts here, as P2P; the second ones are "staged".
 */
#include <cupti.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/timing/cupti_load.h"

#define BUFFER_BYTES (4u << 20)

enum row { H2D, D2H, D2D, P2P, H2H, UNKNOWN, STAGED, MEMSET, ROWS };
static const char *const row_names[ROWS] = {"H2D", "D2H",     "D2D",    "P2P",
                                            "H2H", "unknown", "staged", "memset"};

static struct total {
    uint64_t operations, bytes;
} totals[ROWS];

/* By CUpti_ActivityMemcpyKind and twice CUpti_ActivityMemoryKind. */
enum { COPY_KINDS = 16, MEMORY_KINDS = 16 };
static struct total details[COPY_KINDS][MEMORY_KINDS][MEMORY_KINDS];
static uint64_t records, dropped, without_time;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct xcp_library cupti;
static xcp_subscriber subscriber;

static enum row row_of(uint8_t copy_kind)
{
    switch (copy_kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
        return H2D;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
        return D2H;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
        return D2D;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
        return P2P;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
        return H2H;
    default:
        return UNKNOWN;
    }
}

static enum row row_between(uint8_t copy_kind, uint8_t from, uint8_t to)
{
    bool devices =
        from == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE && to == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    if (devices && copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH)
        return P2P;
    if (devices && copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD)
        return STAGED;
    return row_of(copy_kind);
}

/* A batch may be one record of several copies (CUDA 12.8 and later). */
static uint64_t copies_in(const CUpti_ActivityMemcpy5 *record)
{
#if CUPTI_API_VERSION >= 26
    static uint32_t version;
    if (version == 0)
        cupti.GetVersion(&version);
    if (version >= 26)
        return ((const CUpti_ActivityMemcpy6 *)record)->copyCount;
#endif
    return 1;
}

static void add(enum row row, uint64_t operations, uint64_t bytes, bool timed)
{
    totals[row].operations += operations;
    totals[row].bytes += bytes;
    records++;
    without_time += !timed;
}

static void detail(unsigned copy, unsigned from, unsigned to, uint64_t operations, uint64_t bytes)
{
    if (copy >= COPY_KINDS || from >= MEMORY_KINDS || to >= MEMORY_KINDS)
        return;
    details[copy][from][to].operations += operations;
    details[copy][from][to].bytes += bytes;
}

static struct {
    uint64_t kernels, h2d, d2h, p2p, host_faults, fault_groups, faults;
} device;

static void count_managed(const CUpti_ActivityUnifiedMemoryCounter2 *r)
{
    if (r->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD)
        device.h2d += r->value;
    else if (r->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH)
        device.d2h += r->value;
    else if (r->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD)
        device.p2p += r->value;
    else if (r->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT)
        device.host_faults++;
    else if (r->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT) {
        device.fault_groups++;
        device.faults += r->value;
    }
}

static void count(const CUpti_Activity *record)
{
    device.kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    if (record->kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)
        count_managed((const void *)record);
    if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        const CUpti_ActivityMemcpy5 *r = (const void *)record;
        uint64_t copies = copies_in(r) ? copies_in(r) : 1;
        add(row_between(r->copyKind, r->srcKind, r->dstKind), copies, r->bytes, r->start != 0);
        detail(r->copyKind, r->srcKind, r->dstKind, copies, r->bytes);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
        const CUpti_ActivityMemcpyPtoP3 *r = (const void *)record;
        add(row_between(r->copyKind, r->srcKind, r->dstKind), 1, r->bytes, r->start != 0);
        detail(r->copyKind, r->srcKind, r->dstKind, 1, r->bytes);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const CUpti_ActivityMemset3 *r = (const void *)record;
        add(MEMSET, 1, r->bytes, r->start != 0);
    }
}

static void requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    struct xcp_activity *record = NULL;
    size_t lost = 0;
    pthread_mutex_lock(&lock);
    while (cupti.ActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        count((const void *)record);
    if (cupti.ActivityGetNumDroppedRecords(NULL, 0, &lost) == CUPTI_SUCCESS)
        dropped += lost;
    pthread_mutex_unlock(&lock);
    free(buffer);
}

static bool device_wanted(void)
{
    const char *wanted = getenv("XFERSCOPE_CUPTI_COUNT_DEVICE");
    return wanted && *wanted == '1';
}

static void write_details(FILE *out)
{
    const struct total *all = &details[0][0][0];
    const char *separator = "";
    for (unsigned i = 0; i < COPY_KINDS * MEMORY_KINDS * MEMORY_KINDS; i++) {
        if (all[i].operations == 0)
            continue;
        fprintf(out, "%s[%u, %u, %u, %" PRIu64 ", %" PRIu64 "]", separator,
                i / MEMORY_KINDS / MEMORY_KINDS, i / MEMORY_KINDS % MEMORY_KINDS, i % MEMORY_KINDS,
                all[i].operations, all[i].bytes);
        separator = ", ";
    }
}

static void write_counts(FILE *out)
{
    fprintf(out, "{\"pid\": %d, \"records\": %" PRIu64 ", \"dropped\": %" PRIu64, (int)getpid(),
            records, dropped);
    fprintf(out, ", \"without_time\": %" PRIu64 ", \"directions\": {", without_time);
    for (int i = 0; i < ROWS; i++)
        fprintf(out, "%s\"%s\": {\"transfers\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
                i ? ", " : "", row_names[i], totals[i].operations, totals[i].bytes);
    fprintf(out, "}, \"details\": [");
    write_details(out);
    fprintf(out, "]");
    if (device_wanted())
        fprintf(out,
                ", \"kernels\": %" PRIu64 ", \"managed\": {\"h2d\": %" PRIu64 ", \"d2h\": %" PRIu64
                ", \"p2p\": %" PRIu64 ", \"host_faults\": %" PRIu64 ", \"fault_groups\": %" PRIu64
                ", \"faults\": %" PRIu64 "}",
                device.kernels, device.h2d, device.d2h, device.p2p, device.host_faults,
                device.fault_groups, device.faults);
    fprintf(out, "}\n");
}

static int owner;

static void at_end(void)
{
    const char *base = getenv("XFERSCOPE_CUPTI_COUNT_OUT");
    char path[4096];
    if (getpid() != owner)
        return; /* a forked child: CUPTI and its counts are the parent's */
    cupti.ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    snprintf(path, sizeof path, "%s.%d", base ? base : "cupti-counts", owner);
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        fprintf(stderr, "count_cupti: %s: %m\n", path);
        return;
    }
    pthread_mutex_lock(&lock);
    write_counts(out);
    pthread_mutex_unlock(&lock);
    if (fclose(out) != 0)
        fprintf(stderr, "count_cupti: %s: %m\n", path);
}

/* ---- start ---------------------------------------------------------------------------------- */

static bool device_counted;

/* Counters of managed memory can be had once the driver is initialised: with the first context. */
static bool count_managed_too(void)
{
    static const int kinds[] = {1, 2, 3, 4}; /* bytes H2D and D2H, faults of the CPU and the GPU */
    struct xcp_counter_config config[4];
    for (int i = 0; i < 4; i++)
        config[i] = (struct xcp_counter_config){
            CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES, kinds[i], 0, 1};
    return cupti.ActivityConfigureUnifiedMemoryCounter(config, 4) == CUPTI_SUCCESS &&
           cupti.ActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) == CUPTI_SUCCESS;
}

/* The subscription also keeps others away: two clients would take each other's buffers. */
static void on_event(void *user, int domain, uint32_t id, const void *data)
{
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || id != CUPTI_CBID_RESOURCE_CONTEXT_CREATED ||
        device_counted)
        return;
    device_counted = true;
    if (!count_managed_too())
        fprintf(stderr, "count_cupti: CUPTI would not record managed memory\n");
}

static bool accept(const struct xcp_library *library, const char *path, void *user)
{
    int result = library->Subscribe(&subscriber, on_event, NULL);
    if (result != CUPTI_SUCCESS) {
        fprintf(stderr, "count_cupti: %s: cuptiSubscribe failed: %d\n", path, result);
        return false;
    }
    cupti = *library;
    return true;
}

static bool count_device(void)
{
    return cupti.ActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS &&
           cupti.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                CUPTI_CBID_RESOURCE_CONTEXT_CREATED) == CUPTI_SUCCESS;
}

static void start(void)
{
    struct xfs_cupti_search search = {.symbol = dlsym, .accept = accept};
    if (!xfs_cupti_find(&search)) {
        fprintf(stderr, "count_cupti: no CUPTI that can be used\n");
        return;
    }
    if (cupti.ActivityRegisterCallbacks(requested, completed) != CUPTI_SUCCESS ||
        cupti.ActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY) != CUPTI_SUCCESS ||
        cupti.ActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY2) != CUPTI_SUCCESS ||
        cupti.ActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET) != CUPTI_SUCCESS) {
        fprintf(stderr, "count_cupti: CUPTI would not record copies\n");
        return;
    }
    if (device_wanted() && !count_device())
        fprintf(stderr, "count_cupti: CUPTI would not record kernels\n");
    owner = getpid();
    atexit(at_end);
}

/* What the driver calls. Without CUPTI the program runs all the same: no counts are written, and
 * that is what the comparison then complains about. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    start();
    return 1;
}
