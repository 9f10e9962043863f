#include "analyzer/model/content.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

enum what { WHAT_NONE, WHAT_HASHED, WHAT_WRITTEN, WHAT_FREED };

struct xfa_content {
    uint64_t start_ns, bytes, src, dst;
    uint64_t hash, width; /* of what was hashed, and how many bytes */
    double achieved_ns;
    uint32_t class;
    int16_t device;    /* to which it goes */
    uint8_t what;      /* enum what; WHAT_NONE: its transfer has not been met */
    uint8_t direction; /* enum xft_direction */
};

/* ---- which hash belongs to which transfer -----------------------------------------------------
 */

static struct xfa_content *add(struct xfa_contents *contents)
{
    if (contents->count >= XFA_MAX_CONTENTS) {
        contents->not_compared++;
        return NULL;
    }
    contents->items = xfa_room(contents->items, &contents->capacity, contents->count + 1,
                               sizeof *contents->items);
    struct xfa_content *item = &contents->items[contents->count++];
    *item = (struct xfa_content){0};
    return item;
}

void xfa_contents_gather(struct xfa_contents *contents, const struct xft_event *event)
{
    if (event->kind != XFT_EVENT_CONTENT)
        return;
    contents->hashes++;
    contents->sampled += event->width < event->bytes;
    contents->hash_ns += event->count;
    struct xfa_content *item = add(contents);
    if (!item)
        return;
    item->start_ns = event->start_ns;
    item->bytes = event->bytes;
    item->src = event->src;
    item->dst = event->dst;
    item->hash = event->aux;
    item->width = event->width;
}

/* Order of calls; the rest makes it one. */
static int by_call(const void *a, const void *b)
{
    const struct xfa_content *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns > y->start_ns ? 1 : -1;
    if (x->dst != y->dst)
        return x->dst > y->dst ? 1 : -1;
    if (x->src != y->src)
        return x->src > y->src ? 1 : -1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

void xfa_contents_ready(struct xfa_contents *contents)
{
    contents->hashed = contents->count;
    if (contents->hashed)
        qsort(contents->items, contents->hashed, sizeof *contents->items, by_call);
}

/* The first that is like the transfer and not taken yet. */
static struct xfa_content *find(struct xfa_contents *contents, const struct xft_event *event)
{
    struct xfa_content like = {
        .start_ns = event->start_ns, .bytes = event->bytes, .src = event->src, .dst = event->dst};
    size_t low = 0, high = contents->hashed;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_call(&contents->items[middle], &like) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = 0; i < 64 && low + i < contents->hashed; i++) {
        struct xfa_content *item = &contents->items[low + i];
        if (by_call(item, &like) != 0)
            break;
        if (item->what == WHAT_NONE)
            return item;
    }
    return NULL;
}

static bool to_device(unsigned direction)
{
    return direction == XFT_DIR_H2D || direction == XFT_DIR_D2D || direction == XFT_DIR_P2P;
}

void xfa_contents_transfer(struct xfa_contents *contents, const struct xfa_transfer *transfer)
{
    const struct xft_event *event = transfer->event;
    struct xfa_content *item = contents->hashed ? find(contents, event) : NULL;
    bool hashed = item != NULL;
    if (!hashed && contents->hashed && to_device(transfer->direction) && (item = add(contents))) {
        item->start_ns = event->start_ns;
        item->bytes = event->bytes;
        item->src = event->src;
        item->dst = event->dst;
    }
    if (!item)
        return;
    item->what = hashed ? WHAT_HASHED : WHAT_WRITTEN;
    item->class = transfer->class;
    item->achieved_ns = transfer->achieved_ns;
    item->direction = (uint8_t)transfer->direction;
    item->device = event->device;
}

void xfa_contents_free(struct xfa_contents *contents, const struct xft_event *event)
{
    struct xfa_content *item = contents->hashed && event->bytes ? add(contents) : NULL;
    if (!item)
        return;
    item->start_ns = event->start_ns;
    item->bytes = event->bytes;
    item->dst = event->dst;
    item->what = WHAT_FREED;
}

/* ---- what moved before ------------------------------------------------------------------------
 */

#define ANY_DEVICE INT16_MIN

/* Where a content was met last. */
struct met {
    struct met_key {
        uint64_t hash, bytes, width;
        int16_t device;
        uint16_t direction;
        uint32_t reserved;
    } key;
    uint32_t item;
};

struct walk {
    struct xfa_contents *contents;
    struct xfa_table met;
    struct xfa_memory memory;
    xfa_same_fn *found;
    void *context;
};

static struct met_key key_of(const struct xfa_content *item, unsigned direction, int16_t device)
{
    struct met_key key;
    memset(&key, 0, sizeof key);
    key.hash = item->hash;
    key.bytes = item->bytes;
    key.width = item->width;
    key.device = device;
    key.direction = (uint16_t)direction;
    return key;
}

static uint32_t last_met(const struct walk *walk, const struct xfa_content *item,
                         unsigned direction, int16_t device)
{
    struct met_key key = key_of(item, direction, device);
    const struct met *met = xfa_table_get(&walk->met, &key);
    return met ? met->item : UINT32_MAX;
}

static void meet(struct walk *walk, const struct xfa_content *item, int16_t device, uint32_t i)
{
    struct met_key key = key_of(item, item->direction, device);
    struct met *met = xfa_table_put(&walk->met, &key);
    met->item = i;
}

static bool alike(const struct xfa_content *x, const struct xfa_content *y)
{
    return x->hash == y->hash && x->bytes == y->bytes && x->width == y->width;
}

static bool later(uint32_t a, uint32_t b) /* UINT32_MAX is never */
{
    return a != UINT32_MAX && (b == UINT32_MAX || a > b);
}

static enum xfa_same judge_sent(const struct walk *walk, const struct xfa_content *item,
                                uint32_t *earlier)
{
    const struct xfa_content *items = walk->contents->items;
    *earlier = xfa_memory_find(&walk->memory, item->dst, xfa_add(item->dst, item->bytes));
    if (*earlier != UINT32_MAX && alike(&items[*earlier], item))
        return XFA_SAME_REPEATED;
    uint32_t sent = last_met(walk, item, XFT_DIR_H2D, item->device);
    uint32_t fetched = last_met(walk, item, XFT_DIR_D2H, ANY_DEVICE);
    *earlier = later(fetched, sent) ? fetched : sent;
    if (*earlier == UINT32_MAX)
        return XFA_SAME_NONE;
    return *earlier == fetched ? XFA_SAME_RETURNED : XFA_SAME_DUPLICATE;
}

static enum xfa_same judge_fetched(const struct walk *walk, const struct xfa_content *item,
                                   uint32_t *earlier)
{
    const struct xfa_content *items = walk->contents->items;
    uint32_t sent = last_met(walk, item, XFT_DIR_H2D, ANY_DEVICE);
    uint32_t fetched = last_met(walk, item, XFT_DIR_D2H, ANY_DEVICE);
    *earlier = later(sent, fetched) ? sent : fetched;
    if (*earlier == UINT32_MAX)
        return XFA_SAME_NONE;
    if (*earlier == sent)
        return XFA_SAME_RETURNED;
    return items[fetched].src == item->src ? XFA_SAME_REPEATED : XFA_SAME_NONE;
}

static void step_hashed(struct walk *walk, uint32_t i)
{
    const struct xfa_content *item = &walk->contents->items[i];
    bool sent = item->direction == XFT_DIR_H2D;
    uint32_t earlier = UINT32_MAX;
    enum xfa_same same = XFA_SAME_NONE;
    if (sent)
        same = judge_sent(walk, item, &earlier);
    else if (item->direction == XFT_DIR_D2H)
        same = judge_fetched(walk, item, &earlier);
    if (same != XFA_SAME_NONE && item->bytes >= XFA_LEAST_CONTENT)
        walk->found(walk->context, same, item->class, walk->contents->items[earlier].class,
                    item->bytes, item->achieved_ns, item->width < item->bytes);
    if (sent)
        xfa_memory_write(&walk->memory, item->dst, xfa_add(item->dst, item->bytes), i);
    meet(walk, item, ANY_DEVICE, i);
    if (sent)
        meet(walk, item, item->device, i);
}

void xfa_contents_finish(struct xfa_contents *contents, xfa_same_fn *found, void *context)
{
    struct walk walk = {.contents = contents, .found = found, .context = context};
    if (contents->hashed == 0)
        return;
    xfa_table_init(&walk.met, sizeof(struct met_key), sizeof(struct met));
    qsort(contents->items, contents->count, sizeof *contents->items, by_call);
    for (size_t i = 0; i < contents->count; i++) {
        const struct xfa_content *item = &contents->items[i];
        if (item->what == WHAT_HASHED)
            step_hashed(&walk, (uint32_t)i);
        else if (item->what != WHAT_NONE)
            xfa_memory_write(&walk.memory, item->dst, xfa_add(item->dst, item->bytes), UINT32_MAX);
    }
    xfa_table_free(&walk.met);
    free(walk.memory.stretches);
}

void xfa_contents_release(struct xfa_contents *contents)
{
    free(contents->items);
    *contents = (struct xfa_contents){0};
}
