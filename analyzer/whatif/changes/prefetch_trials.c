#include "analyzer/whatif/changes/prefetch_trials.h"

#define FIRST 2u  /* as asked, and one for each stream: when two times are known */
#define TRIALS 5u /* of each way */
#define WORTH 0.9 /* of the time as asked: what gains less is not worth its risk */

static void add(struct xfw_tried_times *times, double ns)
{
    times->count++;
    times->ns += ns;
}

static double mean(const struct xfw_tried_times *times)
{
    return times->count ? times->ns / times->count : 0;
}

static struct xfw_tried_kernel *kernel_of(struct xfw_prefetch_trials *trials, uint32_t name)
{
    return &trials->kernels[name % XFW_TRIED_KERNELS];
}

void xfw_prefetch_trials_op(struct xfw_prefetch_trials *trials, const struct xfw_player *player)
{
    const struct xfw_tried_launch *launch = trials->open;
    if (launch)
        add(&kernel_of(trials, launch->name)->work[launch->made_our_way],
            xfw_player_work_end(player, trials->stream) - launch->begin_ns);
    trials->open = NULL;
}

static bool is_tried(const struct xfw_tried_kernel *kernel)
{
    return kernel->work[XFW_AS_ASKED].count >= TRIALS && kernel->work[XFW_BY_APPLY].count >= TRIALS;
}

static bool gains(const struct xfw_tried_kernel *kernel)
{
    const struct xfw_tried_times *work = kernel->work, *rounds = kernel->rounds;
    return mean(&work[XFW_BY_APPLY]) < WORTH * mean(&work[XFW_AS_ASKED]) &&
           mean(&rounds[XFW_BY_APPLY]) <= mean(&rounds[XFW_AS_ASKED]);
}

static enum xfw_tried_way way_of(struct xfw_tried_kernel *kernel)
{
    unsigned launch = kernel->launches++;
    unsigned first = FIRST + (unsigned)__builtin_popcountll(kernel->streams);
    if (is_tried(kernel))
        return gains(kernel) ? XFW_BY_APPLY : XFW_AS_ASKED;
    return launch >= first && (launch - first) / 2 % 2 == 0 ? XFW_BY_APPLY : XFW_AS_ASKED;
}

/* When the stream comes to the launch, whose call begins behind the thread's own time. */
static double begin_of(const struct xfw_player *player, const struct xfw_op *op)
{
    const struct xfw_schedule *schedule = xfw_player_schedule(player);
    double called = xfw_schedule_thread_now(schedule, op->thread) + op->gap_ns;
    return xfw_max(called, xfw_schedule_stream_end(schedule, op->stream));
}

bool xfw_prefetch_trials_launch(struct xfw_prefetch_trials *trials, const struct xfw_player *player,
                                const struct xfw_op *op)
{
    unsigned place = op->stream / XFW_STREAM_STEP % XFW_TRIED_STREAMS;
    struct xfw_tried_kernel *kernel = kernel_of(trials, op->name);
    struct xfw_tried_launch *last = &trials->streams[place];
    double begin_ns = begin_of(player, op);
    if (last->was && last->name == op->name)
        add(&kernel->rounds[last->made_our_way], begin_ns - last->begin_ns);
    kernel->streams |= (uint64_t)1 << place;
    enum xfw_tried_way way = way_of(kernel);
    *last = (struct xfw_tried_launch){true, way == XFW_BY_APPLY, op->name, begin_ns};
    trials->open = last;
    trials->stream = op->stream;
    return way == XFW_BY_APPLY;
}
