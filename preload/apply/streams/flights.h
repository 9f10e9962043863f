/*
 * Flights: copies between host and device that are under way in the legacy default stream or in its
 * place, from call to return, and which of them are made in streams of our own (streams.h).
 *
 * A copy in the legacy default stream is made as a whole between other work of that stream: whoever
 * copies the same memory from another thread at the same time finds all of it, or nothing. So one
 * of ours is submitted only while no other flight writes what it uses, or uses what it writes; and
 * a flight that begins while one of ours of that kind is being submitted waits until it is, since
 * the driver may make a copy of pageable memory in several parts.
 *
 * It is over for good once anything is seen whose order with our streams is not that with the
 * legacy default stream: xfs_flights_end(). Nobody who calls it goes on before what is under way in
 * our streams has arrived.
 *
 * Waiting is for other threads' calls of the driver. It is bounded, so that nothing waits for ever
 * for a thread that was stopped: after a second what waits goes on, and it is over.
 */
#ifndef XFS_APPLY_FLIGHTS_H
#define XFS_APPLY_FLIGHTS_H

#include <stdbool.h>
#include <stdint.h>

struct xfs_flight {
    uint64_t dst, src, bytes;
    unsigned place; /* of flights.c */
    bool alone;     /* no other thread copies meanwhile (launched.h) */
};

/* A copy begins, of at least one byte. False: it is over for good, and the copy is not followed. */
bool xfs_flight_begins(struct xfs_flight *flight);

/* Around the call of the driver that submits it in a stream of ours. False: it may not be. */
bool xfs_flight_may_submit(const struct xfs_flight *flight);
void xfs_flight_submitted(const struct xfs_flight *flight);

/* Does a copy in the legacy default stream, which is under way, use any of these bytes? */
bool xfs_flights_meet(uint64_t address, uint64_t bytes);

/* It has arrived, or its call returns. */
void xfs_flight_ends(const struct xfs_flight *flight);

/* From here on nothing is made in streams of ours. */
void xfs_flights_end(void);
bool xfs_flights_are_over(void);

void xfs_flights_after_fork(void);

#endif
