#include "tests/analyzer/traces/scenario.h"

#include <stdlib.h>
#include <string.h>

#define UUID "GPU-00000000-1111-2222-3333-444444444444"

void scenario_names(struct trace_builder *b)
{
    static const char *const pairs[][2] = {
        {"xferscope.version", "0.1.0"},
        {"exe", "/opt/sample/train"},
        {"cmdline", "./train\x1f--steps\x1f"
                    "3"},
        {"hostname", "testhost"},
        {"machine_id", "aaaa1111"},
        {"timing", "cupti"},
        {"cuda.driver_version", "13000"},
        {"gpu.count", "1"},
        {"gpu.0.name", "Test GPU"},
        {"gpu.0.uuid", UUID},
        {"stacks", "on"},
        {"exit", "exit"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        build_meta(b, pairs[i][0], pairs[i][1]);
    build_call(b, CALL_MEMCPY, XFT_LEVEL_RUNTIME, "cudaMemcpy");
    build_call(b, CALL_MEMCPY_ASYNC, XFT_LEVEL_RUNTIME, "cudaMemcpyAsync");
    build_call(b, CALL_HTOD, XFT_LEVEL_DRIVER, "cuMemcpyHtoD_v2");

    build_module(b, 0x400000, 0x500000, "/opt/sample/train");
    build_module(b, 0x7f1000000000, 0x7f1000100000, "/usr/lib/libcudart.so.13");
    build_module(b, 0x7f2000000000, 0x7f2000100000, "/usr/lib/libc10_cuda.so");
    build_module(b, 0x7f3000000000, 0x7f3000100000, "/usr/lib/libtorch_python.so");
    build_module(b, 0x7f4000000000, 0x7f4000100000, "/usr/bin/python3.11");
    build_symbol(b, 0x401100, 0, "upload", "/src/train.c", 42, "/opt/sample/train");
    build_symbol(b, 0x401100, 1, "step", "/src/train.c", 77, "/opt/sample/train");
    build_symbol(b, 0x401200, 0, "main", "/src/train.c", 99, "/opt/sample/train");
    build_symbol(b, 0x401300, 0, "read_results", "/src/train.c", 55, "/opt/sample/train");
    build_symbol(b, 0x7f1000001000, 0, "cudaMemcpy", "", 0, "/usr/lib/libcudart.so.13");
    build_symbol(b, 0x7f3000001000, 0, "_ZN5torch8autogradL14THPVariable_toEP7_objectS2_S2_", "", 0,
                 "/usr/lib/libtorch_python.so");
    build_symbol(b, 0x7f4000001000, 0, "_PyEval_EvalFrameDefault", "", 0, "/usr/bin/python3.11");

    build_stack(b, STACK_UPLOAD, (uint64_t[]){0x7f1000001000, 0x401100, 0x401200}, 3);
    build_stack(b, STACK_RESULTS, (uint64_t[]){0x401300, 0x401200}, 2);
    build_stack(b, STACK_TORCH,
                (uint64_t[]){0x7f1000001000, 0x7f2000001000, 0x7f3000001000, 0x7f4000001000}, 4);
    build_stack(b, STACK_UNNAMED, (uint64_t[]){0x402345}, 1);
}

struct list {
    struct xft_event *events;
    size_t count, room;
    uint64_t now;
};

static struct xft_event *add(struct list *list, struct xft_event event, unsigned stack)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 256;
        list->events = realloc(list->events, list->room * sizeof *list->events);
        if (!list->events)
            abort();
    }
    event.stack = stack;
    list->events[list->count] = event;
    list->now = event.end_ns + 100;
    return &list->events[list->count++];
}

static struct xft_event device_copy(const struct xft_event *call, uint64_t ns)
{
    struct xft_event copy = *call;
    copy.kind = XFT_EVENT_DEVICE_COPY;
    copy.start_ns = call->start_ns + 500;
    copy.end_ns = copy.start_ns + ns;
    copy.stack = copy.call = copy.flags = 0;
    return copy;
}

/* 8 synchronous copies of 16 MiB from pageable memory, 1.2 ms each by the host's clock. */
static void uploads(struct list *host)
{
    for (int i = 0; i < 8; i++)
        add(host,
            test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 16 << 20, host->now, 1200000),
            STACK_UPLOAD);
}

/* 100 asynchronous results of 64 bytes into pinned memory, 3 us each on the device. */
static void results(struct list *host, struct list *device)
{
    for (uint32_t i = 0; i < 100; i++) {
        struct xft_event event =
            test_transfer(CALL_MEMCPY_ASYNC, XFT_DIR_D2H, XFT_MEM_PINNED, 64, host->now, 1500);
        event.flags = XFT_ASYNC;
        event.correlation = 1000 + i;
        add(device, device_copy(&event, 3000), 0);
        add(host, event, STACK_RESULTS);
    }
}

/* PyTorch: 16 batches of 1 MiB, asynchronous in name, from pageable memory, 100 us each. */
static void batches(struct list *host, struct list *device)
{
    for (uint32_t i = 0; i < 16; i++) {
        struct xft_event event = test_transfer(CALL_MEMCPY_ASYNC, XFT_DIR_H2D, XFT_MEM_PAGEABLE,
                                               1 << 20, host->now, 110000);
        event.flags = XFT_ASYNC;
        event.correlation = 5000 + i;
        add(device, device_copy(&event, 100000), 0);
        add(host, event, STACK_TORCH);
    }
}

/* What must not enter any sum, and an asynchronous pinned copy whose time nobody measured. */
static void oddities(struct list *host, struct list *device)
{
    struct xft_event event =
        test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 4096, host->now, 5000);
    event.flags = XFT_FAILED;
    event.status = 1;
    add(host, event, STACK_UPLOAD);
    event = test_transfer(CALL_MEMCPY_ASYNC, XFT_DIR_H2D, XFT_MEM_PINNED, 8192, host->now, 900);
    event.flags = XFT_ASYNC | XFT_CAPTURED;
    add(host, event, STACK_UPLOAD);
    event = test_transfer(CALL_HTOD, XFT_DIR_H2D, XFT_MEM_PINNED, 1 << 20, host->now, 900);
    event.flags = XFT_ASYNC;
    add(host, event, STACK_UNNAMED);
    event = test_transfer(0, XFT_DIR_H2D, XFT_MEM_PINNED, 8192, host->now, 0);
    event.correlation = 9999;
    add(device, device_copy(&event, 2500), 0);
    struct xft_event alloc = {.start_ns = host->now, .end_ns = host->now + 10};
    alloc.kind = XFT_EVENT_ALLOC;
    add(host, alloc, 0);
}

static void mixed_events(struct list *host, struct list *device)
{
    host->now = TEST_START_NS + 1000000;
    uploads(host);
    results(host, device);
    batches(host, device);
    oddities(host, device);
}

void scenario_mixed(struct trace_builder *b)
{
    struct list host = {0}, device = {0};
    build_start(b, 4711);
    scenario_names(b);
    mixed_events(&host, &device);
    build_events(b, 0, 0, host.events, host.count);
    build_events(b, 1, 0, device.events, device.count);
    build_close(b, XFT_STATE_CLOSED, host.now + 500000);
    free(host.events);
    free(device.events);
}

void scenario_killed(struct trace_builder *b)
{
    struct list host = {0}, device = {0};
    build_start(b, 4711);
    scenario_names(b);
    mixed_events(&host, &device);
    build_lanes(b, 4);
    build_slab(b, 0, XFT_SLAB_FULL, 0, 0, host.events, 60); /* 0..49 were compressed already */
    build_slab(b, 1, XFT_SLAB_ACTIVE, 0, 60, host.events + 60, host.count - 60);
    build_slab(b, 3, XFT_SLAB_ACTIVE, 1, 0, device.events, device.count);
    build_events(b, 0, 0, host.events, 50);
    build_close(b, XFT_STATE_RECORDING, 0);
    free(host.events);
    free(device.events);
}

void scenario_many(struct trace_builder *b, size_t transfers)
{
    struct list host = {0}, device = {0};
    uint64_t host_seq = 0, device_seq = 0;
    build_start(b, 4712);
    scenario_names(b);
    for (unsigned site = 10; site < 20; site++)
        build_stack(b, site, (uint64_t[]){0x410000 + site * 16, 0x401200}, 2);
    host.now = TEST_START_NS;
    for (size_t i = 0; i < transfers; i++) {
        unsigned site = (unsigned)(i / 7 % 10);
        uint64_t bytes = i % 3 ? 4096 + i * 64 % 65536 : 1 << 20;
        enum xft_direction direction = i % 2 ? XFT_DIR_H2D : XFT_DIR_D2H;
        struct xft_event event = test_transfer(CALL_MEMCPY_ASYNC, direction, XFT_MEM_PINNED, bytes,
                                               host.now, 1500 + i % 13 * 10);
        event.flags = XFT_ASYNC;
        event.correlation = (uint32_t)i + 1;
        event.src += i * 4096;
        add(&device, device_copy(&event, (uint64_t)link_ns(bytes) + i % 11), 0);
        add(&host, event, 10 + site);
        if (host.count < 8 * XFT_SLAB_EVENTS && i + 1 < transfers)
            continue;
        build_events(b, 0, host_seq, host.events, host.count);
        build_events(b, 1, device_seq, device.events, device.count);
        host_seq += host.count;
        device_seq += device.count;
        host.count = device.count = 0;
    }
    build_close(b, XFT_STATE_CLOSED, host.now);
    free(host.events);
    free(device.events);
}

/* ---- the profile ---------------------------------------------------------------------- */

static void set_point(struct xfp_point *point, uint64_t bytes)
{
    double ns = link_ns(bytes);
    *point = (struct xfp_point){.bytes = bytes, .n = 20, .median_ns = ns, .min_ns = ns};
    point->max_ns = point->ci_low_ns = point->ci_high_ns = ns;
    point->host_ns = SUBMIT_NS;
    point->blocking_ns = ns + 3000;
}

static void set_path(struct xfp_path *path, const char *name, enum xft_direction direction,
                     struct xfp_place src, struct xfp_place dst)
{
    *path = (struct xfp_path){.name = strdup(name), .method = XFP_COPY, .direction = direction};
    path->src = src;
    path->dst = dst;
    path->device_timed = true;
    path->point_count = 12;
    path->points = calloc(path->point_count, sizeof *path->points);
    for (size_t i = 0; i < path->point_count; i++)
        set_point(&path->points[i], (uint64_t)64 << (2 * i));
    path->fit = (struct xfp_fit){.valid = true,
                                 .Lo_ns = LINK_LO_NS,
                                 .g_ns = LINK_GAP_NS,
                                 .G_ns_per_byte = 1 / LINK_GBPS,
                                 .max_error = 0.01,
                                 .fit_min_bytes = 65536};
}

struct xfp_profile *scenario_profile(void)
{
    struct xfp_profile *profile = calloc(1, sizeof *profile);
    profile->created = strdup("2025-11-20T18:00:00Z");
    profile->producer = strdup("test");
    profile->machine = (struct xfp_machine){.hostname = strdup("testhost"),
                                            .machine_id = strdup("aaaa1111"),
                                            .cpu = strdup("Test CPU"),
                                            .cpus = 4,
                                            .numa_nodes = 1,
                                            .driver_version = 13000,
                                            .gpu_count = 1};
    profile->machine.gpus = calloc(1, sizeof *profile->machine.gpus);
    profile->machine.gpus[0] = (struct xfp_gpu){.name = strdup("Test GPU"),
                                                .uuid = strdup(UUID),
                                                .pci = strdup("0000:01:00.0"),
                                                .memory_bytes = 1ull << 34,
                                                .numa = -1,
                                                .copy_engines = 2};
    struct xfp_place pinned = {XFT_MEM_PINNED, -1, -1}, gpu = {XFT_MEM_DEVICE, 0, -1};
    profile->path_count = 2;
    profile->paths = calloc(2, sizeof *profile->paths);
    set_path(&profile->paths[0], "copy/pinned/h2d/gpu0", XFT_DIR_H2D, pinned, gpu);
    set_path(&profile->paths[1], "copy/pinned/d2h/gpu0", XFT_DIR_D2H, gpu, pinned);
    return profile;
}

void scenario_other_machine(struct xfp_profile *profile)
{
    free(profile->machine.machine_id);
    free(profile->machine.gpus[0].uuid);
    free(profile->machine.gpus[0].name);
    profile->machine.machine_id = strdup("bbbb2222");
    profile->machine.gpus[0].uuid = strdup("GPU-99999999-1111-2222-3333-444444444444");
    profile->machine.gpus[0].name = strdup("Other GPU");
}
