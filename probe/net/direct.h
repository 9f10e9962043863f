/*
 * Does MPI take addresses of device memory? Asked of it in a process of its own, before this one
 * starts MPI: one that does not know device memory reads it as its own, and crashes.
 */
#ifndef XFP_NET_DIRECT_H
#define XFP_NET_DIRECT_H

#include "xferscope/profile_network.h"

#define XFP_NET_TRY "--try-device"

/* Starts this program again to try that GPU. At most 30 s. */
enum xfp_net_direct xfp_net_try_device(int ordinal);

/* The process that tries it: messages to itself from device memory to device memory. Its exit
 * status says what came of it. */
int xfp_net_try_child(int argc, char **argv);

/* A child's end as an answer. status: waitpid()'s; started: MPI had, so that what ended it was the
 * device memory. */
enum xfp_net_direct xfp_net_direct_of(int status, bool started);

#endif
