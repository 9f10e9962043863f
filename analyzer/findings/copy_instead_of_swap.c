/*
 * copy-instead-of-swap: copies within a device after which nothing needs their source as it is: it
 * is overwritten next. If the two buffers changed places (their pointers), nothing were to be
 * copied. Lost: their time.
 *
 * The source is not needed where a copy or a memset overwrites all of it, or it is freed, before
 * anything may read it. Where the next that may use it is a kernel that may write there, it is not
 * known whether the kernel writes all of it and reads nothing of it before: a question. It is asked
 * only where kernels are given the destination by then: of what was copied away to be brought back,
 * or to be compared later, the source is worked on in place. Where that kernel itself is given the
 * destination, to be read only, and the source to be written, it likely makes the one of the other:
 * both have the same contents then, and to read them it is given the destination.
 *
 * Counted are copies between two places that were copied between before. Nothing is said of a copy
 * whose source a copy reads, or a kernel that does not write there, before it is overwritten, or of
 * which a part is overwritten; nor of one behind which a kernel or graph is launched whose
 * arguments are not known. Of places that are less than half of their allocation only pointers into
 * them count, since other pointers into it may be to other data.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"
#include "analyzer/sums/given.h"
#include "analyzer/whatif/changes/changes.h"

#define MOST_OPEN 16     /* copies not judged yet, at one time; the oldest give way */
#define MOST_PAIRS 4096u /* of places, of a process; others are not counted */
#define LEAST_TIMES 8    /* else a program sets something up */
#define LEAST_PART 0.5   /* of a row's copies: others are needed anyway */
#define MOST_OF 0.75     /* of an allocation: the rest are edges, or padding */

/* What a copy read or wrote. */
struct place {
    uint64_t start, end;
    uint64_t from; /* pointers from here on may be to it */
    bool whole;    /* it is a whole allocation */
};

/* A copy of whose source it is not known yet what becomes of it. */
struct copied {
    struct place src, dst;
    uint64_t bytes, transfer;
    double achieved_ns;
    uint32_t row;
    bool by_device, dst_given, dst_changed; /* a kernel may have changed what was copied */
    enum xfa_used src_used, dst_used;       /* by the launch that is looked at */
};

struct pair {
    uint64_t src, dst, bytes;
};

struct swaps {
    struct xfa_given given;
    uint32_t process;
    uint64_t transfers;     /* of the process */
    struct xfa_table pairs; /* struct pair, of places that were copied between */
    struct copied open[MOST_OPEN];
    size_t count;
    struct row_sums {
        struct xfa_divided_sum copied;
        uint64_t asked; /* of these: kernels decide */
    } * rows;           /* by row number */
    size_t row_count, row_capacity;
    struct xfw_marks marks[XFW_CERTAINTIES];
};

/* ---- judging --------------------------------------------------------------------------------- */

static struct row_sums *row_of(struct swaps *swaps, uint32_t row)
{
    swaps->rows =
        xfa_grown(swaps->rows, &swaps->row_capacity, &swaps->row_count, row, sizeof *swaps->rows);
    return &swaps->rows[row];
}

/* as: of kernels, how sure it is that they write all of it. */
static void count(struct swaps *swaps, const struct copied *copied, enum xfw_certainty as,
                  bool by_kernel)
{
    struct row_sums *row = row_of(swaps, copied->row);
    xfa_divided_add(&row->copied, copied->bytes, copied->achieved_ns, copied->by_device);
    row->asked += by_kernel || as == XFW_HIGH;
    xfw_mark(&swaps->marks[as], swaps->process, copied->transfer);
}

static void close(struct swaps *swaps, size_t at)
{
    swaps->count--;
    memmove(swaps->open + at, swaps->open + at + 1, (swaps->count - at) * sizeof *swaps->open);
}

/* Something reads there, or writes a part. */
static void need(struct swaps *swaps, uint64_t start, uint64_t end)
{
    for (size_t i = swaps->count; i-- > 0;)
        if (swaps->open[i].src.start < end && start < swaps->open[i].src.end)
            close(swaps, i);
}

static void overwrite(struct swaps *swaps, uint64_t start, uint64_t end)
{
    for (size_t i = swaps->count; i-- > 0;) {
        const struct copied *copied = &swaps->open[i];
        if (copied->src.start >= end || start >= copied->src.end)
            continue;
        if (start <= copied->src.start && copied->src.end <= end)
            count(swaps, copied, copied->src.whole && copied->dst.whole ? XFW_LIKELY : XFW_HIGH,
                  false);
        close(swaps, i);
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void note(const struct place *place, uint64_t pointer, enum xfa_used how,
                 enum xfa_used *used)
{
    if (pointer >= place->from && pointer < place->end && how > *used)
        *used = how;
}

static void take_use(void *self, uint64_t pointer, enum xfa_used how)
{
    struct swaps *swaps = self;
    for (size_t i = 0; i < swaps->count; i++) {
        note(&swaps->open[i].src, pointer, how, &swaps->open[i].src_used);
        note(&swaps->open[i].dst, pointer, how, &swaps->open[i].dst_used);
    }
}

/* Is the source's next contents made of the destination's, which are the same now? */
static bool is_made_of(const struct copied *copied)
{
    return !copied->dst_changed && copied->src_used == XFA_USED_WRITTEN &&
           copied->dst_used == XFA_USED_READ && copied->src.whole && copied->dst.whole;
}

static void take_launch(struct swaps *swaps, const struct xfa_event *event)
{
    if (event->flags & XFT_CAPTURED || swaps->count == 0)
        return;
    for (size_t i = 0; i < swaps->count; i++)
        swaps->open[i].src_used = swaps->open[i].dst_used = XFA_USED_NOT;
    if (!xfa_given_uses(&swaps->given, event, take_use, swaps)) {
        swaps->count = 0;
        return;
    }
    for (size_t i = swaps->count; i-- > 0;) {
        struct copied *copied = &swaps->open[i];
        copied->dst_given = copied->dst_given || copied->dst_used != XFA_USED_NOT;
        if (copied->src_used == XFA_USED_NOT) {
            copied->dst_changed = copied->dst_changed || copied->dst_used > XFA_USED_READ;
            continue;
        }
        if (copied->src_used != XFA_USED_READ && copied->dst_given)
            count(swaps, copied, is_made_of(copied) ? XFW_LIKELY : XFW_HIGH, true);
        close(swaps, i);
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* False: it lies in no allocation that is known. */
static bool place_of(const struct swaps *swaps, uint64_t address, uint64_t bytes,
                     struct place *place)
{
    const struct xfa_block *block = xfa_given_block(&swaps->given, address);
    uint64_t end = xfa_add(address, bytes);
    if (!block || block->end < end)
        return false;
    *place = (struct place){
        .start = address,
        .end = end,
        .from = (double)bytes >= MOST_OF * (double)(block->end - block->address) ? block->address
                                                                                 : address,
        .whole = block->address == address && block->end == end,
    };
    return true;
}

/* Was it copied before, from there to there? */
static bool is_again(struct swaps *swaps, const struct pair *pair)
{
    bool again = xfa_table_get(&swaps->pairs, pair) != NULL;
    if (!again && swaps->pairs.count < MOST_PAIRS)
        xfa_table_put(&swaps->pairs, pair);
    return again;
}

static void open(struct swaps *swaps, const struct xfa_event *event, uint64_t number)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const struct pair pair = {transfer->src, transfer->dst, event->bytes};
    struct copied copied = {
        .bytes = event->bytes,
        .transfer = number,
        .achieved_ns = transfer->achieved_ns,
        .row = transfer->class->row,
        .by_device = transfer->timed == XFA_TIMED_DEVICE,
    };
    if (!place_of(swaps, transfer->src, event->bytes, &copied.src) ||
        !place_of(swaps, transfer->dst, event->bytes, &copied.dst) || !is_again(swaps, &pair))
        return;
    if (swaps->count == MOST_OPEN)
        close(swaps, 0);
    swaps->open[swaps->count++] = copied;
}

static bool on_device(unsigned memory)
{
    return memory == XFT_MEM_DEVICE || memory == XFT_MEM_MANAGED;
}

static bool is_within_device(const struct xfa_event *event)
{
    return event->direction == XFT_DIR_D2D && event->src_mem == XFT_MEM_DEVICE &&
           event->dst_mem == XFT_MEM_DEVICE &&
           event->transfer.class->key.row.src_gpu == event->transfer.class->key.row.dst_gpu;
}

static void take_transfer(void *self, const struct xfa_event *event)
{
    struct swaps *swaps = self;
    const struct xfa_transfer *transfer = &event->transfer;
    uint64_t number = swaps->transfers++;
    unsigned shape = transfer->class->key.shape;
    uint64_t read_end = xfa_add(transfer->src, event->bytes);
    uint64_t written_end = xfa_add(transfer->dst, event->bytes);
    if (!swaps->given.recorded || shape == XFA_BATCH) {
        swaps->count = 0;
        return;
    }
    if (on_device(event->src_mem))
        need(swaps, transfer->src, shape == XFA_LINEAR ? read_end : UINT64_MAX);
    if (on_device(event->dst_mem) && shape == XFA_LINEAR)
        overwrite(swaps, transfer->dst, written_end);
    else if (on_device(event->dst_mem))
        need(swaps, transfer->dst, UINT64_MAX);
    if (shape == XFA_LINEAR && is_within_device(event))
        open(swaps, event, number);
}

static void take_event(void *self, const struct xfa_event *event)
{
    struct swaps *swaps = self;
    uint64_t address = event->memory.address, end;
    const struct xfa_block *block;
    switch (event->kind) {
    case XFT_EVENT_SET:
        end = xfa_add(address, event->bytes);
        if (event->memory.row_bytes == event->bytes && !(event->flags & XFT_CAPTURED))
            overwrite(swaps, address, end);
        else
            need(swaps, address, UINT64_MAX);
        break;
    case XFT_EVENT_FREE:
        block = xfa_given_block(&swaps->given, address);
        if (block && block->address == address)
            overwrite(swaps, block->address, block->end);
        break;
    case XFT_EVENT_GRAPH_LAUNCH:
        swaps->count = 0;
        break;
    default:
        break;
    }
    if (XFA_GIVEN_KINDS & XFA_KIND(event->kind))
        xfa_given_event(&swaps->given, event);
    if (event->kind == XFT_EVENT_LAUNCH)
        take_launch(swaps, event);
}

/* ---- the observer ---------------------------------------------------------------------------- */

#define KINDS (XFA_GIVEN_KINDS | XFA_KIND(XFT_EVENT_SET))

static uint64_t begin_process(void *self, struct xfa_process *process)
{
    struct swaps *swaps = self;
    xfa_given_begin(&swaps->given, process);
    xfa_table_free(&swaps->pairs);
    xfa_table_init(&swaps->pairs, sizeof(struct pair), sizeof(struct pair));
    swaps->process = process->number;
    swaps->transfers = 0;
    swaps->count = 0;
    return swaps->given.recorded ? KINDS : 0;
}

static void end_process(void *self, struct xfa_process *process)
{
    struct swaps *swaps = self;
    (void)process;
    xfa_given_free(&swaps->given);
    xfa_table_free(&swaps->pairs);
    swaps->count = 0;
}

static struct xfa_observer observe(void *self)
{
    return (struct xfa_observer){
        .name = "copies instead of swaps",
        .kinds = KINDS,
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
    struct swaps *swaps = self;
    xfa_given_free(&swaps->given);
    xfa_table_free(&swaps->pairs);
    for (size_t i = 0; i < XFW_CERTAINTIES; i++)
        xfw_marks_free(&swaps->marks[i]);
    free(swaps->rows);
}

/* ---- members of a team ----------------------------------------------------------------------- */

static void give(const void *self, struct xfa_parcel *parcel)
{
    const struct swaps *swaps = self;
    xfa_parcel_number(parcel, swaps->row_count);
    xfa_parcel_put(parcel, swaps->rows, swaps->row_count * sizeof *swaps->rows);
    for (size_t i = 0; i < XFW_CERTAINTIES; i++)
        xfw_marks_give(&swaps->marks[i], parcel);
}

static void take(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct swaps *swaps = self;
    size_t rows = xfa_unpack_count(from, sizeof(struct row_sums));
    from->bad = from->bad || rows > analysis->row_count;
    for (uint32_t i = 0; i < rows && !from->bad; i++) {
        struct row_sums more, *into = row_of(swaps, i);
        xfa_unpack_bytes(from, &more, sizeof more);
        xfa_divided_merge(&into->copied, &more.copied);
        into->asked += more.asked;
    }
    for (size_t i = 0; i < XFW_CERTAINTIES; i++)
        xfw_marks_take(&swaps->marks[i], from, analysis->run->process_count);
}

/* ---- the finding ----------------------------------------------------------------------------- */

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct swaps *swaps = sums;
    const struct row_sums *of = row < swaps->row_count ? &swaps->rows[row] : NULL;
    uint64_t all = analysis->rows[row].transfers;
    if (!of || of->copied.moved.sum.transfers < LEAST_TIMES ||
        (double)of->copied.moved.sum.transfers < LEAST_PART * (double)all)
        return false;
    const struct xfa_timed_sum found = xfa_divided_value(&of->copied);
    xfa_gain_of_all(gain, &found);
    gain->reckoning = XFA_RECKONED_SWAPPED;
    gain->assumed = of->asked ? "kernels write all of what was copied anew, before they read any "
                                "of it, and nothing else keeps pointers to it"
                              : "nothing else keeps pointers to this memory";
    gain->question = of->asked ? "kernels write all of what {site} copied anew, before they read "
                                 "any of it"
                               : NULL;
    gain->remedy = xfa_remedy_for(xfa_analysis_row(analysis, row), XFA_REMEDY_SWAP);
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct swaps *swaps = sums;
    const struct xfw_leave_out what = {
        .marks = swaps->marks,
        .classes = xfa_finding_classes(analysis, finding),
    };
    return xfw_change_leave_out(analysis, &what);
}

const struct xfa_finding_kind xfa_kind_swap = {
    .look = look,
    .change = change,
    .self_bytes = sizeof(struct swaps),
    .observe = observe,
    .free = release,
    .give = give,
    .take = take,
};
