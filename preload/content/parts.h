/*
 * Between the files of this directory: hash.c hashes, budget.c limits the time for it, waiting.c
 * has the copies in flight, places.c knows which uploads may be repeated, content.c decides what is
 * hashed and when. access.c watches what the
 * host does with the memory of copies, and pages.c asks the kernel for it.
 */
#ifndef XFS_CONTENT_PARTS_H
#define XFS_CONTENT_PARTS_H

#include "preload/content/content.h"

/* Why a transfer has no hash; the word is part of a META key. */
#define XFS_SKIPS(X)                                                                               \
    X(XFS_SKIP_BUDGET, "budget")         /* hashing had taken its share of the time */             \
    X(XFS_SKIP_MEMORY, "memory")         /* a kind of memory that is not read */                   \
    X(XFS_SKIP_SHAPE, "shape")           /* a batch, or rows of an array */                        \
    X(XFS_SKIP_UNREADABLE, "unreadable") /* the memory was gone */                                 \
    X(XFS_SKIP_UNSETTLED, "unsettled")   /* no wait showed that it had arrived */                  \
    X(XFS_SKIP_FULL, "full")             /* too many copies in flight at once */
enum xfs_skip {
#define X(symbol, word) symbol,
    XFS_SKIPS(X)
#undef X
        XFS_SKIP_COUNT
};
void xfs_content_skip(enum xfs_skip why, unsigned n);

/* Hashes the rows if the budget allows it, and writes the event's CONTENT. With XFS_CONTENT_AUTO
 * the place that the event writes has that hash then (places.c). */
void xfs_content_hash(const struct xft_event *event, const struct xfs_rows *rows, bool slow_memory);

/* What hashes took or are expected to take, in ns. */
struct xfs_hash_ns {
    uint64_t whole, sampled;
};

/*
 * How a transfer may be hashed: whole, sampled or not at all. The budget is `share` percent of the
 * time since recording began (elapsed, ns); 0: no limit. With the setting "whole", whole hashes may
 * take four fifths of it and samples the rest, so that neither starves the other.
 */
enum xfs_content_mode xfs_content_afford(enum xfs_content_mode setting, bool slow_memory,
                                         const struct xfs_hash_ns *spent,
                                         const struct xfs_hash_ns *cost, uint64_t elapsed,
                                         unsigned share);

/* Recording begins; `percent`: the share. */
void xfs_budget_start(unsigned percent);
/* Writes into META what hashing took and why transfers have no hash. */
void xfs_budget_note(void);
void xfs_budget_after_fork(void);

/* ---- waiting.c: copies to the host in flight ------------------------------------- */

#define XFS_WAITING_MOST 1024
/* The bytes of a copy to the host have arrived. */
void xfs_content_arrived(const struct xft_event *event, const struct xfs_rows *dst);
bool xfs_waiting_start(void);
void xfs_waiting_add(const struct xft_event *event, const struct xfs_rows *rows);
/* Gives up copies in flight that write to this range. True when there were any: the content of that
 * memory is not known. */
bool xfs_waiting_drop(uint64_t start, uint64_t end);
void xfs_waiting_drop_all(void);
void xfs_waiting_after_fork(void);

/* ---- places.c: where uploads go, with XFS_CONTENT_AUTO ------------------------- */

/*
 * Is this upload hashed? A place (an address and a number of bytes) whose last two hashes differ is
 * passed over once, then 3, 7 and so on up to 63 times, until a hash is the one before again. A
 * place that another one of the same entry has taken begins anew. False as well while another
 * thread asks.
 */
bool xfs_places_ask(uint64_t dst, uint64_t bytes);
void xfs_places_hashed(uint64_t dst, uint64_t bytes, uint64_t hash);
void xfs_places_forget(void); /* all; behind a fork */

#endif
