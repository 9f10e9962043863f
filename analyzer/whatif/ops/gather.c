#include "analyzer/whatif/ops/gather.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/team.h"
#include "analyzer/whatif/ops/jobs.h"
#include "analyzer/whatif/ops/ops.h"
#include "xferscope/trace.h"

struct xfw_gather {
    struct xfw_gather_sink sink; /* its functions are NULL: there is none */
    bool plays, samples;
    unsigned level;              /* of samples */
    bool messages, has_messages; /* they are ops; any came */
    struct xfw_ops *ops;
    size_t most;               /* bytes that may be kept */
    struct xfw_op_store *kept; /* NULL: nothing is kept */
    struct xfw_gathered *processes;
    size_t count, capacity;
    struct xfw_gathered *at; /* the process at hand */
    bool maps;               /* it allocates mapped memory */
    struct xfw_op *batch;
    size_t batch_count;
};

/* Nobody would have what comes. */
static void give_up(struct xfw_gather *gather)
{
    xfw_op_store_free(gather->kept);
    gather->kept = NULL;
    if (!gather->plays)
        xfw_ops_stop(gather->ops);
}

/* ---- as recorded ----------------------------------------------------------------------------- */

static void note_range(struct xfw_gathered *at, const struct xfw_op *op)
{
    if (!at->ranges)
        at->ranges = xfa_alloc(XFW_RANGES * sizeof *at->ranges);
    xfw_phase_time_take(&at->ranges[op->range], op, op->start_ns);
}

static void note_span(struct xfw_gathered *at, const struct xfw_op *op)
{
    bool work = xfw_op_is_work(op);
    if (work && !at->worked) {
        at->worked = true;
        at->first_work = at->last_work = op->start_ns;
    }
    if (work || op->kind == XFT_EVENT_SYNC || op->kind == XFT_EVENT_QUERY) {
        at->last_work = xfw_max(at->last_work, op->end_ns);
        xfw_contexts_work(&at->contexts, op->start_ns, xfw_max(op->end_ns, op->device_end_ns));
    } else if (xfw_op_makes_context(op)) {
        xfw_contexts_make(&at->contexts, op, op->end_ns);
    }
}

double xfw_gathered_range_ns(const struct xfw_gathered *gathered, uint32_t number)
{
    return gathered->ranges ? xfw_phase_time_ns(&gathered->ranges[number], gathered->last_ns) : 0;
}

/* ---- batches --------------------------------------------------------------------------------- */

static void end_batch(struct xfw_gather *gather, bool last)
{
    const struct xfw_stretch *stretch = NULL;
    size_t count = gather->batch_count;
    gather->batch_count = 0;
    if (gather->at->sample) {
        stretch = xfw_sample_take(gather->at->sample, gather->batch, count, last);
        count = stretch->ops;
    }
    bool apart = gather->kept && stretch && xfw_stretch_is_apart(stretch);
    if (apart)
        xfw_op_store_apart(gather->kept);
    for (size_t i = 0; i < count && gather->kept; i++)
        xfw_op_store_add(gather->kept, &gather->batch[i]);
    if (apart)
        xfw_op_store_apart_over(gather->kept);
    if (gather->plays)
        gather->sink.batch(gather->sink.self, gather->batch, count, stretch);
    if (gather->kept && !xfw_op_store_all(gather->kept))
        give_up(gather);
}

/* Times of ranges are sums over all that they have in them, and each message is waited for: nothing
 * may be left out. */
static void leave_nothing_out(struct xfw_gather *gather)
{
    if (xfw_sample_has_left(gather->at->sample))
        give_up(gather);
    xfw_sample_free(gather->at->sample);
    gather->at->sample = NULL;
}

/* Ranks that are played together are read side by side: from memory alone. */
static void meet_message(struct xfw_gather *gather)
{
    gather->has_messages = true;
    if (gather->kept && xfw_op_store_has_spilled(gather->kept))
        give_up(gather);
    else if (gather->kept)
        xfw_op_store_spills(gather->kept, false);
}

static void take_op(void *self, const struct xfw_op *op)
{
    struct xfw_gather *gather = self;
    struct xfw_gathered *at = gather->at;
    note_span(at, op);
    if (at->jobs)
        xfw_jobs_note(at->jobs, op);
    at->threads = at->threads || op->thread > 0;
    gather->maps = gather->maps || (op->kind == XFT_EVENT_ALLOC && op->memory == XFT_MEM_MAPPED);
    at->last_ns = xfw_max(at->last_ns, op->end_ns);
    if (op->what == XFW_RANGE && op->range < XFW_RANGES)
        note_range(at, op);
    bool message = op->what == XFW_MESSAGE || op->correlation;
    if (message && !gather->has_messages)
        meet_message(gather);
    if ((op->what == XFW_RANGE || message) && at->sample)
        leave_nothing_out(gather);
    gather->batch[gather->batch_count++] = *op;
    if (gather->batch_count == XFW_BATCH)
        end_batch(gather, false);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Of the events of long processes about so many are calls; the others are the device's records. */
static uint64_t calls_of(const struct xfa_process *process)
{
    return process->events / 4 * 3;
}

static void begin_process(void *self, struct xfa_process *process)
{
    struct xfw_gather *gather = self;
    gather->processes = xfa_grown(gather->processes, &gather->capacity, &gather->count,
                                  process->number, sizeof *gather->processes);
    gather->at = &gather->processes[process->number];
    process->again = true;
    gather->maps = false;
    xfw_sample_free(gather->at->sample);
    free(gather->at->ranges);
    xfw_jobs_free(gather->at->jobs);
    *gather->at = (struct xfw_gathered){0};
    if (gather->kept)
        gather->at->jobs = xfw_jobs_new();
    if (gather->samples && !process->has_ranges && !(gather->messages && process->has_messages))
        gather->at->sample = xfw_sample_new(calls_of(process));
    if (gather->at->sample)
        xfw_sample_at_level(gather->at->sample, gather->level);
    if (gather->plays)
        gather->sink.process(gather->sink.self, process);
}

static void end_process(void *self, struct xfa_process *process, double end_ns)
{
    struct xfw_gather *gather = self;
    uint64_t ranges[XFW_RANGES];
    end_batch(gather, true);
    if (gather->at->jobs && (!gather->kept || !xfw_jobs_decide(gather->at->jobs))) {
        xfw_jobs_free(gather->at->jobs);
        gather->at->jobs = NULL;
    }
    if (!gather->plays) /* else they were played without */
        xfw_ops_decide_paces(gather->ops);
    for (uint32_t r = 0; r < XFW_RANGES; r++)
        if (!xfw_ops_range_name(gather->ops, r, &ranges[r]))
            ranges[r] = XFW_NO_RANGE;
    if (gather->kept)
        xfw_op_store_end(gather->kept, end_ns, ranges);
    if (gather->plays)
        gather->sink.end(gather->sink.self, process, end_ns, ranges);
    gather->at->over = true;
    process->maps_none = !gather->maps && (gather->kept || gather->plays); /* else few ops came */
}

/* ---- the door -------------------------------------------------------------------------------- */

struct xfw_gather *xfw_gather_new(size_t most, bool samples, const struct xfw_gather_sink *sink)
{
    struct xfw_gather *gather = xfa_alloc(sizeof *gather);
    gather->plays = sink != NULL;
    gather->samples = samples;
    if (sink)
        gather->sink = *sink;
    gather->most = most;
    gather->kept = most ? xfw_op_store_new(most) : NULL;
    if (gather->kept)
        xfw_op_store_spills(gather->kept, samples || sink);
    gather->batch = xfa_alloc(XFW_BATCH * sizeof *gather->batch);
    const struct xfw_sink ops = {begin_process, take_op, end_process, gather};
    gather->ops = xfw_ops_new(&ops);
    gather->messages = gather->kept && !sink;
    if (gather->messages)
        xfw_ops_take_messages(gather->ops);
    if (!gather->kept)
        give_up(gather);
    return gather;
}

void xfw_gather_free(struct xfw_gather *gather)
{
    if (!gather)
        return;
    for (size_t i = 0; i < gather->count; i++) {
        xfw_sample_free(gather->processes[i].sample);
        free(gather->processes[i].ranges);
        xfw_jobs_free(gather->processes[i].jobs);
    }
    free(gather->processes);
    xfw_ops_free(gather->ops);
    xfw_op_store_free(gather->kept);
    free(gather->batch);
    free(gather);
}

struct xfa_observer xfw_gather_observer(struct xfw_gather *gather)
{
    struct xfa_observer observer = xfw_ops_observer(gather->ops);
    observer.aside = !gather->plays; /* who plays looks for sites */
    observer.apart = true;
    observer.shared = true;
    return observer;
}

/* ---- members of a team ----------------------------------------------------------------------- */

enum { AT_ONCE = 4 << 20 }; /* bytes that all members together give in one exchange */

/* Of one process. */
struct part {
    struct xfa_parcel ops;  /* of another member's as far as they have come */
    uint64_t first, behind; /* where they lie among those of all processes, in bytes */
    double end_ns;
    uint64_t ranges[XFW_RANGES];
};

struct exchange {
    struct xfw_gather *gather;
    const struct xfa_run *run;
    struct part *parts;
    struct xfw_op_store *store; /* of all */
    size_t stored;              /* processes that are in it */
    bool has_messages;
};

static bool is_own(const struct exchange *x, size_t process)
{
    return x->run->processes[process]->share == x->run->team->rank;
}

static void refuse(const struct exchange *x, uint32_t rank)
{
    struct xfa_team *team = x->run->team;
    team->fail(team->self, xfa_print("the calls of rank %u are none that rank %u can play: let one "
                                     "of them analyze",
                                     rank, team->rank));
}

static void give_process(const struct exchange *x, size_t process, size_t place,
                         struct xfa_parcel *heads)
{
    const struct xfw_gathered *of = &x->gather->processes[process];
    struct part *part = &x->parts[process];
    struct xfw_op_reader *reader = xfw_op_reader_new(x->gather->kept, place);
    memcpy(part->ranges, xfw_op_reader_over(reader, &part->end_ns), sizeof part->ranges);
    xfw_op_reader_free(reader);
    xfw_op_store_give(x->gather->kept, place, &part->ops);
    xfa_parcel_number(heads, part->ops.count);
    xfa_parcel_real(heads, part->end_ns);
    xfa_parcel_put(heads, part->ranges, sizeof part->ranges);
    xfa_parcel_number(heads, of->threads);
    xfa_parcel_number(heads, of->worked);
    xfa_parcel_real(heads, of->last_ns);
    xfa_parcel_real(heads, of->first_work);
    xfa_parcel_real(heads, of->last_work);
    xfa_parcel_real(heads, of->contexts.ns);
    xfa_parcel_number(heads, of->contexts.gpus);
    xfa_parcel_number(heads, of->ranges != NULL);
    if (of->ranges)
        xfa_parcel_put(heads, of->ranges, XFW_RANGES * sizeof *of->ranges);
}

static void take_process(const struct exchange *x, size_t process, struct xfa_unpacking *from)
{
    struct xfw_gather *gather = x->gather;
    struct part *part = &x->parts[process];
    gather->processes = xfa_grown(gather->processes, &gather->capacity, &gather->count, process,
                                  sizeof *gather->processes);
    struct xfw_gathered *of = &gather->processes[process];
    free(of->ranges);
    xfw_jobs_free(of->jobs);
    *of = (struct xfw_gathered){.over = true};
    part->behind = xfa_unpack_number(from); /* for now how many they are */
    part->end_ns = xfa_unpack_real(from);
    xfa_unpack_bytes(from, part->ranges, sizeof part->ranges);
    of->threads = xfa_unpack_number(from) != 0;
    of->worked = xfa_unpack_number(from) != 0;
    of->last_ns = xfa_unpack_real(from);
    of->first_work = xfa_unpack_real(from);
    of->last_work = xfa_unpack_real(from);
    of->contexts.ns = xfa_unpack_real(from);
    of->contexts.gpus = xfa_unpack_number(from);
    if (xfa_unpack_number(from) == 0)
        return;
    of->ranges = xfa_alloc(XFW_RANGES * sizeof *of->ranges);
    xfa_unpack_bytes(from, of->ranges, XFW_RANGES * sizeof *of->ranges);
}

/* All but the ops. */
static void exchange_heads(struct exchange *x)
{
    struct xfa_parcel mine = {0};
    size_t place = 0;
    xfa_parcel_number(&mine, x->gather->has_messages);
    for (size_t i = 0; i < x->run->process_count; i++)
        if (is_own(x, i))
            give_process(x, i, place++, &mine);
    struct xfa_parcel *all = xfa_team_exchange(x->run->team, "processes to play", &mine);
    for (uint32_t rank = 0; rank < x->run->team->count; rank++) {
        struct xfa_unpacking from = xfa_unpack(&all[rank]);
        x->has_messages = xfa_unpack_number(&from) != 0 || x->has_messages;
        for (size_t i = 0; i < x->run->process_count; i++)
            if (x->run->processes[i]->share == rank)
                take_process(x, i, &from);
        if (from.bad || from.left > 0)
            refuse(x, rank);
    }
    xfa_team_free_parcels(x->run->team, all);
    xfa_parcel_free(&mine);
}

static uint64_t place_parts(const struct exchange *x)
{
    uint64_t all = 0;
    for (size_t i = 0; i < x->run->process_count; i++) {
        x->parts[i].first = all;
        all = x->parts[i].behind = all + x->parts[i].behind;
    }
    return all;
}

/* How many of the bytes from `at` on, at most AT_ONCE, are of the process, and where they begin in
 * it. */
static uint64_t slice(const struct part *part, uint64_t at, uint64_t *begin)
{
    uint64_t first = part->first > at ? part->first : at;
    uint64_t behind = part->behind < at + AT_ONCE ? part->behind : at + AT_ONCE;
    *begin = first - part->first;
    return behind > first ? behind - first : 0;
}

/* Processes whose ops have all come. */
static void store_until(struct exchange *x, uint64_t behind)
{
    for (; x->stored < x->run->process_count; x->stored++) {
        struct part *part = &x->parts[x->stored];
        if (part->behind > behind)
            return;
        if (!xfw_op_store_take(x->store, &part->ops))
            refuse(x, x->run->processes[x->stored]->share);
        xfw_op_store_end(x->store, part->end_ns, part->ranges);
        xfa_parcel_free(&part->ops);
    }
}

static void exchange_ops_from(struct exchange *x, uint64_t at)
{
    struct xfa_parcel mine = {0};
    uint64_t begin, bytes;
    for (size_t i = x->stored; i < x->run->process_count; i++)
        if (is_own(x, i) && (bytes = slice(&x->parts[i], at, &begin)) > 0)
            xfa_parcel_put(&mine, x->parts[i].ops.bytes + begin, bytes);
    struct xfa_parcel *all = xfa_team_exchange(x->run->team, "calls to play", &mine);
    size_t *taken = xfa_alloc(x->run->team->count * sizeof *taken);
    for (size_t i = x->stored; i < x->run->process_count; i++) {
        uint32_t rank = x->run->processes[i]->share;
        bytes = slice(&x->parts[i], at, &begin);
        if (bytes > all[rank].count - taken[rank])
            refuse(x, rank);
        if (!is_own(x, i))
            xfa_parcel_put(&x->parts[i].ops, all[rank].bytes + taken[rank], bytes);
        taken[rank] += bytes;
    }
    free(taken);
    xfa_team_free_parcels(x->run->team, all);
    xfa_parcel_free(&mine);
    store_until(x, at + AT_ONCE);
}

bool xfw_gather_exchange(struct xfw_gather *gather, const struct xfa_run *run)
{
    struct exchange x = {.gather = gather, .run = run, .store = xfw_op_store_new(gather->most)};
    x.parts = xfa_alloc((run->process_count + 1) * sizeof *x.parts);
    exchange_heads(&x);
    uint64_t all = place_parts(&x);
    for (uint64_t at = 0; at < all; at += AT_ONCE)
        exchange_ops_from(&x, at);
    store_until(&x, all);
    bool done = xfa_team_all(run->team, xfw_op_store_all(x.store));
    if (done) {
        xfw_op_store_free(gather->kept);
        gather->kept = x.store;
        gather->has_messages = x.has_messages;
    } else {
        xfw_op_store_free(x.store);
    }
    free(x.parts);
    return done;
}

/* ---- what is there --------------------------------------------------------------------------- */

bool xfw_gather_has_messages(const struct xfw_gather *gather)
{
    return gather->has_messages;
}

size_t xfw_gather_most(const struct xfw_gather *gather)
{
    return gather->most;
}

struct xfw_op_store *xfw_gather_kept(struct xfw_gather *gather, const struct xfa_run *run)
{
    for (size_t i = 0; i < run->process_count; i++)
        if (xfa_process_is_mine(run->processes[i]) && !xfw_gather_has(gather, (uint32_t)i))
            return NULL;
    return gather->kept;
}

bool xfw_gather_left_out(const struct xfw_gather *gather)
{
    for (size_t i = 0; i < gather->count; i++)
        if (gather->processes[i].sample)
            return true;
    return false;
}

void xfw_gather_at_level(struct xfw_gather *gather, unsigned level)
{
    gather->level = level;
    for (size_t i = 0; i < gather->count; i++)
        if (gather->processes[i].sample)
            xfw_sample_at_level(gather->processes[i].sample, level);
}

bool xfw_gather_has_more(const struct xfw_gather *gather)
{
    for (size_t i = 0; i < gather->count; i++)
        if (gather->processes[i].sample && xfw_sample_has_more(gather->processes[i].sample))
            return true;
    return false;
}

struct xfw_gathered *xfw_gather_of(struct xfw_gather *gather, uint32_t process)
{
    return &gather->processes[process];
}

bool xfw_gather_has(const struct xfw_gather *gather, uint32_t process)
{
    return process < gather->count && gather->processes[process].over;
}

size_t xfw_gather_count(const struct xfw_gather *gather)
{
    return gather->count;
}
