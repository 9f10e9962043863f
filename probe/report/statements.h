/*
 * Summarises pairs of paths with a similar result in one line with its range: "memory next to the
 * GPU 9.4 to 55.4 GB/s, other memory 5.6 to 33.2 GB/s" instead of a line for every GPU and kind of
 * memory. Private to probe/report/.
 */
#ifndef XFP_STATEMENTS_H
#define XFP_STATEMENTS_H

#include <stdbool.h>
#include <stdio.h>

#include "xferscope/profile.h"

#define XFP_MOST_STATEMENTS 64 /* of one question */
#define XFP_NAME_PARTS 4       /* METHOD/MEMORY/DIRECTION/PLACES */
#define XFP_WORDS_NAMED 4      /* of a part of the names; more are a star */

/* One side of a pair. */
struct xfp_side {
    const struct xfp_path *path;
    const struct xfp_point *point;
    bool near; /* its memory, or the other device, is next to the device */
};

struct xfp_range {
    double low, high;
};

/* The different words in one part of many names: "h2d", "d2h". */
struct xfp_words {
    const char *at[XFP_WORDS_NAMED];
    int length[XFP_WORDS_NAMED];
    size_t count; /* one more than are named: there are others */
};

struct xfp_said {
    struct xfp_side first; /* of the pairs */
    struct xfp_range gbps;
    struct xfp_words parts[XFP_NAME_PARTS];
};

struct xfp_statement {
    size_t pairs;
    struct xfp_said fast, slow;
    struct xfp_range longer; /* the slow one's time over the fast one's, less 1 */
};

struct xfp_statements {
    size_t count, left_out; /* pairs beyond XFP_MOST_STATEMENTS statements */
    struct xfp_statement items[XFP_MOST_STATEMENTS];
};

/*
 * Adds a pair to the statement with a similar result: its slow sides take longer by the same
 * fraction (within `part`), at the same size, and the pairs differ in the same respect (direction,
 * near memory, or neither). `all` begins zeroed.
 */
void xfp_state(struct xfp_statements *all, const struct xfp_side *fast, const struct xfp_side *slow,
               double part);

/* A line for each statement, in the order in which they came up. */
void xfp_print_statements(const struct xfp_statements *all, FILE *out);

#endif
