/*
 * The columns of an EVENTS segment (docs/trace-format.md), decoded a block of rows at a time.
 *
 * Whatever the bytes are, what is read stays within them, and memory is bounded.
 */
#ifndef XFA_READ_COLUMNS_H
#define XFA_READ_COLUMNS_H

#include "analyzer/read/read.h"

#define XFA_BLOCK_ROWS 256
#define XFA_MAX_COLUMNS 64

struct xfa_column {
    uint16_t id;
    uint8_t encoding;
    bool undecodable; /* of an encoding this version does not know */
    int base;         /* position in the directory; -1 none */
    struct xfa_cursor data;
    uint64_t previous; /* deltas: the row before; XFT_ENC_CONST: the value */
    uint64_t least;    /* planes: added to every difference */
    unsigned planes;
    size_t plane_bytes; /* from one plane to the next */
    uint32_t entries;   /* of `table` */
    uint64_t *table;    /* DICT, MAP */
};

/* Zero it before the first use; it serves many segments. */
struct xfa_columns {
    uint32_t count;
    struct xfa_column columns[XFA_MAX_COLUMNS];
    uint64_t values[XFA_MAX_COLUMNS][XFA_BLOCK_ROWS];
    uint16_t indices[XFA_MAX_COLUMNS][XFA_BLOCK_ROWS]; /* of DICT columns */
    uint64_t tables[XFA_MAX_COLUMNS][XFT_DICT_MOST];
};

/* Whether a segment may begin with this head. */
bool xfa_chunk_sound(const struct xft_chunk *chunk);

/* Reads the head into *chunk, and the directory behind it; false when one is damaged. The payload
 * must stay where it is until the last block is read. */
bool xfa_columns_open(struct xfa_columns *columns, struct xft_chunk *chunk,
                      struct xfa_cursor *payload);

/* The next rows, at most XFA_BLOCK_ROWS; false when their bytes are damaged. */
bool xfa_columns_next(struct xfa_columns *columns, struct xft_event *events, size_t rows);

#endif
