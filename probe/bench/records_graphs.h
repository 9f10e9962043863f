/*
 * What graphs cost the host and the device, in a process that measures records (records.h).
 */
#ifndef XFP_RECORDS_GRAPHS_H
#define XFP_RECORDS_GRAPHS_H

#include "probe/bench/records.h"
#include "probe/session.h"

/* Whether the driver has the functions, and the device the probe's kernels. */
bool xfp_records_graphs_apply(const struct xfp_session *s, const struct xfp_device *d);

/* Measures each figure of graphs once, ns, in the state that records are in, with nothing in
 * flight. memory: 64 bytes of the device. XFP_RECORDS_GRAPH_DEVICE only where the gate is usable
 * before and after. 0, or -1 with the session's error. */
int xfp_records_graphs(struct xfp_session *s, struct xfp_device *d, xcu_deviceptr memory,
                       double ns[XFP_RECORDS_COUNT]);

/* How far apart, ns, kernels of a graph begin on the device of which each depends on the one before
 * it and ends at once. Only where the gate is usable before and after. memory, result: as above. */
int xfp_records_graph_pitch(struct xfp_session *s, struct xfp_device *d, xcu_deviceptr memory,
                            double *ns);

#endif
