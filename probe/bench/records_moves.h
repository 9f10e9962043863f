/*
 * What records of managed memory cost, in a process that measures records (records.h): CUPTI's
 * counters switched on and off.
 */
#ifndef XFP_RECORDS_MOVES_H
#define XFP_RECORDS_MOVES_H

#include "probe/bench/records.h"
#include "probe/session.h"

#define XFP_RECORDS_MOST_PAIRS 128

/* Measures for budget_ns of wall time, and fills in the figures MOVE_*. They stay
 * unknown (n = 0) where managed memory does not migrate on access, or CUPTI does not count that.
 * CUPTI is prepared, its other records are off. sink: 16 bytes of the device. 0, or -1 with the
 * session's error. */
int xfp_records_moves(struct xfp_session *s, struct xfp_device *d, xcu_deviceptr sink,
                      uint64_t budget_ns, struct xfp_stats figures[XFP_RECORDS_COUNT]);

#endif
