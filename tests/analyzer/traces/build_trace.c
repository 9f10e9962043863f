#include "tests/analyzer/traces/build_trace.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "preload/format/index.h"
#include "preload/format/segments.h"

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "build_trace: %s\n", what);
    abort();
}

static unsigned char *extend(struct trace_builder *b, size_t bytes)
{
    while (b->size + bytes > b->room) {
        b->room = b->room ? 2 * b->room : 65536;
        b->bytes = realloc(b->bytes, b->room);
        check(b->bytes, "no memory");
    }
    unsigned char *at = b->bytes + b->size;
    memset(at, 0, bytes);
    b->size += bytes;
    return at;
}

void build_start(struct trace_builder *b, int pid)
{
    memset(b, 0, sizeof *b);
    check(xft_packer_init(&b->packer, &xft_linked_zstd), "packer");
    b->header.pid = pid;
    b->header.ppid = 1;
    b->header.start_mono_ns = TEST_START_NS;
    b->header.start_real_ns = 1763668800000000000ull; /* 2025-11-20 20:00:00 UTC */
    extend(b, XFT_HEADER_BYTES);
}

void build_segment(struct trace_builder *b, unsigned type, const void *raw, size_t bytes)
{
    size_t room = xft_pack_bound(&b->packer, bytes);
    unsigned char *out = extend(b, room);
    size_t used = xft_pack(&b->packer, type, raw, bytes, out, room);
    check(used > 0, "pack");
    b->size -= room - used;
}

void build_plain_segment(struct trace_builder *b, unsigned type, unsigned flags, const void *stored,
                         size_t bytes, uint64_t raw_bytes)
{
    struct xft_segment head = xft_segment_make(type, flags, stored, bytes, raw_bytes);
    unsigned char *out = extend(b, xft_segment_span(bytes));
    memcpy(out, &head, sizeof head);
    if (bytes)
        memcpy(out + sizeof head, stored, bytes);
}

void build_meta(struct trace_builder *b, const char *key, const char *value)
{
    char pair[4096];
    size_t k = strlen(key) + 1, v = strlen(value) + 1;
    check(k + v <= sizeof pair, "META pair too long");
    memcpy(pair, key, k);
    memcpy(pair + k, value, v);
    build_segment(b, XFT_SEG_META, pair, k + v);
}

void build_call(struct trace_builder *b, unsigned id, unsigned level, const char *name)
{
    unsigned char entry[300];
    struct xft_call_name call = {(uint16_t)id, (uint8_t)level, (uint8_t)strlen(name)};
    memcpy(entry, &call, sizeof call);
    memcpy(entry + sizeof call, name, call.name_bytes);
    build_segment(b, XFT_SEG_CALLS, entry, sizeof call + call.name_bytes);
}

void build_stack(struct trace_builder *b, unsigned id, const uint64_t *addresses, unsigned depth)
{
    unsigned char entry[sizeof(struct xft_stack) + 64 * sizeof *addresses];
    struct xft_stack stack = {id, depth};
    memcpy(entry, &stack, sizeof stack);
    memcpy(entry + sizeof stack, addresses, depth * sizeof *addresses);
    build_segment(b, XFT_SEG_STACKS, entry, sizeof stack + depth * sizeof *addresses);
}

void build_module(struct trace_builder *b, uint64_t start, uint64_t end, const char *path)
{
    unsigned char entry[512];
    struct xft_module module = {
        .start = start, .end = end, .bias = start, .path_bytes = (uint32_t)strlen(path)};
    module.build_id_bytes = 2;
    memcpy(entry, &module, sizeof module);
    memcpy(entry + sizeof module, path, module.path_bytes);
    memcpy(entry + sizeof module + module.path_bytes, "\x01\xab", 2);
    build_segment(b, XFT_SEG_MODULES, entry, sizeof module + module.path_bytes + 2);
}

struct wanted {
    uint64_t address;
    struct xft_module module;
    unsigned char build_id[64];
    char path[4096];
};

/* The GNU note among the notes at `at`. */
static void take_build_id(struct wanted *wanted, const unsigned char *at, size_t bytes)
{
    ElfW(Nhdr) note;
    while (bytes >= sizeof note) {
        memcpy(&note, at, sizeof note);
        size_t name = XFT_ALIGN(note.n_namesz, 4), size = XFT_ALIGN(note.n_descsz, 4);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= sizeof wanted->build_id) {
            wanted->module.build_id_bytes = note.n_descsz;
            memcpy(wanted->build_id, at + sizeof note + name, note.n_descsz);
        }
        size_t whole = sizeof note + name + size;
        at += whole;
        bytes -= whole < bytes ? whole : bytes;
    }
}

static int look_at_module(struct dl_phdr_info *info, size_t size, void *context)
{
    struct wanted *wanted = context;
    bool ours = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
        if (part->p_type != PT_LOAD || wanted->address < start || wanted->address >= end)
            continue;
        wanted->module.start = start;
        wanted->module.end = end;
        wanted->module.bias = info->dlpi_addr;
        ours = true;
    }
    for (int i = 0; ours && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            take_build_id(wanted,
                          (const unsigned char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                          info->dlpi_phdr[i].p_memsz);
    return ours;
}

void build_text(struct trace_builder *b, unsigned id, const char *text)
{
    unsigned char entry[sizeof(struct xft_name) + XFT_NAME_MOST + 1];
    struct xft_name name = {id, (uint32_t)strlen(text)};
    check(name.bytes <= XFT_NAME_MOST + 1, "text too long");
    memcpy(entry, &name, sizeof name);
    memcpy(entry + sizeof name, text, name.bytes);
    build_segment(b, XFT_SEG_NAMES, entry, sizeof name + name.bytes);
}

/* `id` false: as of a file that has none. */
static void put_own_module(struct trace_builder *b, const struct wanted *wanted, bool id)
{
    static unsigned char entry[sizeof(struct xft_module) + 4096 + 64];
    struct xft_module module = wanted->module;
    module.path_bytes = (uint32_t)strlen(wanted->path);
    module.build_id_bytes = id ? module.build_id_bytes : 0;
    memcpy(entry, &module, sizeof module);
    memcpy(entry + sizeof module, wanted->path, module.path_bytes);
    memcpy(entry + sizeof module + module.path_bytes, wanted->build_id, module.build_id_bytes);
    build_segment(b, XFT_SEG_MODULES, entry,
                  sizeof module + module.path_bytes + module.build_id_bytes);
}

static void find_own_module(struct wanted *wanted, const void *address)
{
    *wanted = (struct wanted){.address = (uint64_t)(uintptr_t)address};
    check(dl_iterate_phdr(look_at_module, wanted) == 1, "no module");
    check(wanted->module.build_id_bytes > 0, "no build id");
    ssize_t length = readlink("/proc/self/exe", wanted->path, sizeof wanted->path - 1);
    check(length > 0, "no path");
}

void build_own_module(struct trace_builder *b, const void *address, bool right_build_id)
{
    static struct wanted wanted;
    find_own_module(&wanted, address);
    wanted.build_id[0] ^= right_build_id ? 0 : 1;
    put_own_module(b, &wanted, true);
}

void build_own_module_rebuilt(struct trace_builder *b, const void *address, const char *path)
{
    static struct wanted wanted;
    find_own_module(&wanted, address);
    snprintf(wanted.path, sizeof wanted.path, "%s", path);
    wanted.build_id[wanted.module.build_id_bytes - 1] ^= 1;
    put_own_module(b, &wanted, true);
}

void build_own_module_shifted(struct trace_builder *b, const void *address, const char *path,
                              uint64_t shift)
{
    static struct wanted wanted;
    find_own_module(&wanted, address);
    snprintf(wanted.path, sizeof wanted.path, "%s", path);
    wanted.module.start += shift;
    wanted.module.end += shift;
    wanted.module.bias += shift;
    put_own_module(b, &wanted, true);
}

void build_own_module_at(struct trace_builder *b, const void *address, const char *path,
                         bool has_build_id)
{
    static struct wanted wanted;
    find_own_module(&wanted, address);
    snprintf(wanted.path, sizeof wanted.path, "%s", path);
    put_own_module(b, &wanted, has_build_id);
}

void build_symbol(struct trace_builder *b, uint64_t address, unsigned depth, const char *function,
                  const char *file, unsigned line, const char *module)
{
    unsigned char entry[1024], *at = entry + sizeof(struct xft_symbol);
    const char *const texts[] = {function, file, module};
    struct xft_symbol symbol = {.address = address,
                                .depth = depth,
                                .line = line,
                                .function_bytes = (uint32_t)strlen(function),
                                .file_bytes = (uint32_t)strlen(file),
                                .module_bytes = (uint32_t)strlen(module)};
    memcpy(entry, &symbol, sizeof symbol);
    for (size_t i = 0; i < 3; i++) {
        memcpy(at, texts[i], strlen(texts[i]));
        at += strlen(texts[i]);
    }
    build_segment(b, XFT_SEG_SYMBOLS, entry, (size_t)(at - entry));
}

void build_events(struct trace_builder *b, unsigned lane, uint64_t first_seq,
                  const struct xft_event *events, size_t count)
{
    while (count > 0) {
        uint32_t rows = count < XFT_SLAB_EVENTS ? (uint32_t)count : (uint32_t)XFT_SLAB_EVENTS;
        struct xft_chunk chunk = {
            .lane = lane, .tid = b->tid ? b->tid : 100 + (int)lane, .first_seq = first_seq};
        chunk.rows = rows;
        size_t room = xft_pack_events_bound(&b->packer);
        unsigned char *out = extend(b, room);
        size_t used = xft_pack_events(&b->packer, &chunk, events, out, room);
        check(used > 0, "pack events");
        struct xft_index_entry entry = xft_index_of(&chunk, events);
        entry.offset = (uint64_t)(out - b->bytes);
        b->entries[b->entry_count++ % 64] = entry;
        b->size -= room - used;
        events += rows;
        first_seq += rows;
        count -= rows;
    }
}

void build_index(struct trace_builder *b)
{
    check(b->entry_count <= 64, "too many EVENTS for an INDEX");
    size_t bytes = b->entry_count * sizeof *b->entries;
    build_plain_segment(b, XFT_SEG_INDEX, 0, b->entries, bytes, bytes);
    b->entry_count = 0;
}

void build_arguments(struct trace_builder *b, unsigned id, const uint64_t *pointers, unsigned count)
{
    unsigned char entry[sizeof(struct xft_arguments) + 256 * sizeof *pointers];
    struct xft_arguments arguments = {id, count};
    check(count <= 256, "too many arguments");
    memcpy(entry, &arguments, sizeof arguments);
    if (count)
        memcpy(entry + sizeof arguments, pointers, count * sizeof *pointers);
    build_segment(b, XFT_SEG_ARGUMENTS, entry, sizeof arguments + count * sizeof *pointers);
}

static size_t first_slab(const struct trace_builder *b, size_t segment)
{
    return XFT_ALIGN(segment + sizeof(struct xft_segment), 4096);
}

static size_t lanes_at; /* of the builder that build_lanes() was called for last */

void build_lanes(struct trace_builder *b, unsigned slabs)
{
    lanes_at = b->size;
    size_t end = first_slab(b, lanes_at) + (size_t)slabs * XFT_SLAB_BYTES;
    size_t stored = end - lanes_at - sizeof(struct xft_segment);
    struct xft_segment head = xft_segment_make(XFT_SEG_LANES, 0, NULL, stored, stored);
    unsigned char *out = extend(b, end - lanes_at);
    memcpy(out, &head, sizeof head);
}

void build_slab(struct trace_builder *b, unsigned index, unsigned state, unsigned lane,
                uint64_t first_seq, const struct xft_event *events, size_t count)
{
    unsigned char *at = b->bytes + first_slab(b, lanes_at) + (size_t)index * XFT_SLAB_BYTES;
    struct xft_slab slab = {.magic = XFT_SLAB_MAGIC,
                            .state = state,
                            .lane = lane,
                            .tid = 100 + (int)lane,
                            .first_seq = first_seq,
                            .committed = (uint32_t)count};
    check(count <= XFT_SLAB_EVENTS, "slab too small");
    memcpy(at, &slab, sizeof slab);
    memcpy(at + sizeof slab, events, count * sizeof *events);
}

void build_close(struct trace_builder *b, enum xft_state state, uint64_t end_ns)
{
    xft_header_seal(&b->header);
    b->header.state = state;
    b->header.end_mono_ns = end_ns;
    b->header.file_bytes = state == XFT_STATE_CLOSED ? b->size : 0;
    memcpy(b->bytes, &b->header, sizeof b->header);
}

static void seal_again(struct trace_builder *b)
{
    b->header.checksum = XXH3_64bits(&b->header, offsetof(struct xft_file_header, checksum));
    memcpy(b->bytes, &b->header, sizeof b->header);
}

void build_version(struct trace_builder *b, unsigned major)
{
    b->header.version_major = (uint16_t)major;
    seal_again(b);
}

void build_header_bytes(struct trace_builder *b, unsigned header_bytes)
{
    b->header.header_bytes = header_bytes;
    seal_again(b);
}

void build_event_bytes(struct trace_builder *b, unsigned event_bytes, unsigned committed)
{
    unsigned char *slab = b->bytes + first_slab(b, lanes_at);
    memcpy(slab + offsetof(struct xft_slab, committed), &committed, sizeof committed);
    b->header.event_bytes = event_bytes;
    seal_again(b);
}

void build_save(const struct trace_builder *b, const char *path)
{
    FILE *file = fopen(path, "wb");
    check(file && fwrite(b->bytes, 1, b->size, file) == b->size && fclose(file) == 0, path);
}

void build_free(struct trace_builder *b)
{
    xft_packer_free(&b->packer);
    free(b->bytes);
    memset(b, 0, sizeof *b);
}

struct xft_event test_transfer(unsigned call, enum xft_direction direction, unsigned host_memory,
                               uint64_t bytes, uint64_t start_ns, uint64_t host_ns)
{
    bool to_device = direction == XFT_DIR_H2D;
    return (struct xft_event){
        .start_ns = start_ns,
        .end_ns = start_ns + host_ns,
        .bytes = bytes,
        .width = bytes,
        .src = to_device ? 0x7f0000001000 : 0x10000000,
        .dst = to_device ? 0x10000000 : 0x7f0000001000,
        .count = 1,
        .call = (uint16_t)call,
        .kind = XFT_EVENT_TRANSFER,
        .direction = (uint8_t)direction,
        .src_mem = (uint8_t)(to_device ? host_memory : XFT_MEM_DEVICE),
        .dst_mem = (uint8_t)(to_device ? XFT_MEM_DEVICE : host_memory),
    };
}
