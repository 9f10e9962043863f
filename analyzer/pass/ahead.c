#include "analyzer/pass/ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/crew.h"

#define IN_BATCH 1024 /* rows */
#define BATCHES 4
#define AT_ONCE 64 /* times that rows are asked for before there is a thread */

struct batch {
    struct xfa_merged rows[IN_BATCH];
    struct xft_event events[IN_BATCH]; /* which they point to */
    size_t count;                      /* 0: there are no more */
    double part;
};

struct xfa_ahead {
    struct xfa_merge *merge;
    double part; /* of the rows that were given last */
    unsigned at_once;
    bool alone, threaded; /* no thread is to be made; there is one */
    pthread_t thread;
    struct batch *batches; /* BATCHES of them */
    uint64_t walked;       /* batches that the walk has begun with: the last one is in use */
    pthread_mutex_t mutex;
    pthread_cond_t filled, emptied;
    uint64_t read, done; /* with the mutex: batches that are there; that the walk is through with */
    bool over;           /* the same: no more are wanted */
};

/* ---- the thread ------------------------------------------------------------------------------ */

/* Rows of the merge that are not in a batch yet. */
struct pending {
    const struct xfa_merged *rows;
    size_t count;
};

static void take(struct batch *batch, struct pending *pending)
{
    size_t room = IN_BATCH - batch->count;
    size_t count = pending->count < room ? pending->count : room;
    for (size_t i = 0; i < count; i++) {
        struct xfa_merged *row = &batch->rows[batch->count];
        *row = pending->rows[i];
        batch->events[batch->count] = *row->event;
        row->event = &batch->events[batch->count++];
    }
    pending->rows += count;
    pending->count -= count;
}

static void fill(struct xfa_ahead *ahead, struct batch *batch, struct pending *pending)
{
    batch->count = 0;
    while (batch->count < IN_BATCH) {
        if (pending->count == 0)
            pending->count = xfa_merge_next_batch(ahead->merge, &pending->rows);
        if (pending->count == 0)
            break;
        take(batch, pending);
    }
    batch->part = xfa_merge_part(ahead->merge);
}

static void *live(void *self)
{
    struct xfa_ahead *ahead = self;
    struct pending pending = {NULL, 0};
    bool more = true;
    pthread_mutex_lock(&ahead->mutex);
    while (more && !ahead->over) {
        if (ahead->read - ahead->done == BATCHES) {
            pthread_cond_wait(&ahead->emptied, &ahead->mutex);
            continue;
        }
        struct batch *batch = &ahead->batches[ahead->read % BATCHES];
        pthread_mutex_unlock(&ahead->mutex);
        fill(ahead, batch, &pending);
        more = batch->count > 0;
        pthread_mutex_lock(&ahead->mutex);
        ahead->read++;
        pthread_cond_signal(&ahead->filled);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void make_thread(struct xfa_ahead *ahead)
{
    ahead->batches = xfa_alloc_unset(BATCHES * sizeof *ahead->batches);
    ahead->threaded = xfa_thread_new(&ahead->thread, live, ahead);
    ahead->alone = !ahead->threaded;
}

static size_t next_at_once(struct xfa_ahead *ahead, const struct xfa_merged **rows)
{
    size_t count = xfa_merge_next_batch(ahead->merge, rows);
    ahead->at_once++;
    ahead->part = xfa_merge_part(ahead->merge);
    return count;
}

/* Behind the last batch, which has no rows, comes none. */
static size_t next_of_thread(struct xfa_ahead *ahead, const struct xfa_merged **rows)
{
    pthread_mutex_lock(&ahead->mutex);
    ahead->done = ahead->walked;
    if (ahead->read - ahead->done <= BATCHES / 2) /* it is woken for several at once */
        pthread_cond_signal(&ahead->emptied);
    while (ahead->read == ahead->walked)
        pthread_cond_wait(&ahead->filled, &ahead->mutex);
    pthread_mutex_unlock(&ahead->mutex);
    const struct batch *batch = &ahead->batches[ahead->walked % BATCHES];
    ahead->walked += batch->count > 0;
    ahead->part = batch->part;
    *rows = batch->rows;
    return batch->count;
}

size_t xfa_ahead_next(struct xfa_ahead *ahead, const struct xfa_merged **rows)
{
    if (!ahead->threaded && !ahead->alone && ahead->at_once == AT_ONCE)
        make_thread(ahead);
    return ahead->threaded ? next_of_thread(ahead, rows) : next_at_once(ahead, rows);
}

double xfa_ahead_part(const struct xfa_ahead *ahead)
{
    return ahead->part;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct xfa_ahead *xfa_ahead_new(struct xfa_merge *merge, bool threaded)
{
    struct xfa_ahead *ahead = xfa_alloc(sizeof *ahead);
    ahead->merge = merge;
    ahead->alone = !threaded;
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->filled, NULL);
    pthread_cond_init(&ahead->emptied, NULL);
    return ahead;
}

void xfa_ahead_free(struct xfa_ahead *ahead)
{
    if (ahead->threaded) {
        pthread_mutex_lock(&ahead->mutex);
        ahead->over = true;
        pthread_cond_signal(&ahead->emptied);
        pthread_mutex_unlock(&ahead->mutex);
        pthread_join(ahead->thread, NULL);
    }
    xfa_merge_free(ahead->merge);
    free(ahead->batches);
    pthread_cond_destroy(&ahead->emptied);
    pthread_cond_destroy(&ahead->filled);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead);
}
