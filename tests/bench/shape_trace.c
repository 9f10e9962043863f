/*
 * Runs of shapes that a report could take too long for: a step of a program in one row of the table
 * below, as often as it takes. For analyze_instructions.sh.
 *
 * usage: shape_trace SHAPE TRANSFERS FILE [FIELD=NUMBER...]   (a field of struct shape, another
 * value) shape_trace --list
 *
 * Deterministic: the same file for the same arguments.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/analyzer/traces/build_trace.h"
#include "tests/bench/made_run.h"

enum { MEMCPY_ASYNC = 1, MEMCPY, SYNCHRONIZE, LAUNCH, ALLOCATE, FREE, REGISTER, UNREGISTER, SET };
enum { RECORD = SET + 1, WAIT, GRAPH, INSTANTIATE, PREFETCH, MANAGED, CALLS };
enum { MOST_THREADS = 4096, MOST_STREAMS = 4096, STACK_WAIT = 1, STACK_MEMORY, STACK_FIRST };
#define HOST 0x7f0000000000u
#define DEVICE 0x7e0000000000u
#define EVENT 0x55a000000000u
#define GRAPH_EXEC 0x66000u

struct shape {
    const char *name;
    unsigned threads, streams; /* streams: of all threads, each in turn */
    unsigned sites;            /* lines that copy */
    unsigned buffers;          /* on each side; allocated at first */
    unsigned bytes;            /* of a buffer, on average */
    unsigned ups, downs;       /* copies of a step to the device, and from it */
    unsigned launches;         /* kernels of a step */
    unsigned given;            /* pointers that a kernel is given; 0: not known */
    unsigned wait_steps;       /* the host waits behind so many; 0: never */
    unsigned pageable;         /* of 16 copies */
    unsigned anew;             /* 1: device memory is allocated and freed in each step */
    unsigned locked;           /* 1: host memory is locked and unlocked in each step */
    unsigned events;           /* 1: streams wait for each other's events */
    unsigned sets;             /* memsets of a step */
    unsigned ranges;           /* names of NVTX ranges, one around each step */
    unsigned contents;         /* kinds of content of copies; 0: not known */
    unsigned graphs;           /* 1: each step's copies are of a graph */
    unsigned managed;          /* prefetches, migrations, and faults of a step */
    unsigned access;           /* 1: what the host does with the memory is known */
    unsigned sleep;            /* us that a thread sleeps before a step, on average, and is read */
    unsigned samples;          /* of threads that make no calls, one in so many us; 0: none */
    unsigned ring;             /* 1: threads step one after the other */
};

/* Of fields that are 0 here the first row counts. */
static const struct shape shapes[] = {
    {"plain", 1, 1, 20, 16, 65536, 2, 1, 1, 2, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"sites", .sites = 5000},
    {"streams", .streams = 1000, .sites = 200},
    {"threads", .threads = 64, .streams = 64, .sites = 200},
    {"buffers", .buffers = 100000},
    {"given", .given = 64, .buffers = 4000},
    {"anew", .anew = 1, .buffers = 4000},
    {"locked", .locked = 1, .buffers = 4000},
    {"steps", .wait_steps = 10000, .buffers = 64},
    {"events", .streams = 64, .events = 1},
    {"launches", .launches = 20},
    {"sets", .sets = 4},
    {"ranges", .ranges = 200},
    {"contents", .contents = 4, .buffers = 1000},
    {"graphs", .graphs = 1, .launches = 4},
    {"managed", .managed = 4, .buffers = 1000},
    {"access", .access = 1, .contents = 1000},
    {"sleepers", .threads = 1000, .streams = 1000, .sleep = 400, .samples = 100},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

struct lane {
    struct xft_event *events;
    size_t count, room;
};

struct run {
    struct shape shape;
    struct trace_builder b;
    struct lane lanes[MOST_THREADS + 1]; /* the last one is the device's */
    uint64_t now[MOST_THREADS], stream_end[MOST_STREAMS], stream_of[MOST_THREADS];
    uint64_t read[MOST_THREADS], sampled; /* until when */
    uint64_t left, steps;
    uint32_t correlation, of_graph; /* of_graph: of the launch whose nodes are made; 0: none */
};

static struct xft_event *add(struct lane *lane)
{
    if (lane->count == lane->room) {
        lane->room = lane->room ? 2 * lane->room : 4096;
        lane->events = realloc(lane->events, lane->room * sizeof *lane->events);
        if (!lane->events)
            abort();
    }
    memset(&lane->events[lane->count], 0, sizeof *lane->events);
    return &lane->events[lane->count++];
}

/* ---- names ----------------------------------------------------------------------------------- */

static void put_names(struct trace_builder *b, const struct shape *shape)
{
    static const char *const calls[CALLS] = {[MEMCPY_ASYNC] = "cudaMemcpyAsync",
                                             [MEMCPY] = "cudaMemcpy",
                                             [SYNCHRONIZE] = "cudaStreamSynchronize",
                                             [LAUNCH] = "cuLaunchKernel",
                                             [ALLOCATE] = "cudaMalloc",
                                             [FREE] = "cudaFree",
                                             [REGISTER] = "cudaHostRegister",
                                             [UNREGISTER] = "cudaHostUnregister",
                                             [SET] = "cudaMemsetAsync",
                                             [RECORD] = "cudaEventRecord",
                                             [WAIT] = "cudaStreamWaitEvent",
                                             [GRAPH] = "cudaGraphLaunch",
                                             [INSTANTIATE] = "cuGraphInstantiateWithFlags",
                                             [PREFETCH] = "cudaMemPrefetchAsync",
                                             [MANAGED] = "cudaMallocManaged"};
    put_run(b);
    build_meta(b, "gpu.0.uuid", "GPU-00000000-1111-2222-3333-444444444444");
    build_meta(b, "managed", shape->managed ? "on" : "off");
    build_meta(b, "content", shape->contents ? "on" : "off");
    for (unsigned i = 1; i < CALLS; i++)
        build_call(b, i, i == LAUNCH || i == INSTANTIATE ? XFT_LEVEL_DRIVER : XFT_LEVEL_RUNTIME,
                   calls[i]);
    build_module(b, 0x400000, 0x40000000, "/opt/sample/train");
    build_text(b, 1, "step_kernel");
    for (unsigned i = 0; i < shape->ranges; i++) {
        char name[32];
        snprintf(name, sizeof name, "range %u", i);
        build_text(b, 2 + i, name);
    }
}

static void put_sites(struct trace_builder *b, unsigned sites)
{
    build_symbol(b, 0x400800, 0, "main", "/src/train.c", 1, "/opt/sample/train");
    for (unsigned stack = 1; stack < STACK_FIRST + sites; stack++) {
        char name[32];
        uint64_t frames[] = {0x401000 + 64 * (uint64_t)stack, 0x400800};
        snprintf(name, sizeof name, "copy_%u", stack);
        build_symbol(b, frames[0], 0, name, "/src/train.c", stack, "/opt/sample/train");
        build_stack(b, stack, frames, 2);
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static uint64_t stream_handle(uint64_t stream)
{
    return 0x55d000000000 + 256 * (stream + 1);
}

static struct xft_event *call(struct run *run, unsigned thread, unsigned name, unsigned kind,
                              uint64_t ns)
{
    struct xft_event *e = add(&run->lanes[thread]);
    *e = (struct xft_event){.kind = (uint8_t)kind, .call = (uint16_t)name};
    e->flags = XFT_STREAM_KNOWN;
    e->stream = stream_handle(run->stream_of[thread]);
    e->start_ns = run->now[thread];
    e->end_ns = run->now[thread] += ns + random_number() % 500;
    run->now[thread] += 300 + random_number() % 700;
    return e;
}

static void on_device(struct run *run, unsigned thread, const struct xft_event *of, unsigned kind,
                      uint64_t ns)
{
    struct xft_event *e = add(&run->lanes[run->shape.threads]);
    uint64_t *end = &run->stream_end[run->stream_of[thread]];
    uint64_t due = of->start_ns + 1500 + random_number() % 1000;
    *e = (struct xft_event){.kind = (uint8_t)kind, .correlation = of->correlation, .count = 1};
    e->start_ns = due > *end ? due : *end + 200;
    *end = e->end_ns = e->start_ns + ns;
    e->aux = 7 + run->stream_of[thread];
    if (kind != XFT_EVENT_DEVICE_COPY) {
        e->src = of->src;
        e->dst = of->dst;
        e->bytes = kind == XFT_EVENT_MEMSET ? of->bytes : 0;
        return;
    }
    e->bytes = e->width = of->bytes;
    e->direction = of->direction;
    e->src_mem = of->src_mem;
    e->dst_mem = of->dst_mem;
    e->src_place = of->src_place;
    e->dst_place = of->dst_place;
    e->flags = of->flags & XFT_ASYNC;
}

static void memory_call(struct run *run, unsigned thread, unsigned name, unsigned kind,
                        unsigned memory, uint64_t address)
{
    struct xft_event *e = call(run, thread, name, kind, 2000);
    e->dst = address;
    e->bytes = 2 * (uint64_t)run->shape.bytes;
    e->dst_mem = (uint8_t)memory;
    e->dst_place = memory == XFT_MEM_DEVICE ? 0 : XFT_PLACE_HOST;
    e->stack = STACK_MEMORY;
}

static uint64_t address(const struct run *run, uint64_t base, unsigned buffer)
{
    return base + buffer * (uint64_t)run->shape.bytes * 2;
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void content(struct run *run, unsigned thread, const struct xft_event *of)
{
    struct xft_event *e = add(&run->lanes[thread]);
    uint64_t kind = random_number() % run->shape.contents;
    of = e - 1; /* the array may have moved */
    *e = (struct xft_event){.kind = XFT_EVENT_CONTENT, .start_ns = of->start_ns};
    e->end_ns = of->end_ns;
    e->bytes = e->width = of->bytes;
    e->src = of->src;
    e->dst = of->dst;
    e->aux = 0x9e3779b97f4a7c15u * (kind + 1) ^ of->bytes;
}

static void host_access(struct run *run, unsigned thread, bool up)
{
    struct xft_event *e = add(&run->lanes[thread]);
    const struct xft_event *of = e - (run->shape.contents ? 2 : 1);
    *e = (struct xft_event){.kind = XFT_EVENT_HOST_ACCESS, .start_ns = of->start_ns};
    e->end_ns = of->end_ns;
    e->bytes = of->bytes;
    e->src = of->src;
    e->dst = of->dst;
    e->aux = of->start_ns;
    unsigned did = (unsigned)(random_number() % 2);
    e->count = up ? XFT_HOST_WRITES_KNOWN + did * XFT_HOST_WROTE
                  : XFT_HOST_READS_KNOWN + did * XFT_HOST_READ;
}

static void copy(struct run *run, unsigned thread, unsigned buffer, bool up)
{
    const struct shape *shape = &run->shape;
    unsigned site = (unsigned)(random_number() % shape->sites);
    bool pageable = site % 16 < shape->pageable && !shape->graphs;
    uint64_t ns = run->of_graph ? 0 : pageable ? 2000 : 1200;
    struct xft_event *e =
        call(run, thread, pageable ? MEMCPY : MEMCPY_ASYNC, XFT_EVENT_TRANSFER, ns);
    if (run->of_graph)
        run->now[thread] = e->start_ns;
    unsigned host = pageable ? XFT_MEM_PAGEABLE : XFT_MEM_PINNED;
    uint64_t bytes = (uint64_t)shape->bytes / 16 << site % 5;
    e->bytes = e->width = bytes;
    e->count = 1;
    e->stack = STACK_FIRST + site;
    e->correlation = run->of_graph ? run->of_graph : ++run->correlation;
    e->direction = up ? XFT_DIR_H2D : XFT_DIR_D2H;
    e->src_mem = (uint8_t)(up ? host : XFT_MEM_DEVICE);
    e->dst_mem = (uint8_t)(up ? XFT_MEM_DEVICE : host);
    e->src_place = up ? XFT_PLACE_HOST : 0;
    e->dst_place = up ? 0 : XFT_PLACE_HOST;
    e->src = address(run, up ? HOST : DEVICE, buffer);
    e->dst = address(run, up ? DEVICE : HOST, buffer);
    e->flags |= pageable ? 0 : XFT_ASYNC;
    on_device(run, thread, e, XFT_EVENT_DEVICE_COPY, 900 + bytes / 25 + random_number() % 100);
    if (pageable) {
        e->end_ns = run->stream_end[run->stream_of[thread]] + random_number() % 1000;
        run->now[thread] = e->end_ns + 300;
    }
    if (shape->contents)
        content(run, thread, e);
    if (shape->access)
        host_access(run, thread, up);
    run->left--;
}

/* Of each buffer there is one set of arguments: it and those behind it. */
static void launch(struct run *run, unsigned thread, unsigned buffer)
{
    struct xft_event *e = call(run, thread, LAUNCH, XFT_EVENT_LAUNCH, 1500);
    e->correlation = ++run->correlation;
    e->src = 1;
    e->dst = 262144;
    e->aux = run->shape.given ? 1 + buffer : 0;
    on_device(run, thread, e, XFT_EVENT_KERNEL, 4000 + random_number() % 500);
}

static void set(struct run *run, unsigned thread, unsigned buffer)
{
    struct xft_event *e = call(run, thread, SET, XFT_EVENT_SET, 1000);
    e->correlation = ++run->correlation;
    e->dst = address(run, DEVICE, buffer);
    e->dst_mem = XFT_MEM_DEVICE;
    e->bytes = e->width = run->shape.bytes;
    e->stack = STACK_MEMORY;
    on_device(run, thread, e, XFT_EVENT_MEMSET, 2000);
}

static void wait_for_stream(struct run *run, unsigned thread)
{
    uint64_t end = run->stream_end[run->stream_of[thread]];
    struct xft_event *e = call(run, thread, SYNCHRONIZE, XFT_EVENT_SYNC, 500);
    e->aux = XFT_SYNC_STREAM;
    e->device = XFT_PLACE_UNKNOWN;
    e->stack = STACK_WAIT;
    if (e->end_ns < end)
        e->end_ns = end + 500;
    run->now[thread] = e->end_ns + 1000 + random_number() % 5000;
}

/* The stream that is next waits for this one. */
static void order_streams(struct run *run, unsigned thread)
{
    uint64_t event = EVENT + 64 * (random_number() % 1000);
    uint64_t end = run->stream_end[run->stream_of[thread]];
    call(run, thread, RECORD, XFT_EVENT_RECORD, 700)->src = event;
    run->stream_of[thread] = (run->stream_of[thread] + 1) % run->shape.streams;
    call(run, thread, WAIT, XFT_EVENT_WAIT, 700)->src = event;
    uint64_t *next = &run->stream_end[run->stream_of[thread]];
    *next = *next > end ? *next : end;
}

static void touch_managed(struct run *run, unsigned thread, unsigned buffer)
{
    const struct shape *shape = &run->shape;
    uint64_t at = address(run, DEVICE + 0x1000000000u, buffer);
    struct xft_event *e = call(run, thread, PREFETCH, XFT_EVENT_PREFETCH, 2000);
    e->src = at;
    e->bytes = shape->bytes;
    e->dst_place = 0;
    uint64_t *end = &run->stream_end[run->stream_of[thread]];
    for (unsigned i = 0; i < shape->managed; i++) {
        struct xft_event *m = add(&run->lanes[shape->threads]);
        uint64_t from = *end > run->now[thread] ? *end : run->now[thread];
        *m = (struct xft_event){.kind = XFT_EVENT_MIGRATION,
                                .src = at + i * 4096,
                                .bytes = 4096,
                                .direction = XFT_DIR_H2D,
                                .src_place = XFT_PLACE_HOST,
                                .aux = i % 2 ? XFT_CAUSE_COHERENCE : XFT_CAUSE_USER};
        m->start_ns = from;
        m->end_ns = *end = from + 2000;
        struct xft_event *f = add(&run->lanes[shape->threads]);
        *f = (struct xft_event){.kind = XFT_EVENT_FAULT,
                                .src = at + i * 4096,
                                .count = 3,
                                .aux = XFT_ACCESS_WRITE,
                                .start_ns = from - 500,
                                .end_ns = from + 2000};
    }
}

static void begin_range(struct run *run, unsigned thread, bool begin)
{
    struct xft_event *e = add(&run->lanes[thread]);
    *e = (struct xft_event){.kind = begin ? XFT_EVENT_RANGE_BEGIN : XFT_EVENT_RANGE_END};
    e->aux = begin ? 2 + run->steps % run->shape.ranges : 0;
    e->start_ns = e->end_ns = run->now[thread]++;
}

static struct xft_event *reading(struct run *run, unsigned lane, uint64_t *last, uint64_t now)
{
    struct xft_event *e = add(&run->lanes[lane]);
    *e = (struct xft_event){.kind = XFT_EVENT_PROCESSOR, .start_ns = *last, .end_ns = now};
    *last = now;
    return e;
}

static void wait_for_turn(struct run *run, unsigned thread)
{
    uint64_t before = run->now[(thread + run->shape.threads - 1) % run->shape.threads];
    run->now[thread] = before > run->now[thread] ? before : run->now[thread];
}

/* While others work for it: they do in nine tenths of its sleep. */
static void sleep_before(struct run *run, unsigned thread)
{
    uint64_t ns = (run->shape.sleep / 2 + random_number() % run->shape.sleep) * 1000;
    uint64_t *read = &run->read[thread];
    uint64_t own = run->now[thread] - (*read ? *read : run->now[thread]);
    if (*read == 0)
        *read = run->now[thread];
    if (run->shape.ring)
        wait_for_turn(run, thread);
    run->now[thread] += ns;
    struct xft_event *e = reading(run, thread, read, run->now[thread]);
    e->src = XFT_PROCESSOR_UNTIL_CALL;
    e->aux = own;
    e->width = 1 + ns * 9 / 10;
    run->now[thread] += 200;
}

/* Until now. */
static void sample_others(struct run *run, uint64_t now)
{
    uint64_t each = run->shape.samples * (uint64_t)1000;
    for (; run->sampled + each <= now;) {
        uint64_t busy = each / 4 + random_number() % (each / 2);
        struct xft_event *e = reading(run, 0, &run->sampled, run->sampled + each);
        e->src = XFT_PROCESSOR_OF_OTHERS;
        e->aux = busy;
        e->width = 1 + busy + each / 8;
        e->count = 2;
    }
}

/* Before the first launch. */
static void instantiate(struct run *run, unsigned thread)
{
    const struct shape *shape = &run->shape;
    struct xft_event *e = call(run, thread, INSTANTIATE, XFT_EVENT_GRAPH_CALL, 100000);
    e->aux = XFT_GRAPH_INSTANTIATED;
    e->src = GRAPH_EXEC;
    e->dst = GRAPH_EXEC + 0x1000;
    e->count = shape->ups + shape->launches + shape->downs;
    e->stack = STACK_FIRST;
}

/* As the recorder writes it: a launch, then its copies, with its times and its correlation, which
 * the records of the device have, too (preload/intercept/graph.c). Returns its place. */
static size_t begin_graph(struct run *run, unsigned thread)
{
    if (run->steps == 0)
        instantiate(run, thread);
    size_t at = run->lanes[thread].count;
    struct xft_event *e = call(run, thread, GRAPH, XFT_EVENT_GRAPH_LAUNCH, 3000);
    e->src = GRAPH_EXEC;
    e->count = run->shape.ups + run->shape.downs;
    e->correlation = run->of_graph = ++run->correlation;
    e->stack = STACK_FIRST;
    e->flags |= XFT_ASYNC;
    return at;
}

/* Only the device has a record of it. */
static void kernel_of_graph(struct run *run, unsigned thread, size_t graph)
{
    struct xft_event of = run->lanes[thread].events[graph];
    of.src = 1;
    of.dst = 262144;
    on_device(run, thread, &of, XFT_EVENT_KERNEL, 4000 + random_number() % 500);
}

/* The copies behind `from` are nodes of the graph that was launched there. */
static void be_of_graph(struct run *run, unsigned thread, size_t from)
{
    struct lane *lane = &run->lanes[thread];
    const struct xft_event *of = &lane->events[from];
    run->of_graph = 0;
    for (size_t i = from + 1; i < lane->count; i++) {
        struct xft_event *e = &lane->events[i];
        if (e->kind != XFT_EVENT_TRANSFER || e->flags & XFT_GRAPH)
            continue;
        e->flags |= XFT_GRAPH;
        e->start_ns = of->start_ns;
        e->end_ns = of->end_ns;
        e->call = of->call;
        e->stack = of->stack;
        e->stream = of->stream;
    }
    run->now[thread] = of->end_ns + 500;
}

static void memory_of_step(struct run *run, unsigned thread, unsigned buffer, bool begins)
{
    const struct shape *shape = &run->shape;
    if (shape->anew)
        memory_call(run, thread, begins ? ALLOCATE : FREE,
                    begins ? XFT_EVENT_ALLOC : XFT_EVENT_FREE, XFT_MEM_DEVICE,
                    address(run, DEVICE, buffer));
    if (shape->locked)
        memory_call(run, thread, begins ? REGISTER : UNREGISTER,
                    begins ? XFT_EVENT_REGISTER : XFT_EVENT_UNREGISTER, XFT_MEM_REGISTERED,
                    address(run, HOST, buffer));
}

static void copies(struct run *run, unsigned thread, unsigned buffer)
{
    const struct shape *shape = &run->shape;
    size_t graph = shape->graphs ? begin_graph(run, thread) : 0;
    for (unsigned i = 0; i < shape->ups && run->left; i++)
        copy(run, thread, (buffer + i) % shape->buffers, true);
    for (unsigned i = 0; i < shape->launches && !shape->graphs; i++)
        launch(run, thread, (buffer + i) % shape->buffers);
    for (unsigned i = 0; i < shape->launches && shape->graphs; i++)
        kernel_of_graph(run, thread, graph);
    for (unsigned i = 0; i < shape->downs && run->left; i++)
        copy(run, thread, (buffer + i) % shape->buffers, false);
    if (shape->graphs)
        be_of_graph(run, thread, graph);
}

static void step(struct run *run, unsigned thread)
{
    const struct shape *shape = &run->shape;
    unsigned buffer = (unsigned)(random_number() % shape->buffers);
    if (shape->samples && thread == 0)
        sample_others(run, run->now[0]);
    if (shape->sleep)
        sleep_before(run, thread);
    if (shape->ranges)
        begin_range(run, thread, true);
    memory_of_step(run, thread, buffer, true);
    for (unsigned i = 0; i < shape->sets; i++)
        set(run, thread, (buffer + i) % shape->buffers);
    if (shape->managed)
        touch_managed(run, thread, buffer);
    copies(run, thread, buffer);
    if (shape->events)
        order_streams(run, thread);
    if (shape->wait_steps && run->steps % shape->wait_steps == shape->wait_steps - 1)
        wait_for_stream(run, thread);
    memory_of_step(run, thread, buffer, false);
    if (shape->ranges)
        begin_range(run, thread, false);
    if (!shape->events)
        run->stream_of[thread] = (run->stream_of[thread] + shape->threads) % shape->streams;
    run->steps++;
}

/* ---- the run --------------------------------------------------------------------------------- */

static void begin_memory(struct run *run)
{
    const struct shape *shape = &run->shape;
    for (unsigned i = 0; i < shape->buffers; i++) {
        if (!shape->anew)
            memory_call(run, 0, ALLOCATE, XFT_EVENT_ALLOC, XFT_MEM_DEVICE, address(run, DEVICE, i));
        if (shape->managed)
            memory_call(run, 0, MANAGED, XFT_EVENT_ALLOC, XFT_MEM_MANAGED,
                        address(run, DEVICE + 0x1000000000u, i));
    }
}

static void put_arguments(struct run *run)
{
    const struct shape *shape = &run->shape;
    uint64_t pointers[256];
    for (unsigned i = 0; i < shape->buffers && shape->given; i++) {
        for (unsigned k = 0; k < shape->given && k < 256; k++)
            pointers[k] = address(run, DEVICE, (i + k) % shape->buffers);
        build_arguments(&run->b, 1 + i, pointers, shape->given);
    }
}

static unsigned next_thread(const struct run *run)
{
    unsigned least = 0;
    if (run->shape.ring)
        return (unsigned)(run->steps % run->shape.threads);
    for (unsigned i = 1; i < run->shape.threads; i++)
        least = run->now[i] < run->now[least] ? i : least;
    return least;
}

static void write_run(struct run *run, const char *path)
{
    const struct shape *shape = &run->shape;
    build_start(&run->b, 1000);
    put_names(&run->b, shape);
    put_sites(&run->b, shape->sites);
    put_arguments(run);
    for (unsigned i = 0; i < shape->threads; i++) {
        run->now[i] = TEST_START_NS + 1000000 + i * 777;
        run->stream_of[i] = i % shape->streams;
    }
    begin_memory(run);
    for (unsigned i = 1; i < shape->threads; i++)
        run->now[i] += run->now[0] - TEST_START_NS;
    run->sampled = run->now[0];
    while (run->left)
        step(run, next_thread(run));
    uint64_t end = 0;
    for (unsigned i = 0; i <= shape->threads; i++) {
        build_events(&run->b, i, 0, run->lanes[i].events, run->lanes[i].count);
        free(run->lanes[i].events);
        end = i < shape->threads && run->now[i] > end ? run->now[i] : end;
    }
    build_close(&run->b, XFT_STATE_CLOSED, end + 1000);
    build_save(&run->b, path);
    build_free(&run->b);
}

/* ---- arguments ------------------------------------------------------------------------------- */

#define FIELDS(X)                                                                                  \
    X(threads)                                                                                     \
    X(streams)                                                                                     \
    X(sites)                                                                                       \
    X(buffers)                                                                                     \
    X(bytes)                                                                                       \
    X(ups)                                                                                         \
    X(downs)                                                                                       \
    X(launches)                                                                                    \
    X(given)                                                                                       \
    X(wait_steps)                                                                                  \
    X(pageable)                                                                                    \
    X(anew)                                                                                        \
    X(locked)                                                                                      \
    X(events)                                                                                      \
    X(sets)                                                                                        \
    X(ranges)                                                                                      \
    X(contents)                                                                                    \
    X(graphs)                                                                                      \
    X(managed)                                                                                     \
    X(access)                                                                                      \
    X(sleep)                                                                                       \
    X(samples)                                                                                     \
    X(ring)
#define FIELD(name) {#name, offsetof(struct shape, name)},
static const struct {
    const char *name;
    size_t at;
} fields[] = {FIELDS(FIELD)};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static unsigned *field(struct shape *shape, size_t i)
{
    return (unsigned *)(void *)((char *)shape + fields[i].at);
}

static struct shape shape_of(const char *name)
{
    for (size_t s = 0; s < SHAPES; s++) {
        struct shape shape = shapes[s], first = shapes[0];
        if (strcmp(shape.name, name) != 0)
            continue;
        for (size_t i = 0; i < FIELD_COUNT; i++)
            *field(&shape, i) = *field(&shape, i) ? *field(&shape, i) : *field(&first, i);
        return shape;
    }
    fprintf(stderr, "shape_trace: no shape %s: --list\n", name);
    exit(2);
}

static void change(struct shape *shape, const char *argument)
{
    size_t length = strcspn(argument, "=");
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (strlen(fields[i].name) != length || strncmp(fields[i].name, argument, length) != 0)
            continue;
        *field(shape, i) = (unsigned)strtoul(argument + length + 1, NULL, 10);
        return;
    }
    fprintf(stderr, "shape_trace: no field %s\n", argument);
    exit(2);
}

int main(int argc, char **argv)
{
    static struct run run;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < SHAPES; i++)
            puts(shapes[i].name);
        return 0;
    }
    if (argc < 4) {
        fprintf(stderr, "usage: shape_trace SHAPE TRANSFERS FILE [FIELD=NUMBER...]\n");
        return 2;
    }
    run.shape = shape_of(argv[1]);
    for (int i = 4; i < argc; i++)
        change(&run.shape, argv[i]);
    if (run.shape.threads > MOST_THREADS || run.shape.streams > MOST_STREAMS ||
        run.shape.given > 256 || run.shape.ups + run.shape.downs == 0) {
        fprintf(stderr, "shape_trace: out of range\n");
        return 2;
    }
    run.left = strtoull(argv[2], NULL, 10);
    write_run(&run, argv[3]);
    return 0;
}
