#include "analyzer/sums/nccl_calls.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/sums/messages.h"

struct channel {
    struct channel_key { /* key */
        uint64_t channel;
        uint32_t side, rank;
    } key;
    uint32_t count;
    bool unsure;
    uint64_t last_ns; /* begin of the call counted last */
};

struct kernel {
    uint64_t correlation; /* key */
    uint64_t begin_ns, end_ns;
};

/* ---- keeping --------------------------------------------------------------------------------- */

static bool is_chosen(const struct xfa_nccl_calls *calls, const struct xfa_nccl_call *one)
{
    return (xfa_communicator_mixed(one->channel, one->n) & calls->mask) == 0;
}

/* Half of them go. */
static void thin_out(struct xfa_nccl_calls *calls)
{
    size_t count = 0, before = 0;
    calls->mask = 2 * calls->mask + 1;
    for (size_t i = 0; i < calls->count; i++) {
        before += i < calls->first && is_chosen(calls, &calls->kept[i]);
        if (is_chosen(calls, &calls->kept[i]))
            calls->kept[count++] = calls->kept[i];
    }
    calls->count = count;
    calls->first = before;
}

static bool keep(struct xfa_nccl_calls *calls, const struct xfa_nccl_call *one)
{
    size_t most = calls->most ? calls->most : XFA_MAX_NCCL_CALLS;
    if (!is_chosen(calls, one))
        return false;
    if (calls->count >= most)
        thin_out(calls);
    if (!is_chosen(calls, one) || calls->count >= most)
        return false;
    calls->kept = xfa_room(calls->kept, &calls->capacity, calls->count + 1, sizeof *calls->kept);
    calls->kept[calls->count++] = *one;
    return true;
}

static struct kernel *kernel_of(struct xfa_nccl_calls *calls, uint32_t correlation, bool make)
{
    const uint64_t key = correlation;
    struct kernel *kernel = xfa_table_get(&calls->kernels, &key);
    if (kernel || !make || correlation == 0 || calls->kernels.count >= XFA_MAX_NCCL_KERNELS)
        return kernel;
    return xfa_table_put(&calls->kernels, &key);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Counts the call in its channel: of a communicator, two ranks or all of them. */
static void count_in(struct xfa_nccl_calls *calls, struct xfa_nccl_call *one, uint64_t began_ns)
{
    const struct channel_key key = {one->channel, one->side, one->rank};
    struct channel *channel = xfa_table_put(&calls->channels, &key);
    channel->unsure = channel->unsure || began_ns < channel->last_ns;
    channel->last_ns = began_ns;
    one->n = ++channel->count;
}

void xfa_nccl_call(struct xfa_nccl_calls *calls, const struct xfa_event *event,
                   const struct xfa_known_communicator *communicator)
{
    const struct xfa_message *message = &event->message;
    bool collective = xft_message_is_collective(message->what);
    bool sends = message->what == XFT_MESSAGE_SEND;
    uint32_t rank = communicator->rank;
    struct xfa_nccl_call one = {
        .process = event->process->number,
        .correlation = event->correlation,
        .rank = rank,
        .size = communicator->size,
        .root = collective ? message->to : XFT_RANK_NONE,
        .side = (uint8_t)(collective ? XFA_TAKES_PART
                          : sends    ? XFA_SENDS
                                     : XFA_RECEIVES),
        .what = message->what,
    };
    if (collective)
        one.channel = xfa_communicator_channel(communicator, XFT_RANK_NONE, XFT_RANK_NONE, 0);
    else
        one.channel = xfa_communicator_channel(communicator, sends ? rank : message->from,
                                               sends ? message->to : rank, 0);
    count_in(calls, &one, event->start_ns);
    if (keep(calls, &one))
        kernel_of(calls, event->correlation, true);
}

void xfa_nccl_kernel(struct xfa_nccl_calls *calls, const struct xfa_event *event, bool announced)
{
    struct kernel *kernel = kernel_of(calls, event->correlation, announced);
    if (!kernel || kernel->end_ns || event->end_ns < event->start_ns)
        return;
    kernel->begin_ns = event->start_ns;
    kernel->end_ns = event->end_ns;
}

/* ---- processes ------------------------------------------------------------------------------- */

void xfa_nccl_begin(struct xfa_nccl_calls *calls)
{
    xfa_table_init(&calls->channels, sizeof(struct channel_key), sizeof(struct channel));
    xfa_table_init(&calls->kernels, sizeof(uint64_t), sizeof(struct kernel));
    calls->first = calls->count;
}

static void forget(struct xfa_nccl_calls *calls)
{
    xfa_table_free(&calls->channels);
    xfa_table_free(&calls->kernels);
    calls->channels = calls->kernels = (struct xfa_table){0};
}

void xfa_nccl_end(struct xfa_nccl_calls *calls)
{
    for (size_t i = calls->first; i < calls->count; i++) {
        struct xfa_nccl_call *one = &calls->kept[i];
        const struct channel_key key = {one->channel, one->side, one->rank};
        const struct channel *channel = xfa_table_get(&calls->channels, &key);
        const struct kernel *kernel = kernel_of(calls, one->correlation, false);
        one->of = channel->unsure ? 0 : channel->count;
        one->begin_ns = kernel ? kernel->begin_ns : 0;
        one->end_ns = kernel ? kernel->end_ns : 0;
    }
    forget(calls);
}

void xfa_nccl_free(struct xfa_nccl_calls *calls)
{
    forget(calls);
    free(calls->kept);
}

/* ---- who belongs together -------------------------------------------------------------------- */

static int by_channel(const void *a, const void *b)
{
    const struct xfa_nccl_call *x = a, *y = b;
    if (x->channel != y->channel)
        return x->channel < y->channel ? -1 : 1;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    if (x->side != y->side)
        return x->side < y->side ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

void xfa_nccl_sort(struct xfa_nccl_calls *calls)
{
    if (calls->count)
        qsort(calls->kept, calls->count, sizeof *calls->kept, by_channel);
}

static bool are_done(const struct xfa_nccl_call *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].end_ns == 0 || all[i].of == 0 || all[i].of != all->of)
            return false;
    return true;
}

static bool is_collective(const struct xfa_nccl_call *all, size_t count)
{
    if (count < 2 || count != all->size || all->side != XFA_TAKES_PART)
        return false;
    for (size_t i = 1; i < count; i++)
        if (all[i].side != all->side || all[i].what != all->what || all[i].rank == all[i - 1].rank)
            return false;
    return true;
}

static bool is_meeting(const struct xfa_nccl_call *all, size_t count)
{
    bool pair = count == 2 && all[0].side == XFA_SENDS && all[1].side == XFA_RECEIVES;
    return (pair || is_collective(all, count)) && are_done(all, count);
}

void xfa_nccl_each(const struct xfa_nccl_calls *calls, xfa_nccl_fn *meeting, xfa_nccl_fn *other,
                   void *self)
{
    const struct xfa_nccl_call *kept = calls->kept;
    for (size_t at = 0, next; at < calls->count; at = next) {
        for (next = at + 1; next < calls->count && kept[next].n == kept[at].n &&
                            kept[next].channel == kept[at].channel;)
            next++;
        xfa_nccl_fn *use = is_meeting(&kept[at], next - at) ? meeting : other;
        if (use)
            use(self, &kept[at], next - at);
    }
}
