/*
 * Waits for results that come later: behind the thread's own time that follows them, at its next
 * call. Whether that time needs the result the record does not show. It does not need all of it
 * where it is too short to read what has been fetched since the wait before: such waits move, as is
 * likely. At best all of the given call sites' do, at worst none.
 */
#ifndef XFW_CHANGE_LATER_WAIT_H
#define XFW_CHANGE_LATER_WAIT_H

#include "analyzer/whatif/change.h"

/* sites: of the waits; taken over, and left empty. */
struct xfw_change *xfw_change_later_wait(const struct xfa_analysis *analysis,
                                         struct xfw_set *sites);

#endif
