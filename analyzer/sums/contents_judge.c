/*
 * What has moved before, and whether it is still where it was. What is kept is what a later
 * transfer may be found to repeat.
 */
#include "analyzer/sums/contents_judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/sums/contents.h"
#include "common/search.h"

/* ---- memory ---------------------------------------------------------------------------------- */

static bool ends_by(const void *stretch, const void *address)
{
    return ((const struct xfa_stretch *)stretch)->end <= *(const uint64_t *)address;
}

/* The first stretch that ends after the address. */
static size_t first_after(const struct xfa_memory *memory, uint64_t address)
{
    return xfc_partition(memory->stretches, memory->count, sizeof *memory->stretches, ends_by,
                         &address);
}

uint32_t xfa_memory_find(const struct xfa_memory *memory, uint64_t start, uint64_t end)
{
    size_t i = first_after(memory, start);
    if (i < memory->count && memory->stretches[i].start == start && memory->stretches[i].end == end)
        return memory->stretches[i].item;
    return UINT32_MAX;
}

/* Stretches that are written in part are forgotten as a whole. */
void xfa_memory_write(struct xfa_memory *memory, uint64_t start, uint64_t end, uint32_t item)
{
    if (start >= end)
        return;
    size_t at = first_after(memory, start), over = at;
    while (over < memory->count && memory->stretches[over].start < end)
        over++;
    size_t fresh = item != UINT32_MAX;
    if (memory->count + fresh > XFA_MAX_STRETCHES + (over - at))
        memory->count = at = over = 0;
    memory->stretches = xfa_room(memory->stretches, &memory->capacity, memory->count + 1,
                                 sizeof *memory->stretches);
    memmove(memory->stretches + at + fresh, memory->stretches + over,
            (memory->count - over) * sizeof *memory->stretches);
    memory->count = memory->count - (over - at) + fresh;
    if (fresh)
        memory->stretches[at] = (struct xfa_stretch){start, end, item};
}

/* ---- judging --------------------------------------------------------------------------------- */

#define ANY_DEVICE INT16_MIN
#define NEVER UINT32_MAX
#define MOST_MOVED (2 * (size_t)XFA_MAX_CONTENTS) /* with those that have no hash */

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

/* A thread's time between its calls. */
struct thread {
    int32_t tid;     /* key */
    uint64_t end_ns; /* of its last call */
    uint64_t own_ns;
};

uint64_t xfa_contents_own(struct xfa_contents_process *now, const struct xfa_event *event)
{
    struct thread *thread = xfa_table_put(&now->threads, &event->tid);
    if (thread->end_ns && event->start_ns > thread->end_ns)
        thread->own_ns += event->start_ns - thread->end_ns;
    if (event->end_ns > thread->end_ns)
        thread->end_ns = event->end_ns;
    return thread->own_ns;
}

void xfa_contents_begin(struct xfa_contents_process *now, const struct xfa_process *process)
{
    now->process = process->number;
    xfa_table_init(&now->met, sizeof(struct met_key), sizeof(struct met));
    xfa_table_init(&now->threads, sizeof(int32_t), sizeof(struct thread));
    xfa_given_begin(&now->given, process);
    xfa_hash_places_begin(&now->places);
}

void xfa_contents_forget(struct xfa_contents_process *now)
{
    xfa_table_free(&now->met);
    xfa_given_free(&now->given);
    xfa_hash_places_free(&now->places);
    free(now->sent.stretches);
    free(now->fetched.stretches);
    free(now->on_its_way.stretches);
    free(now->arrived.stretches);
    xfa_table_free(&now->threads);
    free(now->moved);
    free(now->items);
}

/* ---- what moved before ----------------------------------------------------------------------- */

static struct met_key key_of(const struct xfa_moved *moved, unsigned direction, int16_t device)
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

static uint32_t last_met(const struct xfa_contents_process *now, const struct xfa_moved *moved,
                         unsigned direction, int16_t device)
{
    struct met_key key = key_of(moved, direction, device);
    const struct met *met = xfa_table_get(&now->met, &key);
    return met ? met->moved : NEVER;
}

static void meet(struct xfa_contents_process *now, const struct xfa_moved *moved,
                 unsigned direction, int16_t device)
{
    struct met_key key = key_of(moved, direction, device);
    ((struct met *)xfa_table_put(&now->met, &key))->moved = (uint32_t)(moved - now->moved);
}

static bool alike(const struct xfa_moved *x, const struct xfa_moved *y)
{
    return x->width && x->hash == y->hash && x->bytes == y->bytes && x->width == y->width;
}

static bool later(uint32_t a, uint32_t b)
{
    return a != NEVER && (b == NEVER || a > b);
}

/* ---- is it still there? ---------------------------------------------------------------------- */

static uint64_t end_of(const struct xfa_moved *moved)
{
    return xfa_add(moved->device_address, moved->bytes);
}

/* Of rows it is not known how far they go. */
static uint64_t far_end(const struct xfa_contents_process *now, const struct xfa_moved *moved)
{
    if (moved->linear)
        return end_of(moved);
    const struct xfa_block *block = xfa_given_block(&now->given, moved->device_address);
    return block ? block->end : UINT64_MAX;
}

/* Whether kernels left it as it was. */
static enum xfa_evidence unchanged(const struct xfa_contents_process *now, uint32_t earlier)
{
    const struct xfa_moved *moved = &now->moved[earlier];
    switch (xfa_given_used(&now->given, moved->device_address, far_end(now, moved), moved->ns,
                           XFA_USED_WRITTEN)) {
    case XFA_USED_NOT:
    case XFA_USED_READ:
        if (moved->managed) /* the host may write there, too */
            return XFA_PERHAPS;
        return now->given.recorded ? XFA_SURE : XFA_UNSEEN;
    case XFA_USED_PERHAPS:
    case XFA_USED_SOMEHOW:
        return now->given.recorded ? XFA_PERHAPS : XFA_UNSEEN;
    case XFA_USED_WRITTEN:
        break;
    }
    return XFA_NEEDED;
}

/* The device has the bytes where they were then; where copies have written since, it could have
 * kept them elsewhere, if it has the room. */
static enum xfa_evidence kept(const struct xfa_contents_process *now,
                              const struct xfa_memory *memory, uint32_t earlier)
{
    const struct xfa_moved *moved = &now->moved[earlier];
    enum xfa_evidence evidence = unchanged(now, earlier);
    bool there = xfa_memory_find(memory, moved->device_address, end_of(moved)) == earlier;
    return there || evidence == XFA_NEEDED ? evidence : XFA_PERHAPS;
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Compares with what the last copy wrote to this place, or fetched from it. */
static struct xfa_found judge_place(const struct xfa_contents_process *now,
                                    const struct xfa_memory *memory, const struct xfa_moved *moved,
                                    enum xfa_same same)
{
    struct xfa_found found = {same, XFA_NEEDED, NEVER, false, false};
    found.earlier = xfa_memory_find(memory, moved->device_address, end_of(moved));
    if (found.earlier != NEVER && alike(&now->moved[found.earlier], moved))
        found.evidence = unchanged(now, found.earlier);
    return found;
}

static struct xfa_found judge_elsewhere(const struct xfa_contents_process *now,
                                        const struct xfa_moved *moved, uint32_t earlier,
                                        bool fetched)
{
    struct xfa_found found = {fetched ? XFA_SAME_RETURNED : XFA_SAME_DUPLICATE, XFA_NEEDED, earlier,
                              true, false};
    if (earlier != NEVER && now->moved[earlier].gpu == moved->gpu)
        found.evidence = kept(now, fetched ? &now->fetched : &now->sent, earlier);
    return found;
}

static struct xfa_found surer(struct xfa_found a, struct xfa_found b)
{
    return b.evidence < a.evidence ? b : a;
}

#define LOOKED_BACK 256 /* copies, for the one since which a source is known to be unwritten */

/* Where the bytes come from, if the host has not written them since; NEVER: it is not known. */
static uint32_t root_of(const struct xfa_contents_process *now, const struct xfa_content *item)
{
    size_t least = now->moved_count > LOOKED_BACK ? now->moved_count - LOOKED_BACK : 0;
    for (size_t i = now->moved_count; i > least && item->since; i--)
        if (now->moved[i - 1].ns == item->since && now->moved[i - 1].bytes == item->bytes)
            return now->moved[i - 1].root;
    return NEVER;
}

/* That the bytes are those that moved then, as the host has not written them since. */
static bool is_proven(const struct xfa_contents_process *now, const struct xfa_moved *moved,
                      const struct xfa_found *found)
{
    return moved->root != NEVER && found->earlier != NEVER &&
           now->moved[found->earlier].root == moved->root;
}

/* At the place itself: sent to it before, or fetched from it. What is proven is preferred. */
static struct xfa_found judge_there(const struct xfa_contents_process *now,
                                    const struct xfa_moved *moved)
{
    struct xfa_found sent = judge_place(now, &now->sent, moved, XFA_SAME_REPEATED);
    struct xfa_found fetched = judge_place(now, &now->fetched, moved, XFA_SAME_RETURNED);
    bool prefer = is_proven(now, moved, &fetched) && !is_proven(now, moved, &sent);
    return prefer ? surer(fetched, sent) : surer(sent, fetched);
}

static struct xfa_found judge_sent(struct xfa_contents *contents, const struct xfa_content *item,
                                   const struct xfa_moved *moved)
{
    struct xfa_contents_process *now = contents->now;
    struct xfa_found found = judge_there(now, moved);
    if (found.evidence == XFA_SURE || found.evidence == XFA_UNSEEN)
        return found;
    if (item->bytes >= XFA_LEAST_CONTENT &&
        xfa_is_constant(&contents->constants, moved->bytes, moved->width, moved->hash))
        return (struct xfa_found){XFA_SAME_CONSTANT, XFA_SURE, NEVER, false, false};
    uint32_t sent = last_met(now, moved, XFT_DIR_H2D, item->device);
    uint32_t fetched = last_met(now, moved, XFT_DIR_D2H, ANY_DEVICE);
    bool back = later(fetched, sent);
    found = surer(found, judge_elsewhere(now, moved, back ? fetched : sent, back));
    return surer(found, judge_elsewhere(now, moved, back ? sent : fetched, !back));
}

static struct xfa_found judge_fetched(const struct xfa_contents_process *now,
                                      const struct xfa_moved *moved)
{
    uint32_t sent = last_met(now, moved, XFT_DIR_H2D, ANY_DEVICE);
    uint32_t fetched = last_met(now, moved, XFT_DIR_D2H, ANY_DEVICE);
    bool back = later(sent, fetched);
    struct xfa_found found = {back ? XFA_SAME_RETURNED : XFA_SAME_REPEATED, XFA_NEEDED,
                              back ? sent : fetched, false, false};
    if (found.earlier == NEVER)
        return found;
    bool place = now->moved[found.earlier].device_address == moved->device_address;
    const struct xfa_memory *memory = back ? &now->sent : &now->fetched;
    if (place && xfa_memory_find(memory, moved->device_address, end_of(moved)) == found.earlier)
        found.evidence = unchanged(now, found.earlier);
    else if (back) /* the device has brought it there by itself */
        found.evidence = XFA_PERHAPS;
    return found;
}

/* moved: NEVER = not known what. */
static void write_memory(struct xfa_contents_process *now, const struct xfa_content *item,
                         uint32_t moved)
{
    bool to_host = item->what == XFA_CONTENT_TRANSFER && item->direction == XFT_DIR_D2H;
    uint64_t end = xfa_add(item->dst, to_host ? item->reach : item->bytes);
    xfa_memory_write(&now->sent, item->dst, end, moved);
    xfa_memory_write(&now->fetched, item->dst, end, NEVER);
    xfa_memory_write(&now->on_its_way, item->dst, end, NEVER);
    xfa_memory_write(&now->arrived, item->dst, end, NEVER);
}

/* Sends back what is on its way to the host, behind it in the stream: the host cannot have changed
 * it, whatever it is. */
static struct xfa_found judge_on_its_way(const struct xfa_contents_process *now,
                                         const struct xfa_content *item,
                                         const struct xfa_moved *moved)
{
    uint64_t end = xfa_add(item->src, item->bytes);
    uint32_t earlier = moved->linear ? xfa_memory_find(&now->on_its_way, item->src, end) : NEVER;
    if (earlier != NEVER && !now->moved[earlier].linear)
        earlier = NEVER;
    struct xfa_found found = judge_elsewhere(now, moved, earlier, true);
    found.copied = earlier != NEVER && now->moved[earlier].device_address != item->dst;
    return found;
}

#define NO_TIME_NS 10000      /* a thread that has less between two calls does no work of its own */
#define READ_NS_PER_BYTE 0.04 /* faster than one thread reads memory */

/* Sends back all of what has just arrived, before the thread that waited for it had the time to
 * read as much: it has hardly changed that, whatever it is. Where both have a hash, that decides.
 */
static struct xfa_found judge_arrived(const struct xfa_contents_process *now,
                                      const struct xfa_content *item, const struct xfa_moved *moved)
{
    struct xfa_found none = {XFA_SAME_NONE, XFA_NEEDED, NEVER, false, false};
    uint32_t earlier = xfa_memory_find(&now->arrived, item->src, xfa_add(item->src, item->reach));
    if (earlier == NEVER || item->shape == XFA_BATCH)
        return none;
    const struct xfa_moved *fetched = &now->moved[earlier];
    uint64_t own = item->own_ns - fetched->own_ns;
    if ((fetched->width && moved->width) || fetched->bytes != item->bytes || item->written ||
        fetched->device_address == item->dst || fetched->tid != item->tid || own > NO_TIME_NS ||
        (double)own >= READ_NS_PER_BYTE * (double)item->bytes)
        return none;
    struct xfa_found found = judge_elsewhere(now, moved, earlier, true);
    found.straight = true;
    if (found.evidence == XFA_SURE)
        found.evidence = XFA_UNSEEN;
    return found;
}

static struct xfa_moved moved_of(const struct xfa_contents_process *now,
                                 const struct xfa_content *item, const struct xfa_content *hash)
{
    return (struct xfa_moved){
        .hash = hash ? hash->hash : 0,
        .width = hash ? hash->width : 0,
        .bytes = item->bytes,
        .device_address = item->direction == XFT_DIR_H2D ? item->dst : item->src,
        .ns = now->time,
        .root = root_of(now, item),
        .transfer = item->transfer,
        .row = item->row,
        .gpu = item->gpu,
        .managed = item->managed,
        .linear = item->shape == XFA_LINEAR,
        .tid = item->tid,
        .own_ns = item->own_ns,
    };
}

/* Until the next is kept. */
static struct xfa_moved *keep(struct xfa_contents_process *now, const struct xfa_moved *moved)
{
    now->moved =
        xfa_room(now->moved, &now->moved_capacity, now->moved_count + 1, sizeof *now->moved);
    now->moved[now->moved_count] = *moved;
    if (moved->root == NEVER)
        now->moved[now->moved_count].root = (uint32_t)now->moved_count;
    return &now->moved[now->moved_count++];
}

/* By samples only, and nothing else proves it. */
static bool is_sampled(const struct xfa_contents_process *now, const struct xfa_content *item,
                       const struct xfa_content *hash, const struct xfa_moved *moved,
                       const struct xfa_found *found)
{
    return hash && hash->width < item->bytes && !is_proven(now, moved, found);
}

/* A transfer back that could be left out makes the fetch before it needless: that is known now. */
void xfa_contents_unread(struct xfa_contents *contents, uint64_t copied_ns, uint64_t bytes)
{
    const struct xfa_contents_process *now = contents->now;
    size_t least = now->moved_count > LOOKED_BACK ? now->moved_count - LOOKED_BACK : 0;
    for (size_t i = now->moved_count; i > least; i--) {
        const struct xfa_moved *moved = &now->moved[i - 1];
        if (moved->ns != copied_ns || moved->bytes != bytes)
            continue;
        bool marked = false;
        for (size_t evidence = XFA_UNSEEN; evidence < XFA_NEEDED; evidence++)
            marked =
                marked || xfw_marked(&contents->fetched[evidence], now->process, moved->transfer);
        if (marked)
            xfw_mark(&contents->fetched[XFA_SURE], now->process, moved->transfer);
        return;
    }
}

/* What is known by a presumed hash is not sure; nor is a constant one, which could be another. */
static struct xfa_found less_sure(const struct xfa_contents_process *now, struct xfa_found found,
                                  bool presumed)
{
    bool by_presumed = found.earlier != NEVER && now->moved[found.earlier].presumed;
    if ((presumed || by_presumed) && found.evidence == XFA_SURE)
        found.evidence = XFA_UNSEEN;
    return found;
}

static struct xfa_found judge(struct xfa_contents *contents, const struct xfa_content *item,
                              const struct xfa_moved *moved)
{
    struct xfa_contents_process *now = contents->now;
    if (!moved->width)
        return judge_on_its_way(now, item, moved);
    struct xfa_found found = item->direction == XFT_DIR_H2D ? judge_sent(contents, item, moved)
                                                            : judge_fetched(now, moved);
    return less_sure(now, found, moved->presumed);
}

/* Where the bytes are, from now on. number: of `moved`, or NEVER. */
static void moved_to(struct xfa_contents_process *now, const struct xfa_content *item,
                     const struct xfa_moved *moved, uint32_t number)
{
    bool sent = item->direction == XFT_DIR_H2D;
    if (moved->width)
        meet(now, &now->moved[number], item->direction, ANY_DEVICE);
    if (moved->width && sent)
        meet(now, &now->moved[number], item->direction, item->device);
    write_memory(now, item, sent ? number : NEVER);
    if (sent)
        return;
    xfa_memory_write(&now->fetched, moved->device_address, end_of(moved), number);
    if (number != NEVER && item->shape != XFA_BATCH)
        xfa_memory_write(&now->on_its_way, item->dst, xfa_add(item->dst, item->reach), number);
}

static void judge_transfer(struct xfa_contents *contents, const struct xfa_content *item,
                           const struct xfa_content *hash)
{
    struct xfa_contents_process *now = contents->now;
    struct xfa_content before;
    if (hash && item->written && hash->width < item->bytes)
        hash = NULL; /* samples do not show what was written beside them */
    bool sent = item->direction == XFT_DIR_H2D, full = now->moved_count >= MOST_MOVED;
    bool presumed =
        !hash && !item->written && !full && xfa_hash_places_hash(&now->places, item, &before);
    struct xfa_moved moved = moved_of(now, item, presumed ? &before : hash);
    moved.presumed = presumed;
    bool kept_it = moved.width || !(sent || full);
    uint32_t number = kept_it ? (uint32_t)(keep(now, &moved) - now->moved) : NEVER;
    struct xfa_found found = judge(contents, item, &moved);
    struct xfa_found straight =
        sent ? judge_arrived(now, item, &moved) : (struct xfa_found){.evidence = XFA_NEEDED};
    bool kept = found.same == XFA_SAME_REPEATED && !presumed;
    if (straight.evidence < found.evidence ||
        (straight.evidence == XFA_UNSEEN && found.same != XFA_SAME_RETURNED && !kept))
        found = straight;
    presumed = presumed && !found.straight;
    bool counts = found.evidence != XFA_NEEDED && item->bytes >= XFA_LEAST_CONTENT;
    if (hash)
        xfa_hash_places_hashed(contents, item, hash);
    if (counts && presumed)
        xfa_hash_places_unsure(&now->places, item, &found);
    else if (counts && (hash || sent))
        xfa_contents_found(contents, &found, item, is_sampled(now, item, hash, &moved, &found));
    moved_to(now, item, &moved, number);
}

static bool to_device(unsigned direction)
{
    return direction == XFT_DIR_H2D || direction == XFT_DIR_D2D || direction == XFT_DIR_P2P;
}

void xfa_contents_waited(struct xfa_contents_process *now, int32_t tid, uint64_t own_ns)
{
    for (size_t i = 0; i < now->on_its_way.count; i++) {
        const struct xfa_stretch *stretch = &now->on_its_way.stretches[i];
        now->moved[stretch->item].tid = tid;
        now->moved[stretch->item].own_ns = own_ns;
        xfa_memory_write(&now->arrived, stretch->start, stretch->end, stretch->item);
    }
    now->on_its_way.count = 0;
}

void xfa_contents_judge(struct xfa_contents *contents, const struct xfa_content *item,
                        const struct xfa_content *hash)
{
    bool between = item->direction == XFT_DIR_H2D || item->direction == XFT_DIR_D2H;
    if (item->what == XFA_CONTENT_TRANSFER && between)
        judge_transfer(contents, item, hash);
    else if (item->what == XFA_CONTENT_WRITE || to_device(item->direction) ||
             item->direction == XFT_DIR_H2H)
        write_memory(contents->now, item, NEVER);
    if (item->blocks)
        xfa_contents_waited(contents->now, item->tid, item->own_ns);
}
