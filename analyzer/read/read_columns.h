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
#define XFA_COLUMN_START 1 /* start_ns in XFT_COLUMN_LIST */

struct xfa_column {
    uint16_t id;
    uint8_t encoding;
    bool undecodable; /* of an encoding this version does not know */
    bool wanted;
    bool in_template; /* not to be decoded for the events */
    bool is_base;     /* but for what differs from it */
    int base;         /* position in the directory; -1 none */
    struct xfa_cursor data;
    uint64_t previous; /* deltas: the row before; XFT_ENC_CONST: the value */
    uint64_t least;    /* planes: added to every difference */
    unsigned planes;
    size_t plane_bytes; /* from one plane to the next */
    uint32_t entries;   /* DICT, MAP */
    size_t table;       /* where they are in xfa_columns.tables */
};

/*
 * An open segment. What follows from one column's dictionary, as the call and the kinds of memory
 * follow from the stack, and what is the same in all rows, is put together once per entry: a row
 * begins as a copy of its entry's template.
 *
 * Zero it before the first use; it serves many. A copy shares the tables with what it is a copy of,
 * and must not be opened or freed.
 */
struct xfa_columns {
    uint32_t count;
    struct xfa_column columns[XFA_MAX_COLUMNS];
    uint64_t *tables;
    size_t tables_used, tables_room;
    int template_of; /* position of a DICT; -1: there is one template */
    struct xft_event *templates;
    size_t templates_room;
};

/* What decoding a block needs, whichever segment it is of. */
struct xfa_block {
    uint64_t values[XFA_MAX_COLUMNS][XFA_BLOCK_ROWS]; /* of the wanted columns */
    uint16_t indices[XFA_MAX_COLUMNS][XFA_BLOCK_ROWS];
};

/* Whether a segment may begin with this head. */
bool xfa_chunk_sound(const struct xft_chunk *chunk);

/* Reads the head into *chunk, and the directory behind it; false when one is damaged. The payload
 * must stay where it is until the last block is read. */
bool xfa_columns_open(struct xfa_columns *columns, struct xft_chunk *chunk,
                      struct xfa_cursor *payload);
void xfa_columns_free(struct xfa_columns *columns);

/* In addition to the payload and the structure itself. */
size_t xfa_columns_bytes(const struct xfa_columns *columns);

/* From here on no column is decoded but this and what it refers to. Its position, or -1: it is 0 in
 * all rows. */
int xfa_columns_only(struct xfa_columns *columns, unsigned id);

/* The next rows, at most XFA_BLOCK_ROWS; false when their bytes are damaged. `events` NULL: only
 * block->values is wanted. */
bool xfa_columns_next(struct xfa_columns *columns, struct xfa_block *block,
                      struct xft_event *events, size_t rows);

#endif
