/*
 * The straight way of the calls that programs make most: one message of one rank to another, and a
 * wait for one request. Where all that their events need is known already, the events are filled in
 * where they will lie, and MPI is asked nothing:
 *
 *     the communicator has its number                        (communicators.h)
 *     the type is one of MPI's own, its bytes asked before   (types.h)
 *     the kind of memory was found before                    (classify.h)
 *     the thread had this call stack before                  (remembered.h)
 *     MPI keeps what arrived where it was once seen to       (mpi_abi.h)
 *     the request is alone in its place                      (requests.h)
 *
 * Else, and where the call failed, it goes the way of all others (around.h),
 * which learns what was not known. The events are the same.
 *
 * In place of returned, describe and over. The call's arguments are in m->one, or in m->wait. They
 * return what the real function returned.
 */
#ifndef XFS_STRAIGHT_H
#define XFS_STRAIGHT_H

#include "preload/messages/message.h"

#define XFS_STRAIGHT __attribute__((hot, noinline)) int

XFS_STRAIGHT xfs_message_sent_one(struct xfs_message *m, int returned, uint16_t call);
XFS_STRAIGHT xfs_message_received_one(struct xfs_message *m, int returned, uint16_t call);
/* Not blocking. */
XFS_STRAIGHT xfs_message_send_begun(struct xfs_message *m, int returned, uint16_t call);
XFS_STRAIGHT xfs_message_receive_begun(struct xfs_message *m, int returned, uint16_t call);

/* After xfs_requests_take_one(). */
XFS_STRAIGHT xfs_message_waited(struct xfs_message *m, int returned, uint16_t call);
XFS_STRAIGHT xfs_message_tested(struct xfs_message *m, int returned, uint16_t call);

#endif
