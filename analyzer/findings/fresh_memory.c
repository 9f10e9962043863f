/*
 * fresh-memory: copies from or to pageable memory of the host that is new each time. Its pages are
 * found, cleared and mapped as they are touched first, by the driver's copy or by the program.
 * Lost: what the page faults in the calls took, by the profile; without it an estimate.
 *
 * The recorder counts the page faults of the thread in calls that copy 1 MiB and more, and between
 * them. New is memory of which half of the pages faulted in the call, or half as many as it has
 * huge pages, 8 or more. Faults of the program before the call may be of other memory: where they
 * are as many as half of the pages (and not four times as many), it is a question; unless the
 * recorder saw that the memory at this address was not mapped meanwhile.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"
#include "analyzer/whatif/changes/new_memory.h"
#include "analyzer/whatif/changes/touched.h"

#define LEAST_TIMES 4  /* else it is the first use of memory that is kept */
#define LEAST_PART 0.5 /* of a row's copies, and of the pages of one */
#define MOST_TIMES 4   /* as many faults: other memory was touched, too */
#define LEAST_HUGE 8
#define LEAST_BYTES ((uint64_t)1 << 20)
#define PROVEN_PART 0.5 /* of a row's copies whose memory was seen to be new, for all to be */
#define FEW 4           /* no more faults than one for so many huge pages: it was touched before */
#define FAULT_NS 700.0  /* a guess, where the profile has none */
#define MOST_OF_CALL 0.75 /* faults take no more of a call: it copies, too */

enum where { WITHIN, BEFORE, WHERES };

struct fresh {
    uint32_t process;
    uint64_t transfers; /* of the process */
    struct row_sums {
        struct xfa_divided_sum fresh[WHERES];
        uint64_t pages[WHERES];
        uint64_t proven; /* copies BEFORE whose memory was seen to be new */
    } * rows;            /* by row number */
    size_t row_count, row_capacity;
    struct row_last {
        uint64_t address; /* of the host's memory of its last copy; 0: none in this process */
        uint64_t ends;    /* places of the device that copies of the row use as their other end */
        uint64_t kept;    /* of end_process(): of its places, so many are passed */
    } * lasts;
    size_t last_count, last_capacity;
    struct xfa_table places; /* struct place, of the process */
    struct xfa_table ends;   /* keys of places, of the process */
    struct xfw_marks marks[WHERES], huge, again, proven, first, more;
    struct xfw_kept_copies kept;
};

/* Memory of the host that copies of a row use. */
struct place {
    uint64_t row, address;
    uint64_t first, uses; /* the number of its first copy */
};
#define PLACE_KEY (2 * sizeof(uint64_t))
#define MOST_PLACES 4096u /* of a process; others are not counted */

static struct row_sums *row_of(struct fresh *fresh, uint32_t row)
{
    fresh->rows =
        xfa_grown(fresh->rows, &fresh->row_capacity, &fresh->row_count, row, sizeof *fresh->rows);
    return &fresh->rows[row];
}

static bool is_half(uint64_t faults, uint64_t pages)
{
    return (double)faults >= LEAST_PART * (double)pages;
}

/* As many faults as so many huge pages take. */
static bool is_of_huge(uint64_t faults, uint64_t huge_pages)
{
    return faults >= LEAST_HUGE && is_half(faults, huge_pages) && faults / MOST_TIMES <= huge_pages;
}

static void count(struct fresh *fresh, enum where where, const struct xfa_event *event,
                  uint64_t number)
{
    const struct xfa_transfer *transfer = &event->transfer;
    struct row_sums *row = row_of(fresh, transfer->class->row);
    xfa_divided_add(&row->fresh[where], event->bytes, transfer->achieved_ns,
                    transfer->timed == XFA_TIMED_DEVICE);
    row->pages[where] += event->bytes / XFW_PAGE;
    xfw_mark(&fresh->marks[where], fresh->process, number);
}

/* As those whose page faults are counted. */
static bool is_large(const struct xfa_event *event)
{
    bool from = event->direction == XFT_DIR_H2D && event->src_mem == XFT_MEM_PAGEABLE;
    bool to = event->direction == XFT_DIR_D2H && event->dst_mem == XFT_MEM_PAGEABLE;
    return (from || to) && event->bytes >= LEAST_BYTES && event->transfer.width == event->bytes;
}

/* Was the last one at this address, too? */
static bool is_again(struct fresh *fresh, const struct xfa_event *event)
{
    uint32_t row = event->transfer.class->row;
    uint64_t address = event->direction == XFT_DIR_H2D ? event->transfer.src : event->transfer.dst;
    fresh->lasts = xfa_grown(fresh->lasts, &fresh->last_capacity, &fresh->last_count, row,
                             sizeof *fresh->lasts);
    bool again = fresh->lasts[row].address == address;
    fresh->lasts[row].address = address;
    return again;
}

/* Of which buffers of the device: the program needs no more of its own, once it keeps them. */
static void note_end(struct fresh *fresh, const struct xfa_event *event)
{
    uint64_t address = event->direction == XFT_DIR_H2D ? event->transfer.dst : event->transfer.src;
    const uint64_t key[2] = {event->transfer.class->row, address};
    if (xfa_table_get(&fresh->ends, key) || fresh->ends.count >= MOST_PLACES)
        return;
    xfa_table_put(&fresh->ends, key);
    fresh->lasts[key[0]].ends++;
}

/* Where several buffers are used by turns each is touched once, if it is kept. Whether one was at
 * this address before. */
static bool note_place(struct fresh *fresh, const struct xfa_event *event, uint64_t number)
{
    uint64_t address = event->direction == XFT_DIR_H2D ? event->transfer.src : event->transfer.dst;
    const struct place key = {event->transfer.class->row, address, number, 0};
    struct place *place = xfa_table_get(&fresh->places, &key);
    if (!place && fresh->places.count < MOST_PLACES) {
        place = xfa_table_put(&fresh->places, &key);
        place->first = number;
    }
    return place && ++place->uses > 1;
}

/* Its memory had been touched: hardly any fault, or none, where it was before. */
static void count_kept(struct fresh *fresh, const struct xfa_event *event, bool again)
{
    uint64_t within = event->transfer.faults_within, before = event->transfer.faults_before;
    if ((within > 0 || before > 0 || again) && within * FEW <= event->bytes / XFW_HUGE_PAGE)
        xfw_kept_add(&fresh->kept, event->direction, event->bytes, event->transfer.achieved_ns);
}

static void take_transfer(void *self, const struct xfa_event *event)
{
    struct fresh *fresh = self;
    uint64_t number = fresh->transfers++, pages = event->bytes / XFW_PAGE;
    uint64_t within = event->transfer.faults_within, before = event->transfer.faults_before;
    if (!is_large(event))
        return;
    count_kept(fresh, event, is_again(fresh, event));
    note_end(fresh, event);
    bool again = note_place(fresh, event, number);
    if (within == 0 && before == 0)
        return;
    uint64_t huge_pages = event->bytes / XFW_HUGE_PAGE;
    bool in_huge = is_of_huge(within, huge_pages), fresh_huge = is_of_huge(before, huge_pages);
    bool in_call = is_half(within, pages) || in_huge;
    bool in_own = (is_half(before, pages) && before / MOST_TIMES <= pages) ||
                  (fresh_huge && event->transfer.new_memory);
    bool huge = in_call ? !is_half(within, pages) : in_own && !is_half(before, pages);
    if (in_call)
        count(fresh, WITHIN, event, number);
    else if (in_own)
        count(fresh, BEFORE, event, number);
    if (huge)
        xfw_mark(&fresh->huge, fresh->process, number);
    if ((in_call || in_own) && again)
        xfw_mark(&fresh->again, fresh->process, number);
    if (!in_call && in_own && event->transfer.new_memory) {
        row_of(fresh, event->transfer.class->row)->proven++;
        xfw_mark(&fresh->proven, fresh->process, number);
    }
}

/* What is of one process alone. */
static void forget(struct fresh *fresh)
{
    xfa_table_free(&fresh->places);
    xfa_table_free(&fresh->ends);
}

static uint64_t begin_process(void *self, struct xfa_process *process)
{
    struct fresh *fresh = self;
    fresh->process = process->number;
    fresh->transfers = 0;
    if (fresh->last_count > 0)
        memset(fresh->lasts, 0, fresh->last_count * sizeof *fresh->lasts);
    forget(fresh);
    xfa_table_init(&fresh->places, PLACE_KEY, sizeof(struct place));
    xfa_table_init(&fresh->ends, PLACE_KEY, PLACE_KEY);
    return XFA_KIND(XFT_EVENT_TRANSFER);
}

static void end_process(void *self, struct xfa_process *process)
{
    struct fresh *fresh = self;
    (void)process;
    for (size_t i = 0; i < fresh->places.count; i++) {
        const struct place *place = xfa_table_at(&fresh->places, i);
        struct row_last *of = &fresh->lasts[place->row];
        if (place->uses > 1)
            xfw_mark(of->kept++ < of->ends ? &fresh->first : &fresh->more, fresh->process,
                     place->first);
    }
    forget(fresh);
}

static struct xfa_observer observe(void *self)
{
    return (struct xfa_observer){
        .name = "fresh memory",
        .kinds = XFA_KIND(XFT_EVENT_TRANSFER),
        .divided = true,
        .self = self,
        .process = begin_process,
        .transfer = take_transfer,
        .end = end_process,
    };
}

static void release(void *self)
{
    struct fresh *fresh = self;
    for (unsigned i = 0; i < WHERES; i++)
        xfw_marks_free(&fresh->marks[i]);
    xfw_marks_free(&fresh->huge);
    xfw_marks_free(&fresh->again);
    xfw_marks_free(&fresh->proven);
    xfw_marks_free(&fresh->first);
    xfw_marks_free(&fresh->more);
    forget(fresh);
    free(fresh->lasts);
    free(fresh->rows);
}

/* ---- members of a team ----------------------------------------------------------------------- */

static void give(const void *self, struct xfa_parcel *parcel)
{
    const struct fresh *fresh = self;
    xfa_parcel_number(parcel, fresh->row_count);
    xfa_parcel_put(parcel, fresh->rows, fresh->row_count * sizeof *fresh->rows);
    for (unsigned i = 0; i < WHERES; i++)
        xfw_marks_give(&fresh->marks[i], parcel);
    xfw_marks_give(&fresh->huge, parcel);
    xfw_marks_give(&fresh->again, parcel);
    xfw_marks_give(&fresh->proven, parcel);
    xfw_marks_give(&fresh->first, parcel);
    xfw_marks_give(&fresh->more, parcel);
    xfa_parcel_put(parcel, &fresh->kept, sizeof fresh->kept);
}

static void add(struct row_sums *into, const struct row_sums *from)
{
    for (unsigned i = 0; i < WHERES; i++) {
        xfa_divided_merge(&into->fresh[i], &from->fresh[i]);
        into->pages[i] += from->pages[i];
    }
    into->proven += from->proven;
}

static void take(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct fresh *fresh = self;
    size_t rows = xfa_unpack_count(from, sizeof(struct row_sums));
    from->bad = from->bad || rows > analysis->row_count;
    for (uint32_t i = 0; i < rows && !from->bad; i++) {
        struct row_sums more;
        xfa_unpack_bytes(from, &more, sizeof more);
        add(row_of(fresh, i), &more);
    }
    for (unsigned i = 0; i < WHERES; i++)
        xfw_marks_take(&fresh->marks[i], from, analysis->run->process_count);
    xfw_marks_take(&fresh->huge, from, analysis->run->process_count);
    xfw_marks_take(&fresh->again, from, analysis->run->process_count);
    xfw_marks_take(&fresh->proven, from, analysis->run->process_count);
    xfw_marks_take(&fresh->first, from, analysis->run->process_count);
    xfw_marks_take(&fresh->more, from, analysis->run->process_count);
    struct xfw_kept_copies kept;
    xfa_unpack_bytes(from, &kept, sizeof kept);
    if (!from->bad)
        xfw_kept_merge(&fresh->kept, &kept);
}

/* ---- the finding ----------------------------------------------------------------------------- */

static bool is_each_time(const struct row_sums *of, enum where where, uint64_t all)
{
    uint64_t times = of->fresh[where].moved.sum.transfers;
    return times >= LEAST_TIMES && (double)times >= LEAST_PART * (double)all;
}

/* What the page faults took; *measured: by the profile. */
static double faults_ns(const struct xfa_analysis *analysis, const struct row_sums *of,
                        enum where where, const struct xfa_row_key *key, bool *measured)
{
    const struct xfa_achievable *achievable = &analysis->achievable;
    uint64_t times = of->fresh[where].moved.sum.transfers, bytes = of->pages[where] * XFW_PAGE;
    bool up = key->direction == XFT_DIR_H2D;
    int gpu = up ? key->dst_gpu : key->src_gpu;
    const struct xfw_new_cost each =
        where == WITHIN ? xfw_new_copy(achievable, (enum xft_direction)key->direction, false, gpu,
                                       bytes / times)
                        : xfw_new_touched(achievable, false, 1, bytes / times);
    *measured = each.known;
    return each.known ? each.ns[XFW_LIKELY] * (double)times : FAULT_NS * (double)of->pages[where];
}

static void fill_in(const struct xfa_analysis *analysis, const struct row_sums *of,
                    enum where where, bool proven, size_t row, struct xfa_gain *gain)
{
    bool measured;
    double ns = faults_ns(analysis, of, where, &xfa_analysis_row(analysis, row)->key, &measured);
    const struct xfa_timed_sum found = xfa_divided_value(&of->fresh[where]);
    xfa_gain_of_all(gain, &found);
    gain->weight_ns = ns;
    if (where == WITHIN) {
        gain->lost_ns = measured ? fmin(ns, found.sum.ns) : fmin(ns, MOST_OF_CALL * found.sum.ns);
        gain->reckoning = measured ? XFA_RECKONED_FRESH_MEASURED : XFA_RECKONED_FRESH;
    } else {
        gain->lost_ns = proven && measured ? ns : NAN;
        gain->reckoning =
            proven && measured ? XFA_RECKONED_FRESH_TOUCHED : XFA_RECKONED_FRESH_BEFORE;
    }
    bool sure = where == WITHIN || proven;
    gain->assumed = sure ? "the program can keep this memory" : NULL;
    gain->question = sure ? NULL : "the memory that {site} copies is allocated anew each time";
}

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct fresh *fresh = sums;
    const struct row_sums *of = row < fresh->row_count ? &fresh->rows[row] : NULL;
    uint64_t all = analysis->rows[row].transfers;
    bool within = of && is_each_time(of, WITHIN, all), before = of && is_each_time(of, BEFORE, all);
    if (!within && !before)
        return false;
    bool proven = before && of->proven >= LEAST_TIMES &&
                  (double)of->proven >= PROVEN_PART * (double)of->fresh[BEFORE].moved.sum.transfers;
    fill_in(analysis, of, within ? WITHIN : BEFORE, proven, row, gain);
    if (before && !proven) /* of what is not known to be so */
        gain->question = "the memory that {site} copies is allocated anew each time";
    gain->remedy = xfa_remedy_for(xfa_analysis_row(analysis, row), XFA_REMEDY_REUSE);
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct fresh *fresh = sums;
    const struct xfw_touched what = {
        .within = &fresh->marks[WITHIN],
        .before = &fresh->marks[BEFORE],
        .huge = &fresh->huge,
        .again = &fresh->again,
        .proven = &fresh->proven,
        .first = &fresh->first,
        .more = &fresh->more,
        .kept = &fresh->kept,
        .classes = xfa_finding_classes(analysis, finding),
    };
    return xfw_change_touched(analysis, &what);
}

const struct xfa_finding_kind xfa_kind_fresh = {
    .look = look,
    .change = change,
    .self_bytes = sizeof(struct fresh),
    .observe = observe,
    .free = release,
    .give = give,
    .take = take,
};
