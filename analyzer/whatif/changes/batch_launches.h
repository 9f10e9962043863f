/*
 * A change: kernels that are launched for one piece of the data after the other (pieces.h) are
 * launched once, for all pieces.
 *
 * The first piece's launches stay, the others' calls go, and the thread's own time between them, as
 * for graphs (launch_graphs.h); at worst that time stays. A merged kernel takes as long as the
 * longest of those that it replaces, and as all of them together take where each takes the part of
 * the GPU that its threads fill: so many threads are taken to fill it. At worst a table of what the
 * pieces are is sent each time before it.
 *
 * Merged is, as likely and at worst, what stands for itself as far as the record shows; at best
 * also that of which the record does not show what it writes.
 */
#ifndef XFW_BATCH_LAUNCHES_H
#define XFW_BATCH_LAUNCHES_H

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/pieces.h"

/* Guesses for all GPUs: at worst as many as a part of a kernel needs to fill one (changes.h), at
 * best as many as a large one holds (an H200 270336). */
#define XFW_FILL_LIKELY 65536
#define XFW_FILL_HIGH 262144

/* How long the kernels take that the launches of one piece have become. */
struct xfw_merged {
    struct xfw_merged_kernel {
        double longest_ns, filled_ns; /* of those so far; all of them, each by its part */
        double given_ns;              /* played */
    } of[XFW_PIECE_THREADS][XFW_PIECE_MOST];
};
/* What is to be played of the kernel. */
double xfw_merged_ns(struct xfw_merged *merged, enum xfw_certainty certainty,
                     const struct xfw_place_in_pieces *place, const struct xfw_op *op);

/* A kernel may become a part of another one: not one that uses memory of the host, or waits for
 * other ranks, which takes its time for that. */
bool xfw_can_merge(const struct xfw_op *op);
struct xfw_piece_launch xfw_piece_launch_of(const struct xfw_op *op);

/* The op as one of a piece's launches; breaks the run where it is none. */
struct xfw_place_in_pieces xfw_pieces_op(struct xfw_pieces *pieces, const struct xfw_player *player,
                                         const struct xfw_op *op);

struct xfw_change *xfw_change_batch_launches(const struct xfa_analysis *analysis);

#endif
