/*
 * What a thread of the host does not wait for any more since copies overlap: copies that made it
 * wait, and its own waits, which come later. Private to changes/.
 */
#ifndef XFW_PUT_OFF_H
#define XFW_PUT_OFF_H

#include "analyzer/whatif/schedule/change.h"
#include "analyzer/whatif/changes/changes.h"

/* Copies in flight that do not make the host wait any more, for each part in flight: a guess. More
 * would save nothing, and a program that has waited for its results ends when it has them. */
enum { XFW_AHEAD_PER_PART = 4, XFW_MOST_AHEAD = XFW_AHEAD_PER_PART * XFW_MOST_STREAMS };

struct xfw_put_off {             /* of a thread; zeroed at first */
    bool gave;                   /* work, since its last wait */
    bool later;                  /* its last wait came later */
    uint64_t bytes;              /* of copies whose data it has not waited for; 0: none */
    double until;                /* when these are done */
    uint32_t stream;             /* of the last of them: the process's */
    uint64_t part;               /* that it is in, 0: in none */
    double ends[XFW_MOST_AHEAD]; /* of such copies, a ring */
    uint64_t count;
    uint64_t parts;      /* of its work, begun in all of its streams */
    double owed_until;   /* what waits that came later were for; 0: none came later */
    struct xfw_op waits; /* like the last of them */
};

struct xfw_threads_put_off { /* zeroed at first */
    struct xfw_put_off *threads;
    size_t count, capacity;
};
/* Made when first asked for, valid until the next one is. */
struct xfw_put_off *xfw_put_off_of(struct xfw_threads_put_off *threads, uint32_t thread);
void xfw_threads_put_off_free(struct xfw_threads_put_off *threads);

/* The thread waits until `ns`, now, before the op at hand. */
void xfw_wait_until(struct xfw_player *player, const struct xfw_op *op, double ns);
/* The same, where the change adds a wait for work of a GPU: the span reaches so far at least. */
void xfw_wait_for_work(struct xfw_player *player, const struct xfw_op *op, double ns);

/* A copy that is done at `end` does not make the thread wait. */
void xfw_put_off_copy(struct xfw_put_off *thread, uint64_t bytes, double end);
/* In its own time before the op the thread can have used the data of such copies. */
bool xfw_may_have_used(const struct xfw_put_off *thread, const struct xfw_op *op, bool at_best);
/* The thread submits another such copy: it waits for one that is too far back. */
void xfw_run_ahead(const struct xfw_put_off *thread, unsigned buffers, struct xfw_player *player,
                   const struct xfw_op *op);

/* The op waits for less than until `ns`: the thread owes the rest; and pays it, if it owes any. */
void xfw_owe(struct xfw_put_off *thread, const struct xfw_op *op, double ns);
void xfw_pay(struct xfw_put_off *thread, struct xfw_player *player);

/* All that it has not waited for is so much later. */
void xfw_put_off_later(struct xfw_put_off *thread, double ns);

#endif
