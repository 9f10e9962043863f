/*
 * Reading a trace (include/xferscope/trace.h, docs/trace-format.md).
 *
 * A run is a directory NAME.xft of .trace files, or one such file. xfa_trace_open() checks the
 * header, walks all segments, verifies their sums and keeps the names (META, CALLS, STACKS,
 * MODULES, SYMBOLS, NAMES, ARGUMENTS); xfa_trace_events() then streams the events, as often as
 * wanted, lane by lane; merge.h gives them in the order of their times. A trace that is asleep
 * (asleep.h) is not walked again.
 *
 * Nothing in a file is believed: every length is checked, damage is skipped and counted in
 * struct xfa_loss. What reading takes is bounded by what the file holds, whatever it says: memory
 * by the XFA_MAX_ limits below, time by the rows that a segment may have (XFA_MAX_ROWS), by how far
 * it may unfold (XFT_UNFOLD_MOST), and because holes of a sparse file are stepped over where the
 * file system can tell them. Files are read, not mapped: one that shrinks meanwhile gives a short
 * read, not a signal.
 */
#ifndef XFA_READ_H
#define XFA_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/table.h"
#include "xferscope/trace.h"

#define XFA_MAX_SEGMENT XFT_SEGMENT_MOST
#define XFA_MAX_CHUNK XFT_CHUNK_MOST
#define XFA_MAX_PIECES 4096 /* zstd frames of a segment */
#define XFA_MAX_NAMES XFT_LISTS_MOST
#define XFA_MAX_ENTRIES (1u << 20) /* stacks; symbols; texts; arguments */
#define XFA_MAX_MODULES (1u << 16)
#define XFA_MAX_CALLS (1u << 12)
#define XFA_MAX_META (1u << 12)
#define XFA_MAX_PAIR (1u << 16) /* bytes of a key and its value: what a ROOM can hold */
#define XFA_MAX_INLINED 64      /* symbols of one address */
#define XFA_MAX_ROWS (1u << 12) /* rows of one EVENTS segment */

/* What could not be read, as counted by the reader, in addition to the counts in the file's header
 * from the completion of the file. */
struct xfa_loss {
    bool header_damaged;       /* the file header's sum is wrong; defaults were assumed */
    bool truncated;            /* the file ends inside a segment */
    uint64_t damaged_segments; /* places where segments or slabs were skipped */
    uint64_t damaged_bytes;    /* bytes skipped there */
    uint64_t limited_segments; /* beyond a limit above, or a newer kind of payload */
    uint64_t bad_entries;      /* malformed entries inside sound segments */
    uint64_t bad_rows;         /* rows of EVENTS or slabs that could not be decoded */
    uint64_t missing_events;   /* gaps in the lanes' sequence numbers */
    bool cut_short;            /* what the recorder says it wrote is missing at the end */
};

struct xfa_trace;
/* One line about all losses, by the reader or, as the header says, by the recorder; NULL when there
 * are none; the caller frees it. */
char *xfa_trace_loss_line(const struct xfa_trace *trace);

struct xfa_source {
    int fd;                    /* -1: data */
    const unsigned char *data; /* not owned */
    uint64_t bytes;
};

struct xfa_segment {
    uint64_t at;     /* file offset of the payload */
    uint64_t stored; /* bytes there; of LANES: as much as the file holds */
    uint64_t raw;
    uint64_t sum;
    uint16_t type, flags;
};

struct xfa_stack {
    uint32_t id; /* key */
    uint32_t depth;
    const unsigned char *addresses; /* depth little-endian uint64_t, unaligned */
};

struct xfa_text {
    uint32_t id; /* key */
    uint32_t bytes;
    const char *text; /* not terminated, as recorded: xfa_kept() */
};

struct xfa_arguments {
    uint32_t id; /* key */
    uint32_t count;
    const unsigned char *pointers; /* count little-endian uint64_t, unaligned */
};

struct xfa_module {
    uint64_t start, end, bias;
    char *path;     /* clean */
    char *build_id; /* hexadecimal */
};

struct xfa_symbol {
    uint64_t address;
    uint32_t depth, line;
    const char *function, *file, *module; /* not terminated: lengths below */
    uint32_t function_bytes, file_bytes, module_bytes;
};

struct xfa_call {
    uint16_t id; /* key */
    uint8_t level;
    char *name;
};

struct xfa_pair {
    uint64_t hash; /* key of the table: XXH3 of `key` */
    char *key;
    char *value; /* as recorded: clean before showing */
};

/* Consecutive lines of a source file; neither text is terminated. */
struct xfa_lines {
    uint32_t line; /* number of the first */
    uint32_t file_bytes, text_bytes;
    const char *file, *text;
};

struct xfa_names {
    uint64_t bytes;
    void **blocks; /* payloads that the entries point into */
    size_t block_count, block_capacity;
    struct xfa_table pairs;     /* struct xfa_pair */
    struct xfa_table calls;     /* struct xfa_call */
    struct xfa_table named;     /* read_names.c: of these, the runtime's, by name */
    struct xfa_table stacks;    /* struct xfa_stack */
    struct xfa_table texts;     /* struct xfa_text */
    struct xfa_table arguments; /* struct xfa_arguments */
    struct xfa_module *modules; /* by start once the trace is open */
    size_t module_count, module_capacity;
    struct xfa_symbol *symbols; /* by address, then depth, once the trace is open */
    size_t symbol_count, symbol_capacity;
    struct xfa_lines *lines; /* by file, then line, once the trace is open */
    size_t lines_count, lines_capacity;
    uint64_t beyond; /* symbols over XFA_MAX_INLINED, which were forgotten */
};

struct xfa_trace {
    char *name; /* path of the file */
    struct xfa_source source;
    bool heads; /* what was asked for is META and where events are: nothing else is looked at */
    struct xfa_file_identity {
        uint64_t device, inode, bytes;
        int64_t changed_s, changed_ns;
    } file;                       /* of source.fd */
    bool names_gone, events_gone; /* while and since it was asleep (asleep.h) */
    struct xft_file_header header;
    struct xfa_loss loss;
    struct xfa_segment *segments; /* in file order; PAD and unknown types included */
    size_t segment_count, segment_capacity;
    struct xfa_names names;
    uint64_t names_bad_entries; /* the part of loss.bad_entries found by xfa_trace_open() */
    uint64_t duplicate_events;  /* met twice, taken once (a reused slab) */
    unsigned char *stored;      /* of the segment read last; see xfa_trace_rest() */
    size_t stored_capacity;
    struct ZSTD_DCtx_s *unpacker; /* NULL until a segment is unpacked */
};

/*
 * Opens a file, or bytes in memory (not copied: they outlive the trace). NULL with one line in
 * error when nothing can be read: missing, empty, no trace, a newer major version.
 */
struct xfa_trace *xfa_trace_open(const char *path, char *error, size_t error_bytes);
struct xfa_trace *xfa_trace_open_bytes(const void *data, size_t bytes, char *error,
                                       size_t error_bytes);
/* The same, but of its segments only META is read, and nothing is checked before it is read: for
 * xfa_trace_meta(), and xfa_trace_events(). Losses are not known. */
struct xfa_trace *xfa_trace_open_heads(const char *path, char *error, size_t error_bytes);
void xfa_trace_close(struct xfa_trace *trace); /* NULL is allowed */

/* The .trace files of a run, sorted; *count is 0 with one line in error when there is none. Free
 * with xfa_run_files_free(). */
char **xfa_run_files(const char *path, size_t *count, char *error, size_t error_bytes);
void xfa_run_files_free(char **files, size_t count);

/* Events, a block at a time: rows events of one lane with consecutive sequence numbers. */
struct xfa_batch {
    uint32_t lane;
    int32_t tid;
    uint64_t first_seq;
    size_t rows;
    const struct xft_event *events;
    bool from_slab; /* the recorder had not compressed them yet */
};
typedef void xfa_batch_fn(void *context, const struct xfa_batch *batch);

/* Is it a transfer, and not one that failed, was captured into a graph, or is of 0 bytes? */
static inline bool xfa_moves(unsigned kind, unsigned flags, uint64_t bytes)
{
    return kind == XFT_EVENT_TRANSFER && bytes != 0 && !(flags & (XFT_FAILED | XFT_CAPTURED));
}

/* Streams all events, each once: chunks in file order, then what only slabs hold. Per lane that is
 * the order in which the thread made its calls. */
void xfa_trace_events(struct xfa_trace *trace, xfa_batch_fn *fn, void *context);

/* Look-ups. Values stay with the trace; NULL = not recorded. */
const char *xfa_trace_meta(const struct xfa_trace *trace, const char *key);
const struct xfa_call *xfa_trace_call(const struct xfa_trace *trace, unsigned id);
/* The name of a recorded function of the runtime, which is the trace's; NULL when it is none. */
const char *xfa_trace_runtime_name(const struct xfa_trace *trace, const char *name, size_t bytes);
const struct xfa_stack *xfa_trace_stack(const struct xfa_trace *trace, uint32_t id);
/* Of a kernel, an NVTX range or domain. */
const struct xfa_text *xfa_trace_text(const struct xfa_trace *trace, uint64_t id);
const struct xfa_module *xfa_trace_module(const struct xfa_trace *trace, uint64_t address);
/* The symbols of an address, *count of them, innermost first. */
const struct xfa_symbol *xfa_trace_symbols(const struct xfa_trace *trace, uint64_t address,
                                           size_t *count);

/* A line of a source file that was kept when the trace was completed, of *bytes, without its end;
 * NULL: it was not kept. The file is named as in SYMBOLS. */
const char *xfa_trace_source_line(const struct xfa_trace *trace, const char *file,
                                  size_t file_bytes, uint32_t line, size_t *bytes);
uint64_t xfa_stack_address(const struct xfa_stack *stack, uint32_t i);
/* What a launch was given (aux of a LAUNCH). */
const struct xfa_arguments *xfa_trace_arguments(const struct xfa_trace *trace, uint64_t id);
uint64_t xfa_arguments_pointer(const struct xfa_arguments *arguments, uint32_t i);

/* A segment's payload after verification and decompression, segment->raw bytes for the caller to
 * free; NULL when it is damaged or over a limit. */
unsigned char *xfa_segment_load(struct xfa_trace *trace, const struct xfa_segment *segment);

/* The same into room for segment->raw bytes (XFA_MAX_SEGMENT of them at most are ever written);
 * false when it is damaged or over a limit. */
bool xfa_segment_unpack(struct xfa_trace *trace, const struct xfa_segment *segment,
                        unsigned char *raw);

/* Within the limits, and of a form that this version knows. */
bool xfa_segment_readable(const struct xfa_segment *segment);
/* Reads the stored payload into trace->stored, and checks its sum. */
bool xfa_segment_sound(struct xfa_trace *trace, const struct xfa_segment *segment);

/* Gives back what reading segments takes, until one is read again: of a trace that stays open. */
void xfa_trace_rest(struct xfa_trace *trace);

/* ---- between the reader's files ------------------------------------------------------- */

/* Opens a regular file for reading. -1: errno says why, or nothing where it is another kind of
 * file. */
int xfa_source_open(const char *path, struct xfa_file_identity *file);
bool xfa_holds_names(uint16_t type);
size_t xfa_source_read(const struct xfa_source *source, uint64_t at, void *buffer, size_t bytes);
/* Where, at or behind `at`, the next bytes are that are not in a hole; `end` when there are none
 * before it. */
uint64_t xfa_source_data(const struct xfa_source *source, uint64_t at, uint64_t end);
void xfa_names_init(struct xfa_names *names);
void xfa_names_free(struct xfa_names *names);
/* Takes a payload of one of the seven kinds of names; owns it from then on. */
void xfa_names_take(struct xfa_trace *trace, uint16_t type, unsigned char *payload, uint64_t bytes);
void xfa_names_finish(struct xfa_names *names);

/* What reading the events counts, back to what is known before. */
void xfa_trace_reset(struct xfa_trace *trace);

/* Where a segment's header lies. */
static inline uint64_t xfa_segment_offset(const struct xfa_segment *segment)
{
    return segment->at - sizeof(struct xft_segment);
}

/* Slabs of a LANES segment: where the first one starts, where the next one that is not a hole does
 * (at or behind that of a slab; `end` when there is none before it), and what its header says. */
uint64_t xfa_slabs_begin(const struct xfa_segment *lanes);
uint64_t xfa_slabs_next(const struct xfa_trace *trace, uint64_t at, uint64_t end);
enum xfa_slab_worth {
    XFA_SLAB_EMPTY, /* free, never used, or without events */
    XFA_SLAB_SOUND,
    XFA_SLAB_BROKEN, /* what the slab holds is not known */
};
enum xfa_slab_worth xfa_slab_worth(const struct xfa_trace *trace, const struct xft_slab *slab);

/* The used slabs of all LANES segments, in the order of their sequence numbers; the caller frees
 * them. */
struct xfa_slab_place {
    uint64_t at;
    uint64_t first_seq;
    size_t bytes; /* that its segment holds of it */
};
struct xfa_slab_place *xfa_slabs_find(struct xfa_trace *trace, size_t *count);

/* Events that lie as in a slab: what both versions of the event have. */
void xfa_slab_rows(const struct xfa_trace *trace, const unsigned char *raw, size_t rows,
                   struct xft_event *events);

/* Reading inside a payload: false, and nothing taken, when fewer bytes are left. */
struct xfa_cursor {
    const unsigned char *at, *end;
};
bool xfa_take(struct xfa_cursor *cursor, void *out, size_t bytes);
const char *xfa_take_bytes(struct xfa_cursor *cursor, size_t bytes);

#endif
