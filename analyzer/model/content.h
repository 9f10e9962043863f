/*
 * Transfers whose bytes had moved before, by the hashes of what they moved (CONTENT events).
 *
 * The transfers of a process that have a hash are gone through in the order of their calls. One is
 *
 *     repeated    to the device: the last copy that wrote this memory brought the same bytes;
 *                 to the host: the same bytes were fetched from the same address before, and they
 *                 have not moved since
 *     returned    the last time these bytes moved was the other way: fetched, and sent back as they
 *                 were; or sent, and fetched back as they were
 *     duplicate   to the device: the same bytes were sent to it before, to another place or one
 *                 that was written since
 *
 * each of them at most one of these. What kernels do to memory is not known. "The same" is the same
 * number of bytes with the same hash; by samples, when only these were hashed: then only probably.
 *
 * Use: xfa_contents_gather() with all events, xfa_contents_ready(), xfa_contents_transfer() and
 * xfa_contents_free() as they come, xfa_contents_finish(). Without CONTENT events all of it does
 * nothing. At most XFA_MAX_CONTENTS transfers are kept; further ones are not compared, and counted.
 */
#ifndef XFA_CONTENT_H
#define XFA_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/table.h"
#include "analyzer/model/transfer.h"

#define XFA_MAX_CONTENTS (1u << 20)
#define XFA_LEAST_CONTENT 1024 /* bytes; smaller transfers are alike by chance, and cheap */

enum xfa_same {
    XFA_SAME_NONE,
    XFA_SAME_REPEATED,
    XFA_SAME_RETURNED,
    XFA_SAME_DUPLICATE,
    XFA_SAMES
};

struct xfa_content; /* one transfer */

struct xfa_contents {
    struct xfa_content *items;
    size_t count, capacity;
    size_t hashed; /* of items: with a hash, sorted; behind them what else touches memory */
    uint64_t hashes, sampled; /* CONTENT events; those of samples */
    double hash_ns;           /* what hashing took */
    uint64_t not_compared;    /* transfers over the limit */
};

/* A transfer that was found to be one of these. */
typedef void xfa_same_fn(void *context, enum xfa_same same, uint32_t class, uint32_t earlier_class,
                         uint64_t bytes, double achieved_ns, bool sampled);

void xfa_contents_gather(struct xfa_contents *contents, const struct xft_event *event);
void xfa_contents_ready(struct xfa_contents *contents);
void xfa_contents_transfer(struct xfa_contents *contents, const struct xfa_transfer *transfer);
void xfa_contents_free(struct xfa_contents *contents, const struct xft_event *event);
void xfa_contents_finish(struct xfa_contents *contents, xfa_same_fn *found, void *context);
void xfa_contents_release(struct xfa_contents *contents);

/* ---- device memory as copies left it; content_memory.c --------------------------------------- */

#define XFA_MAX_STRETCHES 8192 /* when there are more all are forgotten, and it starts anew */

struct xfa_stretch {
    uint64_t start, end;
    uint32_t item; /* that wrote it */
};

struct xfa_memory {
    struct xfa_stretch *stretches; /* ascending, apart from each other */
    size_t count, capacity;
};

/* What wrote exactly [start, end) and is still there: index of the item, or UINT32_MAX. */
uint32_t xfa_memory_find(const struct xfa_memory *memory, uint64_t start, uint64_t end);
/* Something was written there. item UINT32_MAX: it is not known what, or it is gone. */
void xfa_memory_write(struct xfa_memory *memory, uint64_t start, uint64_t end, uint32_t item);

#endif
