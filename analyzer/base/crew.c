#include "analyzer/base/crew.h"

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"

#define STACK_BYTES ((size_t)512 << 10)

struct xfa_crew {
    pthread_mutex_t mutex;
    pthread_cond_t begins, ends;
    pthread_t threads[XFA_CREW_MOST];
    unsigned count; /* threads, without the caller */
    void (*one)(void *self, size_t i);
    void *self;
    size_t next, all, left; /* next: item to be taken; left: items not done yet */
    bool over;
};

/* Takes and does items until none is left. The mutex is held, but not during an item. */
static void work(struct xfa_crew *crew)
{
    while (crew->next < crew->all) {
        size_t i = crew->next++;
        pthread_mutex_unlock(&crew->mutex);
        crew->one(crew->self, i);
        pthread_mutex_lock(&crew->mutex);
        crew->left--;
    }
    if (crew->left == 0)
        pthread_cond_signal(&crew->ends);
}

static void *live(void *of)
{
    struct xfa_crew *crew = of;
    pthread_mutex_lock(&crew->mutex);
    while (!crew->over) {
        work(crew);
        pthread_cond_wait(&crew->begins, &crew->mutex);
    }
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

static unsigned sharing = 1;

void xfa_processors_share(unsigned processes)
{
    sharing = processes;
}

unsigned xfa_processors(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    unsigned all = count < 1 ? 1 : count > XFA_CREW_MOST ? XFA_CREW_MOST : (unsigned)count;
    return (all + sharing - 1) / sharing;
}

bool xfa_thread_new(pthread_t *thread, void *(*live_on)(void *), void *self)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    /* These threads allocate little: an arena of each one's own would take 64 MiB of addresses. */
    mallopt(M_ARENA_MAX, 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = pthread_create(thread, &attributes, live_on, self) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return made;
}

struct xfa_crew *xfa_crew_new(void)
{
    struct xfa_crew *crew = xfa_alloc(sizeof *crew);
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->begins, NULL);
    pthread_cond_init(&crew->ends, NULL);
    for (unsigned wanted = xfa_processors() - 1; crew->count < wanted; crew->count++)
        if (!xfa_thread_new(&crew->threads[crew->count], live, crew))
            break;
    return crew;
}

void xfa_crew_free(struct xfa_crew *crew)
{
    if (!crew)
        return;
    pthread_mutex_lock(&crew->mutex);
    crew->over = true;
    pthread_cond_broadcast(&crew->begins);
    pthread_mutex_unlock(&crew->mutex);
    for (unsigned i = 0; i < crew->count; i++)
        pthread_join(crew->threads[i], NULL);
    pthread_cond_destroy(&crew->begins);
    pthread_cond_destroy(&crew->ends);
    pthread_mutex_destroy(&crew->mutex);
    free(crew);
}

void xfa_crew_do(struct xfa_crew *crew, void (*one)(void *self, size_t i), void *self, size_t count)
{
    pthread_mutex_lock(&crew->mutex);
    crew->one = one;
    crew->self = self;
    crew->next = 0;
    crew->all = crew->left = count;
    if (count > 1 && crew->count > 0)
        pthread_cond_broadcast(&crew->begins);
    work(crew);
    while (crew->left > 0)
        pthread_cond_wait(&crew->ends, &crew->mutex);
    pthread_mutex_unlock(&crew->mutex);
}
