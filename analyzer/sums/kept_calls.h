/*
 * Calls that are kept to be matched across processes: those of MPI (messages.h) and those of NCCL
 * (nccl_calls.h). Each process counts its calls by channel; what has the same number in a channel
 * on all sides belongs together.
 *
 * At most `most` of the run are kept. Of more a random part is, by a hash of the channel and the
 * number in it: all sides of what belongs together, or none. Private to sums/ but for struct
 * xfa_call_place.
 */
#ifndef XFA_KEPT_CALLS_H
#define XFA_KEPT_CALLS_H

#include <stdbool.h>

#include "analyzer/base/table.h"
#include "analyzer/base/team.h"

#define XFA_MAX_CHANNELS (1u << 18) /* of a process; calls of further ones are not matched */
#define XFA_NOT_KEPT UINT32_MAX

enum xfa_message_side { XFA_SENDS, XFA_RECEIVES, XFA_TAKES_PART };

struct xfa_channel_place {
    uint64_t channel; /* hash of communicator, ranks and tag */
    uint32_t n, of;   /* number in the channel, and how many the rank has there; of 0: their order
                         is not known */
    uint32_t process;
    uint32_t rank, size; /* in the communicator, and of it; size 0: not known */
    uint8_t side;        /* enum xfa_message_side */
    uint8_t what;        /* enum xft_message */
};

/* ---- channels of one process ----------------------------------------------------------------- */

struct xfa_channel {
    struct xfa_channel_key { /* key */
        uint64_t channel;
        uint32_t side, rank;
    } key;
    uint32_t count;
    uint32_t communicator; /* number in the file, for those who set it */
    bool unsure;           /* the order of its calls is not known */
    uint64_t last_ns;      /* begin of the call counted last */
};

void xfa_channels_init(struct xfa_table *channels);

/* Counts a call with its channel, side and rank, which gets its number. NULL: there are too many
 * channels. */
struct xfa_channel *xfa_channel_count(struct xfa_table *channels, struct xfa_channel_place *at,
                                      uint64_t begin_ns);
const struct xfa_channel *xfa_channel_of(const struct xfa_table *channels,
                                         const struct xfa_channel_place *at);

/* ---- calls of the run ------------------------------------------------------------------------ */

struct xfa_kept_calls {
    size_t bytes; /* of one call, which begins with its struct xfa_channel_place */
    size_t most;
    void *all; /* in the order of keeping, until they are sorted */
    size_t count, capacity;
    uint64_t mask; /* of the hashes that are kept: these bits are 0 */
};

/* Where calls lie after half of them had to go: `moved` has their new places by the old ones, or
 * XFA_NOT_KEPT. */
typedef void xfa_moved_fn(void *self, const uint32_t *moved);

/* Keeps a copy. Returns where it lies, or XFA_NOT_KEPT. moved: NULL: nobody asks. */
uint32_t xfa_calls_keep(struct xfa_kept_calls *calls, const void *one, xfa_moved_fn *moved,
                        void *self);

/* Of members of a team (base/met.h): one's own; another's, who are of processes below `processes`;
 * all have been taken. They are then those that one process would have kept, in its order. */
void xfa_calls_give(const struct xfa_kept_calls *calls, struct xfa_parcel *parcel);
void xfa_calls_take(struct xfa_kept_calls *calls, struct xfa_unpacking *from, size_t processes);
void xfa_calls_taken(struct xfa_kept_calls *calls);

/* By channel, number, side and rank. */
void xfa_calls_sort(struct xfa_kept_calls *calls);

/* In sorted calls: the first one behind those that have the channel and number of call `at`. */
size_t xfa_calls_next(const struct xfa_kept_calls *calls, size_t at);

/* Are these `count` calls, from `at` on, a send and its receive, or a collective of all its ranks?
 * Only where all sides have equally many in the channel, in a known order. */
bool xfa_calls_are_pair(const struct xfa_kept_calls *calls, size_t at, size_t count);
bool xfa_calls_are_collective(const struct xfa_kept_calls *calls, size_t at, size_t count);

#endif
