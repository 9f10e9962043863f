/*
 * A CUDA driver that can be made to fail: for what neither a healthy GPU nor the simulated one
 * shows. Two devices on two NUMA nodes, a virtual clock, copies that take L+o + k G (further ones
 * directly behind: g + k G). Built as libcuda.so.1 into a folder of its own.
 *
 * FAKE_CUDA_FAULT names the one thing that is wrong:
 *   no-device, busy, no-kernels, no-pin (pinned memory beyond 1 MiB), small (device memory beyond 1
 *   MiB), crowded (others hold all but 64 MiB), lost (from the 300th copy on every call fails),
 * corrupt (copies of 4096 bytes lose a byte), late-gate (every gate gives up), interrupt (SIGINT at
 * the 300th copy), hang-up (SIGHUP there), early-2, early-15, early-1 (that signal at the first),
 * kill (SIGKILL at the 5000th), host-only-events (events always equal: a clock too coarse)
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/probe/fake_model.h"
#include "probe/device/kernels.h"
#include "xferscope/cuda_abi.h"

enum kind { OP_COPY, OP_EVENT, OP_GATE };
enum { MOST_OPS = 4096, CALL_NS = 100, DEVICES = 2, MOST_PIN = 1 << 20, HOST_NUMA_ID = 134 };
enum { GPU_IS_LOST = 719 };

struct op {
    enum kind kind;
    double submitted, takes, extra; /* copies: first, and directly behind another */
    double *event;
};

static struct op ops[MOST_OPS];
static size_t op_count, copies;
static double host_ns, device_ns;
static uint32_t *gate_words;
static int peers;
static int bound = -1, current; /* NUMA node of the thread, device of the context */

#define EXPORT __attribute__((visibility("default")))
#define CALL(name, ...)                                                                            \
    EXPORT xcu_result name(__VA_ARGS__);                                                           \
    EXPORT xcu_result name(__VA_ARGS__)

static bool fault(const char *name)
{
    const char *set = getenv("FAKE_CUDA_FAULT");

    return set && !strcmp(set, name);
}

static bool lost(void)
{
    return fault("lost") && copies >= 300;
}

EXPORT uint64_t xferscope_simgpu_now_ns(void);
EXPORT uint64_t xferscope_simgpu_now_ns(void)
{
    return (uint64_t)host_ns;
}

/* The machine has a node per device; the other one is further away. */
EXPORT void xferscope_simgpu_bind_numa(int node);
EXPORT void xferscope_simgpu_bind_numa(int node)
{
    bound = node;
}

static void push(enum kind kind, double takes, double extra, double *event)
{
    host_ns += CALL_NS;
    if (op_count == MOST_OPS)
        abort();
    ops[op_count++] = (struct op){kind, host_ns, takes, extra, event};
}

/* Runs the queue: everything was submitted, and the gate, if any, opened by now. */
static void drain(void)
{
    for (size_t i = 0; i < op_count; i++) {
        struct op *op = &ops[i];
        bool behind = i && ops[i - 1].kind == OP_COPY;

        if (op->kind == OP_GATE) {
            device_ns = host_ns;
            gate_words[XFP_GATE_GAVE_UP] = fault("late-gate");
        }
        device_ns = device_ns > op->submitted ? device_ns : op->submitted;
        if (op->kind == OP_COPY)
            device_ns += behind ? op->extra : op->takes;
        if (op->kind == OP_EVENT && !fault("host-only-events"))
            *op->event = device_ns;
    }
    op_count = 0;
    host_ns = host_ns > device_ns ? host_ns : device_ns;
}

static void copy(void *dst, const void *src, size_t bytes, const struct fake_path *path)
{
    double G = path->G * (double)bytes;

    memcpy(dst, src, bytes);
    if (fault("corrupt") && bytes == 4096)
        ((unsigned char *)dst)[4095] = 0;
    if (++copies == 5000 && fault("kill"))
        raise(SIGKILL);
    if (copies == 300 && fault("interrupt")) {
        raise(SIGINT);
        raise(SIGINT); /* as timeout(1) does */
    }
    if (copies == 300 && fault("hang-up"))
        raise(SIGHUP);
    for (int early = 1; copies == 1 && early <= SIGTERM; early++) {
        char name[16];

        snprintf(name, sizeof(name), "early-%d", early);
        if (fault(name))
            raise(early);
    }
    if (bound >= 0 && bound != current)
        G += FAKE_REMOTE_NS;
    push(OP_COPY, path->Lo + G, path->g + G, NULL);
}

#define ADDRESS(p) ((void *)(uintptr_t)(p))

CALL(cuInit, unsigned int flags)
{
    return fault("no-device") ? XCU_ERROR_NO_DEVICE : XCU_SUCCESS;
}
CALL(cuDriverGetVersion, int *version)
{
    *version = 12040;
    return 0;
}
CALL(cuGetErrorName, xcu_result error, const char **name)
{
    *name = "FAKE_ERROR";
    return 0;
}
CALL(cuDeviceGetCount, int *count)
{
    *count = DEVICES;
    return 0;
}
CALL(cuDeviceGet, xcu_device *device, int ordinal)
{
    *device = ordinal;
    return 0;
}
CALL(cuDeviceGetName, char *name, int bytes, xcu_device device)
{
    snprintf(name, (size_t)bytes, "fake \"GPU\"");
    return 0;
}
CALL(cuDeviceGetUuid, struct xcu_uuid *uuid, xcu_device device)
{
    memset(uuid, 0xab, sizeof(*uuid));
    return 0;
}
CALL(cuDeviceGetUuid_v2, struct xcu_uuid *uuid, xcu_device device)
{
    memset(uuid, 0xab, sizeof(*uuid));
    return 0;
}
CALL(cuDeviceGetPCIBusId, char *id, int bytes, xcu_device device)
{
    snprintf(id, (size_t)bytes, "ffff:%02x:00.0", device);
    return 0;
}
CALL(cuDeviceTotalMem_v2, size_t *bytes, xcu_device device)
{
    *bytes = 1 << 30;
    return 0;
}
CALL(cuDeviceGetAttribute, int *value, int which, xcu_device device)
{
    *value = which == HOST_NUMA_ID ? device : 2;
    return 0;
}
CALL(cuDeviceCanAccessPeer, int *can, xcu_device device, xcu_device peer)
{
    *can = 1;
    return 0;
}
CALL(cuDevicePrimaryCtxRetain, xcu_context *context, xcu_device device)
{
    *context = ADDRESS(device + 1);
    return fault("busy") ? 46 : 0;
}
CALL(cuDevicePrimaryCtxRelease_v2, xcu_device device)
{
    return 0;
}
CALL(cuCtxSetCurrent, xcu_context context)
{
    current = (int)(intptr_t)context - 1;
    return 0;
}
CALL(cuCtxSynchronize, void)
{
    drain();
    return lost() ? GPU_IS_LOST : XCU_SUCCESS;
}
CALL(cuCtxEnablePeerAccess, xcu_context peer, unsigned int flags)
{
    peers++;
    return 0;
}
CALL(cuCtxDisablePeerAccess, xcu_context peer)
{
    peers -= peers > 0;
    return 0;
}

static xcu_result allocate(void **address, size_t bytes)
{
    *address = malloc(bytes);
    return *address ? 0 : XCU_ERROR_OUT_OF_MEMORY;
}

CALL(cuMemAlloc_v2, xcu_deviceptr *address, size_t bytes)
{
    void *p;
    xcu_result result = fault("small") && bytes > MOST_PIN ? XCU_ERROR_OUT_OF_MEMORY
                        : lost()                           ? GPU_IS_LOST
                                                           : allocate(&p, bytes);

    *address = result ? 0 : (xcu_deviceptr)(uintptr_t)p;
    return result;
}
CALL(cuMemGetInfo_v2, size_t *free_bytes, size_t *total)
{
    *total = 1 << 30;
    *free_bytes = fault("crowded") ? 64 << 20 : *total;
    return 0;
}
CALL(cuMemFree_v2, xcu_deviceptr address)
{
    free(ADDRESS(address));
    return 0;
}
CALL(cuMemHostAlloc, void **address, size_t bytes, unsigned int flags)
{
    return fault("no-pin") && bytes > MOST_PIN ? XCU_ERROR_OUT_OF_MEMORY : allocate(address, bytes);
}
CALL(cuMemFreeHost, void *address)
{
    free(address);
    return 0;
}
CALL(cuMemHostGetDevicePointer_v2, xcu_deviceptr *address, void *host, unsigned int flags)
{
    *address = (xcu_deviceptr)(uintptr_t)host;
    return 0;
}
CALL(cuMemHostRegister_v2, void *address, size_t bytes, unsigned int flags)
{
    return fault("no-pin") && bytes > MOST_PIN ? XCU_ERROR_OUT_OF_MEMORY : 0;
}
CALL(cuMemHostUnregister, void *address)
{
    return 0;
}
CALL(cuMemsetD8_v2, xcu_deviceptr address, unsigned char value, size_t bytes)
{
    memset(ADDRESS(address), value, bytes);
    return 0;
}
CALL(cuMemcpyHtoD_v2, xcu_deviceptr dst, const void *src, size_t bytes)
{
    copy(ADDRESS(dst), src, bytes, &fake_h2d);
    drain();
    return lost() ? GPU_IS_LOST : XCU_SUCCESS;
}
CALL(cuMemcpyDtoH_v2, void *dst, xcu_deviceptr src, size_t bytes)
{
    copy(dst, ADDRESS(src), bytes, &fake_d2h);
    drain();
    return 0;
}
CALL(cuMemcpyHtoDAsync_v2, xcu_deviceptr dst, const void *src, size_t bytes, xcu_stream stream)
{
    copy(ADDRESS(dst), src, bytes, &fake_h2d);
    return 0;
}
CALL(cuMemcpyDtoHAsync_v2, void *dst, xcu_deviceptr src, size_t bytes, xcu_stream stream)
{
    copy(dst, ADDRESS(src), bytes, &fake_d2h);
    return 0;
}
CALL(cuMemcpyDtoDAsync_v2, xcu_deviceptr dst, xcu_deviceptr src, size_t bytes, xcu_stream stream)
{
    copy(ADDRESS(dst), ADDRESS(src), bytes, &fake_d2d);
    return 0;
}
CALL(cuMemcpyPeerAsync, xcu_deviceptr dst, xcu_context dst_context, xcu_deviceptr src,
     xcu_context src_context, size_t bytes, xcu_stream stream)
{
    copy(ADDRESS(dst), ADDRESS(src), bytes, peers ? &fake_peer : &fake_no_peer);
    return 0;
}
CALL(cuStreamCreate, xcu_stream *stream, unsigned int flags)
{
    *stream = ADDRESS(64);
    return 0;
}
CALL(cuStreamDestroy_v2, xcu_stream stream)
{
    return 0;
}
CALL(cuStreamSynchronize, xcu_stream stream)
{
    drain();
    return lost() ? GPU_IS_LOST : XCU_SUCCESS;
}
CALL(cuEventCreate, xcu_event *event, unsigned int flags)
{
    *event = calloc(1, sizeof(double));
    return 0;
}
CALL(cuEventDestroy_v2, xcu_event event)
{
    free(event);
    return 0;
}
CALL(cuEventRecord, xcu_event event, xcu_stream stream)
{
    push(OP_EVENT, 0, 0, event);
    return 0;
}
CALL(cuEventQuery, xcu_event event)
{
    drain();
    return 0;
}
CALL(cuStreamWaitEvent, xcu_stream stream, xcu_event event, unsigned int flags)
{
    return 0; /* one queue: what was submitted before comes before */
}
CALL(cuEventElapsedTime, float *ms, xcu_event start, xcu_event end)
{
    *ms = (float)((*(double *)end - *(double *)start) / 1e6);
    return 0;
}
CALL(cuModuleLoadData, void **module, const void *image)
{
    *module = ADDRESS(128);
    return fault("no-kernels") ? XCU_ERROR_NOT_SUPPORTED : 0;
}
CALL(cuModuleUnload, void *module)
{
    return 0;
}
CALL(cuModuleGetFunction, void **function, void *module, const char *name)
{
    *function = (void *)(uintptr_t)(strcmp(name, "xfp_gate") ? 1 : 2);
    return 0;
}
CALL(cuLaunchKernel, void *function, unsigned int gx, unsigned int gy, unsigned int gz,
     unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, xcu_stream stream,
     void **parameters, void **extra)
{
    if (function != ADDRESS(2))
        return 0;
    gate_words = ADDRESS(*(xcu_deviceptr *)parameters[0]);
    push(OP_GATE, 0, 0, NULL);
    return 0;
}
