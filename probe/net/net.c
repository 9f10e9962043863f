#include "probe/net/net.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/text.h"
#include "probe/net/watch.h"

void xfp_net_say(const char *format, ...)
{
    char line[600];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    xfc_print(stderr, "xferscope probe: %s\n", line);
}

const char *xfp_net_who(const struct xfp_net_run *run, int rank, char text[XFP_NET_WHO_BYTES])
{
    snprintf(text, XFP_NET_WHO_BYTES, "rank %d (%.120s)", rank, run->hellos[rank].hostname);
    return text;
}

void xfp_net_give_up(struct xfp_net_run *run, const char *why)
{
    char line[XFP_NET_WHO_BYTES + 300], who[XFP_NET_WHO_BYTES] = "";

    if (run->hellos)
        xfp_net_who(run, run->rank, who);
    snprintf(line, sizeof(line), "%s%s%.280s", who, *who ? ": " : "", why);
    if (!run->rank)
        xfp_net_watch_fail(line);
    xfp_net_say("%s", line);
    MPI_Abort(MPI_COMM_WORLD, XFP_PROBE_PARTLY);
    _exit(XFP_PROBE_PARTLY);
}

bool xfp_net_is_chosen(const struct xfp_net_run *run, const char *name)
{
    return !run->command->options.filter || !regexec(&run->filter, name, 0, NULL, 0);
}

void xfp_net_mpi(struct xfp_net_run *run, int result, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "", line[MPI_MAX_ERROR_STRING + 100];
    int length;

    if (!result)
        return;
    MPI_Error_string(result, text, &length);
    snprintf(line, sizeof(line), "%s: %s", what, text);
    xfp_net_give_up(run, line);
}
