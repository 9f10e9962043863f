/*
 * Requests that are under way: from their handle to the MESSAGE that began them. A bounded table
 * without locks, and one of what a later call makes a MESSAGE of: persistent requests, and messages
 * that a matched probe found. What finds no room is counted as a lost event (of a request its
 * MESSAGE_END), and no thread waits.
 *
 * Calls that complete requests overwrite them: they are copied before (xfs_requests_take()).
 */
#ifndef XFS_REQUESTS_H
#define XFS_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/messages/message.h"

/* What a request stands for: the times of its MESSAGE, and whether it receives. */
struct xfs_request {
    uint64_t start_ns, end_ns;
    bool receives;
};

/* The request is under way. `shared`: others with its handle may be, too (xfs_mpi_is_shared()). */
void xfs_request_begun(xfs_word request, bool shared, const struct xfs_request *what);
/* Where that takes no search; false: nothing was done. */
bool xfs_request_begun_at_home(xfs_word request, struct xfs_request what);

/* It is no longer, says a call that began at `before_ns`; false when it was not known. */
bool xfs_request_ends(xfs_word request, bool shared, uint64_t before_ns, struct xfs_request *what);

/* Where such a request is, what it stands for in *what, and its end; NULL where that is not as
 * simple: it is not known, its handle is another's too, or it may lie elsewhere. */
struct xfs_request_slot;
struct xfs_request_slot *xfs_request_alone(xfs_word request, uint64_t before_ns,
                                           struct xfs_request *what);
bool xfs_request_take(struct xfs_request_slot *slot, xfs_word request);

/* The same of the i-th that the call was given. */
bool xfs_requests_take_out(const struct xfs_message *m, int i, struct xfs_request *what);

/* A persistent request, and what each start of it is; or a message that was found by a probe, and
 * what receiving it is. At most XFS_REQUESTS_KEPT of them. */
#define XFS_REQUESTS_KEPT 512
void xfs_request_keep(xfs_word request, const struct xft_event *event);
bool xfs_request_kept(xfs_word request, struct xft_event *event);
void xfs_request_forget(xfs_word request);

/* Copies what the call is given, at most XFS_REQUESTS_MOST; more are counted as lost. */
#define XFS_REQUESTS_MOST 4096
void xfs_requests_take(struct xfs_message *m, int count, const void *requests);
static inline void xfs_requests_take_one(struct xfs_message *m, const void *request)
{
    if (request == NULL)
        return;
    m->given = request;
    m->requests = m->few;
    m->few[0] = xfs_mpi_handle_at(m->mpi, request, 0);
    m->taken = 1;
}
void xfs_requests_give_back(struct xfs_message *m);

/* The call failed, and its event is written: ends the requests that it completed nevertheless. */
void xfs_requests_failed(struct xfs_message *m);

/* The i-th of those taken is complete: writes its MESSAGE_END. `status`: NULL when there is none.
 */
void xfs_requests_end(struct xfs_message *m, int i, const char *status, unsigned flags);

void xfs_requests_after_fork(void);

#endif
