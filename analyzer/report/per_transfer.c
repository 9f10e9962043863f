#include "analyzer/report/per_transfer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"

static void stop(struct xfa_per_transfer *list)
{
    list->stopped = true;
    xfa_analysis_stop(list->analysis);
}

/* Stops reading the run when the output cannot be written, as when its reader is gone. */
static void check(struct xfa_per_transfer *list)
{
    if (!ferror(list->out))
        return;
    list->failed = errno ? errno : EIO;
    stop(list);
}

static void forget(struct xfa_listed_texts *texts)
{
    for (size_t i = 0; i < XFA_LISTED_TEXTS; i++)
        free(texts->texts[i]);
    *texts = (struct xfa_listed_texts){0};
}

static char **texts_of_class(struct xfa_per_transfer *list, uint32_t number)
{
    list->classes = xfa_grown(list->classes, &list->class_capacity, &list->class_count, number,
                              sizeof *list->classes);
    return list->classes[number].texts;
}

void xfa_per_transfer_free(struct xfa_per_transfer *list)
{
    forget(&list->process);
    for (size_t i = 0; i < list->class_count; i++)
        forget(&list->classes[i]);
    free(list->classes);
    list->classes = NULL;
    list->class_count = list->class_capacity = 0;
}

static bool is_simulated(const struct xfa_analysis *analysis, const struct xfa_process *process)
{
    return process->simulated || (analysis->profile && analysis->profile->machine.simulated);
}

static uint64_t begin(void *self, struct xfa_process *process)
{
    struct xfa_per_transfer *list = self;
    const struct xfa_per_transfer_format *format = list->format;
    bool simulated = is_simulated(list->analysis, process);
    if (simulated && !list->simulated && format->simulated)
        format->simulated(list->out);
    if (!list->begun && format->head)
        format->head(list->out);
    list->simulated = list->simulated || simulated;
    list->begun = true;
    forget(&list->process);
    check(list);
    return 0;
}

/* Site and kind are the same for a class, so they are checked once. */
static bool is_shown(struct xfa_per_transfer *list, const struct xfa_event *event)
{
    const struct xfa_class *class = event->transfer.class;
    if (!list->filter)
        return true;
    texts_of_class(list, class->number);
    signed char *shown = &list->classes[class->number].shown;
    if (*shown == 0)
        *shown =
            xfa_filter_row(list->filter, xfa_analysis_row(list->analysis, class->row)) ? 1 : -1;
    return *shown > 0 && xfa_filter_transfer(list->filter, event);
}

static bool has_gpu(const struct xfa_achievable *achievable, int gpu)
{
    int known = xfa_achievable_gpu(achievable, gpu);
    return gpu < 0 || (known >= 0 && (size_t)known < achievable->profile->machine.gpu_count);
}

static enum xfa_lack lack_of(const struct xfa_analysis *analysis, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_row_key *key = &transfer->class->key.row;
    if (transfer->achievable.basis != XFP_UNKNOWN)
        return XFA_LACK_NONE;
    if (!analysis->profile)
        return XFA_LACK_PROFILE;
    if (key->direction == XFT_DIR_UNKNOWN)
        return XFA_LACK_DIRECTION;
    if (key->direction == XFT_DIR_H2H)
        return XFA_LACK_HOST;
    if (!has_gpu(&analysis->achievable, key->src_gpu) ||
        !has_gpu(&analysis->achievable, key->dst_gpu))
        return XFA_LACK_GPU;
    return transfer->class->achievable.path_count ? XFA_LACK_SIZE : XFA_LACK_PATH;
}

static void take(void *self, const struct xfa_event *event)
{
    struct xfa_per_transfer *list = self;
    const struct xfa_transfer *transfer = &event->transfer;
    if (list->stopped || !is_shown(list, event))
        return;
    struct xfa_listed listed = {
        .event = event,
        .row = xfa_analysis_row(list->analysis, transfer->class->row),
        .simulated = is_simulated(list->analysis, event->process),
        .other_machine = transfer->achievable.basis != XFP_UNKNOWN &&
                         list->analysis->achievable.match == XFA_MATCH_NO,
        .of_class = texts_of_class(list, transfer->class->number),
        .of_process = list->process.texts,
    };
    list->format->line(&listed, list->out);
    list->lacks[lack_of(list->analysis, event)]++;
    list->written++;
    check(list);
    if (!list->stopped && list->limit && list->written >= list->limit)
        stop(list);
}

struct xfa_observer xfa_per_transfer_observer(struct xfa_per_transfer *list)
{
    return (struct xfa_observer){
        .name = "per-transfer", .self = list, .process = begin, .transfer = take};
}

void xfa_per_transfer_end(struct xfa_per_transfer *list)
{
    if (!list->failed && list->format->foot)
        list->format->foot(list, list->out);
    if (!list->failed)
        check(list);
}

/* ---- what the formats share ------------------------------------------------------------------ */

double xfa_listed_at_ns(const struct xfa_listed *listed)
{
    uint64_t start = listed->event->process->start_mono_ns;
    uint64_t at = listed->event->start_ns;
    return start && at >= start ? (double)(at - start) : NAN;
}

static double gbps(uint64_t bytes, double ns)
{
    return ns > 0 ? (double)bytes / ns : NAN;
}

double xfa_listed_achieved_gbps(const struct xfa_listed *listed)
{
    const struct xfa_event *event = listed->event;
    return gbps(event->bytes, event->transfer.achieved_ns);
}

double xfa_listed_achievable_gbps(const struct xfa_listed *listed)
{
    const struct xfa_event *event = listed->event;
    bool known = event->transfer.achievable.basis != XFP_UNKNOWN;
    return known ? gbps(event->bytes, event->transfer.achievable.ns) : NAN;
}

const char *xfa_listed_achieved_basis(const struct xfa_listed *listed)
{
    static const enum xfa_basis bases[] = {[XFA_TIMED_NOT] = XFA_BASIS_UNKNOWN,
                                           [XFA_TIMED_DEVICE] = XFA_BASIS_DEVICE,
                                           [XFA_TIMED_HOST] = XFA_BASIS_HOST,
                                           [XFA_TIMED_SAMPLE] = XFA_BASIS_SAMPLED};
    return xfa_basis_word(bases[listed->event->transfer.timed]);
}

const char *xfa_listed_achievable_basis(const struct xfa_listed *listed)
{
    static const enum xfa_basis bases[] = {[XFP_UNKNOWN] = XFA_BASIS_UNKNOWN,
                                           [XFP_MEASURED] = XFA_BASIS_MEASURED,
                                           [XFP_INTERPOLATED] = XFA_BASIS_INTERPOLATED,
                                           [XFP_MODELLED] = XFA_BASIS_MODELLED};
    return xfa_basis_word(bases[listed->event->transfer.achievable.basis & 3]);
}

const char *xfa_listed_stream(const struct xfa_listed *listed)
{
    static const char *const words[] = {[XFA_STREAM_DEFAULT] = "default",
                                        [XFA_STREAM_PER_THREAD] = "per-thread",
                                        [XFA_STREAM_MADE] = "made"};
    return words[listed->event->transfer.class->key.stream];
}

const char *xfa_listed_peer(const struct xfa_listed *listed)
{
    static const char *const words[] = {
        [XFA_PEER_NONE] = NULL, [XFA_PEER_OFF] = "off", [XFA_PEER_ON] = "on"};
    return words[listed->event->transfer.class->key.peer];
}

const char *xfa_lack_words(enum xfa_lack lack)
{
    static const char *const words[XFA_LACKS_COUNT] = {
        [XFA_LACK_PROFILE] = "there is no machine profile",
        [XFA_LACK_DIRECTION] = "where they went is not known",
        [XFA_LACK_HOST] = "they are within the host, which no profile measures",
        [XFA_LACK_GPU] = "their GPU is not in the profile",
        [XFA_LACK_PATH] = "the profile has no copies of their kind",
        [XFA_LACK_SIZE] = "the profile has none of their kind for their size",
    };
    return words[lack];
}

const char *xfa_listed_shape(const struct xfa_listed *listed)
{
    static const char *const words[] = {
        [XFA_LINEAR] = "linear", [XFA_STRIDED] = "strided", [XFA_BATCH] = "batch"};
    return words[listed->event->transfer.class->key.shape];
}
