/* Waits by a call in place of polled waits (op/polled.h): of changes.h. */
#ifndef XFW_NO_POLLING_H
#define XFW_NO_POLLING_H

#include "analyzer/whatif/schedule/change.h"

/*
 * Threads that poll at these call sites, with pauses, wait by a call instead, from their first
 * query on: it returns when the work is done, and as much later as other waits do (the profile's);
 * at worst later, as a thread that blocks. at_best: else nothing changes. sites: taken over.
 */
struct xfw_change *xfw_change_no_polling(const struct xfa_analysis *analysis, struct xfw_set *sites,
                                         bool at_best);

#endif
