#include "analyzer/findings/pageable_uses.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/new_memory.h"
#include "analyzer/whatif/changes/rows.h"

/* Pageable memory of the host, copied from or to a GPU: it could be page-locked. */
static bool is_lockable(const struct xfa_class_key *key)
{
    struct xfa_host_side host;
    return xfa_host_side_of(key, &host) && host.memory == XFT_MEM_PAGEABLE &&
           (key->shape == XFA_LINEAR || key->shape == XFA_STRIDED);
}

struct answer {
    uint32_t row; /* key: number */
    struct xfa_pageable_costs costs;
};

/* ---- the observer ---------------------------------------------------------------------------- */

#define RESULT_BYTES 4096 /* smaller ones are no input of a kernel (whatif/changes/feedback.c) */

/* Does the host send what it has fetched? */
static void note_fetched(struct xfa_pageable_uses *uses, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const uint32_t process = event->process->number;
    struct xfa_host_side host;
    if (!xfa_host_side_of(&transfer->class->key, &host))
        return;
    if (host.to_device)
        uses->sent_fetched += xfw_buffers_find(&uses->fetched, process, transfer->src) != SIZE_MAX;
    else if (event->bytes > RESULT_BYTES)
        xfw_buffers_add(&uses->fetched, process, 0, transfer->dst, transfer->reach);
}

/* Transfers are counted by process: each pass has the same in the same order. */
static uint64_t number_of(struct xfa_pageable_uses *uses, const struct xfa_event *event)
{
    if (uses->process != event->process->number)
        uses->transfers = 0;
    uses->process = event->process->number;
    return uses->transfers++;
}

/* Half of its pages were not there, and no copy's call had made memory there before: else it is
 * given back, and new each time, unless the program keeps it (fresh_memory.c). */
static bool makes_memory(struct xfa_pageable_uses *uses, const struct xfa_event *event,
                         uint64_t address)
{
    const double least = 0.5;
    double made = (double)event->transfer.faults_within;
    if (!(made > 0) || made < least * (double)event->bytes / XFW_PAGE)
        return false;
    uint64_t first =
        xfw_buffers_add(&uses->made_at, event->process->number, 0, address, event->bytes);
    return (double)first >= least * (double)event->bytes;
}

static void transfer(void *self, const struct xfa_event *event)
{
    struct xfa_pageable_uses *uses = self;
    const uint64_t number = number_of(uses, event);
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_class *class = transfer->class;
    note_fetched(uses, event);
    if (!is_lockable(&class->key))
        return;
    bool up = class->key.row.direction == XFT_DIR_H2D;
    uint64_t address = up ? transfer->src : transfer->dst;
    uint64_t new_bytes = xfw_buffers_add(&uses->buffers, event->process->number,
                                         (uint32_t)event->tid, address, transfer->reach);
    const struct xfa_pageable_key key = {class->number, xfa_size_class(event->bytes)};
    struct xfa_pageable_size *size = xfa_table_put(&uses->sizes, &key);
    size->copies++;
    size->bytes += event->bytes;
    size->firsts += new_bytes > 0;
    size->new_bytes += new_bytes;
    if (class->key.shape == XFA_STRIDED)
        size->rows += event->bytes / transfer->width;
    size->threads |= xfw_allocation_bit((uint32_t)event->tid);
    if (makes_memory(uses, event, address)) {
        size->made++;
        xfw_mark(&uses->made, event->process->number, number);
    }
}

static void kernel(void *self, const struct xfa_event *event)
{
    struct xfa_pageable_uses *uses = self;
    if (event->end_ns > event->start_ns)
        uses->kernels_ns = xfa_add(uses->kernels_ns, event->end_ns - event->start_ns);
}

struct xfa_observer xfa_pageable_observer(void *self)
{
    struct xfa_pageable_uses *uses = self;
    xfa_table_init(&uses->sizes, sizeof(struct xfa_pageable_key), sizeof(struct xfa_pageable_size));
    uses->answers = xfa_alloc(sizeof *uses->answers);
    xfa_table_init(uses->answers, sizeof(uint32_t), sizeof(struct answer));
    return (struct xfa_observer){.name = "pageable memory",
                                 .self = self,
                                 .aside = true,
                                 .shared = true,
                                 .kinds = XFA_KIND(XFT_EVENT_KERNEL),
                                 .event = kernel,
                                 .transfer = transfer};
}

/* ---- divided ----------------------------------------------------------------------------------
 */

void xfa_pageable_give(const void *self, struct xfa_parcel *parcel)
{
    const struct xfa_pageable_uses *uses = self;
    xfa_parcel_number(parcel, uses->sizes.count);
    xfa_parcel_put(parcel, uses->sizes.items, uses->sizes.count * uses->sizes.item_bytes);
    xfw_buffers_give(&uses->buffers, parcel);
    xfa_parcel_number(parcel, uses->kernels_ns);
    xfa_parcel_number(parcel, uses->sent_fetched);
    xfw_marks_give(&uses->made, parcel);
}

static void take_size(struct xfa_pageable_uses *uses, const struct xfa_pageable_size *more)
{
    struct xfa_pageable_size *size = xfa_table_put(&uses->sizes, &more->key);
    size->copies += more->copies;
    size->bytes += more->bytes;
    size->firsts += more->firsts;
    size->new_bytes += more->new_bytes;
    size->rows += more->rows;
    size->threads |= more->threads;
    size->made += more->made;
}

/* Their order does not show: they are asked for by key. */
void xfa_pageable_take(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct xfa_pageable_uses *uses = self;
    struct xfa_pageable_size more;
    size_t count = xfa_unpack_count(from, sizeof more);
    for (size_t i = 0; i < count && !from->bad; i++) {
        xfa_unpack_bytes(from, &more, sizeof more);
        from->bad = from->bad || more.copies == 0 || more.key.size >= XFA_SIZE_CLASSES ||
                    more.key.class >= analysis->classes.classes.count;
        if (!from->bad)
            take_size(uses, &more);
    }
    if (uses->answers)
        xfa_table_free(uses->answers);
    xfw_buffers_take(&uses->buffers, from, analysis->run->process_count);
    uses->kernels_ns = xfa_add(uses->kernels_ns, xfa_unpack_number(from));
    uses->sent_fetched = xfa_add(uses->sent_fetched, xfa_unpack_number(from));
    xfw_marks_take(&uses->made, from, analysis->run->process_count);
}

void xfa_pageable_free(void *self)
{
    struct xfa_pageable_uses *uses = self;
    xfa_table_free(&uses->sizes);
    if (uses->answers)
        xfa_table_free(uses->answers);
    free(uses->answers);
    xfw_buffers_free(&uses->buffers);
    xfw_buffers_free(&uses->fetched);
    xfw_marks_free(&uses->made);
    xfw_buffers_free(&uses->made_at);
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* The profile's copies of registered memory, which page-locking makes, else of pinned memory. */
static const struct xfp_path *pinned_path(const struct xfa_analysis *analysis,
                                          const struct xfa_class_key *key)
{
    static const enum xft_memory kinds[] = {XFT_MEM_REGISTERED, XFT_MEM_PINNED};
    const struct xfp_path *path = NULL;
    struct xfa_host_side host;
    xfa_host_side_of(key, &host);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !path; i++)
        path = xfw_host_path(&analysis->achievable, (enum xft_direction)key->row.direction,
                             kinds[i], host.node, host.gpu);
    return path;
}

/* What copies of a size class whose calls made the memory cost more: page-locking, or threads, make
 * it then. */
static void add_making(struct xfa_pageable_costs *costs, const struct xfa_achievable *achievable,
                       const struct xfa_host_side *host, const struct xfa_pageable_size *size)
{
    uint64_t bytes = size->bytes / size->copies;
    double made = (double)size->made, touching = xfw_touching_ns(achievable, bytes, XFW_LIKELY);
    if (!size->made)
        return;
    struct xfw_pinned each = xfw_pinned_new(achievable, host->node, host->gpu, bytes, XFW_LIKELY);
    double more = each.ns - xfw_pinned(achievable, host->node, host->gpu, bytes, XFW_LIKELY).ns;
    each.ns *= made;
    costs->once = each.ns > costs->once.ns ? each : costs->once;
    costs->once_ns += fmax(0, more) * made;
    costs->per_use_ns += touching * made;
    costs->staged_ns += xfw_touching_part(achievable, costs->threads) * touching * made;
}

/* Adds the copies of one size class. */
static void add_size(struct xfa_pageable_costs *costs, const struct xfa_analysis *analysis,
                     const struct xfa_class_key *key, const struct xfa_pageable_size *size)
{
    const struct xfa_achievable *achievable = &analysis->achievable;
    const struct xfp_path *path = pinned_path(analysis, key);
    struct xfa_host_side host;
    bool known = false;
    xfa_host_side_of(key, &host);
    uint64_t bytes = size->bytes / size->copies;
    const struct xfw_rows_way way = {(enum xft_direction)key->row.direction, host.node, host.gpu,
                                     path};
    struct xfw_copy_cost copy = xfw_rows_cost(
        achievable, &way, bytes, size->rows ? size->bytes / size->rows : 0, XFW_LIKELY);
    struct xfw_staging staging = {0}; /* not known of rows */
    if (!size->rows)
        staging = xfw_staging_cost(achievable, path, bytes, xfw_staging_piece(bytes),
                                   costs->threads, XFW_LIKELY);
    double lock_ns =
        xfw_registration_cost(achievable, host.node, host.gpu, bytes, XFW_LIKELY, &known);
    bool once = known;
    struct xfw_pinned first = {0};
    if (size->firsts) {
        first =
            xfw_pinned(achievable, host.node, host.gpu, size->new_bytes / size->firsts, XFW_LIKELY);
        once = first.by != XFW_PINNED_UNKNOWN;
        first.ns *= (double)size->firsts;
        costs->once = first.ns > costs->once.ns ? first : costs->once;
    }
    double copies = (double)size->copies;
    costs->copies += size->copies;
    costs->firsts += size->firsts;
    costs->pinned_ns += copy.known ? copies * copy.blocking_ns : NAN;
    costs->once_ns += once ? first.ns : NAN;
    costs->per_use_ns += known ? copies * lock_ns : NAN;
    costs->staged_ns +=
        staging.known ? copies * (staging.first_ns + staging.during_ns + staging.last_ns) : NAN;
    add_making(costs, achievable, &host, size);
}

static struct xfa_pageable_costs costs_of(const struct xfa_pageable_uses *uses,
                                          const struct xfa_analysis *analysis,
                                          const struct xfa_row *row)
{
    struct xfa_pageable_costs costs = {
        .threads =
            xfw_staging_threads(&analysis->achievable, (enum xft_direction)row->key.direction)};
    const struct xfa_class *class = NULL;
    while ((class = xfa_row_class(&analysis->classes, row, class))) {
        for (uint32_t i = 0; i < XFA_SIZE_CLASSES; i++) {
            const struct xfa_pageable_key key = {class->number, i};
            const struct xfa_pageable_size *size = xfa_table_get(&uses->sizes, &key);
            if (size)
                add_size(&costs, analysis, &class->key, size);
        }
    }
    if (costs.copies)
        costs.staged_ns += xfw_staging_setup(&analysis->achievable,
                                             row->key.direction == XFT_DIR_H2D ? row->key.dst_gpu
                                                                               : row->key.src_gpu,
                                             costs.threads, XFW_LIKELY);
    return costs;
}

/* Several kinds of finding ask for all rows, more than once. */
struct xfa_pageable_costs xfa_pageable_costs_of(const struct xfa_pageable_uses *uses,
                                                const struct xfa_analysis *analysis,
                                                const struct xfa_row *row)
{
    const struct answer *known = uses->answers ? xfa_table_get(uses->answers, &row->number) : NULL;
    if (known)
        return known->costs;
    struct xfa_pageable_costs costs = costs_of(uses, analysis, row);
    if (uses->answers)
        ((struct answer *)xfa_table_put(uses->answers, &row->number))->costs = costs;
    return costs;
}

#define USED_AGAIN 2 /* average uses of a buffer from which on it is page-locked once */

/* Times that a copy has to save the page-locking before it: that varies more than copies do. */
#define FOR_ONE_USE 2

bool xfa_pageable_again(const struct xfa_pageable_costs *costs)
{
    return costs->copies >= USED_AGAIN * costs->firsts;
}

enum xfa_remedy_kind xfa_pageable_way(const struct xfa_pageable_costs *costs, double achieved_ns)
{
    bool again = xfa_pageable_again(costs);
    enum xfa_remedy_kind way = again ? XFA_REMEDY_PIN : XFA_REMEDY_PIN_PER_USE;
    double lock_ns = again ? costs->once_ns : FOR_ONE_USE * costs->per_use_ns;
    if (isnan(lock_ns)) { /* not known: as if it cost nothing */
        way = XFA_REMEDY_PIN;
        lock_ns = 0;
    }
    double least_ns = costs->pinned_ns + lock_ns;
    if (costs->staged_ns < least_ns) {
        way = XFA_REMEDY_STAGE;
        least_ns = costs->staged_ns;
    }
    return least_ns >= achieved_ns ? XFA_REMEDY_KINDS : way;
}

/* ---- the change ------------------------------------------------------------------------------ */

/* Buffers that each thread uses by turns in copies of the class; 0: it does not use them again. */
static unsigned turns_of(const struct xfa_pageable_uses *uses, uint32_t class)
{
    uint64_t copies = 0, firsts = 0, threads = 0;
    for (uint32_t i = 0; i < XFA_SIZE_CLASSES; i++) {
        const struct xfa_pageable_key key = {class, i};
        const struct xfa_pageable_size *size = xfa_table_get(&uses->sizes, &key);
        copies += size ? size->copies : 0;
        firsts += size ? size->firsts : 0;
        threads |= size ? size->threads : 0;
    }
    uint64_t each = threads ? firsts / (uint64_t)__builtin_popcountll(threads) : firsts;
    bool again = firsts > 0 && copies >= USED_AGAIN * firsts;
    return again && each <= XFW_MOST_STREAMS ? (unsigned)(each > 1 ? each : 1) : 0;
}

static bool to_pinned(const struct xfa_analysis *analysis, const struct xfa_class *class,
                      const void *self, struct xfw_new_path *path)
{
    path->to = is_lockable(&class->key) ? pinned_path(analysis, &class->key) : NULL;
    path->turns = path->to ? turns_of(self, class->number) : 0;
    return path->to != NULL;
}

struct xfw_change *xfa_pageable_change(const struct xfa_pageable_uses *uses,
                                       const struct xfa_analysis *analysis,
                                       const struct xfa_finding *finding,
                                       struct xfw_times_terms terms)
{
    terms.buffers = &uses->buffers;
    terms.made = &uses->made;
    return xfa_other_path_change(analysis, finding, to_pinned, uses, &terms);
}
