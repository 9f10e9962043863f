#include "analyzer/sums/exposed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

/* ---- while the run is walked over ------------------------------------------------------------ */

static bool touches(const struct xfa_busy *before, uint64_t start, uint64_t end)
{
    return start <= before->end_ns && end >= before->start_ns;
}

/* What meets the GPU's last one makes it longer: a busy GPU has few stretches. */
static void add(struct xfa_exposed *exposed, struct xfa_busy_times *to, int gpu, uint64_t start,
                uint64_t end)
{
    if (end <= start || gpu < 0 || gpu >= XFA_PROCESS_GPUS)
        return;
    if (to->last[gpu] && touches(&to->all[to->last[gpu] - 1], start, end)) {
        struct xfa_busy *last = &to->all[to->last[gpu] - 1];
        last->start_ns = start < last->start_ns ? start : last->start_ns;
        last->end_ns = end > last->end_ns ? end : last->end_ns;
        return;
    }
    if (exposed->copies.count + exposed->kernels.count >= XFA_MAX_BUSY) {
        exposed->beyond = true;
        return;
    }
    size_t place = to->count;
    to->all = xfa_grown(to->all, &to->capacity, &to->count, place, sizeof *to->all);
    to->all[place] = (struct xfa_busy){start, end, (int16_t)gpu};
    to->last[gpu] = (uint32_t)place + 1;
}

/* Where recording gave way: about when it ran. */
static void find_time(const struct xfa_event *event, uint64_t *start, uint64_t *end)
{
    const struct xfa_transfer *transfer = &event->transfer;
    if (!event->process->sampled)
        return;
    if (transfer->blocks) {
        *start = event->start_ns;
        *end = event->end_ns;
    } else if (transfer->timed == XFA_TIMED_SAMPLE) {
        *start = event->end_ns;
        *end = event->end_ns + (uint64_t)transfer->achieved_ns;
    }
}

static void transfer(void *self, const struct xfa_event *event)
{
    struct xfa_exposed *exposed = self;
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_row_key *row = &transfer->class->key.row;
    int gpu = row->direction == XFT_DIR_D2H ? row->src_gpu : row->dst_gpu;
    if (row->direction != XFT_DIR_H2D && row->direction != XFT_DIR_D2H &&
        row->direction != XFT_DIR_P2P)
        return;
    uint64_t start = transfer->device.start_ns, end = transfer->device.end_ns;
    if (end <= start)
        find_time(event, &start, &end);
    exposed->untimed += end <= start;
    exposed->any_untimed |= end <= start && !event->process->sampled;
    exposed->timed += end > start;
    if (end > start)
        add(exposed, &exposed->copies, gpu, xfa_process_wall_ns(event->process, start),
            xfa_process_wall_ns(event->process, end));
}

static void event(void *self, const struct xfa_event *event)
{
    struct xfa_exposed *exposed = self;
    add(exposed, &exposed->kernels, event->gpu,
        xfa_process_wall_ns(event->process, event->start_ns),
        xfa_process_wall_ns(event->process, event->end_ns));
}

static uint64_t process(void *self, struct xfa_process *process)
{
    struct xfa_exposed *exposed = self;
    const char *kernels = xfa_trace_meta(process->trace, "kernels");
    exposed->no_kernels |= !kernels || strcmp(kernels, "on") != 0 ||
                           xfa_trace_meta(process->trace, "budget.kernels_until_ns");
    return XFA_KIND(XFT_EVENT_KERNEL);
}

struct xfa_observer xfa_exposed_observer(struct xfa_exposed *exposed)
{
    return (struct xfa_observer){.name = "exposed",
                                 .kinds = XFA_KIND(XFT_EVENT_KERNEL),
                                 .self = exposed,
                                 .process = process,
                                 .event = event,
                                 .transfer = transfer};
}

void xfa_exposed_free(struct xfa_exposed *exposed)
{
    free(exposed->copies.all);
    free(exposed->kernels.all);
}

/* ---- when it is over ------------------------------------------------------------------------- */

static int by_gpu_and_time(const void *a, const void *b)
{
    const struct xfa_busy *x = a, *y = b;
    if (x->gpu != y->gpu)
        return x->gpu < y->gpu ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* By GPU and time, without overlaps. */
static void join(struct xfa_busy_times *stretches)
{
    size_t kept = 0;
    if (stretches->count)
        qsort(stretches->all, stretches->count, sizeof *stretches->all, by_gpu_and_time);
    for (size_t i = 0; i < stretches->count; i++) {
        const struct xfa_busy next = stretches->all[i];
        struct xfa_busy *last = kept ? &stretches->all[kept - 1] : NULL;
        if (last && last->gpu == next.gpu && next.start_ns <= last->end_ns)
            last->end_ns = next.end_ns > last->end_ns ? next.end_ns : last->end_ns;
        else
            stretches->all[kept++] = next;
    }
    stretches->count = kept;
}

/* Of one stretch, what kernels cover; `from` goes forward with the stretches. */
static double covered(const struct xfa_busy_times *kernels, size_t *from,
                      const struct xfa_busy *copy)
{
    double ns = 0;
    while (*from < kernels->count &&
           (kernels->all[*from].gpu < copy->gpu ||
            (kernels->all[*from].gpu == copy->gpu && kernels->all[*from].end_ns <= copy->start_ns)))
        ++*from;
    for (size_t i = *from; i < kernels->count; i++) {
        const struct xfa_busy *kernel = &kernels->all[i];
        if (kernel->gpu != copy->gpu || kernel->start_ns >= copy->end_ns)
            break;
        uint64_t start = kernel->start_ns > copy->start_ns ? kernel->start_ns : copy->start_ns;
        uint64_t end = kernel->end_ns < copy->end_ns ? kernel->end_ns : copy->end_ns;
        ns += (double)(end - start);
    }
    return ns;
}

struct xfa_exposure xfa_exposed_sum(struct xfa_exposed *exposed)
{
    struct xfa_exposure sum = {0};
    size_t from = 0;
    join(&exposed->copies);
    join(&exposed->kernels);
    for (size_t i = 0; i < exposed->copies.count; i++) {
        const struct xfa_busy *copy = &exposed->copies.all[i];
        double ns = (double)(copy->end_ns - copy->start_ns);
        sum.gpus += i == 0 || copy->gpu != copy[-1].gpu;
        sum.copied_ns += ns;
        sum.exposed_ns += ns - covered(&exposed->kernels, &from, copy);
    }
    const uint64_t few = 16; /* one in so many may be left out */
    if (exposed->any_untimed || exposed->untimed > exposed->timed / few || exposed->beyond)
        sum.copied_ns = sum.exposed_ns = NAN;
    if (exposed->no_kernels)
        sum.exposed_ns = NAN;
    return sum;
}
