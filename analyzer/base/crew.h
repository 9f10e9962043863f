/*
 * Threads that do the same with many things, side by side: who calls is one of them.
 *
 * As many as the process may use processors, less where no more can be made. They take no signals:
 * those are the caller's.
 */
#ifndef XFA_CREW_H
#define XFA_CREW_H

#include <stddef.h>

#define XFA_CREW_MOST 32 /* the caller counted */

struct xfa_crew;
struct xfa_crew *xfa_crew_new(void);
void xfa_crew_free(struct xfa_crew *crew);

/* one(self, i) for each i less than count, in no order, by whatever thread comes to it; returns
 * when all are done, and what they did is seen. From one thread at a time. */
void xfa_crew_do(struct xfa_crew *crew, void (*one)(void *self, size_t i), void *self,
                 size_t count);

#endif
