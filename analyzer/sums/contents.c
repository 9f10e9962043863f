/*
 * A hash has the time of its transfer, so both come one behind the other, or with other items of
 * the same time between them: all items of one time are gathered, then matched. Only what a later
 * transfer may repeat is kept longer.
 */
#include "analyzer/sums/contents_judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

const struct xfa_same_row *xfa_contents_row(const struct xfa_contents *contents, uint32_t row)
{
    if (row >= contents->row_count)
        return NULL;
    for (size_t i = 0; i < XFA_SAMES; i++)
        if (contents->rows[row].same[i].moved.sum.transfers)
            return &contents->rows[row];
    return NULL;
}

/* ---- which hash belongs to which transfer ----------------------------------------------- */

/* Alike: hashes, then transfers, in the order they came. */
static int by_place(const void *a, const void *b)
{
    const struct xfa_content *x = a, *y = b;
    if (x->dst != y->dst)
        return x->dst > y->dst ? 1 : -1;
    if (x->src != y->src)
        return x->src > y->src ? 1 : -1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? 1 : -1;
    if (x->what != y->what)
        return x->what > y->what ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static bool same_place(const struct xfa_content *x, const struct xfa_content *y)
{
    return x->dst == y->dst && x->src == y->src && x->bytes == y->bytes;
}

/* Judges the gathered items: of transfers with the same place and size, the first gets the first
 * hash. */
static void judge_gathered(struct xfa_contents *contents)
{
    struct xfa_contents_process *now = contents->now;
    const struct xfa_content *items = now->items;
    if (now->count > 1)
        qsort(now->items, now->count, sizeof *now->items, by_place);
    size_t hash = 0, end = 0; /* hashes from there on that are not taken */
    const struct xfa_content *access = NULL;
    for (size_t i = 0; i < now->count; i++) {
        if (i == 0 || !same_place(&items[i], &items[i - 1])) {
            hash = end = i;
            access = NULL;
        }
        bool hashed = items[i].what == XFA_CONTENT_TRANSFER && hash < end;
        if (items[i].what == XFA_CONTENT_TRANSFER && access) {
            now->items[i].since = access->since;
            now->items[i].written = access->written;
        }
        if (items[i].what == XFA_CONTENT_HASH)
            end = i + 1;
        else if (items[i].what == XFA_CONTENT_ACCESS)
            access = &items[i];
        else
            xfa_contents_judge(contents, &items[i], hashed ? &items[hash++] : NULL);
    }
    now->count = 0;
}

static struct xfa_content *add(struct xfa_contents *contents, const struct xfa_event *event,
                               enum xfa_content_what what, uint64_t src, uint64_t dst)
{
    struct xfa_contents_process *now = contents->now;
    bool full = now->count >= XFA_MAX_CONTENTS; /* no machine does that many in one ns */
    if (event->start_ns != now->time || full)
        judge_gathered(contents);
    now->time = event->start_ns;
    now->items = xfa_room(now->items, &now->capacity, now->count + 1, sizeof *now->items);
    struct xfa_content *item = &now->items[now->count];
    *item = (struct xfa_content){.dst = dst,
                                 .src = src,
                                 .bytes = event->bytes,
                                 .what = (uint8_t)what,
                                 .number = (uint32_t)now->count++};
    return item;
}

static void take_hash(struct xfa_contents *contents, const struct xfa_event *event)
{
    contents->now->watched = contents->now->found = true;
    contents->hashes++;
    contents->sampled += event->content.width < event->bytes;
    contents->hash_ns += event->content.ns;
    if (contents->now->hashes++ >= XFA_MAX_CONTENTS) {
        contents->not_compared++;
        return;
    }
    struct xfa_content *item =
        add(contents, event, XFA_CONTENT_HASH, event->content.src, event->content.dst);
    item->hash = event->content.hash;
    item->width = event->content.width;
}

/* What the host did with the source of a copy to the device, of the same time. */
static void take_access(struct xfa_contents *contents, const struct xfa_event *event)
{
    const struct xfa_host_access *access = &event->access;
    contents->host.known++;
    contents->now->found = true;
    if (event->start_ns > contents->now->time)
        judge_gathered(contents);
    if (access->what & XFT_HOST_READS_KNOWN && access->what & XFT_HOST_SENT &&
        !(access->what & XFT_HOST_READ) && contents->now->watched)
        xfa_contents_unread(contents, access->copied_ns, event->bytes);
    if (!(access->what & XFT_HOST_WRITES_KNOWN) || access->copied_ns != event->start_ns ||
        !contents->now->watched)
        return;
    struct xfa_content *item = add(contents, event, XFA_CONTENT_ACCESS, access->src, access->dst);
    item->written = access->what & XFT_HOST_WROTE;
    item->since = item->written ? 0 : access->since_ns;
}

/* What frees or sets memory writes it; of freed memory the size may be unknown. */
static void take_write(struct xfa_contents *contents, const struct xfa_event *event)
{
    const struct xfa_block *block = xfa_given_block(&contents->now->given, event->memory.address);
    uint64_t bytes = event->bytes;
    if (event->flags & XFT_CAPTURED)
        return;
    if (bytes == 0 && block && block->address == event->memory.address)
        bytes = block->end - block->address;
    if (bytes)
        add(contents, event, XFA_CONTENT_WRITE, 0, event->memory.address)->bytes = bytes;
}

static void take_event(void *self, const struct xfa_event *event)
{
    struct xfa_contents *contents = self;
    struct xfa_contents_process *now = contents->now;
    if (event->kind == XFT_EVENT_CONTENT) {
        take_hash(contents, event);
        return;
    }
    if (event->kind == XFT_EVENT_HOST_ACCESS) {
        take_access(contents, event);
        return;
    }
    if (event->start_ns > now->time) /* what comes now has not been before */
        judge_gathered(contents);
    uint64_t own_ns = xfa_contents_own(now, event);
    if (event->kind == XFT_EVENT_SYNC || event->kind == XFT_EVENT_QUERY)
        xfa_contents_waited(now, event->tid, own_ns);
    if (now->watched && (event->kind == XFT_EVENT_FREE || event->kind == XFT_EVENT_SET))
        take_write(contents, event);
    bool launches = event->kind == XFT_EVENT_LAUNCH || event->kind == XFT_EVENT_GRAPH_LAUNCH;
    if (XFA_GIVEN_KINDS & XFA_KIND(event->kind) && (now->watched || !launches))
        xfa_given_event(&now->given, event);
}

static void take_transfer(void *self, const struct xfa_event *event)
{
    struct xfa_contents *contents = self;
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_row_key *row = &transfer->class->key.row;
    uint64_t number = contents->now->transfers++;
    if (!contents->now->watched)
        return;
    struct xfa_content *item =
        add(contents, event, XFA_CONTENT_TRANSFER, transfer->src, transfer->dst);
    item->transfer = number;
    item->reach = transfer->reach > event->bytes ? transfer->reach : event->bytes;
    item->tid = event->tid;
    item->own_ns = xfa_contents_own(contents->now, event);
    item->achieved_ns = transfer->achieved_ns;
    item->by_device = transfer->timed == XFA_TIMED_DEVICE;
    item->row = transfer->class->row;
    item->direction = row->direction;
    item->device = event->gpu;
    item->blocks = transfer->blocks;
    item->shape = transfer->class->key.shape;
    item->managed = event->src_mem == XFT_MEM_MANAGED || event->dst_mem == XFT_MEM_MANAGED;
    item->gpu = (int16_t)(row->direction == XFT_DIR_H2D ? row->dst_gpu : row->src_gpu);
}

/* ---- a process -------------------------------------------------------------------------- */

/* Whether hashes were asked for. Its trace may not say: it is of an older version, or damaged. */
static const char *mode_of(const struct xfa_process *process)
{
    return xfa_trace_meta(process->trace, "content");
}

#define FEW_KINDS                                                                                  \
    (XFA_KIND(XFT_EVENT_CONTENT) | XFA_KIND(XFT_EVENT_HOST_ACCESS) | XFA_KIND(XFT_EVENT_FREE) |    \
     XFA_KIND(XFT_EVENT_SET))
#define ALL_KINDS                                                                                  \
    (FEW_KINDS | XFA_GIVEN_KINDS | XFA_KIND(XFT_EVENT_SYNC) | XFA_KIND(XFT_EVENT_QUERY))

static uint64_t start_process(void *self, struct xfa_process *process)
{
    struct xfa_contents *contents = self;
    struct xfa_contents_process *now = contents->now = xfa_alloc(sizeof *now);
    const char *mode = mode_of(process);
    now->watched = !mode || strcmp(mode, "off") != 0;
    xfa_contents_begin(now, process);
    now->given.recorded = now->given.recorded && now->watched;
    return now->watched ? ALL_KINDS : FEW_KINDS;
}

static uint64_t number_of(const struct xfa_trace *trace, const char *key)
{
    const char *value = xfa_trace_meta(trace, key);
    return value ? strtoull(value, NULL, 10) : 0;
}

/* Transfers without a hash, for whatever reason (docs/trace-format.md). */
static uint64_t skipped_of(const struct xfa_trace *trace)
{
    static const char *const reasons[] = {"budget",     "memory",    "shape",
                                          "unreadable", "unsettled", "full"};
    uint64_t skipped = 0;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        char key[48];
        snprintf(key, sizeof key, "content.skipped.%s", reasons[i]);
        skipped = xfa_add(skipped, number_of(trace, key));
    }
    return skipped;
}

/* Large copies and launches of which it is unknown what the host, or kernels, did: the same. */
static uint64_t unknown_of(const struct xfa_trace *trace, bool kernels)
{
    static const char *const reasons[] = {"budget", "memory", "refused", "unjudged", "busy"};
    uint64_t unknown = 0;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        char key[48];
        if (kernels)
            snprintf(key, sizeof key, "verify.skipped.%s", reasons[i]);
        else
            snprintf(key, sizeof key, "host_access.skipped.%s", reasons[i]);
        unknown = xfa_add(unknown, number_of(trace, key));
    }
    return unknown;
}

static void take_host_meta(struct xfa_host_sum *host, const struct xfa_trace *trace)
{
    const char *mode = xfa_trace_meta(trace, "host_access"), *ns;
    const char *why = xfa_trace_meta(trace, "host_access.why");
    if (!mode || strcmp(mode, "on") != 0)
        return;
    host->asked = true;
    ns = xfa_trace_meta(trace, "host_access.ns");
    host->ns += ns ? (double)strtoull(ns, NULL, 10) : 0;
    host->skipped = xfa_add(host->skipped, unknown_of(trace, false));
    host->skipped_unknown = host->skipped_unknown || (!ns && !why);
    if (!host->why && why && *why)
        host->why = xfa_kept(why, strlen(why));
}

static void take_verify_meta(struct xfa_verify_sum *verify, const struct xfa_trace *trace)
{
    const char *why = xfa_trace_meta(trace, "verify.why");
    if (!xfa_trace_meta(trace, "verify"))
        return;
    verify->asked = true;
    verify->ns += (double)number_of(trace, "verify.ns");
    verify->launches = xfa_add(verify->launches, number_of(trace, "verify.launches"));
    verify->kept = xfa_add(verify->kept, number_of(trace, "verify.kept"));
    verify->skipped = xfa_add(verify->skipped, unknown_of(trace, true));
    if (!verify->why && why && *why)
        verify->why = xfa_kept(why, strlen(why));
}

static void take_meta(struct xfa_contents *contents, const struct xfa_process *process)
{
    const struct xfa_trace *trace = process->trace;
    const char *mode = mode_of(process), *why = xfa_trace_meta(trace, "content.why");
    bool on = mode && strcmp(mode, "off") != 0;
    contents->whole = contents->whole || (mode && strcmp(mode, "whole") == 0);
    contents->by_default = contents->by_default || (mode && strcmp(mode, "auto") == 0);
    contents->on_samples = contents->on_samples || (mode && strcmp(mode, "sampled") == 0);
    contents->skipped = xfa_add(contents->skipped, skipped_of(trace));
    take_host_meta(&contents->host, trace);
    take_verify_meta(&contents->verify, trace);
    contents->skipped_unknown =
        contents->skipped_unknown || (on && !xfa_trace_meta(trace, "content.ns"));
    if (!contents->why && why && *why)
        contents->why = xfa_kept(why, strlen(why));
}

static void forget_process(struct xfa_contents *contents)
{
    struct xfa_contents_process *now = contents->now;
    if (now)
        xfa_contents_forget(now);
    free(now);
    contents->now = NULL;
}

static void end_process(void *self, struct xfa_process *process)
{
    struct xfa_contents *contents = self;
    judge_gathered(contents);
    contents->touched = contents->now->found;
    take_meta(contents, process);
    forget_process(contents);
}

static bool touched(const void *self)
{
    return ((const struct xfa_contents *)self)->touched;
}

struct xfa_observer xfa_contents_observer(struct xfa_contents *contents)
{
    return (struct xfa_observer){
        .name = "contents",
        .kinds = ALL_KINDS,
        .self = contents,
        .process = start_process,
        .event = take_event,
        .transfer = take_transfer,
        .end = end_process,
        .touched = touched,
        .meets = true,
    };
}

void xfa_contents_free(struct xfa_contents *contents)
{
    forget_process(contents);
    for (size_t same = 0; same < XFA_SAMES; same++)
        for (size_t evidence = 0; evidence < XFA_NEEDED; evidence++)
            xfw_marks_free(&contents->marks[same][evidence]);
    for (size_t evidence = 0; evidence < XFA_NEEDED; evidence++)
        xfw_marks_free(&contents->fetched[evidence]);
    xfw_marks_free(&contents->copied);
    xfa_constants_free(&contents->constants);
    free(contents->rows);
    free(contents->why);
    free(contents->host.why);
    free(contents->verify.why);
    *contents = (struct xfa_contents){0};
}
