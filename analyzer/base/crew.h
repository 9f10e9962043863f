/*
 * A crew: threads that share the items of a loop. The caller is one of them.
 *
 * There are as many as processors that the process may use, or fewer where threads cannot be
 * created. They block all signals.
 */
#ifndef XFA_CREW_H
#define XFA_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define XFA_CREW_MOST 32 /* with the caller */

/* Processors that the process may use, XFA_CREW_MOST at most. */
unsigned xfa_processors(void);
/* From now on that many processes do such work beside each other: its part of them, rounded up. */
void xfa_processors_share(unsigned processes);

/* A thread that takes no signals and needs little stack; false: it cannot be made. */
bool xfa_thread_new(pthread_t *thread, void *(*live)(void *), void *self);

struct xfa_crew;
struct xfa_crew *xfa_crew_new(void);
void xfa_crew_free(struct xfa_crew *crew);

/* Calls one(self, i) for each i < count, in any order and on any thread of the crew. Returns when
 * all are done; their writes are visible then. One thread at a time may call it. */
void xfa_crew_do(struct xfa_crew *crew, void (*one)(void *self, size_t i), void *self,
                 size_t count);

#endif
