/*
 * OpenMetrics text for others: a file that is replaced whole (for a node exporter's textfile
 * collector), or a Unix socket: each client that connects gets the newest text, then the end of the
 * stream.
 */
#ifndef XFA_SERVE_H
#define XFA_SERVE_H

#include <stdbool.h>
#include <stddef.h>

struct xfa_server {
    const char *file;   /* NULL: none */
    const char *socket; /* its path; NULL: none */
    int listener;       /* -1: none */
};

/* where: a file's path, or "unix:PATH"; NULL: nowhere. 0, or -1 after a line on stderr. A socket
 * that nobody listens on any more is replaced, anything else in its place is not. */
int xfa_serve_open(struct xfa_server *server, const char *where);

/* Writes the text to the file. 0, or -1 after a line on stderr. */
int xfa_serve_put(struct xfa_server *server, const char *text, size_t bytes);

/* Serves the text to those who connect, until the monotonic clock says so (seconds) or *stop. Half
 * a second for each of them at most. */
void xfa_serve_until(struct xfa_server *server, double until_s, volatile int *stop,
                     const char *text, size_t bytes);

/* Removes the socket; the file stays, with the last figures. */
void xfa_serve_close(struct xfa_server *server);

#endif
