/*
 * A chunk's rows by time, some at a time, for the merge (merge.h).
 *
 * Rows that lie by time, as a thread's do, are decoded a block at a time: of an open chunk its
 * unpacked columns are kept, some 20 bytes a row, and a block of rows. Others, as the device's
 * records are, are decoded at once and sorted. Where that is more than may be kept, a part of them
 * is, and they are read again for the next part.
 */
#ifndef XFA_WINDOW_H
#define XFA_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "analyzer/read/index.h"

struct xfa_windows; /* what the chunks of a trace share */

struct xfa_window {
    const struct xfa_chunk *chunk;
    const struct xft_event *events;
    const uint64_t *times; /* start_ns, ascending */
    const uint32_t *order; /* the i-th by time is events[order[i]] */
    const uint32_t *rows;  /* and has the number first_seq + rows[i] */
    uint64_t first_seq;
    uint32_t next, count;
    uint32_t last; /* of rows that were sorted: the chunk's last call; or XFA_NO_ROW */
    struct xfa_decoding *decoding; /* what these point into: one of the two */
    struct xfa_sorting *sorted;
};

#define XFA_NO_ROW UINT32_MAX

/* The recorder wrote it on its own behalf: it is no call. */
static inline bool xfa_is_own_row(const struct xft_event *event)
{
    return event->kind == XFT_EVENT_OVERHEAD || event->kind == XFT_EVENT_PROCESSOR;
}

/* At most as many rows are kept, or the bytes that they would take, of all windows together, and
 * 128 of each. Damage is counted in trace->loss as by xfa_index_read(), once for each chunk. */
struct xfa_windows *xfa_windows_new(struct xfa_index *index, size_t rows);
void xfa_windows_free(struct xfa_windows *windows); /* when all are closed */

/* How many rows have been read so far, each as often as it was. */
uint64_t xfa_windows_read(const struct xfa_windows *windows);

/* The chunk's first rows; false when there are none. */
bool xfa_window_open(struct xfa_windows *windows, struct xfa_window *window,
                     const struct xfa_chunk *chunk);

/* The rows behind these, which are gone; false, and the window is closed, when there are none. */
bool xfa_window_more(struct xfa_windows *windows, struct xfa_window *window);

void xfa_window_close(struct xfa_windows *windows, struct xfa_window *window);

/* ---- rows by time ---------------------------------------------------------------------------- */

/*
 * The rows of a chunk by time. They are nearly in order as they lie: a thread's are, and the
 * device's come a little late; what is in order costs one look.
 */

struct xfa_time_key {
    uint64_t ns;
    uint32_t row;
};

/* Sorts by ns; those of the same ns stay as they were. `spare` has room for as many. */
void xfa_time_order(struct xfa_time_key *keys, size_t count, struct xfa_time_key *spare);

#endif
