/*
 * The two ways to subscribe to CUPTI.
 *
 * CUPTI has one client per process, or several: then all of them subscribe by cuptiSubscribe_v2,
 * all say that others are welcome, and make the calls that have a second version by it. The two
 * kinds exclude each other. NVIDIA's rules: "Multiple Subscribers" in CUPTI's manual, from
 * CUDA 13.3 on.
 *
 * xfs_cupti_join() tries the newer way where copy and driver have it, and the old one where it is
 * refused. In the newer way it replaces the functions of the library's table by ones that speak for
 * our subscription, so that the rest of device timing need not know. What has no second version, or
 * is not documented per client, is left out of the table (the trace's own clock, zeroed buffers):
 * CUPTI's times are then converted.
 *
 * One subscription per process; the functions are called by one thread at a time, but
 * xfs_cupti_company(), by any.
 */
#ifndef XFS_CUPTI_CLIENT_H
#define XFS_CUPTI_CLIENT_H

#include <stdbool.h>

#include "xferscope/cupti_abi.h"

struct xfs_cupti_joined {
    xcp_subscriber subscriber;
    bool several;  /* others are served beside us */
    bool hardware; /* kernel times come from hardware */
    char
        other[XCP_OTHER_NAME_BYTES]; /* who came first; "" when there is none, or it is not known */
};

/* Subscribes. `hardware`: kernel times from hardware are wanted, where there is no other client yet
 * and the version has them without known faults; no context may exist. XCP_SUCCESS, or CUPTI's
 * answer (then only `other` is set). */
xcp_result xfs_cupti_join(struct xcp_library *library, xcp_callback_function on_call, bool hardware,
                          struct xfs_cupti_joined *joined);

/* Another client comes that shares CUPTI. From now on, and where one was there before us, no record
 * is taken away before its time: a forced flush would hand over the others' unfinished ones. */
void xfs_cupti_company(void);

/* Records may come without a buffer being out (from hardware): flushes must not wait for one. */
bool xfs_cupti_flush_blindly(void);

#endif
