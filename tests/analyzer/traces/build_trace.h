/*
 * Traces for tests, built in memory through the recorder's own encoder. Start, add in any order,
 * close. Fails by abort(): a test that cannot build its input proves nothing.
 */
#ifndef BUILD_TRACE_H
#define BUILD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/format/pack.h"
#include "xferscope/trace.h"

#define TEST_START_NS 1000000000ull

struct trace_builder {
    unsigned char *bytes;
    size_t size, room;
    struct xft_packer packer;
    struct xft_file_header header;
    struct xft_index_entry entries[64]; /* of the last EVENTS segments, in their order */
    size_t entry_count;
    int32_t tid; /* of EVENTS to come; 0: 100 + the lane */
};

void build_start(struct trace_builder *b, int pid);
void build_segment(struct trace_builder *b, unsigned type, const void *raw, size_t bytes);
void build_plain_segment(struct trace_builder *b, unsigned type, unsigned flags, const void *stored,
                         size_t bytes, uint64_t raw_bytes);
void build_meta(struct trace_builder *b, const char *key, const char *value);
void build_call(struct trace_builder *b, unsigned id, unsigned level, const char *name);
void build_stack(struct trace_builder *b, unsigned id, const uint64_t *addresses, unsigned depth);
void build_text(struct trace_builder *b, unsigned id, const char *text);
void build_module(struct trace_builder *b, uint64_t start, uint64_t end, const char *path);
/* The module of this process that `address` lies in, with its build id, or another one. */
void build_own_module(struct trace_builder *b, const void *address, bool right_build_id);
/* The same as if its file, or a copy of it, lay there; of a file without a build id, if need be. */
void build_own_module_at(struct trace_builder *b, const void *address, const char *path,
                         bool has_build_id);
/* As if it had been loaded so many bytes further up. */
void build_own_module_shifted(struct trace_builder *b, const void *address, const char *path,
                              uint64_t shift);
/* As if its file had been of another build then. */
void build_own_module_rebuilt(struct trace_builder *b, const void *address, const char *path);
void build_symbol(struct trace_builder *b, uint64_t address, unsigned depth, const char *function,
                  const char *file, unsigned line, const char *module);
void build_events(struct trace_builder *b, unsigned lane, uint64_t first_seq,
                  const struct xft_event *events, size_t count);
/* An INDEX of the EVENTS segments since the last one, at most 64. */
void build_index(struct trace_builder *b);
void build_arguments(struct trace_builder *b, unsigned id, const uint64_t *pointers,
                     unsigned count);
/* A LANES segment with one slab per call of build_slab() between these two. */
void build_lanes(struct trace_builder *b, unsigned slabs);
void build_slab(struct trace_builder *b, unsigned index, unsigned state, unsigned lane,
                uint64_t first_seq, const struct xft_event *events, size_t count);
/* Writes the header. */
void build_close(struct trace_builder *b, enum xft_state state, uint64_t end_ns);
/* Another major version, with a header that is sound otherwise; after build_close(). */
void build_version(struct trace_builder *b, unsigned major);
/* Another length of the header; after build_close(). */
void build_header_bytes(struct trace_builder *b, unsigned header_bytes);
/* Another event size in the header, and `committed` of the first slab; after build_close(). */
void build_event_bytes(struct trace_builder *b, unsigned event_bytes, unsigned committed);
void build_save(const struct trace_builder *b, const char *path);
void build_free(struct trace_builder *b);

/* A transfer as the recorder would describe it; adjust before adding. */
struct xft_event test_transfer(unsigned call, enum xft_direction direction, unsigned host_memory,
                               uint64_t bytes, uint64_t start_ns, uint64_t host_ns);

#endif
