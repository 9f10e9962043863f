/*
 * fresh-memory: copies from or to pageable memory of the host that is new each time. Its pages are
 * found, cleared and mapped as they are touched first, by the driver's copy or by the program.
 * Lost: an estimate of what the page faults in the calls took.
 *
 * The recorder counts the page faults of the thread in calls that copy 1 MiB and more, and between
 * them. New is memory of which half of the pages faulted in the call, or half as many as it has
 * huge pages, 8 or more. Faults of the program before the call may be of other memory: where they
 * are as many as half of the pages (and not four times as many), it is a question.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"
#include "analyzer/whatif/changes/touched.h"

#define LEAST_TIMES 4  /* else it is the first use of memory that is kept */
#define LEAST_PART 0.5 /* of a row's copies, and of the pages of one */
#define MOST_TIMES 4   /* as many faults: other memory was touched, too */
#define LEAST_HUGE 8
#define PAGE 4096u
#define HUGE_PAGE ((uint64_t)2 << 20)
#define FAULT_NS 700.0    /* a guess */
#define MOST_OF_CALL 0.75 /* faults take no more of a call: it copies, too */

enum where { WITHIN, BEFORE, WHERES };

struct fresh {
    uint32_t process;
    uint64_t transfers; /* of the process */
    struct row_sums {
        struct xfa_divided_sum fresh[WHERES];
        uint64_t pages[WHERES];
    } * rows; /* by row number */
    size_t row_count, row_capacity;
    struct xfw_marks marks[WHERES], huge;
};

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

static void count(struct fresh *fresh, enum where where, const struct xfa_event *event,
                  uint64_t number)
{
    const struct xfa_transfer *transfer = &event->transfer;
    struct row_sums *row = row_of(fresh, transfer->class->row);
    xfa_divided_add(&row->fresh[where], event->bytes, transfer->achieved_ns,
                    transfer->timed == XFA_TIMED_DEVICE);
    row->pages[where] += event->bytes / PAGE;
    xfw_mark(&fresh->marks[where], fresh->process, number);
}

static void take_transfer(void *self, const struct xfa_event *event)
{
    struct fresh *fresh = self;
    uint64_t number = fresh->transfers++, pages = event->bytes / PAGE;
    uint64_t within = event->transfer.faults_within, before = event->transfer.faults_before;
    if (pages == 0 || (within == 0 && before == 0))
        return;
    uint64_t huge_pages = event->bytes / HUGE_PAGE;
    bool huge =
        within >= LEAST_HUGE && is_half(within, huge_pages) && within / MOST_TIMES <= huge_pages;
    if (is_half(within, pages) || huge)
        count(fresh, WITHIN, event, number);
    else if (is_half(before, pages) && before / MOST_TIMES <= pages)
        count(fresh, BEFORE, event, number);
    if (huge && !is_half(within, pages))
        xfw_mark(&fresh->huge, fresh->process, number);
}

static uint64_t begin_process(void *self, struct xfa_process *process)
{
    struct fresh *fresh = self;
    fresh->process = process->number;
    fresh->transfers = 0;
    return XFA_KIND(XFT_EVENT_TRANSFER);
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
    };
}

static void release(void *self)
{
    struct fresh *fresh = self;
    for (unsigned i = 0; i < WHERES; i++)
        xfw_marks_free(&fresh->marks[i]);
    xfw_marks_free(&fresh->huge);
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
}

static void add(struct row_sums *into, const struct row_sums *from)
{
    for (unsigned i = 0; i < WHERES; i++) {
        xfa_divided_merge(&into->fresh[i], &from->fresh[i]);
        into->pages[i] += from->pages[i];
    }
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
}

/* ---- the finding ----------------------------------------------------------------------------- */

static bool is_again(const struct row_sums *of, enum where where, uint64_t all)
{
    uint64_t times = of->fresh[where].moved.sum.transfers;
    return times >= LEAST_TIMES && (double)times >= LEAST_PART * (double)all;
}

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct fresh *fresh = sums;
    const struct row_sums *of = row < fresh->row_count ? &fresh->rows[row] : NULL;
    uint64_t all = analysis->rows[row].transfers;
    bool within = of && is_again(of, WITHIN, all), before = of && is_again(of, BEFORE, all);
    if (!within && !before)
        return false;
    enum where where = within ? WITHIN : BEFORE;
    double faults_ns = FAULT_NS * (double)of->pages[where];
    const struct xfa_timed_sum found = xfa_divided_value(&of->fresh[where]);
    xfa_gain_of_all(gain, &found);
    gain->lost_ns = within ? fmin(faults_ns, MOST_OF_CALL * found.sum.ns) : NAN;
    gain->weight_ns = faults_ns;
    gain->reckoning = within ? XFA_RECKONED_FRESH : XFA_RECKONED_FRESH_BEFORE;
    gain->assumed = within ? "the program can keep this memory" : NULL;
    gain->question = before ? "the memory that {site} copies is allocated anew each time" : NULL;
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
