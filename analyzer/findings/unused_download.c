/*
 * unused-download: copies to the host whose bytes the host never read before they were overwritten,
 * freed, or the end. Lost: their time.
 *
 * The kernel's page bits said so (HOST_ACCESS, docs/trace-format.md): only in a run that was
 * recorded with --host-access, and of copies that were watched. Left out is what was sent on to a
 * device from there, and page-locked memory that a kernel may have been given meanwhile.
 *
 * Watching takes time, and where its share was used up copies were not watched. Of a row of which
 * LEAST_JUDGED copies were and none was read, the others are taken to be the same: likely, and not
 * at worst.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/sums/given.h"
#include "analyzer/whatif/changes/changes.h"

#define LEAST_JUDGED 8
#define LEAST_BYTES 65536 /* of copies that are watched */
#define MOST_PLACES 65536 /* of host memory, in a process; later ones are not judged */

struct fetched {
    uint64_t ns, bytes, transfer; /* ns 0: none */
    double achieved_ns;
    uint32_t row;
    bool by_device, is_pageable;
};

/* The last two copies to a place: the verdict on one may come when the next has begun. */
struct place {
    uint64_t address; /* key */
    struct fetched last, before;
};

struct row_sums {
    struct xfa_timed_sum unread, all; /* all: those that could have been watched */
    uint64_t used;                    /* read, sent on, or perhaps read by a kernel */
    bool is_pageable;
};

struct unused {
    struct xfa_given given;
    uint32_t process;
    uint64_t transfers; /* of the process */
    bool asked;         /* in it */
    struct xfa_table places;
    struct row_sums *rows; /* by row number */
    size_t row_count, row_capacity;
    struct xfw_marks marks[XFW_CERTAINTIES];  /* unread, and of whole rows all that may be */
    struct xfw_marks judged[XFW_CERTAINTIES]; /* unread only */
};

static struct row_sums *row_of(struct unused *unused, uint32_t row)
{
    unused->rows = xfa_grown(unused->rows, &unused->row_capacity, &unused->row_count, row,
                             sizeof *unused->rows);
    return &unused->rows[row];
}

static void add(struct xfa_timed_sum *sum, const struct fetched *fetched)
{
    xfa_timed_add(sum, fetched->bytes, fetched->achieved_ns, fetched->by_device);
}

/* Could have been watched: a verdict may be to come. */
static void count_all(struct unused *unused, const struct fetched *fetched)
{
    struct row_sums *row = row_of(unused, fetched->row);
    if (fetched->bytes < LEAST_BYTES)
        return;
    row->is_pageable = fetched->is_pageable;
    add(&row->all, fetched);
    xfw_mark(&unused->marks[XFW_LIKELY], unused->process, fetched->transfer);
}

static void take_transfer(void *self, const struct xfa_event *event)
{
    struct unused *unused = self;
    const struct xfa_transfer *transfer = &event->transfer;
    uint64_t number = unused->transfers++;
    if (transfer->class->key.row.direction != XFT_DIR_D2H ||
        transfer->class->key.shape != XFA_LINEAR || !unused->asked)
        return;
    if (unused->places.count >= MOST_PLACES && !xfa_table_get(&unused->places, &transfer->dst))
        return;
    struct place *place = xfa_table_put(&unused->places, &transfer->dst);
    place->before = place->last;
    place->last = (struct fetched){
        .ns = event->start_ns,
        .bytes = event->bytes,
        .transfer = number,
        .achieved_ns = transfer->achieved_ns,
        .row = transfer->class->row,
        .by_device = transfer->timed == XFA_TIMED_DEVICE,
        .is_pageable = event->dst_mem == XFT_MEM_PAGEABLE,
    };
    count_all(unused, &place->last);
}

static void count_unused(struct unused *unused, const struct fetched *fetched)
{
    add(&row_of(unused, fetched->row)->unread, fetched);
    xfw_mark(&unused->marks[XFW_LOW], unused->process, fetched->transfer);
    xfw_mark(&unused->judged[XFW_LOW], unused->process, fetched->transfer);
}

/* A kernel reads page-locked memory without leaving a bit. */
static bool kernels_may_read(const struct unused *unused, uint64_t address,
                             const struct fetched *fetched)
{
    return !fetched->is_pageable &&
           xfa_given_used(&unused->given, address, xfa_add(address, fetched->bytes), fetched->ns,
                          XFA_USED_READ) != XFA_USED_NOT;
}

static void take_access(struct unused *unused, const struct xfa_event *event)
{
    const struct xfa_host_access *access = &event->access;
    const struct place *place = xfa_table_get(&unused->places, &access->dst);
    if (!place || !(access->what & XFT_HOST_READS_KNOWN))
        return;
    const struct fetched *fetched =
        place->last.ns == access->copied_ns ? &place->last : &place->before;
    if (fetched->ns != access->copied_ns || fetched->bytes != event->bytes)
        return;
    if (access->what & (XFT_HOST_READ | XFT_HOST_SENT) ||
        kernels_may_read(unused, access->dst, fetched))
        row_of(unused, fetched->row)->used++;
    else
        count_unused(unused, fetched);
}

static void take_event(void *self, const struct xfa_event *event)
{
    struct unused *unused = self;
    if (event->kind == XFT_EVENT_HOST_ACCESS)
        take_access(unused, event);
    else
        xfa_given_event(&unused->given, event);
}

#define KINDS (XFA_GIVEN_KINDS | XFA_KIND(XFT_EVENT_HOST_ACCESS))

static uint64_t begin_process(void *self, struct xfa_process *process)
{
    struct unused *unused = self;
    const char *asked = xfa_trace_meta(process->trace, "host_access");
    unused->process = process->number;
    unused->transfers = 0;
    xfa_table_free(&unused->places);
    xfa_table_init(&unused->places, sizeof(uint64_t), sizeof(struct place));
    xfa_given_begin(&unused->given, process);
    unused->asked = asked && strcmp(asked, "on") == 0;
    return unused->asked ? KINDS : 0;
}

static void end_process(void *self, struct xfa_process *process)
{
    struct unused *unused = self;
    xfa_given_free(&unused->given);
    xfa_table_free(&unused->places);
}

static bool touched(const void *self)
{
    return ((const struct unused *)self)->asked;
}

static struct xfa_observer observe(void *self)
{
    return (struct xfa_observer){
        .name = "unused downloads",
        .kinds = KINDS,
        .self = self,
        .process = begin_process,
        .event = take_event,
        .transfer = take_transfer,
        .end = end_process,
        .touched = touched,
    };
}

static void release(void *self)
{
    struct unused *unused = self;
    xfa_given_free(&unused->given);
    xfa_table_free(&unused->places);
    for (size_t i = 0; i < XFW_CERTAINTIES; i++) {
        xfw_marks_free(&unused->marks[i]);
        xfw_marks_free(&unused->judged[i]);
    }
    free(unused->rows);
}

/* ---- the finding ----------------------------------------------------------------------------- */

/* None of those that were watched was used, and they are enough to take the others so. */
static bool is_of_all(const struct row_sums *row)
{
    return row->used == 0 && row->unread.sum.transfers >= LEAST_JUDGED;
}

static const char *assumed(const struct row_sums *row)
{
    bool inferred = is_of_all(row) && row->all.sum.transfers > row->unread.sum.transfers;
    if (row->is_pageable)
        return inferred ? "copies that were not watched are read no more than those that were"
                        : NULL;
    return inferred ? "copies that were not watched are read no more than those that were, and no "
                      "other device (a network card, a disk) reads this page-locked memory"
                    : "no other device (a network card, a disk) reads this page-locked memory";
}

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct unused *unused = sums;
    const struct row_sums *found = row < unused->row_count ? &unused->rows[row] : NULL;
    if (!found || found->unread.sum.transfers == 0)
        return false;
    xfa_gain_of_all(gain, is_of_all(found) ? &found->all : &found->unread);
    gain->reckoning = XFA_RECKONED_UNREAD;
    gain->assumed = assumed(found);
    gain->remedy = xfa_remedy_for(xfa_analysis_row(analysis, row), XFA_REMEDY_LEAVE_THERE);
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct unused *unused = sums;
    bool of_all = true;
    for (size_t i = 0; i < finding->site_count; i++)
        of_all = of_all && is_of_all(&unused->rows[finding->sites[i].row->number]);
    const struct xfw_leave_out what = {
        .marks = of_all ? unused->marks : unused->judged,
        .classes = xfa_finding_classes(analysis, finding),
    };
    return xfw_change_leave_out(analysis, &what);
}

const struct xfa_finding_kind xfa_kind_unused_download = {
    .look = look,
    .change = change,
    .self_bytes = sizeof(struct unused),
    .observe = observe,
    .free = release,
};
