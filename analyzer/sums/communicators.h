/*
 * Communicators of MPI and NCCL: which ranks of the run the ranks of each are, process by process
 * (COMMUNICATOR events, message.h). Ranks of the run are those of MPI_COMM_WORLD, or NCCL's own.
 */
#ifndef XFA_COMMUNICATORS_H
#define XFA_COMMUNICATORS_H

#include "analyzer/pass/observer.h"

#define XFA_MAX_COMMUNICATORS                                                                      \
    16384                     /* of a process that are known; ranks of further ones are not        \
                               */
#define XFA_MAX_MEMBERS 65536 /* ranks of a communicator that are translated */

/* As one process knows it. */
struct xfa_known_communicator {
    uint32_t number; /* key: in the file */
    uint32_t rank;   /* of the process; XFT_RANK_ANY: not known */
    uint64_t id;     /* equal in all processes, never 0: where the file has none a number that only
                        this process has */
    bool shared;     /* the file has one */
    uint32_t size;   /* 0 = not known */
    uint32_t *ranks; /* of the run, by rank; NULL = not known */
    uint32_t rank_count;
    bool unsure; /* messages.c: not all its receives can be distinguished */
};

struct xfa_communicators {
    struct xfa_table known; /* struct xfa_known_communicator */
};

void xfa_communicators_begin(struct xfa_communicators *communicators);
void xfa_communicators_end(struct xfa_communicators *communicators);

void xfa_communicators_add(struct xfa_communicators *communicators, const struct xfa_event *event);

/* NULL: the file has no record of it. */
struct xfa_known_communicator *xfa_communicators_of(const struct xfa_communicators *communicators,
                                                    uint32_t number);

/* The rank of the run; XFT_RANK_NONE and _ANY stay, an unknown rank is _ANY. */
uint32_t xfa_communicator_rank(const struct xfa_known_communicator *communicator, uint32_t rank);

/* A hash of the communicator, two of its ranks (XFT_RANK_NONE: all of them) and a tag, equal in all
 * processes; and of that with a number. */
uint64_t xfa_communicator_channel(const struct xfa_known_communicator *communicator, uint32_t from,
                                  uint32_t to, uint32_t tag);
uint64_t xfa_communicator_mixed(uint64_t channel, uint32_t n);

/* "0-3,7,5" as numbers, at most `most`: *count of them, the caller frees them. NULL: it is no such
 * list. What stands behind the last comma of a list that was cut is left out. */
uint32_t *xfa_ranks_of_text(const char *text, size_t bytes, size_t most, size_t *count);

#endif
