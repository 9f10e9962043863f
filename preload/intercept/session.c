#include "preload/intercept/captures.h"
#include "preload/intercept/peers.h"
#include "preload/intercept/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/apply/apply.h"
#include "preload/base/attributes.h"
#include "preload/base/loading.h"
#include "preload/base/own_stack.h"
#include "preload/content/content.h"
#include "preload/content/verify.h"
#include "preload/intercept/arguments.h"
#include "preload/intercept/classify.h"
#include "preload/intercept/contexts.h"
#include "preload/intercept/functions.h"
#include "preload/intercept/graph.h"
#include "preload/intercept/hook.h"
#include "preload/intercept/sleeps.h"
#include "preload/intercept/table.h"
#include "preload/lookup/driver.h"
#include "preload/lookup/rows.h"
#include "preload/nvtx/nvtx.h"
#include "preload/record/clock.h"
#include "preload/record/hot.h"
#include "preload/record/others.h"
#include "preload/record/periods.h"
#include "preload/record/record.h"
#include "preload/timing/event_pairs.h"
#include "preload/timing/timing.h"
#include "xferscope/uuid.h"

XFS_TLS int xfs_depth;
XFS_TLS uintptr_t xfs_outermost;

atomic_uchar xfs_session;
bool xfs_session_simulated;
static bool attached_later; /* device records are to be switched on by the first call that moves */
static atomic_int started_by; /* the process: a forked child starts a session of its own */

/* ---- the first call that moves data -------------------------------------------------------- */

#define MOST_AGAIN 8 /* times that memory is allocated behind a free: more is a loop (a guess) */

static XFS_TLS uint16_t early_call; /* the outermost */
static atomic_bool freed;           /* since memory was allocated the last time */
static atomic_uint again;

static unsigned char moving_state(void)
{
    if (!atomic_load(&xfs_periods_limited))
        return XFS_SESSION_ON;
    return atomic_load(&xfs_periods_open) ? XFS_SESSION_IN_PERIOD : XFS_SESSION_OUTSIDE;
}

/* A period may begin or end meanwhile. */
static void set_moving(void)
{
    unsigned char state;
    do {
        state = moving_state();
        atomic_store(&xfs_session, state);
    } while (state != moving_state());
}

static void period_changed(void)
{
    if (atomic_load(&xfs_session) > XFS_SESSION_LAUNCHED)
        set_moving();
    if (xfs_access_on()) /* what is copied outside of periods is not seen */
        xfs_access_unseen();
    if (xfs_verify_on()) /* nor what is launched there */
        xfs_verify_unknown();
}

static void attach(void *unused)
{
    if (attached_later)
        xfs_timing_attach();
    set_moving();
}

XFS_COLD void xfs_before_moving_data(void)
{
    unsigned char state = atomic_load(&xfs_session);
    if (state != XFS_SESSION_WAITING && state != XFS_SESSION_LAUNCHED)
        return;
    uint64_t from_ns = xfs_now_apart_ns();
    xfs_on_any_stack(attach, NULL);
    xfs_cost_took(XFT_OVERHEAD_DEVICE, from_ns);
}

XFS_COLD void xfs_before_moving(uint16_t call)
{
    unsigned char state = atomic_load(&xfs_session);
    if (state == XFS_SESSION_NONE && xfs_depth == 0)
        early_call = call;
    if (xfs_rows[call].moves || atomic_load_explicit(&again, memory_order_relaxed) >= MOST_AGAIN)
        xfs_before_moving_data();
}

XFS_COLD void xfs_before_moving_memory(bool frees)
{
    if (frees)
        atomic_store_explicit(&freed, true, memory_order_relaxed);
    else if (atomic_exchange_explicit(&freed, false, memory_order_relaxed))
        atomic_fetch_add_explicit(&again, 1, memory_order_relaxed);
}

/* ---- the first launch ---------------------------------------------------------------------- */

static bool is_launch(uint16_t call)
{
    static const char launches[] = "cuLaunch";
    return strncmp(xfs_rows[call].symbol, launches, sizeof launches - 1) == 0;
}

/* What is captured begins nothing. */
bool xfs_session_takes_launch(uint16_t call, uintptr_t called_at)
{
    unsigned char waiting = XFS_SESSION_WAITING;
    int saved = errno;
    bool takes = is_launch(call) && !xfs_is_inner(called_at) && xfs_captures_now() == 0 &&
                 (!atomic_load(&xfs_periods_limited) || xfs_periods_look()) &&
                 atomic_compare_exchange_strong(&xfs_session, &waiting, XFS_SESSION_LAUNCHED);
    errno = saved;
    return takes;
}

/* ---- the machine ----------------------------------------------------------------------------- */

#define ASK(type, name) ((type)xfs_driver_symbol(name))

/* Drivers before 11.4 have the first function alone, and no other UUID. */
static bool ask_uuid(xcu_device device, char text[XFT_UUID_TEXT])
{
    struct xcu_uuid whole, own;
    xcu_result (*of_gpu)(struct xcu_uuid *, xcu_device) =
        ASK(__typeof__(of_gpu), "cuDeviceGetUuid");
    xcu_result (*of_part)(struct xcu_uuid *, xcu_device) =
        ASK(__typeof__(of_part), "cuDeviceGetUuid_v2");
    bool known = of_gpu && of_gpu(&whole, device) == XCU_SUCCESS;
    bool parted = of_part && of_part(&own, device) == XCU_SUCCESS;
    if (known || parted)
        xft_uuid_text(text, parted ? &own : &whole, known ? &whole : NULL);
    return known || parted;
}

static void note_gpu(int index, xcu_device device)
{
    char key[48], text[256];
    xcu_result (*name)(char *, int, xcu_device) = ASK(__typeof__(name), "cuDeviceGetName");
    xcu_result (*pci)(char *, int, xcu_device) = ASK(__typeof__(pci), "cuDeviceGetPCIBusId");
    if (name && name(text, sizeof text, device) == XCU_SUCCESS) {
        snprintf(key, sizeof key, "gpu.%d.name", index);
        xfs_meta_set(key, text);
    }
    if (pci && pci(text, sizeof text, device) == XCU_SUCCESS) {
        snprintf(key, sizeof key, "gpu.%d.pci", index);
        xfs_meta_set(key, text);
    }
    if (ask_uuid(device, text)) {
        snprintf(key, sizeof key, "gpu.%d.uuid", index);
        xfs_meta_set(key, text);
    }
}

/* What META says of the driver and its GPUs, once it is initialised. Uses only functions that
 * create no context. Needs a large stack. */
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

/* ---- the start ----------------------------------------------------------------------------- */

/* The simulated GPU brings its own clock: times of the host and of the device must be one. */
static bool use_simulated_clock(void)
{
    uint64_t (*now)(void) = ASK(__typeof__(now), "xferscope_simgpu_now_ns");
    int (*is_real)(void) = ASK(__typeof__(is_real), "xferscope_simgpu_is_real");
    if (now) {
        xfs_clock_use_of_threads(is_real && is_real()
                                     ? xfs_kernel_thread_ns
                                     : ASK(__typeof__(now), "xferscope_simgpu_thread_ns"));
        xfs_clock_use_of_process(ASK(__typeof__(now), "xferscope_simgpu_process_ns"));
        xfs_others_use(ASK(xfs_others_function *, "xferscope_simgpu_threads"));
        xfs_clock_use(now);
    }
    return now != NULL;
}

/* Our exit handler runs before CUPTI's, which was registered when CUPTI was loaded. */
static void start_timing(const char *too_late)
{
    xfs_loading_begin();
    attached_later = xfs_timing_start(too_late);
    xfs_loading_end();
    atexit(xfs_timing_finish);
}

static void start_session(void *too_late)
{
    xfs_session_simulated = use_simulated_clock();
    uint64_t from_ns = xfs_now_apart_ns();
    if (!xfs_record_ready())
        return;
    if (xfs_session_simulated)
        xfs_meta_set("gpu.simulated", "1");
    xfs_periods_start(period_changed);
    note_machine();
    xfs_classify_start();
    xfs_context_calls_start();
    xfs_nvtx_session_start();
    xfs_content_session_start();
    atexit(xfs_content_finish);
    xfs_pairs_capturing = xfs_captures_now;
    start_timing(too_late);
    xfs_cost_took(XFT_OVERHEAD_RECORDING, from_ns);
}

void xfs_session_start(const char *too_late)
{
    int pid = getpid(), saved = errno, outer = xfs_depth;
    uintptr_t outermost = xfs_outermost;
    if (atomic_exchange(&started_by, pid) == pid)
        return;
    xfs_depth = 1;
    xfs_outermost = XFS_NOT_LEFT;
    attached_later = false;
    xfs_on_large_stack(start_session, (void *)too_late);
    atomic_store(&xfs_session, XFS_SESSION_WAITING);
    if (outer > 0) /* cuInit within the process's first call */
        xfs_before_moving(early_call);
    xfs_depth = outer;
    xfs_outermost = outermost;
    errno = saved;
}

/* ---- the first cuInit ------------------------------------------------------------------------ */

#define INIT_WAIT_S 2

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static XFS_TLS bool initialising; /* holds it */

static bool driver_is_ready(void)
{
    int count;
    xcu_result (*devices)(int *) = ASK(__typeof__(devices), "cuDeviceGetCount");
    return devices == NULL || devices(&count) != XCU_ERROR_NOT_INITIALIZED;
}

/* Another thread may hold the loader's lock, which we need, and wait for us: after INIT_WAIT_S
 * nothing is attached. A change of the calendar can have the same effect. */
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
        xfs_session_start(turn == XFS_INIT_FIRST ? NULL : XFS_CUDA_IN_USE);
    initialising = false;
    pthread_mutex_unlock(&init_lock);
    errno = saved;
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* State tracked in the parent is not valid in the child: CUDA does not survive fork. */
static void in_child(void)
{
    xfs_depth = 0;
    initialising = false;
    pthread_mutex_init(&init_lock, NULL);
    atomic_store(&xfs_session, XFS_SESSION_NONE);
    xfs_ranges_after_fork();
    xfs_captures_after_fork();
    xfs_context_calls_after_fork();
    xfs_peers_clear();
    xfs_pairs_after_fork();
    xfs_graph_after_fork();
    xfs_functions_forget();
    xfs_arguments_after_fork();
    xfs_nvtx_after_fork();
    xfs_content_after_fork();
    xfs_sleeps_after_fork();
    xfs_others_after_fork();
}

__attribute__((constructor)) static void watch_fork(void)
{
    xfs_apply_follow_captures(xfs_captures_now);
    pthread_atfork(NULL, NULL, in_child);
}
