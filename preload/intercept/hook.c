#include "preload/intercept/hook.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "preload/content/content.h"
#include "preload/nvtx/nvtx.h"
#include "preload/record/hot.h"
#include "preload/base/loading.h"
#include "preload/base/own_stack.h"
#include "preload/record/record.h"
#include "preload/timing/event_pairs.h"
#include "preload/timing/timing.h"
#include "preload/intercept/classify.h"
#include "preload/intercept/graph.h"
#include "preload/lookup/resolve.h"
#include "preload/intercept/table.h"

__thread int xfs_depth __attribute__((tls_model("initial-exec")));

/* Set in this order, and back to the first in a forked child. */
enum session {
    SESSION_NONE,
    SESSION_WAITING, /* for the first call that can move data: device records are switched on before
                      */
    SESSION_ON,
};
static atomic_uchar session;
static atomic_int started_by; /* the process: a forked child starts a session of its own */
static bool simulated;

#define CUDA_IN_USE "CUDA was in use before a call of it was seen: too late to attach CUPTI safely"

/* As the compiler would not have it: it takes a string instruction, which takes longer to start
 * than this takes in all. */
static inline void clear(struct xft_event *event)
{
    typedef long long vector __attribute__((vector_size(16), may_alias, aligned(8)));
    vector *parts = (vector *)event;
    _Static_assert(sizeof *event % sizeof *parts == 0, "parts make up an event");
#pragma GCC unroll 6
    for (size_t i = 0; i < sizeof *event / sizeof *parts; i++)
        parts[i] = (vector){0};
}

/* ---- the first call that moves data -------------------------------------------------------- */

static __thread uint16_t early_call __attribute__((tls_model("initial-exec"))); /* the outermost */

static void attach(void *unused)
{
    (void)unused;
    xfs_timing_attach();
    atomic_store(&session, SESSION_ON);
}

XFS_COLD void xfs_before_moving(uint16_t call)
{
    unsigned char state = atomic_load(&session);
    if (state == SESSION_NONE && xfs_depth == 0)
        early_call = call;
    if (state == SESSION_WAITING && xfs_rows[call].moves)
        xfs_on_any_stack(attach, NULL);
}

/* ---- around the real call ------------------------------------------------------------------ */

bool xfs_enter_outermost(struct xfs_frame *f, uint16_t call, uint16_t flags)
{
    unsigned char state = atomic_load_explicit(&session, memory_order_relaxed);
    f->early = state == SESSION_NONE;
    if (__builtin_expect(state != SESSION_ON, 0))
        xfs_before_moving(call);
    if (__builtin_expect(!f->early, 1) && !xfs_record_ready_now())
        return false;
    xfs_depth = 1;
    clear(&f->event);
    f->event.call = call;
    f->event.flags = flags;
    xfs_timing_call_begin();
    f->event.start_ns = xfs_now_ns();
    return true;
}

/* The first call of a process, in which cuInit ran or has still to be noticed. */
static XFS_COLD void first_call(struct xfs_frame *f)
{
    xfs_session_start(CUDA_IN_USE);
    if (simulated) /* the host's clock of before is not the trace's */
        f->event.start_ns = f->event.end_ns = xfs_now_ns();
}

void xfs_returned(struct xfs_frame *f, int status)
{
    f->event.end_ns = xfs_now_ns();
    f->event.status = status;
    f->event.correlation = xfs_timing_correlation();
}

/* The first call of a process, and those that are more than one event. */
static XFS_COLD void publish_slowly(struct xfs_frame *f)
{
    int saved = errno;
    if (f->early)
        first_call(f);
    if (!f->early || xfs_record_ready()) {
        xfs_nvtx_settle();
        f->event.stack = xfs_stack_capture();
        xfs_event_write(&f->event);
        if (f->event.kind == XFT_EVENT_GRAPH_LAUNCH && f->event.count > 0)
            xfs_graph_transfers(f, xfs_event_write);
    }
    errno = saved;
}

/* What this calls keeps errno. */
void xfs_publish(struct xfs_frame *f)
{
    xfs_pairs_copy_ends(&f->event);
    if (f->event.kind != XFT_EVENT_NONE) {
        if (__builtin_expect(f->early || f->event.kind == XFT_EVENT_GRAPH_LAUNCH, 0)) {
            publish_slowly(f);
        } else {
            xfs_nvtx_settle();
            if (xfs_stacks_wanted())
                f->event.stack = xfs_stack_capture();
            xfs_event_write_now(&f->event);
        }
    }
    xfs_depth = 0;
}

/* ---- the session --------------------------------------------------------------------------- */

#define ASK(type, name) ((type)xfs_driver_symbol(name))

static void note_gpu(int index, xcu_device device)
{
    char key[48], text[256];
    xcu_result (*name)(char *, int, xcu_device) = ASK(__typeof__(name), "cuDeviceGetName");
    xcu_result (*pci)(char *, int, xcu_device) = ASK(__typeof__(pci), "cuDeviceGetPCIBusId");
    xcu_result (*uuid)(struct xcu_uuid *, xcu_device) = ASK(__typeof__(uuid), "cuDeviceGetUuid_v2");
    if (uuid == NULL)
        uuid = ASK(__typeof__(uuid), "cuDeviceGetUuid");
    if (name && name(text, sizeof text, device) == XCU_SUCCESS) {
        snprintf(key, sizeof key, "gpu.%d.name", index);
        xfs_meta_set(key, text);
    }
    if (pci && pci(text, sizeof text, device) == XCU_SUCCESS) {
        snprintf(key, sizeof key, "gpu.%d.pci", index);
        xfs_meta_set(key, text);
    }
    struct xcu_uuid id;
    if (uuid && uuid(&id, device) == XCU_SUCCESS) {
        const unsigned char *b = id.bytes;
        snprintf(text, sizeof text,
                 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                 b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                 b[14], b[15]);
        snprintf(key, sizeof key, "gpu.%d.uuid", index);
        xfs_meta_set(key, text);
    }
}

/* Only questions that create no context. */
static void note_machine(void)
{
    char text[16];
    int version = 0, count = 0;
    xcu_result (*driver)(int *) = ASK(__typeof__(driver), "cuDriverGetVersion");
    xcu_result (*devices)(int *) = ASK(__typeof__(devices), "cuDeviceGetCount");
    xcu_result (*get)(xcu_device *, int) = ASK(__typeof__(get), "cuDeviceGet");
    if (driver && driver(&version) == XCU_SUCCESS) {
        snprintf(text, sizeof text, "%d", version);
        xfs_meta_set("cuda.driver_version", text);
    }
    if (devices == NULL || get == NULL || devices(&count) != XCU_SUCCESS)
        return;
    snprintf(text, sizeof text, "%d", count);
    xfs_meta_set("gpu.count", text);
    for (int i = 0; i < count && i < 64; i++) {
        xcu_device device;
        if (get(&device, i) == XCU_SUCCESS)
            note_gpu(i, device);
    }
}

/* The simulated GPU brings its own clock: times of the host and of the device must be one. */
static bool use_simulated_clock(void)
{
    uint64_t (*now)(void) = ASK(__typeof__(now), "xferscope_simgpu_now_ns");
    if (now)
        xfs_clock_use(now);
    return now != NULL;
}

struct start {
    const char *too_late;
    bool attached_later; /* device records are still to be switched on */
};

/* The exit handler goes before CUPTI's own, which is registered as CUPTI is loaded. */
static void start_timing(struct start *start)
{
    xfs_loading_begin();
    start->attached_later = xfs_timing_start(start->too_late);
    xfs_loading_end();
    atexit(xfs_timing_finish);
}

static void start_session(void *asked)
{
    simulated = use_simulated_clock();
    if (!xfs_record_ready())
        return;
    if (simulated)
        xfs_meta_set("gpu.simulated", "1");
    note_machine();
    xfs_classify_start();
    xfs_nvtx_session_start();
    xfs_content_session_start();
    atexit(xfs_content_finish);
    xfs_pairs_capturing = xfs_captures_now;
    start_timing(asked);
}

void xfs_session_start(const char *too_late)
{
    int pid = getpid(), saved = errno, outer = xfs_depth;
    if (atomic_exchange(&started_by, pid) == pid)
        return;
    struct start start = {.too_late = too_late};
    xfs_depth = 1;
    xfs_on_large_stack(start_session, &start);
    atomic_store(&session, start.attached_later ? SESSION_WAITING : SESSION_ON);
    if (outer > 0) /* cuInit within the process's first call */
        xfs_before_moving(early_call);
    xfs_depth = outer;
    errno = saved;
}

/* ---- the first cuInit ------------------------------------------------------------------------ */

#define INIT_WAIT_S 2

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool initialising __attribute__((tls_model("initial-exec"))); /* holds it */

static bool driver_is_ready(void)
{
    int count;
    xcu_result (*devices)(int *) = ASK(__typeof__(devices), "cuDeviceGetCount");
    return devices == NULL || devices(&count) != XCU_ERROR_NOT_INITIALIZED;
}

/* Somebody may hold the loader's lock, which we need, and wait for us: then nothing is attached. So
 * it is when somebody sets the calendar meanwhile. */
static bool take_init_lock(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += INIT_WAIT_S;
    if (pthread_mutex_timedlock(&init_lock, &until) == 0)
        return true;
    xfs_timing_overtaken();
    return false;
}

enum xfs_init_turn xfs_init_begins(void)
{
    int saved = errno;
    enum xfs_init_turn turn = XFS_INIT_NOTHING;
    if (initialising || atomic_load(&started_by) == (int)getpid() || !take_init_lock())
        return errno = saved, turn;
    if (atomic_load(&started_by) == (int)getpid()) {
        pthread_mutex_unlock(&init_lock);
    } else {
        initialising = true;
        turn = driver_is_ready() ? XFS_INIT_LATE : XFS_INIT_FIRST;
    }
    errno = saved;
    return turn;
}

void xfs_init_ends(enum xfs_init_turn turn, int status)
{
    int saved = errno;
    if (turn == XFS_INIT_NOTHING)
        return;
    if (status == XCU_SUCCESS)
        xfs_session_start(turn == XFS_INIT_FIRST ? NULL : CUDA_IN_USE);
    initialising = false;
    pthread_mutex_unlock(&init_lock);
    errno = saved;
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* What the parent tracked is not the child's: CUDA does not survive fork. */
static void in_child(void)
{
    xfs_depth = 0;
    initialising = false;
    pthread_mutex_init(&init_lock, NULL);
    atomic_store(&session, SESSION_NONE);
    xfs_ranges_after_fork();
    xfs_captures_after_fork();
    xfs_pairs_after_fork();
    xfs_graph_after_fork();
    xfs_nvtx_after_fork();
    xfs_content_after_fork();
}

__attribute__((constructor)) static void watch_fork(void)
{
    pthread_atfork(NULL, NULL, in_child);
}
