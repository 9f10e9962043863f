#include "analyzer/live/serve.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/base/files.h"
#include "common/text.h"

#define UNIX "unix:"
#define WAITING 8 /* connections that wait to be taken */

static int failed(const char *path, const char *why)
{
    xfc_print(stderr, "xferscope live: --openmetrics %s: %s\n", path, why);
    return -1;
}

/* A socket that is left of an earlier one: nobody answers. */
static bool is_left_over(const struct sockaddr_un *address)
{
    struct stat info;
    int probe = -1;
    if (lstat(address->sun_path, &info) != 0 || !S_ISSOCK(info.st_mode))
        return false;
    probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool refused = probe >= 0 &&
                   connect(probe, (const struct sockaddr *)address, sizeof *address) != 0 &&
                   errno == ECONNREFUSED;
    if (probe >= 0)
        close(probe);
    return refused;
}

static int listen_at(struct xfa_server *server, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!*path || strlen(path) >= sizeof address.sun_path)
        return failed(path, *path ? "too long for a socket" : "which path?");
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (is_left_over(&address))
        unlink(path);
    server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->listener < 0 ||
        bind(server->listener, (const struct sockaddr *)&address, sizeof address) != 0)
        return failed(path, strerror(errno));
    server->socket = path;
    return listen(server->listener, WAITING) == 0 ? 0 : failed(path, strerror(errno));
}

int xfa_serve_open(struct xfa_server *server, const char *where)
{
    *server = (struct xfa_server){.listener = -1};
    if (!where)
        return 0;
    if (strncmp(where, UNIX, strlen(UNIX)) == 0)
        return listen_at(server, where + strlen(UNIX));
    server->file = where;
    const char *why = xfa_replace_refused(where);
    return why ? failed(where, why) : 0;
}

int xfa_serve_put(struct xfa_server *server, const char *text, size_t bytes)
{
    struct xfa_replacement file;
    if (!server->file)
        return 0;
    if (xfa_replace_begin(&file, server->file) != 0)
        return failed(server->file, file.why);
    fwrite(text, 1, bytes, file.stream); /* an error shows at the end */
    return xfa_replace_end(&file) == 0 ? 0 : failed(server->file, file.why);
}

/* ---- the socket ------------------------------------------------------------------------------ */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A reader that does not read is given up after half a second. */
static void answer(int client, const char *text, size_t bytes)
{
    const struct timeval patience = {0, 500000};
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    while (bytes > 0) {
        ssize_t n = send(client, text, bytes, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        text += n;
        bytes -= (size_t)n;
    }
    close(client);
}

void xfa_serve_until(struct xfa_server *server, double until_s, volatile int *stop,
                     const char *text, size_t bytes)
{
    for (double left; !*stop && (left = until_s - now_s()) > 0;) {
        struct pollfd wait = {.fd = server->listener, .events = POLLIN};
        if (poll(&wait, 1, (int)(left * 1000) + 1) <= 0)
            continue;
        int client = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (client >= 0)
            answer(client, text, bytes);
    }
}

void xfa_serve_close(struct xfa_server *server)
{
    if (server->socket)
        unlink(server->socket);
    if (server->listener >= 0)
        close(server->listener);
}
