/*
 * Terms that all parts share: kinds of memory, directions, the interface of a call.
 *
 * The numbers are part of the trace format (docs/trace-format.md): never renumber, only append.
 * Each list is one X-macro row: enumerator, its number, the word printed everywhere.
 */
#ifndef XFERSCOPE_TERMS_H
#define XFERSCOPE_TERMS_H

/* What kind of memory an address belongs to. */
#define XFT_MEMORY_LIST(X)                                                                         \
    X(XFT_MEM_UNKNOWN, 0, "unknown")                                                               \
    X(XFT_MEM_PAGEABLE, 1, "pageable")                                                             \
    X(XFT_MEM_PINNED, 2, "pinned")                                                                 \
    X(XFT_MEM_WRITE_COMBINED, 3, "write-combined")                                                 \
    X(XFT_MEM_MAPPED, 4, "mapped") /* pinned and allocated for access by kernels (zero-copy) */    \
    X(XFT_MEM_REGISTERED, 5, "registered") /* pageable, page-locked later by cudaHostRegister */   \
    X(XFT_MEM_MANAGED, 6, "managed")                                                               \
    X(XFT_MEM_DEVICE, 7, "device")                                                                 \
    X(XFT_MEM_ARRAY, 8, "array")

/* Which way a transfer goes. P2P is device to another device. */
#define XFT_DIRECTION_LIST(X)                                                                      \
    X(XFT_DIR_UNKNOWN, 0, "unknown")                                                               \
    X(XFT_DIR_H2D, 1, "H2D")                                                                       \
    X(XFT_DIR_D2H, 2, "D2H")                                                                       \
    X(XFT_DIR_D2D, 3, "D2D")                                                                       \
    X(XFT_DIR_P2P, 4, "P2P")                                                                       \
    X(XFT_DIR_H2H, 5, "H2H")

/* At which interface a call was seen. */
#define XFT_LEVEL_LIST(X)                                                                          \
    X(XFT_LEVEL_RUNTIME, 1, "runtime")                                                             \
    X(XFT_LEVEL_DRIVER, 2, "driver")                                                               \
    X(XFT_LEVEL_MPI, 3, "MPI")                                                                     \
    X(XFT_LEVEL_NCCL, 4, "NCCL")

#define XFT_ENUM_ROW(symbol, number, word) symbol = number,
enum xft_memory { XFT_MEMORY_LIST(XFT_ENUM_ROW) XFT_MEMORY_COUNT };
enum xft_direction { XFT_DIRECTION_LIST(XFT_ENUM_ROW) XFT_DIRECTION_COUNT };
enum xft_level { XFT_LEVEL_LIST(XFT_ENUM_ROW) XFT_LEVEL_COUNT };
#undef XFT_ENUM_ROW

#define XFT_WORD_ROW(symbol, number, word)                                                         \
    case symbol:                                                                                   \
        return word;

/* The printed word for a number read from a file; "unknown" for one this version does not know. */
static inline const char *xft_memory_word(unsigned memory)
{
    switch (memory) {
        XFT_MEMORY_LIST(XFT_WORD_ROW)
    default:
        return "unknown";
    }
}

static inline const char *xft_direction_word(unsigned direction)
{
    switch (direction) {
        XFT_DIRECTION_LIST(XFT_WORD_ROW)
    default:
        return "unknown";
    }
}

static inline const char *xft_level_word(unsigned level)
{
    switch (level) {
        XFT_LEVEL_LIST(XFT_WORD_ROW)
    default:
        return "unknown";
    }
}
#undef XFT_WORD_ROW

/* A machine's id in traces and profiles: XXH3_64bits of the first line of /etc/machine-id with this
 * seed, 16 hexadecimal digits. It identifies a machine without revealing the id. */
#define XFT_MACHINE_ID_SEED 0x786665727363ull

#endif
