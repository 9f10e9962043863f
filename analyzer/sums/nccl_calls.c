#include "analyzer/sums/nccl_calls.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/sums/messages.h"

struct kernel {
    uint64_t correlation; /* key */
    uint64_t begin_ns, end_ns, bytes;
    uint32_t row, calls;
};

static struct kernel *kernel_of(struct xfa_nccl_calls *calls, uint32_t correlation, bool make)
{
    const uint64_t key = correlation;
    struct kernel *kernel = xfa_table_get(&calls->kernels, &key);
    if (kernel || !make || correlation == 0)
        return kernel;
    calls->beyond = calls->beyond || calls->kernels.count >= XFA_MAX_NCCL_KERNELS;
    if (calls->kernels.count >= XFA_MAX_NCCL_KERNELS)
        return NULL;
    return xfa_table_put(&calls->kernels, &key);
}

/* ---- calls ----------------------------------------------------------------------------------- */

void xfa_nccl_call(struct xfa_nccl_calls *calls, const struct xfa_event *event,
                   const struct xfa_known_communicator *communicator, uint32_t row)
{
    const struct xfa_message *message = &event->message;
    bool collective = xft_message_is_collective(message->what);
    bool sends = message->what == XFT_MESSAGE_SEND;
    uint32_t rank = communicator->rank;
    struct xfa_nccl_call one = {
        .at = {.process = event->process->number,
               .rank = rank,
               .size = communicator->size,
               .side = (uint8_t)(collective ? XFA_TAKES_PART
                                 : sends    ? XFA_SENDS
                                            : XFA_RECEIVES),
               .what = message->what},
        .correlation = event->correlation,
        .root = collective ? message->to : XFT_RANK_NONE,
        .own_row = row,
        .own_bytes = event->bytes > message->arrives ? event->bytes : message->arrives,
    };
    if (collective)
        one.at.channel = xfa_communicator_channel(communicator, XFT_RANK_NONE, XFT_RANK_NONE, 0);
    else
        one.at.channel = xfa_communicator_channel(communicator, sends ? rank : message->from,
                                                  sends ? message->to : rank, 0);
    if (xfa_channel_count(&calls->channels, &one.at, event->start_ns) &&
        xfa_calls_keep(&calls->kept, &one, NULL, NULL) != XFA_NOT_KEPT)
        kernel_of(calls, event->correlation, true);
}

void xfa_nccl_kernel(struct xfa_nccl_calls *calls, const struct xfa_event *event,
                     const struct xfa_nccl_kernel *of)
{
    struct kernel *kernel = kernel_of(calls, event->correlation, of->announced);
    if (!kernel || kernel->end_ns || event->end_ns < event->start_ns)
        return;
    kernel->begin_ns = event->start_ns;
    kernel->end_ns = event->end_ns;
    kernel->row = of->row;
    kernel->calls = of->calls;
    kernel->bytes = of->bytes;
}

/* ---- processes ------------------------------------------------------------------------------- */

void xfa_nccl_init(struct xfa_nccl_calls *calls)
{
    calls->kept.bytes = sizeof(struct xfa_nccl_call);
    calls->kept.most = calls->kept.most ? calls->kept.most : XFA_MAX_NCCL_CALLS;
}

void xfa_nccl_begin(struct xfa_nccl_calls *calls, struct xfa_process *process)
{
    calls->process = process;
    xfa_channels_init(&calls->channels);
    xfa_table_init(&calls->kernels, sizeof(uint64_t), sizeof(struct kernel));
}

static void forget(struct xfa_nccl_calls *calls)
{
    xfa_table_free(&calls->channels);
    xfa_table_free(&calls->kernels);
    calls->channels = calls->kernels = (struct xfa_table){0};
}

void xfa_nccl_end(struct xfa_nccl_calls *calls)
{
    struct xfa_nccl_call *kept = calls->kept.all;
    for (size_t i = calls->kept.count; i-- > 0 && kept[i].at.process == calls->process->number;) {
        struct xfa_nccl_call *one = &kept[i];
        const struct xfa_channel *channel = xfa_channel_of(&calls->channels, &one->at);
        const struct kernel *kernel = kernel_of(calls, one->correlation, false);
        one->at.of = channel->unsure ? 0 : channel->count;
        one->begin_ns = kernel ? kernel->begin_ns : 0;
        one->end_ns = kernel ? kernel->end_ns : 0;
        one->row = one->end_ns ? kernel->row : XFA_NO_MESSAGE_ROW;
        one->bytes = kernel ? kernel->bytes : 0;
        one->calls = kernel ? kernel->calls : 0;
    }
    forget(calls);
}

void xfa_nccl_free(struct xfa_nccl_calls *calls)
{
    forget(calls);
    free(calls->kept.all);
    *calls = (struct xfa_nccl_calls){.kept.most = calls->kept.most};
}

/* ---- who belongs together -------------------------------------------------------------------- */

void xfa_nccl_sort(struct xfa_nccl_calls *calls)
{
    xfa_calls_sort(&calls->kept);
}

static bool are_done(const struct xfa_nccl_call *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].end_ns == 0)
            return false;
    return true;
}

static bool is_meeting(const struct xfa_kept_calls *kept, size_t at, size_t count)
{
    const struct xfa_nccl_call *all = kept->all;
    return (xfa_calls_are_pair(kept, at, count) || xfa_calls_are_collective(kept, at, count)) &&
           are_done(&all[at], count);
}

void xfa_nccl_each(const struct xfa_nccl_calls *calls, xfa_nccl_fn *meeting, xfa_nccl_fn *other,
                   void *self)
{
    const struct xfa_nccl_call *kept = calls->kept.all;
    for (size_t at = 0, next; at < calls->kept.count; at = next) {
        next = xfa_calls_next(&calls->kept, at);
        xfa_nccl_fn *use = is_meeting(&calls->kept, at, next - at) ? meeting : other;
        if (use)
            use(self, &kept[at], next - at);
    }
}
