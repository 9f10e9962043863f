#include "probe/device/team.h"

#include <pthread.h>
#include <stdlib.h>

#include "probe/device/buffer.h"

enum { PART = 4096 };

struct member {
    struct xfp_team *team;
    size_t index;
    pthread_t thread;
};

struct xfp_team {
    const struct xfp_system *system;
    size_t count, started; /* the caller is member 0 */
    int node;
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    unsigned long round; /* of work */
    size_t busy;         /* members at work on it */
    xfp_work *work;      /* NULL: the end of the team */
    void *state;
    struct member members[XFP_MOST_THREADS];
};

static void *be_member(void *argument)
{
    const struct member *m = argument;
    struct xfp_team *t = m->team;

    xfp_bind(t->system, t->node);
    for (unsigned long seen = 0;; seen++) {
        pthread_mutex_lock(&t->lock);
        while (t->round == seen)
            pthread_cond_wait(&t->begin, &t->lock);
        pthread_mutex_unlock(&t->lock);
        if (!t->work)
            return NULL;
        t->work(t->state, m->index, t->count);
        pthread_mutex_lock(&t->lock);
        if (!--t->busy)
            pthread_cond_signal(&t->end);
        pthread_mutex_unlock(&t->lock);
    }
}

static void begin(struct xfp_team *t, xfp_work *work, void *state)
{
    pthread_mutex_lock(&t->lock);
    t->work = work;
    t->state = state;
    t->busy = t->started;
    t->round++;
    pthread_cond_broadcast(&t->begin);
    pthread_mutex_unlock(&t->lock);
}

struct xfp_team *xfp_team_start(struct xfp_system *sys, size_t count, int node)
{
    struct xfp_team *t = calloc(1, sizeof(*t));

    if (!t) {
        xfp_fail(sys, "out of memory");
        return NULL;
    }
    *t = (struct xfp_team){.system = sys, .count = count, .node = node};
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->begin, NULL);
    pthread_cond_init(&t->end, NULL);
    while (t->started + 1 < count) {
        struct member *m = &t->members[t->started + 1];

        *m = (struct member){.team = t, .index = t->started + 1};
        if (pthread_create(&m->thread, NULL, be_member, m)) {
            xfp_team_end(t);
            xfp_fail(sys, "cannot start %zu threads", count);
            return NULL;
        }
        t->started++;
    }
    return t;
}

void xfp_team_work(struct xfp_team *t, xfp_work *work, void *state)
{
    begin(t, work, state);
    work(state, 0, t->count);
    pthread_mutex_lock(&t->lock);
    while (t->busy)
        pthread_cond_wait(&t->end, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void xfp_team_end(struct xfp_team *t)
{
    if (!t)
        return;
    begin(t, NULL, NULL);
    for (size_t i = 1; i <= t->started; i++)
        pthread_join(t->members[i].thread, NULL);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->begin);
    pthread_cond_destroy(&t->end);
    free(t);
}

size_t xfp_team_sizes(const struct xfp_system *sys, bool quick, size_t sizes[XFP_TEAM_SIZES])
{
    size_t most = (size_t)CPU_COUNT(&sys->affinity), count = 0;
    int shift = quick ? 2 : 1;

    most = most < 1 ? 1 : most > XFP_MOST_THREADS ? XFP_MOST_THREADS : most;
    for (size_t n = 1; n <= most; n <<= shift)
        sizes[count++] = n;
    if (sizes[count - 1] != most)
        sizes[count++] = most;
    return count;
}

void xfp_team_part(size_t bytes, size_t index, size_t count, size_t *from, size_t *to)
{
    size_t pages = bytes / PART;

    *from = pages * index / count * PART;
    *to = index + 1 == count ? bytes : pages * (index + 1) / count * PART;
}
