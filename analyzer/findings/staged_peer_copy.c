/*
 * staged-peer-copy: the program itself copies bytes from one GPU to another through host memory: to
 * the host, and from the same place to another GPU. Lost: the time of both copies, minus that of a
 * copy between the GPUs with peer access, or, where the profile has none, staged through a ring of
 * buffers.
 *
 * The host is assumed not to write the memory in between where it has hardly time to: the second
 * copy is called within the time that one thread needs to read as much. Whether the host reads the
 * bytes is not known.
 */
#include "analyzer/findings/divided.h"
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

#define MOST_PLACES 65536
/* A copy and the wait for it, for the thresholds only: small ones take no longer than one between
 * the GPUs, but the host waits for each. */
#define STAND_IN_NS 5000.0

struct place {        /* a place of host memory, and the last copy to it */
    uint64_t address; /* key */
    uint64_t bytes, end_ns, transfer;
    double achieved_ns;
    uint32_t class;
    int16_t gpu;
    bool staged; /* it was copied to a GPU already */
};

/* Copies of one class down and up again. */
struct pair_key {
    uint32_t down, up; /* classes */
    uint64_t bytes;
};
struct pair {
    struct pair_key key;
    uint64_t times;
    struct xfa_exact down_ns, up_ns; /* achieved; not known of some: not known */
    struct xfa_met met;
};

struct staged {
    struct xfa_table places, pairs;
    struct xfw_marks down, up;
    uint64_t transfers;
};

/* ---- the observer ---------------------------------------------------------------------------- */

static uint64_t process(void *self, struct xfa_process *process)
{
    struct staged *staged = self;
    xfa_table_free(&staged->places);
    xfa_table_init(&staged->places, sizeof(uint64_t), sizeof(struct place));
    staged->transfers = 0;
    return 0;
}

static double known_ns(const struct xfa_event *event)
{
    return event->transfer.timed == XFA_TIMED_NOT ? NAN : event->transfer.achieved_ns;
}

/* Where the call waits the host has the bytes when it returns: in pageable memory later than the
 * device is done. */
static uint64_t there_ns(const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    uint64_t device_ns = transfer->device.end_ns;
    return device_ns == 0 || (transfer->blocks && event->end_ns > device_ns) ? event->end_ns
                                                                             : device_ns;
}

static void came_down(struct staged *staged, const struct xfa_event *event, uint64_t number)
{
    const struct xfa_transfer *transfer = &event->transfer;
    uint64_t address = transfer->dst;
    if (staged->places.count >= MOST_PLACES && !xfa_table_get(&staged->places, &address))
        return;
    struct place *place = xfa_table_put(&staged->places, &address);
    *place = (struct place){
        .address = address,
        .bytes = event->bytes,
        .end_ns = there_ns(event),
        .transfer = number,
        .achieved_ns = known_ns(event),
        .class = transfer->class->number,
        .gpu = transfer->class->key.row.src_gpu,
    };
}

static bool goes_on(const struct place *place, const struct xfa_event *event)
{
    double between =
        event->start_ns > place->end_ns ? (double)(event->start_ns - place->end_ns) : 0;
    int gpu = event->transfer.class->key.row.dst_gpu;
    return place->bytes == event->bytes && place->gpu >= 0 && gpu >= 0 && gpu != place->gpu &&
           between < 5 * XFW_BUSY_NS + XFW_READ_NS_PER_BYTE * (double)event->bytes;
}

static void went_up(struct staged *staged, const struct xfa_event *event, uint64_t number)
{
    struct place *place = xfa_table_get(&staged->places, &event->transfer.src);
    uint32_t process = event->process->number;
    if (!place || !goes_on(place, event))
        return;
    struct pair_key key = {place->class, event->transfer.class->number, event->bytes};
    struct pair *pair = xfa_table_put(&staged->pairs, &key);
    if (pair->times++ == 0)
        pair->met.process = process;
    xfa_exact_add(&pair->down_ns, place->staged ? 0 : place->achieved_ns);
    xfa_exact_add(&pair->up_ns, known_ns(event));
    place->staged = true;
    xfw_mark(&staged->down, process, place->transfer);
    xfw_mark(&staged->up, process, number);
}

static void transfer(void *self, const struct xfa_event *event)
{
    struct staged *staged = self;
    const struct xfa_class_key *key = &event->transfer.class->key;
    uint64_t number = staged->transfers++;
    if (key->shape != XFA_LINEAR || event->flags & XFT_GRAPH)
        return;
    if (key->row.direction == XFT_DIR_D2H)
        came_down(staged, event, number);
    else if (key->row.direction == XFT_DIR_H2D)
        went_up(staged, event, number);
}

static struct xfa_observer observe(void *self)
{
    struct staged *staged = self;
    xfa_table_init(&staged->places, sizeof(uint64_t), sizeof(struct place));
    xfa_table_init(&staged->pairs, sizeof(struct pair_key), sizeof(struct pair));
    return (struct xfa_observer){.name = "staged copies",
                                 .self = self,
                                 .aside = true,
                                 .shared = true,
                                 .process = process,
                                 .transfer = transfer};
}

static void release(void *self)
{
    struct staged *staged = self;
    xfa_table_free(&staged->places);
    xfa_table_free(&staged->pairs);
    xfw_marks_free(&staged->down);
    xfw_marks_free(&staged->up);
}

/* ---- divided --------------------------------------------------------------------------------- */

static bool is_good(const void *analysis, const void *item)
{
    const struct pair *pair = item;
    size_t classes = ((const struct xfa_analysis *)analysis)->classes.classes.count;
    return pair->key.down < classes && pair->key.up < classes;
}

static void add(void *item, const void *more)
{
    struct pair *pair = item;
    const struct pair *other = more;
    pair->times += other->times;
    xfa_exact_merge(&pair->down_ns, &other->down_ns);
    xfa_exact_merge(&pair->up_ns, &other->up_ns);
}

static const struct xfa_met_table of_pairs = {offsetof(struct pair, met), is_good, add};

static void give(const void *self, struct xfa_parcel *parcel)
{
    const struct staged *staged = self;
    xfw_marks_give(&staged->down, parcel);
    xfw_marks_give(&staged->up, parcel);
}

static void take(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct staged *staged = self;
    xfw_marks_take(&staged->down, from, analysis->run->process_count);
    xfw_marks_take(&staged->up, from, analysis->run->process_count);
}

/* ---- the finding ----------------------------------------------------------------------------- */

static const struct xfa_class *class_at(const struct xfa_analysis *analysis, uint32_t number)
{
    return xfa_class_at(&analysis->classes, number);
}

static struct xfw_peer_cost cost_of(const struct xfa_analysis *analysis, const struct pair *pair)
{
    return xfw_peer_cost(&analysis->achievable, class_at(analysis, pair->key.down)->key.row.src_gpu,
                         class_at(analysis, pair->key.up)->key.row.dst_gpu, pair->key.bytes,
                         XFW_LIKELY);
}

static struct xfa_remedy remedy_of(const struct xfa_analysis *analysis, const struct pair *pair,
                                   const struct xfw_peer_cost *cost)
{
    const struct xfa_class *up = class_at(analysis, pair->key.up);
    struct xfa_remedy remedy =
        xfa_remedy_for(xfa_row_at(&analysis->classes, up->row), XFA_REMEDY_PEER_COPY);
    if (cost->staged) {
        remedy.kind = XFA_REMEDY_STAGED_PIPELINE;
        remedy.buffers = (int)cost->buffers;
        remedy.buffer_kib = (int)(cost->buffer_bytes >> 10);
    }
    return remedy;
}

static struct xfa_finding *finding_for(struct xfa_findings *findings,
                                       const struct xfa_remedy *remedy)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].id == XFA_FINDING_STAGED_PEER &&
            xfa_remedy_equal(&findings->items[i].remedy, remedy))
            return &findings->items[i];
    struct xfa_finding *finding = xfa_findings_add(findings, XFA_FINDING_STAGED_PEER, remedy);
    finding->lost_ns = finding->achieved_ns = finding->achievable_ns = 0;
    finding->assumed = "the host neither reads nor writes the bytes on their way";
    return finding;
}

static void add_site(struct xfa_finding *finding, const struct xfa_analysis *analysis,
                     uint32_t class, const struct pair *pair, double lost_ns)
{
    const struct xfa_row *row = xfa_row_at(&analysis->classes, class_at(analysis, class)->row);
    for (size_t i = 0; i < finding->site_count; i++) {
        struct xfa_finding_site *site = &finding->sites[i];
        if (site->row != row)
            continue;
        site->transfers += pair->times;
        site->bytes = xfa_add(site->bytes, pair->times * pair->key.bytes);
        site->lost_ns += lost_ns;
        return;
    }
    const struct xfa_finding_site site = {
        .row = row,
        .site = row->site,
        .function = xfa_row_called(row),
        .transfers = pair->times,
        .bytes = pair->times * pair->key.bytes,
        .lost_ns = lost_ns,
        .reckoning = XFA_RECKONED_STAGED_PEER,
    };
    xfa_finding_site_add(finding, &site);
}

/* All of the copy to the host is lost; the copy to the GPU becomes the direct one. */
static void add_pair(struct xfa_findings *findings, const struct xfa_analysis *analysis,
                     const struct pair *pair, const struct xfw_peer_cost *cost)
{
    double down = xfa_exact_value(&pair->down_ns), up = xfa_exact_value(&pair->up_ns);
    struct xfa_remedy remedy = remedy_of(analysis, pair, cost);
    struct xfa_finding *finding = finding_for(findings, &remedy);
    double directly = (double)pair->times * cost->ns;
    finding->transfers += 2 * pair->times;
    finding->bytes = xfa_add(finding->bytes, 2 * pair->times * pair->key.bytes);
    finding->achieved_ns += down + up;
    finding->achievable_ns += directly;
    finding->lost_ns += fmax(0, down + up - directly);
    add_site(finding, analysis, pair->key.down, pair, fmin(down, fmax(0, down + up - directly)));
    add_site(finding, analysis, pair->key.up, pair, fmax(0, up - directly));
}

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct staged *staged = sums;
    double least = XFA_LEAST_PART * xfa_run_wall_ns(analysis->run);
    if (analysis->achievable.match == XFA_MATCH_NO)
        return; /* another machine's GPUs */
    for (size_t i = 0; i < staged->pairs.count; i++) {
        const struct pair *pair = xfa_table_at(&staged->pairs, i);
        struct xfw_peer_cost cost = cost_of(analysis, pair);
        double took_ns = xfa_exact_value(&pair->down_ns) + xfa_exact_value(&pair->up_ns);
        double lost_ns =
            fmax(took_ns - (double)pair->times * cost.ns, (double)pair->times * STAND_IN_NS);
        if (cost.known && lost_ns > XFA_LEAST_LOST_NS && lost_ns > least)
            add_pair(findings, analysis, pair, &cost);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct staged *staged = sums;
    return xfw_change_peer_copy(analysis, &staged->down, &staged->up);
}

const struct xfa_finding_kind xfa_kind_staged_peer = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct staged),
    .observe = observe,
    .free = release,
    .met_of = &of_pairs,
    .met_table = offsetof(struct staged, pairs),
    .give = give,
    .take = take,
};
