/*
 * How one size of one copy is measured. The rules (docs/probe.md, "How it measures"):
 * device events around asynchronous copies queued behind the gate, the host clock around
 * synchronous ones, warm-up first, samples until the median's 95 % confidence interval is within
 * 1 % or the time for this point is used up, and the data checked afterwards.
 */
#ifndef XFP_MEASURE_H
#define XFP_MEASURE_H

#include "probe/device/buffer.h"
#include "probe/session.h"

struct xfp_copy {
    struct xfp_buffer *src, *dst;
    struct xfp_device *device; /* whose stream and events are used */
    bool gated;                /* submission never waits for the copy: pageable copies do */
    bool peer;                 /* cuMemcpyPeerAsync */
};

/* Queues bytes of the copy from offset on in stream. */
xcu_result xfp_submit_part(const struct xfp_driver *cu, const struct xfp_copy *copy, size_t offset,
                           size_t bytes, xcu_stream stream);

/*
 * Queues what is to stand before the first event when the stream comes from the gate, a kernel: a
 * short copy takes it over to the copy engine, so that the event is recorded there and this change
 * is no part of what is measured. Of the length up to which drivers may do without that engine, at
 * most `bytes`; from the source's start to the destination's end, so that what it leaves is neither
 * a cached line of a shorter copy nor the right data.
 */
xcu_result xfp_submit_lead(const struct xfp_driver *cu, const struct xfp_copy *copy, size_t bytes,
                           xcu_stream stream);

/* Makes the caches cold or warm for the first bytes, if the rules demand it: then every copy is
 * measured separately. No transfer may be in flight. */
void xfp_flush_copy(const struct xfp_session *s, const struct xfp_copy *copy, size_t bytes);

/* Fills times and statistics of the asynchronous form in point (bytes is set by the caller), within
 * slice_ns of wall time. 0, or -1 with the session's error. A point of n = 0: interrupted, or too
 * short for events. */
int xfp_measure_async(struct xfp_session *s, const struct xfp_copy *copy, struct xfp_point *point,
                      uint64_t slice_ns);

/* blocking_ns of point: the synchronous form, on the host clock. */
int xfp_measure_blocking(struct xfp_session *s, const struct xfp_copy *copy,
                         struct xfp_point *point, uint64_t slice_ns);

/* One size (point->bytes): the asynchronous form, then the synchronous one if asked for; each time
 * the destination is cleared before and compared after. 0, or -1 with the session's error. */
int xfp_measure_copy(struct xfp_session *s, const struct xfp_copy *copy, bool blocking,
                     uint64_t slice_ns, struct xfp_point *point);

/* g of section V in ns: the time that each further copy of `bytes` adds beyond the transfer of its
 * bytes, when many are queued in sequence; 0 = not measurable here. single_ns and G: the path's. */
double xfp_measure_gap(struct xfp_session *s, const struct xfp_copy *copy, size_t bytes,
                       double single_ns, double G_ns_per_byte);

#endif
