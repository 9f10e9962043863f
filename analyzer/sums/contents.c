/*
 * A hash has the time of its transfer, so that both are met one behind the other, or with others of
 * that very time between them: what is of one time is gathered, then matched. What is kept longer
 * is what a later transfer may be found to repeat.
 */
#include "analyzer/sums/contents.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

enum what { WHAT_HASH, WHAT_TRANSFER, WHAT_FREE };

/* Of the time at hand. */
struct item {
    uint64_t dst, src, bytes;
    uint64_t hash, width; /* WHAT_HASH: of what was hashed, and how many bytes */
    double achieved_ns;
    uint32_t row;    /* number */
    uint32_t number; /* in the order they came */
    int16_t device;  /* to which it goes */
    uint8_t what, direction;
    bool by_device; /* achieved_ns is */
};

/* A transfer with a hash. */
struct moved {
    uint64_t hash, width, bytes, src;
    uint32_t row;
};

/* Where a content was met last. */
struct met {
    struct met_key {
        uint64_t hash, bytes, width;
        int16_t device;
        uint16_t direction;
        uint32_t reserved;
    } key;
    uint32_t moved; /* index */
};

struct xfa_contents_process {
    bool watched;    /* hashes were asked for, or came */
    uint64_t hashes; /* that came */
    uint64_t time;
    struct item *items; /* of that time */
    size_t count, capacity;
    struct moved *moved; /* in the order of calls */
    size_t moved_count, moved_capacity;
    struct xfa_table met;
    struct xfa_memory memory; /* items: indexes of `moved` */
};

/* ---- what was found --------------------------------------------------------------------- */

static struct xfa_same_row *row_of(struct xfa_contents *contents, uint32_t row)
{
    if (row >= contents->row_count) {
        contents->rows = xfa_room(contents->rows, &contents->row_capacity, (size_t)row + 1,
                                  sizeof *contents->rows);
        memset(contents->rows + contents->row_count, 0,
               (row + 1 - contents->row_count) * sizeof *contents->rows);
        contents->row_count = (size_t)row + 1;
    }
    return &contents->rows[row];
}

static void count_same(struct xfa_contents *contents, enum xfa_same same, const struct item *item,
                       bool sampled, uint32_t earlier_row)
{
    struct xfa_same_sum *sum = &row_of(contents, item->row)->same[same];
    bool timed = !isnan(item->achieved_ns);
    sum->sum.transfers++;
    sum->sum.bytes = xfa_add(sum->sum.bytes, item->bytes);
    sum->sum.ns += timed ? item->achieved_ns : 0;
    sum->timed += timed;
    sum->by_device += timed && item->by_device;
    sum->sampled += sampled;
    if (sum->earlier == 0) /* the first time leads to where it began */
        sum->earlier = earlier_row + 1;
}

const struct xfa_same_row *xfa_contents_row(const struct xfa_contents *contents, uint32_t row)
{
    if (row >= contents->row_count)
        return NULL;
    for (size_t i = 0; i < XFA_SAMES; i++)
        if (contents->rows[row].same[i].sum.transfers)
            return &contents->rows[row];
    return NULL;
}

/* ---- what moved before ------------------------------------------------------------------ */

#define ANY_DEVICE INT16_MIN
#define NEVER UINT32_MAX

static struct met_key key_of(const struct moved *moved, unsigned direction, int16_t device)
{
    struct met_key key;
    memset(&key, 0, sizeof key);
    key.hash = moved->hash;
    key.bytes = moved->bytes;
    key.width = moved->width;
    key.device = device;
    key.direction = (uint16_t)direction;
    return key;
}

static uint32_t last_met(const struct xfa_contents_process *now, const struct moved *moved,
                         unsigned direction, int16_t device)
{
    struct met_key key = key_of(moved, direction, device);
    const struct met *met = xfa_table_get(&now->met, &key);
    return met ? met->moved : NEVER;
}

static void meet(struct xfa_contents_process *now, const struct moved *moved, unsigned direction,
                 int16_t device)
{
    struct met_key key = key_of(moved, direction, device);
    ((struct met *)xfa_table_put(&now->met, &key))->moved = (uint32_t)(moved - now->moved);
}

static bool alike(const struct moved *x, const struct moved *y)
{
    return x->hash == y->hash && x->bytes == y->bytes && x->width == y->width;
}

static bool later(uint32_t a, uint32_t b)
{
    return a != NEVER && (b == NEVER || a > b);
}

static enum xfa_same judge_sent(const struct xfa_contents_process *now, const struct item *item,
                                const struct moved *moved, uint32_t *earlier)
{
    *earlier = xfa_memory_find(&now->memory, item->dst, xfa_add(item->dst, item->bytes));
    if (*earlier != NEVER && alike(&now->moved[*earlier], moved))
        return XFA_SAME_REPEATED;
    uint32_t sent = last_met(now, moved, XFT_DIR_H2D, item->device);
    uint32_t fetched = last_met(now, moved, XFT_DIR_D2H, ANY_DEVICE);
    *earlier = later(fetched, sent) ? fetched : sent;
    if (*earlier == NEVER)
        return XFA_SAME_NONE;
    return *earlier == fetched ? XFA_SAME_RETURNED : XFA_SAME_DUPLICATE;
}

static enum xfa_same judge_fetched(const struct xfa_contents_process *now,
                                   const struct moved *moved, uint32_t *earlier)
{
    uint32_t sent = last_met(now, moved, XFT_DIR_H2D, ANY_DEVICE);
    uint32_t fetched = last_met(now, moved, XFT_DIR_D2H, ANY_DEVICE);
    *earlier = later(sent, fetched) ? sent : fetched;
    if (*earlier == NEVER)
        return XFA_SAME_NONE;
    if (*earlier == sent)
        return XFA_SAME_RETURNED;
    return now->moved[fetched].src == moved->src ? XFA_SAME_REPEATED : XFA_SAME_NONE;
}

static bool to_device(unsigned direction)
{
    return direction == XFT_DIR_H2D || direction == XFT_DIR_D2D || direction == XFT_DIR_P2P;
}

/* moved: NEVER = not known what. */
static void write_memory(struct xfa_contents_process *now, const struct item *item, uint32_t moved)
{
    xfa_memory_write(&now->memory, item->dst, xfa_add(item->dst, item->bytes), moved);
}

static void step_hashed(struct xfa_contents *contents, const struct item *item,
                        const struct item *hash)
{
    struct xfa_contents_process *now = contents->now;
    bool sent = item->direction == XFT_DIR_H2D;
    now->moved =
        xfa_room(now->moved, &now->moved_capacity, now->moved_count + 1, sizeof *now->moved);
    struct moved *moved = &now->moved[now->moved_count++];
    *moved = (struct moved){hash->hash, hash->width, item->bytes, item->src, item->row};
    uint32_t earlier = NEVER;
    enum xfa_same same =
        sent ? judge_sent(now, item, moved, &earlier) : judge_fetched(now, moved, &earlier);
    if (same != XFA_SAME_NONE && item->bytes >= XFA_LEAST_CONTENT)
        count_same(contents, same, item, hash->width < item->bytes, now->moved[earlier].row);
    meet(now, moved, item->direction, ANY_DEVICE);
    if (!sent)
        return;
    meet(now, moved, item->direction, item->device);
    write_memory(now, item, (uint32_t)(moved - now->moved));
}

/* hash: NULL = none. */
static void step(struct xfa_contents *contents, const struct item *item, const struct item *hash)
{
    bool between = item->direction == XFT_DIR_H2D || item->direction == XFT_DIR_D2H;
    if (hash && between)
        step_hashed(contents, item, hash);
    else if (item->what == WHAT_FREE || to_device(item->direction))
        write_memory(contents->now, item, NEVER);
}

/* ---- which hash belongs to which transfer ----------------------------------------------- */

/* Alike: hashes, then transfers, in the order they came. */
static int by_place(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
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

static bool same_place(const struct item *x, const struct item *y)
{
    return x->dst == y->dst && x->src == y->src && x->bytes == y->bytes;
}

/* Takes what was gathered: of those alike the first hash is the first transfer's. */
static void settle(struct xfa_contents *contents)
{
    struct xfa_contents_process *now = contents->now;
    const struct item *items = now->items;
    if (now->count > 1)
        qsort(now->items, now->count, sizeof *now->items, by_place);
    size_t hash = 0, end = 0; /* hashes from there on that are not taken */
    for (size_t i = 0; i < now->count; i++) {
        if (i == 0 || !same_place(&items[i], &items[i - 1]))
            hash = end = i;
        if (items[i].what == WHAT_HASH)
            end = i + 1;
        else
            step(contents, &items[i],
                 items[i].what == WHAT_TRANSFER && hash < end ? &items[hash++] : NULL);
    }
    now->count = 0;
}

static struct item *add(struct xfa_contents *contents, const struct xft_event *event,
                        enum what what)
{
    struct xfa_contents_process *now = contents->now;
    bool full = now->count >= XFA_MAX_CONTENTS; /* no machine does that much at one time */
    if (event->start_ns != now->time || full)
        settle(contents);
    now->time = event->start_ns;
    now->items = xfa_room(now->items, &now->capacity, now->count + 1, sizeof *now->items);
    struct item *item = &now->items[now->count];
    *item = (struct item){.dst = event->dst,
                          .src = event->src,
                          .bytes = event->bytes,
                          .what = (uint8_t)what,
                          .number = (uint32_t)now->count++};
    return item;
}

static void take_hash(struct xfa_contents *contents, const struct xft_event *event)
{
    contents->now->watched = true;
    contents->hashes++;
    contents->sampled += event->width < event->bytes;
    contents->hash_ns += event->count;
    if (contents->now->hashes++ >= XFA_MAX_CONTENTS) {
        contents->not_compared++;
        return;
    }
    struct item *item = add(contents, event, WHAT_HASH);
    item->hash = event->aux;
    item->width = event->width;
}

static void take_event(void *self, const struct xfa_step *step)
{
    struct xfa_contents *contents = self;
    if (step->event->kind == XFT_EVENT_CONTENT)
        take_hash(contents, step->event);
    else if (contents->now->watched && step->event->bytes)
        add(contents, step->event, WHAT_FREE);
}

static void take_transfer(void *self, const struct xfa_transfer *transfer)
{
    struct xfa_contents *contents = self;
    if (!contents->now->watched)
        return;
    struct item *item = add(contents, transfer->event, WHAT_TRANSFER);
    item->achieved_ns = transfer->achieved_ns;
    item->by_device = transfer->timed == XFA_TIMED_DEVICE;
    item->row = transfer->class->row;
    item->direction = transfer->class->key.row.direction;
    item->device = transfer->event->device;
}

/* ---- a process -------------------------------------------------------------------------- */

/* Whether hashes were asked for. Its trace may not say: it is of an older version, or damaged. */
static const char *mode_of(const struct xfa_process *process)
{
    return xfa_trace_meta(process->trace, "content");
}

#define ALL_KINDS (XFA_KIND(XFT_EVENT_CONTENT) | XFA_KIND(XFT_EVENT_FREE))

static uint32_t start_process(void *self, struct xfa_process *process)
{
    struct xfa_contents *contents = self;
    struct xfa_contents_process *now = contents->now = xfa_alloc(sizeof *now);
    const char *mode = mode_of(process);
    now->watched = !mode || strcmp(mode, "off") != 0;
    xfa_table_init(&now->met, sizeof(struct met_key), sizeof(struct met));
    return ALL_KINDS;
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
        const char *value = xfa_trace_meta(trace, key);
        skipped = xfa_add(skipped, value ? strtoull(value, NULL, 10) : 0);
    }
    return skipped;
}

static void take_meta(struct xfa_contents *contents, const struct xfa_process *process)
{
    const struct xfa_trace *trace = process->trace;
    const char *mode = mode_of(process), *why = xfa_trace_meta(trace, "content.why");
    bool on = mode && strcmp(mode, "off") != 0;
    contents->whole = contents->whole || (mode && strcmp(mode, "whole") == 0);
    contents->on_samples = contents->on_samples || (mode && strcmp(mode, "sampled") == 0);
    contents->skipped = xfa_add(contents->skipped, skipped_of(trace));
    contents->skipped_unknown =
        contents->skipped_unknown || (on && !xfa_trace_meta(trace, "content.ns"));
    if (!contents->why && why && *why)
        contents->why = xfa_kept(why, strlen(why));
}

static void forget_process(struct xfa_contents *contents)
{
    struct xfa_contents_process *now = contents->now;
    if (now) {
        xfa_table_free(&now->met);
        free(now->memory.stretches);
        free(now->moved);
        free(now->items);
    }
    free(now);
    contents->now = NULL;
}

static void end_process(void *self, struct xfa_process *process)
{
    struct xfa_contents *contents = self;
    settle(contents);
    take_meta(contents, process);
    forget_process(contents);
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
    };
}

void xfa_contents_free(struct xfa_contents *contents)
{
    forget_process(contents);
    free(contents->rows);
    free(contents->why);
    *contents = (struct xfa_contents){0};
}
