/* What an engine of the recorded run did last. Private to ops/.
 *
 * Times are ns. Pieces come in the order of ops, not always of their ends. */
#ifndef XFW_PIECES_H
#define XFW_PIECES_H

#include <stdbool.h>

#define XFW_PIECES 64 /* that are remembered */

struct xfw_pieces { /* zeroed at first */
    struct xfw_piece {
        double start, end;
        double last; /* end by then: of this piece and of all that were noted before it */
    } ring[XFW_PIECES];
    unsigned next;
};
void xfw_pieces_note(struct xfw_pieces *pieces, double start, double end);

/* When the engine came free for work that began at `start`: the last end by then, or hardly later;
 * 0: it was never busy. */
double xfw_pieces_ready(const struct xfw_pieces *pieces, double start);

/* It did nothing else meanwhile. Streams are served as they are ready, not as they were submitted
 * to: looked at is when it ran. */
bool xfw_pieces_apart(const struct xfw_pieces *pieces, double start, double end);

/* How much of start..end it did something else. */
double xfw_pieces_within(const struct xfw_pieces *pieces, double start, double end);

#endif
