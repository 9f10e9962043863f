/*
 * What UCX says of the protocols that it chose, where the MPI at hand uses UCX: with
 * UCX_PROTO_INFO=y it writes a table for each kind of message as it meets the first of them. They
 * go to a file in memory, and into the profile. UCX before 1.16 writes none unless
 * UCX_PROTO_ENABLE=y makes it use the protocols that the tables describe; that would change what is
 * measured, and is left to the user.
 */
#ifndef XFP_NET_UCX_H
#define XFP_NET_UCX_H

#include "probe/net/net.h"

/* "1.13.1", of the one that MPI has loaded; "": it has none. */
void xfp_net_ucx_version(char *text, size_t bytes);

/* Before MPI starts. Does nothing where the user has set UCX_PROTO_INFO or UCX_LOG_FILE. */
void xfp_net_ucx_listen(void);

/*
 * All ranks, once, after the measurement: the tables of all ranks go into the profile of rank 0.
 * What else UCX wrote to the file goes to stderr, as without us.
 */
void xfp_net_ucx_collect(struct xfp_net_run *run);

/* In a child that starts MPI itself, and has not the file. */
void xfp_net_ucx_forget(void);

/* A row of such a table. */
#define XFP_NET_UCX_TEXT 120
struct xfp_net_ucx_row {
    char messages[XFP_NET_UCX_TEXT], protocol[XFP_NET_UCX_TEXT], transport[XFP_NET_UCX_TEXT];
    uint64_t first_bytes, last_bytes; /* UINT64_MAX = all above */
};

/* The rows of all tables in the text, each once, at most `most`; those of messages to the process
 * itself are left out. Lines that are not of a table go to `rest`, unless that is NULL. */
size_t xfp_net_ucx_parse(const char *text, struct xfp_net_ucx_row *rows, size_t most, FILE *rest);

#endif
