#include "analyzer/findings/launch_sites.h"

double xfa_launcher_gap_ns(const struct xfa_launcher *launcher, const struct xfa_event *event)
{
    return event->start_ns > launcher->end_ns ? (double)(event->start_ns - launcher->end_ns) : 0;
}

void xfa_launches_add(struct xfa_launches *launches, double gap_ns, const struct xfa_event *event)
{
    launches->times++;
    launches->ns += gap_ns + xfa_event_ns(event);
}

static void name_site(struct xfa_launcher *launcher, struct xfa_table *sites,
                      const struct xfa_event *event)
{
    if (!event->stack || launcher->calls.times + launcher->pieces.times == 0)
        return;
    struct xfa_wait_site *site = xfa_wait_site_of(sites, event);
    site->times += launcher->calls.times;
    xfa_exact_add(&site->ns, launcher->calls.ns);
    site->pieces.times += launcher->pieces.times;
    xfa_exact_add(&site->pieces.ns, launcher->pieces.ns);
    launcher->calls = launcher->pieces = (struct xfa_launches){0};
}

void xfa_launcher_called(struct xfa_launcher *launcher, struct xfa_table *sites,
                         const struct xfa_event *event)
{
    name_site(launcher, sites, event);
    launcher->end_ns = event->end_ns;
}

struct xfw_piece_launch xfa_launch_of(const struct xfa_event *event)
{
    return (struct xfw_piece_launch){
        .stream = event->stream,
        .gpu = -1,
        .name = event->launch.name,
        .arguments = event->launch.arguments,
    };
}
