/*
 * Messages: what calls of MPI and NCCL moved between processes (message.h), by call site, function,
 * operation, communicator and ranks.
 *
 * A call that waits for requests has a row of its own, of the operation "wait": its time is in no
 * other row's time in calls. What its requests' rows have of it as time in waits is an equal part
 * for each request that the call found complete.
 *
 * Rows are bounded, since a run has as many as its sites and pairs of ranks multiply to. The first
 * XFA_MAX_MESSAGE_ROWS are by ranks; calls of rows that are met later are folded, by site, function
 * and operation alone. Of these rows there are XFA_MAX_FOLDED_MESSAGE_ROWS at most; what is beyond
 * has no site either.
 *
 * Calls are kept to be matched across processes, which message_match.h does once all were read: at
 * most XFA_MAX_MESSAGES of the run. Where there are more a random part of them is kept, both sides
 * of a message or none (by a hash of the channel and of the number in it). NCCL's calls return
 * before the work is done; what their kernels took is known, and these are matched (nccl_calls.h).
 */
#ifndef XFA_MESSAGES_H
#define XFA_MESSAGES_H

#include "analyzer/base/exact.h"
#include "analyzer/base/met.h"
#include "analyzer/sums/kept_calls.h"
#include "analyzer/sums/nccl_calls.h"

#define XFA_MAX_MESSAGE_ROWS (1u << 17)
#define XFA_MAX_FOLDED_MESSAGE_ROWS (1u << 15)
#define XFA_MAX_MESSAGES (1u << 19)
#define XFA_MAX_REQUESTS 65536 /* of a process; messages of further ones are not matched */

struct xfa_message_key {   /* zeroed before it is filled in */
    uint64_t communicator; /* id; 0 = not known */
    uint32_t site, function;
    uint32_t from, to; /* ranks of the run; of a collective XFT_RANK_NONE, and its root */
    uint8_t what;      /* enum xft_message */
    uint8_t gpu;       /* what is sent or where it arrives is device memory */
    uint8_t reserved[6];
};

/* What calls of one row did. Times are ns of the host, added up over ranks. */
struct xfa_message_row {
    struct xfa_message_key key;
    struct xfa_met met;
    uint64_t calls, failed;
    uint64_t sent, arrived; /* bytes; of a non-blocking receive those that its end tells, or its
                               sender */
    struct xfa_exact time, wait_time, kernel_time; /* ns, wait_ns and kernel_ns, until all is
                                                      read */
    double ns;                                     /* in the calls */
    double wait_ns;                                /* in calls that waited for them */
    uint32_t size; /* ranks of the communicator, in the last call; 0 = not known */
    uint32_t last; /* the number of the last process that made one */
    /* NCCL, of calls that have kernels of their own: */
    uint64_t kernel_bytes;
    double kernel_ns; /* with what they waited for others */
    /* Of those that were matched (message_match.h); of NCCL of such kernels (nccl_match.h): */
    uint64_t matched;      /* of MPI alone */
    uint64_t divided;      /* those of which the next two are known */
    double before_ns;      /* waited before the other side began, or the last of all */
    double since_ns;       /* waited since */
    uint64_t timed;        /* those of which is known when they had arrived */
    uint64_t timed_bytes;  /* of these */
    double timed_ns;       /* since all sides had begun */
    uint64_t priced;       /* of the timed ones: those whose achievable time is known */
    uint64_t priced_bytes; /* of these */
    double priced_ns;      /* what these took */
    double achievable_ns;  /* what they could have taken */
    /* enum xfa_unpriced (achievable_message.h): of the last collective, or message of NCCL, that
     * was timed, and could not be priced; 0: all were */
    uint8_t unpriced;
};

static inline bool xfa_message_sends(unsigned what) /* enum xft_message: to one other rank */
{
    return what == XFT_MESSAGE_SEND || what == XFT_MESSAGE_SENDRECV;
}
static inline bool xfa_message_receives(unsigned what)
{
    return what == XFT_MESSAGE_RECV || what == XFT_MESSAGE_SENDRECV;
}

/* What waited was not the host, but NCCL's kernels. */
static inline bool xfa_message_has_kernels(const struct xfa_message_row *row)
{
    return row->kernel_ns > 0;
}

/* A call that may be matched. Times are of the process's clock. */
struct xfa_kept_message {
    struct xfa_channel_place at;
    uint32_t row;
    uint32_t root; /* of a collective that has one, in the communicator */
    uint64_t begin_ns, end_ns;
    uint64_t wait_ns; /* since when the host waited for it; of a blocking call its begin */
    uint64_t bytes;   /* of a collective what it gives or gets, the larger of the two */
    /* Not 0: it is so (any byte, in what other members of a team give). */
    uint8_t done;          /* end_ns is known */
    uint8_t arrival_known; /* bytes are known to have arrived, or counted as such */
    uint8_t blocks;
    uint8_t unequal; /* of a collective: what this rank gives and gets are not of equal parts */
};

/* Which process has which rank. */
struct xfa_message_member {
    struct xfa_message_member_key { /* key */
        uint64_t id;                /* of the communicator */
        uint32_t rank, reserved;
    } key;
    uint32_t process; /* the last one that said so */
};

struct xfa_message_process; /* messages.c */

struct xfa_messages {
    struct xfa_run *run;
    struct xfa_table rows;      /* struct xfa_message_row */
    struct xfa_kept_calls kept; /* struct xfa_kept_message */
    uint64_t calls, all_sent;
    struct xfa_exact time;                /* ns, until all is read */
    double ns;                            /* in all calls, waits as well */
    size_t most, most_folded;             /* rows, as above; 0: those limits (a test sets less) */
    uint64_t without_ranks, without_site; /* calls that were folded */
    uint64_t not_kept; /* calls that no limit or order lets match; a part by chance not counted */
    struct xfa_nccl_calls nccl;
    struct xfa_table members; /* struct xfa_message_member */
    struct xfa_message_process *now;
};

#define XFA_MAX_MEMBERS_KNOWN (1u << 20)

/* The process that has that rank of a communicator (its id); NULL: not known. */
const struct xfa_process *xfa_messages_process(const struct xfa_messages *messages, uint64_t id,
                                               uint32_t rank);

struct xfa_observer xfa_messages_observer(struct xfa_messages *messages); /* starts with run set */
void xfa_messages_free(struct xfa_messages *messages);

static inline struct xfa_message_row *xfa_message_row(const struct xfa_messages *messages, size_t i)
{
    return xfa_table_at(&messages->rows, i);
}

/* ---- members of a team ----
 * Each has the messages of its own processes. Where rows, ranks or calls of NCCL would be more than
 * there is room for it depends on the order of the processes which are left out
 * (xfa_messages_filled(), as struct xfa_observer has it); of MPI's calls the same part is kept in
 * any order. messages_merge.c has these. */

double xfa_messages_filled(const void *self);
void xfa_messages_give(const struct xfa_messages *messages, struct xfa_parcel *parcel);
void xfa_messages_empty(struct xfa_messages *messages); /* as before the first process */
void xfa_messages_take(struct xfa_messages *messages, struct xfa_unpacking *from);
void xfa_messages_taken(struct xfa_messages *messages); /* all members' */

/* All processes were read: times become known. */
void xfa_messages_finish(struct xfa_messages *messages);

/* In message_match.c, once all is matched. What of a row's time can be set to its bytes: since all
 * sides had begun; where that is not known, what the kernels of NCCL took. NAN = not known. */
double xfa_message_gbps(const struct xfa_message_row *row);
/* Of NCCL: by the whole time of its kernels, in which others were waited for. */
double xfa_message_kernels_gbps(const struct xfa_message_row *row);
double xfa_message_achievable_gbps(const struct xfa_message_row *row);
/* Of one of them, in the mean. */
double xfa_message_call_ns(const struct xfa_message_row *row);
double xfa_message_achievable_call_ns(const struct xfa_message_row *row);

/* Longest first, by time in calls and waits; the caller frees the array of rows.count pointers. */
const struct xfa_message_row **xfa_messages_order(const struct xfa_messages *messages);

#endif
