/*
 * The trace: the recorder writes it and the analyzer reads it. This header, its parts
 * (trace_events.h: events, message.h: messages, meta.h: keys of META) and docs/trace-format.md are
 * the only contract between the two.
 *
 * A run is a directory NAME.xft/ holding one file per process, PID-STARTNS.trace. A file is
 *
 *     struct xft_file_header        (XFT_HEADER_BYTES reserved)
 *     segment, segment, ...         each a struct xft_segment and its payload,
 *                                   starting at a multiple of 8
 *
 * Segments may come in any order; a reader skips types it does not know. Everything is
 * little-endian; times are nanoseconds of CLOCK_MONOTONIC; sizes are bytes.
 *
 * While a process runs, its events lie uncompressed in slabs (struct xft_slab) inside a LANES
 * segment that the process maps shared, so that they outlive SIGKILL. A full slab becomes an
 * EVENTS segment (compressed columns) and is then reused. When recording ends the file is
 * rewritten without LANES. A reader that meets both takes each event once: an event is named by
 * its lane and its sequence number in the lane, and EVENTS win over slabs.
 *
 * Damage: a segment whose payload_sum is wrong is skipped; where no header with the right
 * header_sum stands, the reader looks for the next XFT_SEGMENT_MAGIC at a multiple of 8 whose
 * header_sum is right. A program that rewrites a file leaves the damage out, and adds what it found
 * to the damaged_ counts of the header; a reader adds these to what it finds itself.
 */
#ifndef XFERSCOPE_TRACE_H
#define XFERSCOPE_TRACE_H

#include <stdint.h>

#include "xferscope/terms.h"
#include "xferscope/trace_events.h"

#define XFT_MAGIC "XFERSCP\n"
#define XFT_BYTE_ORDER 0x01020304u
/* A reader refuses a file with a higher major version; higher minor versions only add columns,
 * encodings, segments, keys, and fields behind those of the file header. */
#define XFT_VERSION_MAJOR 1
#define XFT_VERSION_MINOR 3
#define XFT_HEADER_BYTES 4096

enum xft_state {
    XFT_STATE_RECORDING = 1, /* the process was alive, or died without finishing */
    XFT_STATE_CLOSED = 2,    /* every lane was written out; no LANES segment is left */
};

/*
 * checksum is XXH3_64bits of the bytes before it. What follows it is updated in place while the
 * process runs and is not covered.
 */
struct xft_file_header {
    char magic[8];
    uint32_t byte_order;
    uint16_t version_major;
    uint16_t version_minor;
    uint32_t header_bytes;  /* the first segment starts at the next multiple of 8 */
    uint32_t event_bytes;   /* sizeof(struct xft_event) when written */
    uint64_t start_mono_ns; /* CLOCK_MONOTONIC and CLOCK_REALTIME, read together at the start */
    uint64_t start_real_ns;
    int32_t pid;
    int32_t ppid;
    uint64_t checksum;

    uint32_t state; /* enum xft_state */
    uint32_t reserved;
    uint64_t end_mono_ns; /* when recording ended; 0 while it runs */
    uint64_t events_lost; /* events that could not be stored (disk full, lanes exhausted) */
    uint64_t stacks_lost; /* events stored without their call stack */
    uint64_t device_lost; /* device-time records dropped by the timing source */
    uint64_t file_bytes; /* of the whole file when it was closed, or last appended to: a shorter one
                            was truncated; bytes beyond it in a file that was not closed were being
                            written when the process ended. 0 = not known */
    /* Damage that was left out when the file was rewritten. 0 in files of older recorders, like all
     * fields below. */
    uint64_t damaged_places;  /* segments, slabs, stretches of the file */
    uint64_t damaged_bytes;   /* in them */
    uint64_t damaged_events;  /* known to have been there */
    uint64_t arguments_lost;  /* launches whose arguments could not be stored */
    uint64_t calls_after_end; /* calls that threads begin while the process ends: no loss of the
                                 run; since 1.3 */
};
_Static_assert(sizeof(struct xft_file_header) == 144,
               "a new field that counts what was lost has a row in losses.def");

/* ---- segments ------------------------------------------------------------------------- */

#define XFT_SEGMENT_MAGIC 0x47455358u /* "XSEG" */

enum xft_segment_type {
    XFT_SEG_PAD = 0,     /* no content */
    XFT_SEG_META = 1,    /* key\0value\0 pairs (meta.h); a later one replaces an earlier */
    XFT_SEG_CALLS = 2,   /* struct xft_call_name + name bytes, repeated */
    XFT_SEG_EVENTS = 3,  /* struct xft_chunk + columns */
    XFT_SEG_LANES = 4,   /* slabs; the first starts at the next multiple of 4096 in the file */
    XFT_SEG_STACKS = 5,  /* struct xft_stack + addresses, repeated */
    XFT_SEG_MODULES = 6, /* struct xft_module + path + build id, repeated */
    XFT_SEG_SYMBOLS = 7, /* struct xft_symbol + strings, repeated */
    XFT_SEG_NAMES = 8,   /* struct xft_name + text, repeated; since 1.1 */
    XFT_SEG_ROOM = 9, /* struct xft_room + segments, in a file that was not completed; since 1.2 */
    XFT_SEG_ARGUMENTS = 10,          /* struct xft_arguments + pointers, repeated; since 1.2 */
    XFT_SEG_INDEX = 11,              /* struct xft_index_entry, repeated; since 1.2 */
    XFT_SEG_SOURCES = 12,            /* struct xft_source + file + text, repeated; since 1.3 */
    XFT_SEG_KNOWN = XFT_SEG_SOURCES, /* the last that this version knows */
};

enum xft_segment_flags {
    XFT_SEG_ZSTD = 1, /* the payload is consecutive zstd frames (before 1.1: one), of raw_bytes in
                         all */
};

struct xft_segment {
    uint32_t magic;
    uint16_t type;
    uint16_t flags;
    uint64_t stored_bytes; /* payload as it lies in the file; the next segment starts at the
                              next multiple of 8 */
    uint64_t raw_bytes;    /* payload after decompression */
    uint64_t payload_sum;  /* XXH3_64bits of the stored payload; 0 in LANES, PAD and ROOM */
    uint64_t header_sum;   /* XXH3_64bits of the bytes before it */
};

/*
 * Limits for writers and readers: bytes of a segment's payload, stored and raw, and raw bytes of
 * all list segments together (META to NAMES, ARGUMENTS, SOURCES). A recorder uses a part of the
 * latter, and leaves the rest to the symbols that are added when the file is completed.
 */
#define XFT_SEGMENT_MOST (48u << 20)
#define XFT_CHUNK_MOST (2u << 20) /* of EVENTS and INDEX */
#define XFT_LISTS_MOST (256u << 20)
#define XFT_LISTS_RECORDED_MOST (192u << 20)

/*
 * Largest ratio of raw to stored bytes of a compressed payload, so that a reader's work is bounded
 * by the file's size. Recorders stay under 1000: two entries of a list differ at least in their
 * number, which takes zstd some bytes, and the longest entries have 4 KiB.
 */
#define XFT_UNFOLD_MOST 4096
static inline uint64_t xft_unfold_most(uint64_t stored_bytes)
{
    const uint64_t largest = UINT64_MAX / XFT_UNFOLD_MOST - sizeof(struct xft_segment);
    return (sizeof(struct xft_segment) + (stored_bytes < largest ? stored_bytes : largest)) *
           XFT_UNFOLD_MOST;
}

/*
 * Segments that the program's threads append while it runs: consecutive from here on, up to
 * `committed` bytes; the rest is not used yet. Not covered by the ROOM's payload_sum, which is 0.
 */
#define XFT_ROOM_BYTES 65536 /* with its segment header */
struct xft_room {
    uint64_t committed; /* bytes */
};

/* ---- events, in columns --------------------------------------------------------------- */

/* id, field: one row per column of an EVENTS segment. Ids are for ever. */
#define XFT_COLUMN_LIST(X)                                                                         \
    X(1, start_ns)                                                                                 \
    X(2, end_ns)                                                                                   \
    X(3, bytes)                                                                                    \
    X(4, dst)                                                                                      \
    X(5, src)                                                                                      \
    X(6, stream)                                                                                   \
    X(7, width)                                                                                    \
    X(8, aux)                                                                                      \
    X(9, count)                                                                                    \
    X(10, stack)                                                                                   \
    X(11, correlation)                                                                             \
    X(12, status)                                                                                  \
    X(13, call)                                                                                    \
    X(14, flags)                                                                                   \
    X(15, src_place)                                                                               \
    X(16, dst_place)                                                                               \
    X(17, device)                                                                                  \
    X(18, kind)                                                                                    \
    X(19, direction)                                                                               \
    X(20, src_mem)                                                                                 \
    X(21, dst_mem)

/* Payload of EVENTS after decompression: this, then `columns` directory entries, then the data. */
struct xft_chunk {
    uint32_t lane;      /* one writer's sequence of events */
    int32_t tid;        /* the thread that wrote it */
    uint64_t first_seq; /* sequence number, in the lane, of row 0 */
    uint32_t rows;
    uint32_t columns;
};

/*
 * INDEX: an entry for each EVENTS segment of the file, in the order in which they lie there, so
 * that lanes can be merged in order of time without reading them first. An INDEX lies after the
 * segments that it names: while a process runs, each EVENTS is followed by an INDEX; a completed
 * file has few. Readers do not trust it: an entry that does not match the segment at its offset is
 * damage, and a segment without an entry must be read to know its times.
 */
struct xft_index_entry {
    uint64_t offset; /* of the segment's header in the file */
    uint64_t first_seq;
    uint32_t lane;
    uint32_t rows;
    uint64_t first_ns; /* least start_ns of the rows */
    uint64_t last_ns;  /* greatest start_ns */
};

/*
 * How a column's rows are stored. All values are taken as 64-bit, signed ones sign-extended;
 * varint is LEB128; zigzag maps signed to unsigned; sums wrap at 2^64.
 *
 * Planes are bytes of equal significance: first the lowest byte of every row, then the next. Their
 * values are differences minus the smallest of them, so that they are small and not negative.
 */
enum xft_encoding {
    XFT_ENC_CONST = 0,  /* one varint: every row has this value */
    XFT_ENC_VARINT = 1, /* rows varints */
    XFT_ENC_DELTA = 2,  /* rows varints: zigzag of the difference to the row before (first: to 0) */
    XFT_ENC_DIFF = 3,   /* rows varints: zigzag of the difference to the same row of column
                           `base` */
    /* since 1.1 */
    XFT_ENC_PLANES = 4,       /* varint zigzag(least), u8 number of planes, planes of rows bytes:
                                 value - least */
    XFT_ENC_DELTA_PLANES = 5, /* varint value of row 0, then as PLANES: difference to the row
                                 before - least (of row 0: 0) */
    XFT_ENC_DIFF_PLANES = 6,  /* as PLANES: difference to the same row of column `base` - least */
    XFT_ENC_DICT = 7,         /* varint number of entries, at most XFT_DICT_MOST; for each a varint,
                                 zigzag of the difference to the one before (first: to 0); then each
                                 row's entry number, in one plane, or two for over 256 entries */
    XFT_ENC_MAP = 8,          /* column `base` is a DICT: for each of its entries a varint, zigzag
                                 of the difference to the one before (first: to 0): the value of
                                 the rows that have this entry there */
};
#define XFT_DICT_MOST 4096

struct xft_column {
    uint16_t id;
    uint8_t encoding;
    uint8_t base; /* the column that DIFF, DIFF_PLANES or MAP refer to; it comes earlier in the
                     directory; else 0 */
    uint32_t bytes;
};

/* ---- lanes ---------------------------------------------------------------------------- */

#define XFT_SLAB_MAGIC 0x42414c53u /* "SLAB" */

enum xft_slab_state {
    XFT_SLAB_FREE = 0,   /* no events; the other fields are meaningless */
    XFT_SLAB_ACTIVE = 1, /* a thread is writing */
    XFT_SLAB_FULL = 2,   /* waiting to be compressed */
};

/*
 * A slab is XFT_SLAB_BYTES long: this header, then events. An event counts once `committed`
 * includes it; `committed` and `state` are written with release order, after the data that they
 * cover. A header of zeros is a slab that was never used; one with another magic, state or more
 * events than fit is damage.
 */
#define XFT_SLAB_BYTES 262144
struct xft_slab {
    uint32_t magic;
    uint32_t state;
    uint32_t lane;
    int32_t tid;
    uint64_t first_seq;
    uint32_t committed; /* events written */
    uint32_t reserved[9];
};
#define XFT_SLAB_EVENTS ((XFT_SLAB_BYTES - sizeof(struct xft_slab)) / sizeof(struct xft_event))

/* ---- names, stacks, modules, symbols ---------------------------------------------------- */

struct xft_call_name {
    uint16_t id;
    uint8_t level; /* enum xft_level */
    uint8_t name_bytes;
}; /* then the name, not terminated, no padding */

struct xft_stack {
    uint32_t id;
    uint32_t depth;
}; /* then depth return addresses (uint64_t), innermost first */

/*
 * An address with this bit stands for a line of a Python program, and is unique in the file. Its
 * SYMBOLS entry (function = qualified name, file = co_filename, module = "python") comes in the
 * file before the first stack that has it. In a stack with such frames the native ones come first
 * and end where the interpreter's own code begins; the Python frames follow, innermost first.
 */
#define XFT_PYTHON_FRAME (UINT64_C(1) << 63)

/*
 * Addresses of code have 48 bits. When a module was loaded at addresses where the file already has
 * another one, which had been unloaded, the later module's addresses have its turn (1 for the
 * second module there, and so on) in bits from here up to 62: in STACKS, SYMBOLS and MODULES
 * (start, end, bias), so that the ranges of MODULES do not overlap. Since 1.3; before, the
 * addresses were the same.
 */
#define XFT_TURN_SHIFT 48
#define XFT_TURN_MOST 0x7fff

/* Texts that events refer to: kernels, NVTX ranges and domains. UTF-8 if the program's text is; at
 * most XFT_NAME_MOST bytes, longer ones are cut. In the file before the first event that uses the
 * id. Ids are unique in the file and not 0. */
#define XFT_NAME_MOST 4096
struct xft_name {
    uint32_t id;
    uint32_t bytes;
}; /* then the text, not terminated, no padding */

/*
 * The pointers among a kernel launch's arguments that lie in memory that the recorder knows: each
 * once, in the order of the parameters, including words in structures that are passed by value; the
 * first XFT_ARGUMENTS_MOST, so that an entry of that many may be incomplete. A launch without such
 * pointers has an entry of count 0. Ids are unique in the file and not 0; in the file before the
 * first event that uses the id.
 */
#define XFT_ARGUMENTS_MOST 64
struct xft_arguments {
    uint32_t id;
    uint32_t count;
}; /* then count pointers (uint64_t) */

struct xft_module {
    uint64_t start; /* mapped range in the process */
    uint64_t end;
    uint64_t bias; /* address in memory minus address in the ELF file */
    uint32_t path_bytes;
    uint32_t build_id_bytes;
}; /* then path and build id, no padding */

/*
 * The name and line of an address in a stack. An address with inlined functions has several
 * entries, depth 0 first (the innermost). The address looked up is the return address minus one.
 */
struct xft_symbol {
    uint64_t address; /* the return address, as in the stack */
    uint32_t depth;
    uint32_t line; /* 0 = not known */
    uint32_t function_bytes;
    uint32_t file_bytes;
    uint32_t module_bytes;
    uint32_t reserved;
}; /* then function, file and module path, no padding; empty = not known */

/*
 * Consecutive lines of a source file, around lines that SYMBOLS name. The file is written as in
 * SYMBOLS. Lines are separated by \n, without one behind the last; longer ones than
 * XFT_SOURCE_LINE_MOST bytes are cut. A line that is not there was not kept.
 */
#define XFT_SOURCE_MOST 4096 /* bytes of an entry's text */
#define XFT_SOURCE_LINE_MOST 200
struct xft_source {
    uint32_t line; /* number of the first; from 1 on */
    uint32_t file_bytes;
    uint32_t text_bytes;
    uint32_t reserved;
}; /* then file and text, no padding */

#endif
