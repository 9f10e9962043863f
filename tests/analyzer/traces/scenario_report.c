#include "tests/analyzer/traces/scenario_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/analyzer/traces/play.h"

#define MIB ((uint64_t)1 << 20)

/* ---- phases --------------------------------------------------------------------------------- */

enum { TEXT_EPOCH = 1, TEXT_LOAD, TEXT_DOMAIN, TEXT_FORWARD, TEXT_SAVE, TEXT_IDLE, TEXT_LONG };
enum { SITE_LOAD = 10, SITE_SAVE, SITE_SHUFFLE };

/* A part of the thread (id 0) or of the process; a range ends where it is named 0. */
static void range(struct play *play, unsigned kind, uint64_t domain, uint64_t name, uint64_t id)
{
    struct xft_event event = {.kind = (uint8_t)kind, .src = domain, .aux = name, .dst = id};
    play_event(play, event, 0);
}

static void push(struct play *play, uint64_t domain, uint64_t name)
{
    range(play, XFT_EVENT_RANGE_BEGIN, domain, name, 0);
}

static void pop(struct play *play, uint64_t domain)
{
    range(play, XFT_EVENT_RANGE_END, domain, 0, 0);
}

static void texts(struct trace_builder *b)
{
    char text[230];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    build_text(b, TEXT_EPOCH, "epoch");
    build_text(b, TEXT_LOAD, "load");
    build_text(b, TEXT_DOMAIN, "Trainer");
    build_text(b, TEXT_FORWARD, "forward");
    build_text(b, TEXT_SAVE, "checkpoint");
    build_text(b, TEXT_IDLE, "idle");
    for (char end = 'a'; end <= 'c'; end++) {
        text[0] = end;
        build_text(b, TEXT_LONG + (unsigned)(end - 'a'), text);
    }
}

/* Nested, in a domain, of names nobody knows; and ends of what never began. */
static void thread_ranges(struct play *play)
{
    play_copy(play, SITE_SAVE, XFT_DIR_D2H, XFT_MEM_PINNED, 7 * MIB, 210000);
    for (unsigned i = 0; i < 2; i++) {
        push(play, 0, TEXT_EPOCH);
        push(play, 0, TEXT_LOAD);
        play_copy(play, SITE_LOAD, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 16 * MIB, 1500000);
        pop(play, 0);
        push(play, TEXT_DOMAIN, TEXT_FORWARD);
        play_async(play, SITE_SAVE, XFT_DIR_D2H, XFT_MEM_PINNED, 1 * MIB, 25000);
        play_async(play, SITE_SAVE, XFT_DIR_D2H, XFT_MEM_PINNED, 1 * MIB, 0);
        struct xft_event *inside =
            play_async(play, SITE_SHUFFLE, XFT_DIR_D2D, XFT_MEM_DEVICE, 3 * MIB, 0);
        inside->src_mem = inside->dst_mem = XFT_MEM_DEVICE;
        pop(play, TEXT_DOMAIN);
        push(play, 0, TEXT_IDLE);
        pop(play, 0);
        pop(play, 0);
    }
    push(play, 0, 99);
    play_copy(play, SITE_LOAD, XFT_DIR_H2D, XFT_MEM_PINNED, 5 * MIB, 130000);
    pop(play, 0);
    pop(play, 0);
    pop(play, TEXT_DOMAIN);
}

/* Their ends come from another thread, or not at all. */
static void process_ranges(struct play *play)
{
    range(play, XFT_EVENT_RANGE_BEGIN, 0, TEXT_SAVE, 501);
    range(play, XFT_EVENT_RANGE_BEGIN, TEXT_DOMAIN, TEXT_SAVE, 502);
    play_copy(play, SITE_SAVE, XFT_DIR_D2H, XFT_MEM_PAGEABLE, 12 * MIB, 1300000);
    play->lane = LANE_OTHER;
    range(play, XFT_EVENT_RANGE_END, 0, 0, 501);
    play_copy(play, SITE_SAVE, XFT_DIR_D2H, XFT_MEM_PAGEABLE, 11 * MIB, 1200000);
    range(play, XFT_EVENT_RANGE_END, 0, 0, 503);
    play->lane = LANE_MAIN;
}

/* Names too long for one line, one in the other. */
static void long_names(struct play *play)
{
    for (unsigned i = 0; i < 3; i++)
        push(play, 0, TEXT_LONG + i);
    play_copy(play, SITE_LOAD, XFT_DIR_H2D, XFT_MEM_PINNED, 2 * MIB, 60000);
    for (unsigned i = 0; i < 3; i++)
        pop(play, 0);
}

/* A domain's range ends within another one's. */
static void interleaved(struct play *play)
{
    push(play, 0, TEXT_SAVE);
    push(play, TEXT_DOMAIN, TEXT_LOAD);
    pop(play, 0);
    play_copy(play, SITE_LOAD, XFT_DIR_H2D, XFT_MEM_PINNED, 9 * MIB, 250000);
    pop(play, TEXT_DOMAIN);
}

static void phases(struct trace_builder *b, const char *variant)
{
    struct play play;
    bool deep = strcmp(variant, "too-deep") == 0;
    play_start(&play, b, 4724);
    texts(b);
    play_site(&play, SITE_LOAD, "load", 301);
    play_site(&play, SITE_SAVE, "save", 302);
    play_site(&play, SITE_SHUFFLE, "shuffle", 303);
    for (unsigned i = 0; deep && i < 70; i++)
        push(&play, 0, TEXT_EPOCH + i % 2);
    if (!deep)
        thread_ranges(&play);
    process_ranges(&play);
    for (unsigned i = 0; deep && i < 70; i++)
        pop(&play, 0);
    if (!deep) {
        long_names(&play);
        interleaved(&play);
    }
    play_end(&play, XFT_STATE_CLOSED);
}

/* ---- managed memory ------------------------------------------------------------------------- */

enum { SITE_GRID = 10, SITE_MESH, SITE_UNUSED, SITE_KERNEL_CALL, SITE_AGAIN, SITE_LINE };
enum { GRID = 0x1000000, MESH = 0x4000000, UNUSED = 0x6000000, DECLARED = 0x8000000 };
enum { KERNELS = 6, LINES = 6 };

static void allocate(struct play *play, unsigned stack, uint64_t address, uint64_t bytes)
{
    struct xft_event event = {.kind = XFT_EVENT_ALLOC, .dst = address, .bytes = bytes};
    event.dst_mem = XFT_MEM_MANAGED;
    event.stack = stack;
    play_event(play, event, 100);
}

static void migrate(struct play *play, uint64_t address, uint64_t bytes, unsigned direction,
                    unsigned cause)
{
    struct xft_event event = {.kind = XFT_EVENT_MIGRATION, .src = address, .bytes = bytes};
    event.direction = (uint8_t)direction;
    event.aux = cause;
    play_event(play, event, 1000 + bytes / 64);
}

static void fault(struct play *play, uint64_t address, int device, unsigned faults, unsigned stack)
{
    struct xft_event event = {.kind = XFT_EVENT_FAULT, .src = address, .count = faults};
    event.device = (int16_t)device;
    event.stack = stack;
    play_event(play, event, 2000 + 10 * faults);
}

/* The device faults while kernels run: in more of them than are shown, and in none. */
static void device_faults(struct play *play)
{
    char name[600];
    memset(name, 'k', sizeof name);
    name[sizeof name - 1] = 0;
    build_text(play->b, 1, "_Z7stencilPfi");
    build_text(play->b, 2, name);
    for (unsigned i = 0; i < KERNELS; i++) {
        if (i > 1) {
            snprintf(name, sizeof name, "kernel_%u", i);
            build_text(play->b, i + 1, name);
        }
        struct xft_event kernel = {.kind = XFT_EVENT_KERNEL, .src = i + 1};
        play_event(play, kernel, 20000)->end_ns += 20000;
        for (unsigned times = 0; times <= i; times++)
            fault(play, GRID + times, 0, 3 + i, 0);
        play->now += 10000000; /* far from what comes next, by either clock */
    }
    fault(play, GRID, 0, 9, 0);
    fault(play, MESH, 0, 1, 0);
}

/* The host faults between calls, at more lines than are shown, and at one that is not known. */
static void host_faults(struct play *play)
{
    for (unsigned i = 0; i < LINES; i++) {
        struct xft_event call = {.kind = XFT_EVENT_SYNC, .call = CALL_MEMCPY};
        call.stack = SITE_KERNEL_CALL;
        if (i == 2)
            play_event(play, call, 500);
        fault(play, GRID, XFT_PLACE_HOST, 10 + i, SITE_LINE + i);
    }
    fault(play, GRID, XFT_PLACE_HOST, 2, 0);
    fault(play, DECLARED, XFT_PLACE_HOST, 1, SITE_LINE);
    struct xft_event last = {.kind = XFT_EVENT_SYNC, .call = CALL_HTOD, .stack = SITE_GRID};
    play_event(play, last, 500);
}

static void migrations(struct play *play)
{
    for (unsigned cause = 0; cause <= XFT_CAUSE_ACCESS_COUNTERS; cause++)
        migrate(play, GRID, (cause + 1) * MIB, cause % 2 ? XFT_DIR_H2D : XFT_DIR_D2H, cause);
    migrate(play, MESH, 64 << 10, XFT_DIR_P2P, XFT_CAUSE_COHERENCE);
    migrate(play, DECLARED, 128 << 10, XFT_DIR_H2D, XFT_CAUSE_COHERENCE);
}

/* The same place again, for another site. */
static void free_and_allocate(struct play *play)
{
    struct xft_event freed = {.kind = XFT_EVENT_FREE, .dst = MESH, .bytes = 2 * MIB};
    freed.dst_mem = XFT_MEM_MANAGED;
    play_event(play, freed, 300);
    migrate(play, MESH, 32 << 10, XFT_DIR_D2H, XFT_CAUSE_EVICTION); /* nobody's */
    allocate(play, SITE_AGAIN, MESH, 1 * MIB);
    migrate(play, MESH, 16 << 10, XFT_DIR_H2D, XFT_CAUSE_USER);
}

static void managed_events(struct play *play)
{
    allocate(play, SITE_GRID, GRID, 32 * MIB);
    allocate(play, SITE_MESH, MESH, 2 * MIB);
    allocate(play, SITE_MESH, MESH + 2 * MIB, 3 * MIB);
    allocate(play, SITE_UNUSED, UNUSED, 1 * MIB);
    migrations(play);
    device_faults(play);
    host_faults(play);
    free_and_allocate(play);
}

static void managed_sites(struct play *play)
{
    play_site(play, SITE_GRID, "make_grid", 401);
    play_site(play, SITE_MESH, "make_mesh", 402);
    play_site(play, SITE_UNUSED, "make_scratch", 403);
    play_site(play, SITE_KERNEL_CALL, "wait_for_step", 404);
    play_site(play, SITE_AGAIN, "make_mesh_again", 405);
    for (unsigned i = 0; i < LINES; i++)
        play_site(play, SITE_LINE + i, "sum_up_what_the_device_has_left_in_the_grid", 410 + i);
}

/* Each allocation from another place: more of them than the analyzer tells apart. */
static void crowd(struct play *play)
{
    for (unsigned i = 0; i < 16400; i++)
        allocate(play, 100 + i, GRID + i * MIB, MIB);
    migrate(play, GRID, MIB, XFT_DIR_H2D, XFT_CAUSE_COHERENCE);
}

static void managed(struct trace_builder *b, const char *variant)
{
    struct play play;
    bool off = strcmp(variant, "off") == 0, refused = strcmp(variant, "refused") == 0;
    play_start(&play, b, off ? 4726 : 4725);
    build_meta(b, "managed", off || refused ? "off" : "on");
    if (refused)
        build_meta(b, "managed.why", "this device does not tell of managed memory");
    managed_sites(&play);
    if (off || refused)
        allocate(&play, SITE_GRID, GRID, 32 * MIB);
    else if (strcmp(variant, "crowded") == 0)
        crowd(&play);
    else
        managed_events(&play);
    if (strcmp(variant, "threads") == 0) {
        play.lane = LANE_OTHER;
        allocate(&play, SITE_UNUSED, UNUSED + MIB, MIB);
    }
    play_end(&play, XFT_STATE_CLOSED);
}

/* ---- several GPUs, every kind of memory ------------------------------------------------------ */

static void between(struct play *play, unsigned stack, enum xft_direction direction,
                    struct xft_event places, uint64_t bytes)
{
    struct xft_event *call = play_async(play, stack, direction, XFT_MEM_DEVICE, bytes, 0);
    call->src_mem = places.src_mem;
    call->dst_mem = places.dst_mem;
    call->src_place = places.src_place;
    call->dst_place = places.dst_place;
    play_device_copy(play, call, 3000 + bytes / 100);
}

static void copies_of_gpus(struct play *play)
{
    enum { PAGEABLE = XFT_MEM_PAGEABLE, GPU = XFT_MEM_DEVICE, ARRAY = XFT_MEM_ARRAY };
    static const struct {
        enum xft_direction direction;
        uint8_t src, dst;
        int16_t src_place, dst_place;
    } table[] = {
        {XFT_DIR_H2D, XFT_MEM_PINNED, GPU, 0, 0},
        {XFT_DIR_H2D, XFT_MEM_PINNED, GPU, 0, 2},
        {XFT_DIR_H2D, XFT_MEM_WRITE_COMBINED, ARRAY, 0, 0},
        {XFT_DIR_D2H, GPU, XFT_MEM_REGISTERED, 1, 0},
        {XFT_DIR_D2H, ARRAY, XFT_MEM_MAPPED, 1, 0},
        {XFT_DIR_D2D, GPU, GPU, 1, 1},
        {XFT_DIR_D2D, GPU, ARRAY, 0, 0},
        {XFT_DIR_P2P, GPU, GPU, 0, 1},
        {XFT_DIR_P2P, GPU, GPU, 2, 0},
        {XFT_DIR_H2H, PAGEABLE, XFT_MEM_PINNED, 0, 0},
        {XFT_DIR_D2D, XFT_MEM_MANAGED, GPU, 0, 0},
        {XFT_DIR_UNKNOWN, XFT_MEM_UNKNOWN, GPU, 0, XFT_PLACE_UNKNOWN},
    };
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
        struct xft_event places = {.src_mem = table[i].src, .dst_mem = table[i].dst};
        places.src_place = table[i].src_place;
        places.dst_place = table[i].dst_place;
        between(play, 10 + i, table[i].direction, places, (20 - i) * MIB);
    }
}

/* Device copies of one call: the parts of a batch; the halves of a copy between devices that is
 * staged in host memory. */
static void copies_in_parts(struct play *play)
{
    struct xft_event *call = play_async(play, 31, XFT_DIR_H2D, XFT_MEM_PINNED, 8 * MIB, 0);
    call->count = 2;
    call->correlation = ++play->correlation;
    play_device_part(play, call, 3 * MIB, 90000);
    play_device_part(play, call, 5 * MIB, 140000);
    call = play_async(play, 32, XFT_DIR_P2P, XFT_MEM_DEVICE, 7 * MIB, 0);
    call->src_mem = call->dst_mem = XFT_MEM_DEVICE;
    call->src_place = 1;
    call->dst_place = 2;
    call->correlation = ++play->correlation;
    play_device_part(play, call, 7 * MIB, 170000)->direction = XFT_DIR_D2H;
    play_device_part(play, call, 7 * MIB, 180000)->direction = XFT_DIR_H2D;
}

/* What is in no sum, and calls of the driver beside those of the runtime. */
static void odd_copies(struct play *play)
{
    play_copy(play, 10, XFT_DIR_H2D, XFT_MEM_PINNED, 4096, 5000)->flags = XFT_FAILED;
    play_copy(play, 10, XFT_DIR_H2D, XFT_MEM_PINNED, 4096, 5000)->flags = XFT_CAPTURED;
    play_copy(play, 10, XFT_DIR_H2D, XFT_MEM_PINNED, 0, 5000);
    struct xft_event *batch = play_copy(play, 10, XFT_DIR_H2D, XFT_MEM_PINNED, 5 * MIB, 160000);
    batch->call = CALL_HTOD;
    batch->count = 4;
    struct xft_event *rows = play_copy(play, 30, XFT_DIR_H2D, XFT_MEM_PINNED, 6 * MIB, 170000);
    rows->width = 4096;
    rows = play_copy(play, 30, XFT_DIR_H2D, XFT_MEM_PINNED, 1 * MIB, 40000);
    rows->call = 77; /* a function without a name */
    struct xft_event lonely = test_transfer(0, XFT_DIR_H2D, XFT_MEM_PINNED, 8192, play->now, 0);
    play_device_copy(play, &lonely, 2500);
}

/* More call sites with long names than a page of any size has room for. */
static void sites(struct trace_builder *b, const char *variant)
{
    struct play play;
    char name[300];
    (void)variant;
    play_start(&play, b, 4728);
    for (unsigned i = 0; i < 1200; i++) {
        snprintf(name, sizeof name, "<b>|`*_@site#%u_%0250u", i, i);
        play_site(&play, 10 + i, name, 701 + i);
        play_copy(&play, 10 + i, XFT_DIR_H2D, XFT_MEM_PAGEABLE, MIB, 400000 + 1000 * i);
    }
    play_end(&play, XFT_STATE_CLOSED);
}

static void gpus(struct trace_builder *b, const char *variant)
{
    struct play play;
    (void)variant;
    play_start(&play, b, 4727);
    build_meta(b, "gpu.count", "3");
    build_meta(b, "gpu.1.uuid", "GPU-11111111-1111-2222-3333-444444444444");
    build_meta(b, "gpu.2.name", "Third GPU");
    for (unsigned i = 0; i < 12; i++)
        play_site(&play, 10 + i, "exchange", 501 + i);
    copies_of_gpus(&play);
    copies_in_parts(&play);
    odd_copies(&play);
    play_end(&play, XFT_STATE_CLOSED);
}

/* ---- files of a run ------------------------------------------------------------------------- */

/* Number 3 began first. Several tell the same of their times, not one behind the other, and two the
 * same in another way. */
static void process(struct trace_builder *b, const char *variant)
{
    enum { PROCESSES = 8 };
    static const char *const timing[PROCESSES] = {"cupti", "event", "host",  "host",
                                                  "clock", NULL,    "cupti", "host"};
    static const char *const why[PROCESSES] = {
        [2] = "CUPTI is not there", [3] = "CUPTI is another tool's", [7] = "CUPTI is not there"};
    static const unsigned begins[PROCESSES] = {20, 30, 40, 10, 50, 60, 70, 80};
    struct play play;
    unsigned i = (unsigned)strtoul(variant, NULL, 10) % PROCESSES;
    char exe[64];
    snprintf(exe, sizeof exe, "/opt/sample/worker-%u", i);
    play_start_nameless(&play, b, 5000 + (int)i);
    b->header.start_real_ns += begins[i] * 1000000ull;
    build_meta(b, "exe", exe);
    build_meta(b, "cmdline",
               "worker\x1f--rank\x1f\x1f--name\x1ftwo words\x1fit's\x1f(a)\x1fplain_1.5");
    build_meta(b, "gpu.0.name", "Test GPU");
    if (timing[i])
        build_meta(b, "timing", timing[i]);
    if (why[i])
        build_meta(b, "timing.why", why[i]);
    build_call(b, CALL_MEMCPY, XFT_LEVEL_RUNTIME, "cudaMemcpy");
    build_module(b, 0x400000, 0x500000, "/opt/sample/train");
    play_site(&play, 10, "work", 601);
    play_site(&play, 11 + i, "work_of_one", 610 + i);
    play_copy(&play, 10, XFT_DIR_H2D, XFT_MEM_PAGEABLE, (i + 1) * MIB, 200000 * (i + 1));
    play_copy(&play, 11 + i, XFT_DIR_D2H, XFT_MEM_PAGEABLE, (i + 1) * MIB, 150000 * (i + 1));
    play_end(&play, i % 2 ? XFT_STATE_RECORDING : XFT_STATE_CLOSED);
    struct xft_file_header *header = (struct xft_file_header *)b->bytes;
    header->events_lost = i == 2 ? 5 : 0;
    header->arguments_lost = i == 2;
    header->calls_after_end = i == 4 ? 3 : 0;
}

/* Waits of one thread: each site another number of times, one of them through two functions. */
static void waits(struct play *play, unsigned sites, uint64_t ns)
{
    enum { SITE_WAIT = 20, CALL_STREAM = 10, CALL_EVENT };
    build_call(play->b, CALL_STREAM, XFT_LEVEL_RUNTIME, "cudaStreamSynchronize");
    build_call(play->b, CALL_EVENT, XFT_LEVEL_RUNTIME, "cudaEventSynchronize");
    for (unsigned i = 0; i < sites; i++) {
        play_site(play, SITE_WAIT + i, "wait_for", 701 + i);
        struct xft_event wait = {.kind = XFT_EVENT_SYNC, .call = CALL_STREAM};
        wait.stack = SITE_WAIT + i;
        wait.aux = XFT_SYNC_STREAM;
        for (unsigned times = 0; times <= i; times++)
            play_event(play, wait, ns * (1 + times));
        wait.call = CALL_EVENT;
        wait.aux = XFT_SYNC_EVENT;
        if (i == 3)
            play_event(play, wait, ns / 2);
    }
}

/* Ranks 0 and 1 are of one host, each with a GPU of its own as its first; rank 2 is of another
 * host, and has two. */
static void rank(struct trace_builder *b, const char *variant)
{
    static const struct {
        const char *host, *uuid, *second;
    } table[] = {
        {"node01", "GPU-00000000-1111-2222-3333-444444444444", NULL},
        {"node01", "GPU-11111111-1111-2222-3333-444444444444", NULL},
        {"node02", "GPU-22222222-1111-2222-3333-444444444444",
         "GPU-33333333-1111-2222-3333-444444444444"},
    };
    struct play play;
    unsigned i = (unsigned)strtoul(variant, NULL, 10) % 3;
    play_start_nameless(&play, b, 6000 + (int)i);
    build_meta(b, "exe", "/opt/sample/train");
    build_meta(b, "hostname", table[i].host);
    if (strchr(variant, ':')) /* "0:7": the same, as rank 7 */
        build_meta(b, "rank", strchr(variant, ':') + 1);
    build_meta(b, "timing", "cupti");
    build_meta(b, "cost.transfer.ns", i ? "300" : "600");
    build_meta(b, "cost.transfer.n", i ? "5" : "7");
    if (i == 0) {
        build_meta(b, "cost.sync.ns", "90");
        build_meta(b, "cost.sync.n", "9");
    }
    build_meta(b, "gpu.0.name", "Test GPU");
    build_meta(b, "gpu.0.uuid", table[i].uuid);
    if (table[i].second) {
        build_meta(b, "gpu.1.name", "Test GPU");
        build_meta(b, "gpu.1.uuid", table[i].second);
    }
    build_call(b, CALL_MEMCPY, XFT_LEVEL_RUNTIME, "cudaMemcpy");
    build_module(b, 0x400000, 0x500000, "/opt/sample/train");
    play_site(&play, 10, "upload", 601);
    play_copy(&play, 10, XFT_DIR_H2D, XFT_MEM_PINNED, (i + 1) * MIB, 200000 * (i + 1));
    if (table[i].second) {
        struct xft_event *call = play_copy(&play, 10, XFT_DIR_H2D, XFT_MEM_PINNED, 9 * MIB, 700000);
        call->dst_place = call->device = 1;
    }
    waits(&play, i == 0 ? 12 : i, 1000 * (i + 1));
    play_end(&play, XFT_STATE_CLOSED);
}

static void nameless(struct trace_builder *b, const char *variant)
{
    struct play play;
    play_start_nameless(&play, b, 0);
    build_meta(b, "xferscope.version", "0.1.0"); /* a file without any was cut short */
    b->header.ppid = 0;
    b->header.start_real_ns = b->header.start_mono_ns = 0;
    if (strcmp(variant, "nothing") != 0) {
        play_copy(&play, 1, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 1 * MIB, 120000);
        play_copy(&play, 0, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 2 * MIB, 230000);
    }
    build_stack(b, 1, (uint64_t[]){0x7fff00001234}, 1);
    play_end(&play, XFT_STATE_CLOSED);
}

static void format(struct trace_builder *b, const char *minor)
{
    nameless(b, "");
    b->header.version_minor = (uint16_t)strtoul(minor, NULL, 10);
    build_version(b, XFT_VERSION_MAJOR);
}

/* One event of each kind, and of one that nobody knows, with a number of its own in each field. */
static void kinds(struct trace_builder *b, const char *variant)
{
    struct play play;
    (void)variant;
    play_start(&play, b, 4728);
    texts(b);
    build_arguments(b, 5, (uint64_t[]){0x7f0000001000, 0xffffffffffffffff}, 2);
    for (unsigned kind = 1; kind == 1 || xft_event_word(kind - 1); kind++) {
        struct xft_event event = {.kind = (uint8_t)kind,
                                  .bytes = 1000 + kind,
                                  .dst = 0x2000 + kind,
                                  .src = 1 + kind % TEXT_IDLE,
                                  .stream = 0x3000 + kind,
                                  .width = 0 - (uint64_t)(kind % 3),
                                  .aux = 1 + kind % TEXT_SAVE,
                                  .count = 4000 + kind,
                                  .stack = 1 + kind % STACK_UNNAMED,
                                  .correlation = 5000 + kind,
                                  .status = -(int32_t)kind,
                                  .call = (uint16_t)(1 + kind % 4),
                                  .flags = (uint16_t)(1 << kind % 9),
                                  .src_place = (int16_t)(kind % 5 - 2),
                                  .dst_place = (int16_t)(kind % 7 - 2),
                                  .device = (int16_t)(kind % 3)};
        event.direction = (uint8_t)(kind % (XFT_DIRECTION_COUNT + 1));
        event.src_mem = (uint8_t)(kind % (XFT_MEMORY_COUNT + 1));
        event.dst_mem = (uint8_t)((kind + 4) % (XFT_MEMORY_COUNT + 1));
        play_event(&play, event, 10 * kind);
    }
    play_end(&play, XFT_STATE_CLOSED);
}

bool scenario_report(struct trace_builder *b, const char *name, const char *variant)
{
    static const struct {
        const char *name;
        void (*build)(struct trace_builder *b, const char *variant);
    } table[] = {
        {"findings", scenario_findings},
        {"contents", scenario_contents},
        {"many-contents", scenario_many_contents},
        {"phases", phases},
        {"managed", managed},
        {"gpus", gpus},
        {"sites", sites},
        {"process", process},
        {"rank", rank},
        {"exchange", scenario_exchange},
        {"nameless", nameless},
        {"format", format},
        {"kinds", kinds},
        {"compare", scenario_compare},
        {"absurd", scenario_absurd},
        {"ranges", scenario_ranges},
        {"moved-nothing", scenario_moved_nothing},
        {"polled", scenario_polled},
        {"gate", scenario_gate},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) == 0) {
            table[i].build(b, variant);
            return true;
        }
    }
    return false;
}
