/*
 * repeated-graph-upload: a graph that is launched again and again copies the same memory of the
 * host to the device each time, and the host had no time to change that memory since the launch
 * before: it has not waited for anything since, or its threads' own time after such waits was too
 * short to write it (at 25 GB/s), and no copy brought anything there. Lost: the time of these
 * copies. Whether kernels of the graph change what was copied is not in the record: a question.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

#define MOST_UPLOADS 256 /* of a process: pairs of places that graphs copy from and to */
#define LEAST_AGAIN 8    /* fewer are no loop */

/* A copy of a graph. */
struct upload {
    uint64_t src, dst, bytes;
    double written_ns; /* the host's time so far, when it was launched last; NAN: changed since */
};

struct thread {
    int32_t tid;        /* key */
    uint64_t waited_at; /* launches of graphs until its last wait, + 1; 0: none */
    uint64_t end_ns;    /* of its last call */
};

struct row_sums {
    uint64_t copies, again, bytes; /* again: of memory that cannot have changed; their bytes */
    uint64_t launches, last;       /* graphs that made them; which one was the last, of a process */
    struct xfa_exact again_time;
};

struct graph_uploads {
    struct row_sums *rows; /* by row number */
    size_t count, capacity;
    struct upload uploads[MOST_UPLOADS]; /* of the process at hand */
    unsigned upload_count;
    struct xfa_table threads;
    uint64_t launches;
    double host_ns; /* time of threads after waits for what was launched last, so far */
};

static struct row_sums *row_of(struct graph_uploads *sums, uint32_t row)
{
    sums->rows = xfa_grown(sums->rows, &sums->capacity, &sums->count, row, sizeof *sums->rows);
    return &sums->rows[row];
}

/* The time until this call of a thread that knows that the last launch is done. */
static struct thread *called(struct graph_uploads *sums, const struct xfa_event *event)
{
    struct thread *thread = xfa_table_put(&sums->threads, &event->tid);
    if (thread->waited_at == sums->launches + 1 && event->start_ns > thread->end_ns)
        sums->host_ns += (double)(event->start_ns - thread->end_ns);
    thread->end_ns = event->end_ns;
    return thread;
}

static struct upload *upload_of(struct graph_uploads *sums, const struct xfa_event *event)
{
    const struct xfa_transfer *copy = &event->transfer;
    for (unsigned i = 0; i < sums->upload_count; i++) {
        struct upload *upload = &sums->uploads[i];
        if (upload->src == copy->src && upload->dst == copy->dst && upload->bytes == event->bytes)
            return upload;
    }
    if (sums->upload_count == MOST_UPLOADS)
        return NULL;
    struct upload *upload = &sums->uploads[sums->upload_count++];
    *upload = (struct upload){copy->src, copy->dst, event->bytes, NAN};
    return upload;
}

static void take_upload(struct graph_uploads *sums, const struct xfa_event *event)
{
    struct upload *upload = upload_of(sums, event);
    struct row_sums *row = row_of(sums, event->transfer.class->row);
    row->copies++;
    if (!upload)
        return;
    double ns = sums->host_ns - upload->written_ns;
    if (ns <= 0 || ns < XFW_READ_NS_PER_BYTE * (double)event->bytes) { /* nor written so much */
        row->again++;
        row->launches += row->last != sums->launches;
        row->last = sums->launches;
        row->bytes = xfa_add(row->bytes, event->bytes);
        xfa_exact_add(&row->again_time,
                      isnan(event->transfer.achieved_ns) ? 0 : event->transfer.achieved_ns);
    }
    upload->written_ns = sums->host_ns;
}

/* Something is copied there, of the host or of the device. */
static void change_memory(struct graph_uploads *sums, uint64_t first, uint64_t bytes)
{
    uint64_t end = xfa_add(first, bytes);
    for (unsigned i = 0; i < sums->upload_count; i++) {
        struct upload *upload = &sums->uploads[i];
        bool source = first < xfa_add(upload->src, upload->bytes) && upload->src < end;
        bool there = first < xfa_add(upload->dst, upload->bytes) && upload->dst < end;
        if (source || there)
            upload->written_ns = NAN;
    }
}

static void transfer(void *self, const struct xfa_event *event)
{
    struct graph_uploads *sums = self;
    const struct xfa_class_key *key = &event->transfer.class->key;
    bool of_graph = event->flags & XFT_GRAPH;
    if (of_graph && key->row.direction == XFT_DIR_H2D && key->shape == XFA_LINEAR) {
        take_upload(sums, event);
        return;
    }
    if (sums->launches == 0)
        return;
    change_memory(sums, event->transfer.dst,
                  key->shape == XFA_LINEAR ? event->bytes : UINT64_MAX - event->transfer.dst);
    struct thread *thread = of_graph ? NULL : called(sums, event);
    if (thread && event->transfer.blocks)
        thread->waited_at = sums->launches + 1;
}

static void event(void *self, const struct xfa_event *event)
{
    struct graph_uploads *sums = self;
    if (sums->launches == 0 && event->kind != XFT_EVENT_GRAPH_LAUNCH)
        return; /* most processes launch none */
    struct thread *thread = called(sums, event);
    if (event->kind == XFT_EVENT_GRAPH_LAUNCH)
        sums->launches++;
    else if (event->kind == XFT_EVENT_SYNC || event->kind == XFT_EVENT_QUERY)
        thread->waited_at = sums->launches + 1;
    else if (event->kind == XFT_EVENT_SET)
        change_memory(sums, event->memory.address, event->bytes);
}

static uint64_t process(void *self, struct xfa_process *process)
{
    struct graph_uploads *sums = self;
    xfa_table_free(&sums->threads);
    xfa_table_init(&sums->threads, sizeof(int32_t), sizeof(struct thread));
    for (size_t i = 0; i < sums->count; i++)
        sums->rows[i].last = 0;
    sums->upload_count = 0;
    sums->launches = 0;
    sums->host_ns = 0;
    return XFA_ALL_KINDS;
}

static struct xfa_observer observe(void *self)
{
    struct graph_uploads *sums = self;
    xfa_table_init(&sums->threads, sizeof(int32_t), sizeof(struct thread));
    return (struct xfa_observer){
        .name = "uploads of graphs",
        .kinds = XFA_KINDS_OF_CALLS,
        .divided = true,
        .self = self,
        .process = process,
        .event = event,
        .transfer = transfer,
    };
}

static void release(void *self)
{
    struct graph_uploads *sums = self;
    xfa_table_free(&sums->threads);
    free(sums->rows);
}

/* ---- members of a team ----------------------------------------------------------------------- */

static void give(const void *self, struct xfa_parcel *parcel)
{
    const struct graph_uploads *sums = self;
    xfa_parcel_number(parcel, sums->count);
    xfa_parcel_put(parcel, sums->rows, sums->count * sizeof *sums->rows);
}

static void take(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct graph_uploads *sums = self;
    size_t count = xfa_unpack_count(from, sizeof(struct row_sums));
    from->bad = from->bad || count > analysis->row_count;
    for (uint32_t i = 0; i < count && !from->bad; i++) {
        struct row_sums more, *into = row_of(sums, i);
        xfa_unpack_bytes(from, &more, sizeof more);
        into->copies += more.copies;
        into->again += more.again;
        into->bytes = xfa_add(into->bytes, more.bytes);
        into->launches += more.launches;
        xfa_exact_merge(&into->again_time, &more.again_time);
    }
}

/* ---- the finding ----------------------------------------------------------------------------- */

static bool look(const struct xfa_analysis *analysis, const void *self, size_t number,
                 struct xfa_gain *gain)
{
    const struct graph_uploads *sums = self;
    const struct row_sums *row = number < sums->count ? &sums->rows[number] : NULL;
    if (!row || row->again < LEAST_AGAIN || 2 * row->again < row->copies)
        return false;
    double again_ns = xfa_exact_value(&row->again_time);
    gain->transfers = row->again;
    gain->bytes = row->bytes;
    gain->achieved_ns = gain->lost_ns = again_ns > 0 ? again_ns : NAN;
    gain->weight_ns = (double)row->bytes * XFA_STAND_IN_NS_PER_BYTE;
    gain->achieved_basis = xfa_achieved_basis(&analysis->rows[number]);
    gain->reckoning = XFA_RECKONED_GRAPH_UPLOAD;
    gain->assumed = "no kernel of the graph changes what was copied, and the host has no other "
                    "thread that writes there";
    gain->question = "no kernel of the graph changes what {site} uploads each time it is launched";
    gain->remedy = xfa_remedy_for(xfa_analysis_row(analysis, number), XFA_REMEDY_BEFORE_GRAPH);
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *self,
                                 const struct xfa_finding *finding)
{
    const struct graph_uploads *sums = self;
    struct xfw_shorter_graph *graphs = xfa_alloc((finding->site_count + 1) * sizeof *graphs);
    for (size_t i = 0; i < finding->site_count; i++) {
        const struct row_sums *row = &sums->rows[finding->sites[i].row->number];
        graphs[i] =
            (struct xfw_shorter_graph){finding->sites[i].site->number,
                                       xfa_exact_value(&row->again_time) / (double)row->launches};
    }
    struct xfw_change *change = xfw_change_shorter_graphs(analysis, graphs, finding->site_count);
    free(graphs);
    return change;
}

const struct xfa_finding_kind xfa_kind_graph_upload = {
    .look = look,
    .change = change,
    .self_bytes = sizeof(struct graph_uploads),
    .observe = observe,
    .free = release,
    .give = give,
    .take = take,
};
