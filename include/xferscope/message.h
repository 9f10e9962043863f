/*
 * Messages: what calls of MPI and NCCL move between processes, as events of the trace
 * (trace_events.h).
 * Written by the recorder, read by the analyzer; part of the trace format (docs/trace-format.md):
 * never renumber, only append.
 *
 * Ranks are those of the communicator. COMMUNICATOR says which ranks of the run they are: an entry
 * of NAMES lists them in the communicator's order, as "0-3,7,5" (MPI: ranks of MPI_COMM_WORLD;
 * NCCL: its own ranks). Lists longer than XFT_NAME_MOST are cut behind a comma.
 *
 * A MESSAGE is a call that begins to send or receive, blocking or not. What a non-blocking one did
 * is known when a call completes its request: that is a MESSAGE_END. A blocking one has none. A
 * persistent request has a MESSAGE each time it is started; of a collective its tag says which of
 * the communicator's persistent ones it is, from 1 on, and of all others it is 0.
 */
#ifndef XFERSCOPE_MESSAGE_H
#define XFERSCOPE_MESSAGE_H

#include <stdint.h>

/* Enumerator, number, word, and whether all ranks of the communicator take part. */
#define XFT_MESSAGE_LIST(X)                                                                        \
    X(XFT_MESSAGE_SEND, 1, "send", 0)                                                              \
    X(XFT_MESSAGE_RECV, 2, "receive", 0)                                                           \
    X(XFT_MESSAGE_SENDRECV, 3, "send-receive", 0)                                                  \
    X(XFT_MESSAGE_PUT, 4, "put", 0)                                                                \
    X(XFT_MESSAGE_GET, 5, "get", 0)                                                                \
    X(XFT_MESSAGE_BARRIER, 6, "barrier", 1)                                                        \
    X(XFT_MESSAGE_BCAST, 7, "broadcast", 1)                                                        \
    X(XFT_MESSAGE_REDUCE, 8, "reduce", 1)                                                          \
    X(XFT_MESSAGE_ALLREDUCE, 9, "all-reduce", 1)                                                   \
    X(XFT_MESSAGE_GATHER, 10, "gather", 1)                                                         \
    X(XFT_MESSAGE_ALLGATHER, 11, "all-gather", 1)                                                  \
    X(XFT_MESSAGE_SCATTER, 12, "scatter", 1)                                                       \
    X(XFT_MESSAGE_REDUCE_SCATTER, 13, "reduce-scatter", 1)                                         \
    X(XFT_MESSAGE_ALLTOALL, 14, "all-to-all", 1)                                                   \
    X(XFT_MESSAGE_SCAN, 15, "scan", 1)                                                             \
    X(XFT_MESSAGE_WAIT, 16, "wait", 0) /* a call that waited for requests, or found one complete   \
                                        */                                                         \
    /* All ranks call these, each exchanges with its neighbors in the communicator's topology: */  \
    X(XFT_MESSAGE_NEIGHBOR_ALLGATHER, 17, "neighbor-all-gather", 0)                                \
    X(XFT_MESSAGE_NEIGHBOR_ALLTOALL, 18, "neighbor-all-to-all", 0)

#define XFT_ENUM_ROW(symbol, number, word, all) symbol = number,
enum xft_message { XFT_MESSAGE_LIST(XFT_ENUM_ROW) XFT_MESSAGE_COUNT };
#undef XFT_ENUM_ROW

/* NULL for a number that this version does not know. */
static inline const char *xft_message_word(unsigned message)
{
#define XFT_WORD_ROW(symbol, number, word, all)                                                    \
    case symbol:                                                                                   \
        return word;
    switch (message) {
        XFT_MESSAGE_LIST(XFT_WORD_ROW)
    default:
        return (const char *)0;
    }
#undef XFT_WORD_ROW
}

static inline int xft_message_is_collective(unsigned message)
{
    return message >= XFT_MESSAGE_BARRIER && message <= XFT_MESSAGE_SCAN;
}

static inline int xft_message_is_among_neighbors(unsigned message)
{
    return message == XFT_MESSAGE_NEIGHBOR_ALLGATHER || message == XFT_MESSAGE_NEIGHBOR_ALLTOALL;
}

/* Peers in aux of a MESSAGE: the rank sent to (or the root) in the low 32 bits, the rank received
 * from in the high 32. */
#define XFT_RANK_NONE                                                                              \
    UINT32_MAX /* nothing goes there; MPI_PROC_NULL; a collective without root                     \
                */
#define XFT_RANK_ANY                                                                               \
    (UINT32_MAX - 1) /* MPI_ANY_SOURCE: the MESSAGE_END, or aux itself of a                        \
                        blocking call, has the rank where it is known */
static inline uint64_t xft_message_peers(uint32_t to, uint32_t from)
{
    return (uint64_t)from << 32 | to;
}
static inline uint32_t xft_message_to(uint64_t aux)
{
    return (uint32_t)aux;
}
static inline uint32_t xft_message_from(uint64_t aux)
{
    return (uint32_t)(aux >> 32);
}

/* count of a MESSAGE: enum xft_message, and the number of its communicator in the file (0 = not
 * known). */
#define XFT_COMMUNICATOR_MOST 0xffffffu
static inline uint32_t xft_message_count(unsigned message, uint32_t communicator)
{
    return communicator << 8 | message;
}
static inline unsigned xft_message_of(uint32_t count)
{
    return count & 0xff;
}
static inline uint32_t xft_message_communicator(uint32_t count)
{
    return count >> 8;
}

#endif
