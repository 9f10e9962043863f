#include "analyzer/model/windows.h"

#include <math.h>

#include "analyzer/base/alloc.h"

void xfa_windows_gather(struct xfa_windows *windows, const struct xft_event *event)
{
    if (event->kind != XFT_EVENT_RECORDS)
        return;
    windows->opened += (event->aux & ~windows->last) != 0;
    windows->copies_off |= (windows->last & ~event->aux & XFT_RECORDS_COPIES) != 0;
    windows->kernels_off |= (windows->last & ~event->aux & XFT_RECORDS_KERNELS) != 0;
    windows->last = event->aux;
}

void xfa_windows_launch(struct xfa_windows *windows, const struct xft_event *launch)
{
    if (launch->flags & (XFT_CAPTURED | XFT_FAILED))
        return;
    windows->launches++;
    windows->launches_unseen += windows->kernels_off && launch->correlation == 0;
}

bool xfa_windows_transfer(struct xfa_windows *windows, bool recorded)
{
    bool unseen = windows->copies_off && !recorded;
    windows->transfers++;
    windows->unseen += unseen;
    return unseen;
}

static void add(struct xfa_sum *into, const struct xfa_sum *more)
{
    into->transfers += more->transfers;
    into->bytes = xfa_add(into->bytes, more->bytes);
}

void xfa_windows_extend(struct xfa_figures *f)
{
    uint64_t seen = f->device.transfers + f->host.transfers;
    if (f->unseen.transfers == 0)
        return;
    if (seen > 0 && f->lost.transfers > 0) {
        double all = ((double)seen + (double)f->unseen.transfers) / (double)seen;
        f->lost.ns *= all;
        f->lost_achieved_ns *= all;
        f->lost_best_ns *= all;
        add(&f->lost, &f->unseen);
    } else if (seen == 0 && f->unseen.ns > 0) {
        add(&f->host, &f->unseen);
        f->host.ns += f->unseen.ns;
        if (f->unseen_best_ns > 0) {
            add(&f->lost, &f->unseen);
            f->lost.ns += fmax(0, f->unseen.ns - f->unseen_best_ns);
            f->lost_achieved_ns += f->unseen.ns;
            f->lost_best_ns += f->unseen_best_ns;
        }
    }
}
