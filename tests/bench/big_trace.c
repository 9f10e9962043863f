/*
 * Runs of any size, for scale.sh: what a training program with pinned and pageable copies, kernels
 * and waits records, its threads' lanes and CUPTI's, through the recorder's own encoder.
 *
 * usage: big_trace TRANSFERS FILES THREADS SITES DIRECTORY [STEPS]
 *
 * A step of a thread is three copies to the device (two asynchronous from pinned memory, one from
 * pageable memory), a launch, a copy back and a wait: 11 events, the device's records included, for
 * 4 transfers. The FILES processes share the transfers out and do the same; each is a rank of its
 * own. The events of one are encoded once. STEPS: after so many of a thread an all-reduce of MPI,
 * so that the processes are replayed together; with one thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/format/index.h"
#include "preload/format/segments.h"
#include "tests/analyzer/traces/build_trace.h"
#include "tests/bench/made_run.h"
#include "xferscope/message.h"

enum { MEMCPY_ASYNC = 1, MEMCPY, SYNCHRONIZE, LAUNCH, ALLREDUCE };
enum { RANKS = 2 /* in NAMES */, COMMUNICATOR = 1 };
enum { MOST_THREADS = 4096, INDEX_ENTRIES = 4096 };

struct shape {
    uint64_t transfers; /* of one file */
    unsigned files, threads, sites, steps;
};

struct lane {
    unsigned id;
    uint64_t first_seq;
    uint32_t count;
    struct xft_event events[XFT_SLAB_EVENTS];
};

struct thread {
    struct lane lane;
    uint64_t now, stream_end, steps;
};

struct output {
    FILE *file;
    uint64_t at;
    struct trace_builder names; /* what comes before the events; its packer serves them too */
    unsigned char *segment;
    struct xft_index_entry *entries;
    size_t count, capacity;
};

struct run {
    struct shape shape;
    struct output out;
    struct lane device;
    struct thread *threads;
    uint32_t correlation;
    uint64_t left; /* transfers */
};

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "big_trace: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- names ------------------------------------------------------------------------------ */

static void put_names(struct trace_builder *b)
{
    put_run(b);
    build_meta(b, "managed", "off");
    build_meta(b, "content", "off");
    build_call(b, MEMCPY_ASYNC, XFT_LEVEL_RUNTIME, "cudaMemcpyAsync");
    build_call(b, MEMCPY, XFT_LEVEL_RUNTIME, "cudaMemcpy");
    build_call(b, SYNCHRONIZE, XFT_LEVEL_RUNTIME, "cudaStreamSynchronize");
    build_call(b, LAUNCH, XFT_LEVEL_DRIVER, "cuLaunchKernel");
    build_call(b, ALLREDUCE, XFT_LEVEL_MPI, "MPI_Allreduce");
    build_module(b, 0x400000, 0x40000000, "/opt/sample/train");
    build_text(b, 1, "step_kernel");
}

/* One function, and one stack of two frames, for each site. */
static void put_sites(struct trace_builder *b, unsigned sites)
{
    size_t stack_bytes = sizeof(struct xft_stack) + 2 * sizeof(uint64_t), symbol_bytes = 0;
    unsigned char *stacks = calloc(sites, stack_bytes), *symbols = calloc(sites, 128), *at = stacks;
    check(stacks && symbols, "memory");
    for (unsigned i = 0; i < sites; i++, at += stack_bytes) {
        char name[32];
        uint64_t frames[] = {0x401000 + 64 * (uint64_t)i, 0x400800};
        memcpy(at, &(struct xft_stack){i + 1, 2}, sizeof(struct xft_stack));
        memcpy(at + sizeof(struct xft_stack), frames, sizeof frames);
        struct xft_symbol symbol = {.address = frames[0], .line = i + 1};
        symbol.function_bytes = (uint32_t)snprintf(name, sizeof name, "copy_%u", i);
        symbol.file_bytes = (uint32_t)strlen("/src/train.c");
        unsigned char *entry = symbols + symbol_bytes;
        memcpy(entry, &symbol, sizeof symbol);
        memcpy(entry + sizeof symbol, name, symbol.function_bytes);
        memcpy(entry + sizeof symbol + symbol.function_bytes, "/src/train.c", symbol.file_bytes);
        symbol_bytes += sizeof symbol + symbol.function_bytes + symbol.file_bytes;
    }
    build_symbol(b, 0x400800, 0, "main", "/src/train.c", 1, "/opt/sample/train");
    build_segment(b, XFT_SEG_SYMBOLS, symbols, symbol_bytes);
    build_segment(b, XFT_SEG_STACKS, stacks, sites * stack_bytes);
    free(stacks);
    free(symbols);
}

/* ---- writing ---------------------------------------------------------------------------- */

static void put(struct output *out, const void *bytes, size_t count)
{
    check(fwrite(bytes, 1, count, out->file) == count, "write");
    out->at += count;
}

static void write_lane(struct output *out, struct lane *lane)
{
    struct xft_packer *packer = &out->names.packer;
    struct xft_chunk chunk = {.lane = lane->id,
                              .tid = 1000 + (int)lane->id,
                              .first_seq = lane->first_seq,
                              .rows = lane->count};
    if (lane->count == 0)
        return;
    size_t used =
        xft_pack_events(packer, &chunk, lane->events, out->segment, xft_pack_events_bound(packer));
    check(used > 0, "pack");
    if (out->count == out->capacity) {
        out->capacity = out->capacity ? 2 * out->capacity : 1024;
        out->entries = realloc(out->entries, out->capacity * sizeof *out->entries);
        check(out->entries, "memory");
    }
    out->entries[out->count] = xft_index_of(&chunk, lane->events);
    out->entries[out->count++].offset = out->at;
    put(out, out->segment, used);
    lane->first_seq += lane->count;
    lane->count = 0;
}

static struct xft_event *add(struct run *run, struct lane *lane)
{
    if (lane->count == XFT_SLAB_EVENTS)
        write_lane(&run->out, lane);
    return &lane->events[lane->count++];
}

static void write_index(struct output *out)
{
    for (size_t at = 0; at < out->count; at += INDEX_ENTRIES) {
        size_t n = out->count - at < INDEX_ENTRIES ? out->count - at : INDEX_ENTRIES;
        struct trace_builder *b = &out->names;
        b->size = 0;
        build_plain_segment(b, XFT_SEG_INDEX, 0, out->entries + at, n * sizeof *out->entries,
                            n * sizeof *out->entries);
        put(out, b->bytes, b->size);
    }
    free(out->entries);
}

/* ---- what the program does ---------------------------------------------------------------- */

static void record_device(struct run *run, struct thread *thread, const struct xft_event *call,
                          enum xft_event_kind kind, uint64_t ns)
{
    struct xft_event *e = add(run, &run->device);
    uint64_t due = call->start_ns + 1500 + random_number() % 2000;
    *e = (struct xft_event){.kind = (uint8_t)kind, .correlation = call->correlation, .count = 1};
    e->start_ns = due > thread->stream_end ? due : thread->stream_end + 200;
    thread->stream_end = e->end_ns = e->start_ns + ns;
    e->aux = 7 + thread->lane.id; /* the stream's number */
    if (kind == XFT_EVENT_KERNEL) {
        e->src = call->src;
        e->dst = call->dst;
        return;
    }
    e->bytes = e->width = call->bytes;
    e->direction = call->direction;
    e->src_mem = call->src_mem;
    e->dst_mem = call->dst_mem;
    e->src_place = call->src_mem == XFT_MEM_DEVICE ? 0 : XFT_PLACE_HOST;
    e->dst_place = call->dst_mem == XFT_MEM_DEVICE ? 0 : XFT_PLACE_HOST;
    e->flags = call->flags & XFT_ASYNC;
}

static struct xft_event *record_call(struct run *run, struct thread *thread, unsigned call,
                                     enum xft_event_kind kind)
{
    struct xft_event *e = add(run, &thread->lane);
    *e = (struct xft_event){.kind = (uint8_t)kind, .call = (uint16_t)call};
    e->flags = XFT_STREAM_KNOWN;
    e->stream = 0x55d000000000 + 256 * (uint64_t)thread->lane.id;
    e->start_ns = thread->now;
    e->end_ns = thread->now += 900 + random_number() % 3000;
    thread->now += 200 + random_number() % 1500;
    return e;
}

static void copy(struct run *run, struct thread *thread, bool up, bool pageable)
{
    unsigned site = (unsigned)(random_number() % run->shape.sites);
    uint64_t bytes = 4096ull << site % 7;
    struct xft_event *e =
        record_call(run, thread, pageable ? MEMCPY : MEMCPY_ASYNC, XFT_EVENT_TRANSFER);
    unsigned host = pageable ? XFT_MEM_PAGEABLE : XFT_MEM_PINNED;
    if (site % 16 == 5)
        bytes += random_number() % 4096;
    e->bytes = e->width = bytes;
    e->count = 1;
    e->stack = site + 1;
    e->correlation = ++run->correlation;
    e->direction = up ? XFT_DIR_H2D : XFT_DIR_D2H;
    e->src_mem = (uint8_t)(up ? host : XFT_MEM_DEVICE);
    e->dst_mem = (uint8_t)(up ? XFT_MEM_DEVICE : host);
    uint64_t memory = 0x7f0000000000 + ((uint64_t)site << 20) + random_number() % 4 * 524288;
    e->src = up ? memory : memory + 0x1000000000;
    e->dst = up ? memory + 0x1000000000 : memory;
    e->flags |= pageable ? 0 : XFT_ASYNC;
    record_device(run, thread, e, XFT_EVENT_DEVICE_COPY, 900 + bytes / 25 + random_number() % 100);
    if (pageable) {
        e->end_ns = thread->stream_end + random_number() % 1000;
        thread->now = e->end_ns + 300;
    }
    run->left--;
}

static void launch(struct run *run, struct thread *thread)
{
    struct xft_event *e = record_call(run, thread, LAUNCH, XFT_EVENT_LAUNCH);
    e->correlation = ++run->correlation;
    e->src = 1;
    e->dst = 262144;
    record_device(run, thread, e, XFT_EVENT_KERNEL, 4000 + random_number() % 500);
}

static void wait_for_stream(struct run *run, struct thread *thread)
{
    struct xft_event *e = record_call(run, thread, SYNCHRONIZE, XFT_EVENT_SYNC);
    e->aux = XFT_SYNC_STREAM;
    e->device = XFT_PLACE_UNKNOWN;
    if (e->end_ns < thread->stream_end)
        e->end_ns = thread->stream_end + 500;
    thread->now = e->end_ns + 1000 + random_number() % 5000;
}

static void all_reduce(struct run *run, struct thread *thread)
{
    struct xft_event *e = record_call(run, thread, ALLREDUCE, XFT_EVENT_MESSAGE);
    e->flags = 0;
    e->stream = 0;
    e->stack = 1;
    e->bytes = 8;
    e->aux = xft_message_peers(XFT_RANK_NONE, XFT_RANK_NONE);
    e->count = xft_message_count(XFT_MESSAGE_ALLREDUCE, COMMUNICATOR);
}

static void step(struct run *run, struct thread *thread)
{
    if (run->shape.steps && ++thread->steps % run->shape.steps == 0)
        all_reduce(run, thread);
    for (int i = 0; i < 3 && run->left; i++)
        copy(run, thread, true, i == 2);
    launch(run, thread);
    if (run->left)
        copy(run, thread, false, false);
    wait_for_stream(run, thread);
}

static struct thread *least_advanced(struct run *run)
{
    struct thread *least = run->threads;
    for (unsigned i = 1; i < run->shape.threads; i++)
        if (run->threads[i].now < least->now)
            least = &run->threads[i];
    return least;
}

/* ---- files ------------------------------------------------------------------------------ */

static FILE *open_file(const char *directory, unsigned number, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%u-%llu.trace", directory, 1000 + number, TEST_START_NS);
    FILE *file = fopen(path, mode);
    check(file, path);
    return file;
}

static void put_rank(struct trace_builder *b, const struct shape *shape, unsigned number)
{
    char text[64];
    const struct xft_event event = {.kind = XFT_EVENT_COMMUNICATOR,
                                    .start_ns = TEST_START_NS,
                                    .end_ns = TEST_START_NS,
                                    .count = COMMUNICATOR,
                                    .width = shape->files,
                                    .src = number,
                                    .dst = RANKS,
                                    .aux = 0x77};
    snprintf(text, sizeof text, "%u", number);
    build_meta(b, "rank", text);
    snprintf(text, sizeof text, "%u", shape->files);
    build_meta(b, "rank.size", text);
    snprintf(text, sizeof text, "0-%u", shape->files - 1);
    build_text(b, RANKS, text);
    build_events(b, shape->threads + 2, 0, &event, 1);
}

/* What differs from file to file comes last, so that the events lie at the same place in all. */
static void finish_file(struct output *out, const struct shape *shape, unsigned number)
{
    char text[64];
    struct trace_builder *b = &out->names;
    b->size = 0;
    if (shape->steps)
        put_rank(b, shape, number);
    snprintf(text, sizeof text, "node%u", number / 8);
    build_meta(b, "hostname", text);
    snprintf(text, sizeof text, "GPU-00000000-1111-2222-3333-%llu", 444444444444ull + number);
    build_meta(b, "gpu.0.uuid", text);
    put(out, b->bytes, b->size);
    b->header.pid = (int)(1000 + number);
    b->header.file_bytes = out->at;
    b->header.state = XFT_STATE_CLOSED;
    xft_header_seal(&b->header);
    b->header.state = XFT_STATE_CLOSED;
    check(fseek(out->file, 0, SEEK_SET) == 0, "seek");
    check(fwrite(&b->header, sizeof b->header, 1, out->file) == 1, "write");
    check(fclose(out->file) == 0, "close");
}

static void write_events(struct run *run)
{
    for (unsigned i = 0; i < run->shape.threads; i++) {
        run->threads[i].lane.id = i + 1;
        run->threads[i].now = TEST_START_NS + 1000000 + i * 777;
    }
    run->device.id = run->shape.threads + 1;
    run->left = run->shape.transfers;
    while (run->left)
        step(run, least_advanced(run));
    uint64_t end = 0;
    for (unsigned i = 0; i < run->shape.threads; i++) {
        write_lane(&run->out, &run->threads[i].lane);
        end = run->threads[i].now > end ? run->threads[i].now : end;
    }
    write_lane(&run->out, &run->device);
    run->out.names.header.end_mono_ns = end;
}

static void copy_file(struct output *out, FILE *from, uint64_t bytes)
{
    static char block[1 << 20];
    rewind(from);
    for (uint64_t done = 0; done < bytes;) {
        size_t n = bytes - done < sizeof block ? (size_t)(bytes - done) : sizeof block;
        check(fread(block, 1, n, from) == n, "read");
        put(out, block, n);
        done += n;
    }
}

static void write_run(struct run *run, const char *directory)
{
    struct output *out = &run->out;
    build_start(&out->names, 0);
    put_names(&out->names);
    put_sites(&out->names, run->shape.sites);
    out->segment = malloc(xft_pack_events_bound(&out->names.packer));
    check(out->segment, "memory");
    out->file = open_file(directory, 0, "wb");
    put(out, out->names.bytes, out->names.size);
    write_events(run);
    write_index(out);
    uint64_t common = out->at;
    finish_file(out, &run->shape, 0);
    FILE *first = open_file(directory, 0, "rb");
    for (unsigned i = 1; i < run->shape.files; i++) {
        out->at = 0;
        out->file = open_file(directory, i, "wb");
        copy_file(out, first, common);
        finish_file(out, &run->shape, i);
    }
    fclose(first);
    free(out->segment);
    build_free(&out->names);
}

int main(int argc, char **argv)
{
    static struct run run;
    if (argc == 6 || argc == 7) {
        run.shape.steps = argc == 7 ? (unsigned)strtoul(argv[6], NULL, 10) : 0;
        run.shape.files = (unsigned)strtoul(argv[2], NULL, 10);
        run.shape.threads = (unsigned)strtoul(argv[3], NULL, 10);
        run.shape.sites = (unsigned)strtoul(argv[4], NULL, 10);
        if (run.shape.files)
            run.shape.transfers = strtoull(argv[1], NULL, 10) / run.shape.files;
    }
    if (!run.shape.transfers || !run.shape.threads || run.shape.threads > MOST_THREADS ||
        !run.shape.sites) {
        fprintf(stderr, "usage: big_trace TRANSFERS FILES THREADS SITES DIRECTORY [STEPS]\n");
        return 2;
    }
    check(mkdir(argv[5], 0777) == 0 || errno == EEXIST, argv[5]);
    run.threads = calloc(run.shape.threads, sizeof *run.threads);
    check(run.threads, "memory");
    write_run(&run, argv[5]);
    free(run.threads);
    return 0;
}
