/*
 * unused-transfer: copies to the device whose memory no kernel was given before it was overwritten
 * completely, or freed. Lost: their time.
 *
 * The bytes may be used when
 * - a kernel is given a pointer into their allocation, at or before their end (sums/given.h);
 * - a kernel or graph is launched whose arguments are not known;
 * - a copy reads there, or a batch of copies, whose places are not all known, is made.
 *
 * Memory outside of recorded allocations (constants, variables of the device) is left out: kernels
 * use it without being given it.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"
#include "analyzer/sums/given.h"
#include "analyzer/whatif/changes/changes.h"
#include "common/search.h"

#define MOST_SENT 4096 /* copies not used yet, at one time; beyond, all are taken as used */

/* Bytes sent to the device that no copy has used yet. */
struct sent {
    uint64_t start, end; /* what is left of it: the rest was overwritten */
    uint64_t bytes, ns, transfer;
    double achieved_ns;
    uint32_t row;
    bool by_device;
};

struct unused {
    struct xfa_given given;
    uint32_t process;
    uint64_t transfers; /* of the process */
    struct sent *sent;  /* by address, apart from each other */
    size_t count, capacity;
    struct row_sums {
        struct xfa_divided_sum unused;
        uint32_t last; /* number + 1 of the last process that had one; 0: none */
    } * rows;          /* by row number */
    size_t row_count, row_capacity;
    struct xfw_marks marks[XFW_CERTAINTIES];
};

/* ---- what was sent --------------------------------------------------------------------------- */

static bool ends_by(const void *sent, const void *address)
{
    return ((const struct sent *)sent)->end <= *(const uint64_t *)address;
}

/* The sent bytes that overlap with [start, end): *count of them, from the result on. */
static size_t overlap(const struct unused *unused, uint64_t start, uint64_t end, size_t *count)
{
    size_t at = xfc_partition(unused->sent, unused->count, sizeof *unused->sent, ends_by, &start);
    size_t over = at;
    while (over < unused->count && unused->sent[over].start < end)
        over++;
    *count = over - at;
    return at;
}

static void take_out(struct unused *unused, size_t at, size_t count)
{
    if (count == 0)
        return;
    memmove(unused->sent + at, unused->sent + at + count,
            (unused->count - at - count) * sizeof *unused->sent);
    unused->count -= count;
}

static struct row_sums *row_of(struct unused *unused, uint32_t row)
{
    unused->rows = xfa_grown(unused->rows, &unused->row_capacity, &unused->row_count, row,
                             sizeof *unused->rows);
    return &unused->rows[row];
}

static void count_unused(struct unused *unused, const struct sent *sent)
{
    struct row_sums *row = row_of(unused, sent->row);
    xfa_divided_add(&row->unused, sent->bytes, sent->achieved_ns, sent->by_device);
    row->last = unused->process + 1;
    xfw_mark(&unused->marks[XFW_LIKELY], unused->process, sent->transfer);
}

/* The bytes may be read, or are overwritten in part. */
static void use(struct unused *unused, uint64_t start, uint64_t end)
{
    size_t count, at = overlap(unused, start, end, &count);
    take_out(unused, at, count);
}

/* Its begin, or its end, is overwritten: the rest may be, too. False: what is left is not one
 * piece, or nothing. */
static bool cut(struct sent *sent, uint64_t start, uint64_t end)
{
    if (start <= sent->start && end < sent->end)
        sent->start = end;
    else if (start > sent->start && end >= sent->end)
        sent->end = start;
    else
        return false;
    return true;
}

/* The memory is overwritten, or freed. */
static void overwrite(struct unused *unused, uint64_t start, uint64_t end)
{
    size_t count, at = overlap(unused, start, end, &count), left = at;
    for (size_t i = at; i < at + count; i++) {
        struct sent sent = unused->sent[i];
        bool whole = sent.start >= start && sent.end <= end;
        if (xfa_given_used(&unused->given, sent.start, sent.end, sent.ns, XFA_USED_READ) !=
            XFA_USED_NOT)
            continue;
        if (whole)
            count_unused(unused, &sent);
        else if (cut(&sent, start, end))
            unused->sent[left++] = sent;
    }
    take_out(unused, left, at + count - left);
}

static void send(struct unused *unused, const struct xfa_event *event, uint64_t number)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_block *block = xfa_given_block(&unused->given, transfer->dst);
    uint64_t end = xfa_add(transfer->dst, event->bytes);
    if (!block || block->end < end || event->dst_mem != XFT_MEM_DEVICE)
        return;
    if (unused->count == MOST_SENT)
        unused->count = 0;
    size_t count, at = overlap(unused, transfer->dst, end, &count);
    unused->sent =
        xfa_room(unused->sent, &unused->capacity, unused->count + 1, sizeof *unused->sent);
    memmove(unused->sent + at + 1, unused->sent + at, (unused->count - at) * sizeof *unused->sent);
    unused->sent[at] = (struct sent){
        .start = transfer->dst,
        .end = end,
        .bytes = event->bytes,
        .ns = event->start_ns,
        .transfer = number,
        .achieved_ns = transfer->achieved_ns,
        .row = transfer->class->row,
        .by_device = transfer->timed == XFA_TIMED_DEVICE,
    };
    unused->count++;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool on_device(unsigned memory)
{
    return memory == XFT_MEM_DEVICE || memory == XFT_MEM_MANAGED;
}

/* The end of an access whose length is not known: that of the allocation. */
static uint64_t far_end(const struct unused *unused, uint64_t address)
{
    const struct xfa_block *block = xfa_given_block(&unused->given, address);
    return block ? block->end : UINT64_MAX;
}

static void take_transfer(void *self, const struct xfa_event *event)
{
    struct unused *unused = self;
    const struct xfa_transfer *transfer = &event->transfer;
    uint64_t number = unused->transfers++;
    bool linear = transfer->class->key.shape == XFA_LINEAR;
    if (!unused->given.recorded)
        return;
    if (transfer->class->key.shape == XFA_BATCH) {
        unused->count = 0;
        return;
    }
    if (on_device(event->src_mem))
        use(unused, transfer->src,
            linear ? xfa_add(transfer->src, event->bytes) : far_end(unused, transfer->src));
    if (!on_device(event->dst_mem))
        return;
    if (!linear) {
        use(unused, transfer->dst, far_end(unused, transfer->dst));
        return;
    }
    overwrite(unused, transfer->dst, xfa_add(transfer->dst, event->bytes));
    if (event->direction == XFT_DIR_H2D)
        send(unused, event, number);
}

static void take_set(struct unused *unused, const struct xfa_event *event)
{
    if (event->flags & XFT_CAPTURED)
        return;
    if (event->memory.row_bytes == event->bytes)
        overwrite(unused, event->memory.address, xfa_add(event->memory.address, event->bytes));
    else
        use(unused, event->memory.address, far_end(unused, event->memory.address));
}

static void take_free(struct unused *unused, const struct xfa_event *event)
{
    const struct xfa_block *block = xfa_given_block(&unused->given, event->memory.address);
    if (block && block->address == event->memory.address)
        overwrite(unused, block->address, block->end);
}

static void take_event(void *self, const struct xfa_event *event)
{
    struct unused *unused = self;
    if (!unused->given.recorded)
        return;
    if (event->kind == XFT_EVENT_SET)
        take_set(unused, event);
    else if (event->kind == XFT_EVENT_FREE)
        take_free(unused, event);
    if (XFA_GIVEN_KINDS & XFA_KIND(event->kind))
        xfa_given_event(&unused->given, event);
}

static uint64_t begin_process(void *self, struct xfa_process *process)
{
    struct unused *unused = self;
    xfa_given_begin(&unused->given, process);
    unused->process = process->number;
    unused->transfers = 0;
    unused->count = 0;
    return unused->given.recorded ? XFA_ALL_KINDS : 0;
}

/* The memory goes with the process: what was sent there last is as unused as what others of its
 * call site sent before, in this process. */
static void end_process(void *self, struct xfa_process *process)
{
    struct unused *unused = self;
    for (size_t i = 0; i < unused->count; i++) {
        const struct sent *sent = &unused->sent[i];
        if (sent->row < unused->row_count && unused->rows[sent->row].last == unused->process + 1 &&
            xfa_given_used(&unused->given, sent->start, sent->end, sent->ns, XFA_USED_READ) ==
                XFA_USED_NOT)
            count_unused(unused, sent);
    }
    xfa_given_free(&unused->given);
    unused->count = 0;
}

static struct xfa_observer observe(void *self)
{
    return (struct xfa_observer){
        .name = "unused transfers",
        .kinds = XFA_GIVEN_KINDS | XFA_KIND(XFT_EVENT_SET),
        .divided = true,
        .self = self,
        .process = begin_process,
        .event = take_event,
        .transfer = take_transfer,
        .end = end_process,
    };
}

static void release(void *self)
{
    struct unused *unused = self;
    xfa_given_free(&unused->given);
    for (size_t i = 0; i < XFW_CERTAINTIES; i++)
        xfw_marks_free(&unused->marks[i]);
    free(unused->sent);
    free(unused->rows);
}

/* ---- members of a team ----------------------------------------------------------------------- */

static void give(const void *self, struct xfa_parcel *parcel)
{
    const struct unused *unused = self;
    xfa_parcel_number(parcel, unused->row_count);
    xfa_parcel_put(parcel, unused->rows, unused->row_count * sizeof *unused->rows);
    for (size_t i = 0; i < XFW_CERTAINTIES; i++)
        xfw_marks_give(&unused->marks[i], parcel);
}

static void take(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct unused *unused = self;
    size_t count = xfa_unpack_count(from, sizeof(struct row_sums));
    from->bad = from->bad || count > analysis->row_count;
    for (uint32_t i = 0; i < count && !from->bad; i++) {
        struct row_sums more;
        xfa_unpack_bytes(from, &more, sizeof more);
        xfa_divided_merge(&row_of(unused, i)->unused, &more.unused);
    }
    for (size_t i = 0; i < XFW_CERTAINTIES; i++)
        xfw_marks_take(&unused->marks[i], from, analysis->run->process_count);
}

/* ---- the finding ----------------------------------------------------------------------------- */

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct unused *unused = sums;
    const struct row_sums *of = row < unused->row_count ? &unused->rows[row] : NULL;
    if (!of || of->unused.moved.sum.transfers == 0)
        return false;
    const struct xfa_timed_sum found = xfa_divided_value(&of->unused);
    xfa_gain_of_all(gain, &found);
    gain->reckoning = XFA_RECKONED_UNUSED;
    gain->assumed = "kernels reach this memory only by pointers that they were given";
    gain->remedy = xfa_remedy_for(xfa_analysis_row(analysis, row), XFA_REMEDY_LEAVE_OUT);
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct unused *unused = sums;
    const struct xfw_leave_out what = {
        .marks = unused->marks,
        .classes = xfa_finding_classes(analysis, finding),
    };
    return xfw_change_leave_out(analysis, &what);
}

const struct xfa_finding_kind xfa_kind_unused = {
    .look = look,
    .change = change,
    .self_bytes = sizeof(struct unused),
    .observe = observe,
    .free = release,
    .give = give,
    .take = take,
};
