/*
 * What overlap.c and split.c share: both move copies to side streams of their stream. A side
 * stream is ordered with its stream only where the change says so; events and waits of the stream
 * have to count the side streams in.
 */
#ifndef XFW_OVERLAP_H
#define XFW_OVERLAP_H

#include "analyzer/whatif/schedule/change.h"

/* Of a part of the work, in this order. */
enum xfw_stage { XFW_STAGE_TO_DEVICE, XFW_STAGE_COMPUTE, XFW_STAGE_TO_HOST };

/* When all work given to the stream so far is done, in its side streams too. */
double xfw_all_done(struct xfw_player *player, uint32_t stream);

/* All of that is so much later. */
void xfw_all_later(struct xfw_player *player, uint32_t stream, double ns);

/* The event is recorded behind all of that. */
void xfw_record_behind_all(struct xfw_player *player, struct xfw_op *op);

/* The stream waits for an event: its side streams wait for it, too. */
void xfw_wait_with_sides(struct xfw_player *player, const struct xfw_op *op);

/* A launched graph that copies is a part of the work. Its copies to the device are taken to come
 * first, those to the host last: they are done beside other parts' kernels. */
bool xfw_is_graph_cut(const struct xfw_player *player, const struct xfw_op *op);

/* Those copies, as one of so many ns. */
struct xfw_op xfw_part_of_graph(const struct xfw_op *op, enum xfw_engine engine, double ns);

#endif
