#include "preload/intercept/classify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/own_stack.h"
#include "preload/base/sandbox.h"
#include "preload/intercept/ranges.h"
#include "preload/lookup/driver.h"
#include "preload/record/record.h"
#include "xferscope/cuda_abi.h"
#include "xferscope/trace.h"

#define PAGE 4096u

/* ---- the driver's own answers ------------------------------------------------------------ */

/* One row per function asked: field, exported name, signature. */
#define QUERIES(X)                                                                                 \
    X(attributes, "cuPointerGetAttributes",                                                        \
      xcu_result (*)(unsigned, int *, void **, xcu_deviceptr))                                     \
    X(context_device, "cuCtxGetDevice", xcu_result (*)(xcu_device *))                              \
    X(array, "cuArray3DGetDescriptor_v2",                                                          \
      xcu_result (*)(struct xcu_array_descriptor *, xcu_array))                                    \
    X(capturing, "cuStreamIsCapturing", xcu_result (*)(xcu_stream, int *))                         \
    X(capturing_ptsz, "cuStreamIsCapturing_ptsz", xcu_result (*)(xcu_stream, int *))               \
    X(stream_priority, "cuStreamGetPriority", xcu_result (*)(xcu_stream, int *))                   \
    X(stream_device, "cuStreamGetDevice", xcu_result (*)(xcu_stream, xcu_device *))                \
    X(stream_id, "cuStreamGetId", xcu_result (*)(xcu_stream, unsigned long long *))                \
    X(stream_context, "cuStreamGetCtx", xcu_result (*)(xcu_stream, xcu_context *))                 \
    X(current, "cuCtxGetCurrent", xcu_result (*)(xcu_context *))                                   \
    X(primary_state, "cuDevicePrimaryCtxGetState", xcu_result (*)(xcu_device, unsigned *, int *))  \
    X(primary_retain, "cuDevicePrimaryCtxRetain", xcu_result (*)(xcu_context *, xcu_device))       \
    X(primary_release, "cuDevicePrimaryCtxRelease_v2", xcu_result (*)(xcu_device))                 \
    X(exchange, "cuThreadExchangeStreamCaptureMode", xcu_result (*)(int *))                        \
    X(devices, "cuDeviceGetCount", xcu_result (*)(int *))                                          \
    X(push, "cuCtxPushCurrent_v2", xcu_result (*)(xcu_context))                                    \
    X(pop, "cuCtxPopCurrent_v2", xcu_result (*)(xcu_context *))                                    \
    X(simulated_node, "xferscope_simgpu_numa_of", int (*)(const void *))

/* Atomic, since several threads may look them up at once: they store the same addresses. */
#define DECLARE(field, name, type) _Atomic(__typeof__((type)0)) field;
static struct {
    QUERIES(DECLARE)
} driver;
static atomic_int driver_known;
#define ENTRY(field) atomic_load_explicit(&driver.field, memory_order_relaxed)

static int ask(void)
{
    if (atomic_load_explicit(&driver_known, memory_order_acquire))
        return 1;
    if (xfs_driver_handle() == NULL)
        return 0;
#define LOOK_UP(field, name, type)                                                                 \
    atomic_store_explicit(&driver.field, (__typeof__((type)0))xfs_driver_symbol(name),             \
                          memory_order_relaxed);
    QUERIES(LOOK_UP)
    atomic_store_explicit(&driver_known, 1, memory_order_release);
    return 1;
}

/* How much stack the driver needs is not known: it is called on a stack of our own. */
static void current_device(void *answer)
{
    xcu_device device;
    if (ask() && ENTRY(context_device) && ENTRY(context_device)(&device) == XCU_SUCCESS)
        *(int16_t *)answer = (int16_t)device;
}

int16_t xfs_current_device(void)
{
    int16_t device = XFT_PLACE_UNKNOWN;
    xfs_on_own_stack(current_device, &device);
    return device;
}

struct context_question {
    xcu_context context;
    int16_t device;
};

static void context_device(void *asked)
{
    struct context_question *question = asked;
    xcu_context popped;
    if (!ask() || !ENTRY(push) || !ENTRY(pop) || ENTRY(push)(question->context) != XCU_SUCCESS)
        return;
    current_device(&question->device);
    ENTRY(pop)(&popped);
}

int16_t xfs_context_device(void *context)
{
    struct context_question question = {context, XFT_PLACE_UNKNOWN};
    xfs_on_own_stack(context_device, &question);
    return question.device;
}

struct owner_question {
    xcu_stream stream;
    xcu_context context;
};

static void stream_context(void *asked)
{
    struct owner_question *question = asked;
    if (!ask())
        return;
    xcu_result result = XCU_ERROR_NOT_FOUND;
    if (!xfs_stream_is_default((uintptr_t)question->stream) && ENTRY(stream_context))
        result = ENTRY(stream_context)(question->stream, &question->context);
    if (result != XCU_SUCCESS &&
        (!ENTRY(current) || ENTRY(current)(&question->context) != XCU_SUCCESS))
        question->context = NULL;
}

void *xfs_stream_context(void *stream)
{
    struct owner_question question = {stream, NULL};
    xfs_on_own_stack(stream_context, &question);
    return question.context;
}

struct primary_question {
    xcu_device device;
    int active;
    xcu_context context;
};

static void primary_is_active(void *asked)
{
    struct primary_question *question = asked;
    unsigned flags;
    if (!ask() || !ENTRY(primary_state) ||
        ENTRY(primary_state)(question->device, &flags, &question->active) != XCU_SUCCESS)
        question->active = 0;
}

/* The primary context exists: retaining it returns its handle. Safe while a stream is captured. */
static void primary_context(void *asked)
{
    struct primary_question *question = asked;
    int mode = XCU_CAPTURE_MODE_RELAXED;
    primary_is_active(question);
    if (!question->active || !ENTRY(primary_retain) || !ENTRY(primary_release) || !ENTRY(exchange))
        return;
    ENTRY(exchange)(&mode);
    if (ENTRY(primary_retain)(&question->context, question->device) == XCU_SUCCESS)
        ENTRY(primary_release)(question->device);
    else
        question->context = NULL;
    ENTRY(exchange)(&mode);
}

void *xfs_primary_context(int device)
{
    struct primary_question question = {.device = device};
    xfs_on_own_stack(primary_context, &question);
    return question.context;
}

bool xfs_has_primary_context(int device)
{
    struct primary_question question = {.device = device};
    xfs_on_own_stack(primary_is_active, &question);
    return question.active != 0;
}

struct array_question {
    xcu_array array;
    unsigned bytes;
};

static void array_element(void *asked)
{
    struct array_question *question = asked;
    struct xcu_array_descriptor descriptor = {0};
    if (ask() && ENTRY(array) && ENTRY(array)(&descriptor, question->array) == XCU_SUCCESS)
        question->bytes = xcu_format_bytes(descriptor.format) * descriptor.channels;
}

unsigned xfs_array_element_bytes(void *array)
{
    struct array_question question = {array, 0};
    xfs_on_own_stack(array_element, &question);
    return question.bytes;
}

struct stream_question {
    xcu_stream stream;
    int per_thread;
    int status; /* XCU_CAPTURE_..., -1: not known */
};

static void stream_captured(void *asked)
{
    struct stream_question *question = asked;
    int status;
    if (!ask())
        return;
    xcu_result (*query)(xcu_stream, int *) =
        question->per_thread ? ENTRY(capturing_ptsz) : ENTRY(capturing);
    if (query && query(question->stream, &status) == XCU_SUCCESS)
        question->status = status;
}

static int capture_status(void *stream, int per_thread)
{
    struct stream_question question = {stream, per_thread, -1};
    xfs_on_own_stack(stream_captured, &question);
    return question.status;
}

int xfs_stream_captured(void *stream, int per_thread)
{
    return capture_status(stream, per_thread) == XCU_CAPTURE_ACTIVE;
}

bool xfs_stream_in_capture(void *stream, int per_thread)
{
    return capture_status(stream, per_thread) != XCU_CAPTURE_NONE;
}

/* Whether the driver's id of a stream equals that of CUPTI's records. */
#define NUMBERS_ARE_CUPTIS 0

struct look {
    xcu_stream stream;
    struct xfs_stream_answer *answer;
};

static void look_at_stream(void *asked)
{
    const struct look *look = asked;
    struct xfs_stream_answer *answer = look->answer;
    if (!ask())
        return;
    if (ENTRY(stream_priority))
        ENTRY(stream_priority)(look->stream, &answer->priority);
    if (!ENTRY(stream_device) || ENTRY(stream_device)(look->stream, &answer->device) != XCU_SUCCESS)
        answer->device =
            xfs_current_device(); /* its context is current, or the stream is of a green context */
    if (NUMBERS_ARE_CUPTIS && ENTRY(stream_id))
        ENTRY(stream_id)(look->stream, &answer->number);
}

void xfs_stream_look(void *stream, struct xfs_stream_answer *answer)
{
    struct look look = {stream, answer};
    xfs_on_own_stack(look_at_stream, &look);
}

/* ---- host pages --------------------------------------------------------------------------- */

/* The node of a machine with only one, so that the kernel need not be asked. -1: several, or not
 * known. */
static atomic_int known_node = -1;

static void find_node(void *unused)
{
    char text[32];
    int fd = open("/sys/devices/system/node/online", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0)
        close(fd);
    if (n == 2 && text[0] >= '0' && text[0] <= '9') /* "0\n" */
        atomic_store_explicit(&known_node, text[0] - '0', memory_order_relaxed);
}

static int only_node(void)
{
    return atomic_load_explicit(&known_node, memory_order_relaxed);
}

int16_t xfs_only_device = XFT_PLACE_UNKNOWN;

void xfs_classify_start(void)
{
    int devices = 0;
    if (only_node() < 0)
        (void)xfs_do_apart(find_node, NULL);
    if (ask() && ENTRY(devices) && ENTRY(devices)(&devices) == XCU_SUCCESS && devices == 1)
        xfs_only_device = 0;
}

/* Node of a page; unknown for a page not touched yet. move_pages without targets moves nothing. */
static int16_t host_node(uint64_t address)
{
    if (ENTRY(simulated_node)) { /* the simulated machine has its own nodes */
        int node = ENTRY(simulated_node)((const void *)(uintptr_t)address);
        return (int16_t)(node >= 0 ? node : XFT_PLACE_UNKNOWN);
    }
    if (only_node() >= 0)
        return (int16_t)only_node();
    if (!xfs_may_call_kernel())
        return XFT_PLACE_UNKNOWN;
    void *page = (void *)(uintptr_t)(address & ~(uint64_t)(PAGE - 1));
    int status = -1;
    if (syscall(SYS_move_pages, 0, 1ul, &page, NULL, &status, 0) != 0 || status < 0)
        return XFT_PLACE_UNKNOWN;
    return (int16_t)status;
}

static struct xfs_place ask_driver(uint64_t address)
{
    struct xfs_place answer = {XFT_MEM_UNKNOWN, XFT_PLACE_UNKNOWN};
    unsigned type = 0, managed = 0;
    int device = XFT_PLACE_UNKNOWN;
    int which[] = {XCU_PTR_MEMORY_TYPE, XCU_PTR_IS_MANAGED, XCU_PTR_DEVICE_ORDINAL};
    void *values[] = {&type, &managed, &device};
    if (!ask() || !ENTRY(attributes) || ENTRY(attributes)(3, which, values, address) != XCU_SUCCESS)
        return answer;
    if (managed) {
        answer.memory = XFT_MEM_MANAGED;
    } else if (type == XCU_MEMORY_DEVICE) {
        answer = (struct xfs_place){XFT_MEM_DEVICE, (int16_t)device};
    } else {
        /* Host memory that the driver knows was pinned by a call this library did not see. */
        answer.memory = type == XCU_MEMORY_HOST ? XFT_MEM_PINNED : XFT_MEM_PAGEABLE;
        answer.place = host_node(address);
    }
    return answer;
}

/* ---- what this thread found last time ------------------------------------------------------- */

XFS_TLS struct xfs_place_entry xfs_places[XFS_PLACE_ENTRIES];

struct place_question {
    struct xfs_place_entry *entry;
    uint64_t address;
    uint32_t epoch;
};

static void fill(void *asked)
{
    const struct place_question *question = asked;
    struct xfs_place_entry *entry = question->entry;
    uint64_t address = question->address;
    struct xfs_range range;
    if (xfs_ranges_find(address, &range)) {
        entry->answer = (struct xfs_place){range.memory, range.place};
        if (range.place == XFT_PLACE_UNKNOWN && range.memory != XFT_MEM_MANAGED &&
            range.memory != XFT_MEM_DEVICE)
            entry->answer.place = host_node(address);
    } else {
        uint64_t page = address & ~(uint64_t)(PAGE - 1);
        entry->answer = ask_driver(address);
        if (range.start < page)
            range.start = page;
        if (range.end > page + PAGE)
            range.end = page + PAGE;
    }
    entry->low = range.start;
    entry->high = range.end;
    entry->epoch = question->epoch;
}

__attribute__((cold, noinline)) struct xfs_place
xfs_classify_slowly(struct xfs_place_entry *entry, uint64_t address, uint32_t epoch)
{
    struct place_question question = {entry, address, epoch};
    int saved = errno;
    bool answered = xfs_on_own_stack(fill, &question);
    errno = saved;
    return answered ? entry->answer : (struct xfs_place){XFT_MEM_UNKNOWN, XFT_PLACE_UNKNOWN};
}
