/*
 * driver-contention: calls that submit work (launches, asynchronous copies, memsets, events) and
 * take longer while a call of another thread is under way, since the driver lets in one at a time.
 * Lost: what they took beyond such calls alone: the median of those of their kind during which no
 * other thread had a call; where there are hardly any, what the quickest tenth took.
 *
 * That alone is no waste: threads that take turns in the driver may still do more together than one
 * (tests/pairs/39). So the finding is tried, and stays if the replayed run gains even where each
 * call still waits for the others as long as these take alone.
 *
 * Where the other call is the first launch of a kernel, in which the driver loads it, that may go
 * by loading it before: a finding of its own, with a question, as the loading itself stays.
 *
 * Only calls of one process are seen. Launches are recorded without their call sites.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"
#include "analyzer/whatif/changes/changes.h"

#define MOST_STACKS 16384
#define BUCKETS 256 /* of times, eight to a factor of two */
#define LEAST_ALONE 16
#define LEAST_BEHIND 32 /* calls */

struct place { /* a key: without a byte that is not set */
    uint32_t stack, call;
    uint16_t kind, loading;
};

struct behind { /* calls of one place that were made behind another thread's */
    struct place key;
    uint64_t times;
    double ns;
};

struct site {
    struct site_key {
        uint32_t site, function;
        uint32_t loading;
    } key;
    struct xfa_met met;
    uint64_t times;
    struct xfa_exact lost;
};

struct kind {
    uint32_t all[BUCKETS], alone[BUCKETS];
    uint64_t all_count, alone_count;
};

struct last { /* call of a thread */
    int32_t tid;
    uint8_t kind;
    bool submits, crowded, behind;
    uint32_t stack, call;
    bool loading; /* behind a kernel's first launch */
    double ns;
};

struct contention {
    struct xfw_callers callers; /* who is in the driver */
    struct last last[XFW_CALLERS];
    unsigned count;
    struct kind *kinds; /* by enum xft_event_kind */
    struct xfa_table behind, sites;
    struct xfw_alone alone; /* by process */
};

/* ---- times ----------------------------------------------------------------------------------- */

static unsigned bucket_of(double ns)
{
    double place = 8 * log2(fmax(1, ns));
    return place < BUCKETS - 1 ? (unsigned)place : BUCKETS - 1;
}

static double quantile(const uint32_t *buckets, uint64_t count, double part)
{
    uint64_t before = 0, wanted = (uint64_t)(part * (double)count);
    unsigned i = 0;
    while (i + 1 < BUCKETS && before + buckets[i] <= wanted)
        before += buckets[i++];
    return exp2((i + 0.5) / 8);
}

static double alone_of(const struct kind *kind)
{
    if (kind->alone_count >= LEAST_ALONE)
        return quantile(kind->alone, kind->alone_count, 0.5);
    return kind->all_count >= LEAST_ALONE ? quantile(kind->all, kind->all_count, 0.1) : INFINITY;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* All of it is known: the thread makes its next call, or the process ends. */
static void add_last(struct contention *self, const struct last *last)
{
    struct kind *kind = &self->kinds[last->kind];
    if (!last->submits)
        return;
    unsigned bucket = bucket_of(last->ns);
    kind->all[bucket]++;
    kind->all_count++;
    if (!last->crowded) {
        kind->alone[bucket]++;
        kind->alone_count++;
    }
    const struct place place = {last->stack, last->call, last->kind, last->loading};
    if (!last->behind ||
        (self->behind.count >= MOST_STACKS && !xfa_table_get(&self->behind, &place)))
        return;
    struct behind *behind = xfa_table_put(&self->behind, &place);
    behind->times++;
    behind->ns += last->ns;
}

static struct last *last_of(struct contention *self, int32_t tid)
{
    for (unsigned i = 0; i < self->count; i++)
        if (self->last[i].tid == tid)
            return &self->last[i];
    return self->count < XFW_CALLERS ? &self->last[self->count] : NULL;
}

static void called(struct contention *self, const struct xfa_event *event, bool submits)
{
    const struct xfw_call call = {
        .tid = event->tid,
        .kind = event->kind,
        .name = event->kind == XFT_EVENT_LAUNCH ? event->launch.name : 0,
        .start_ns = (double)event->start_ns,
        .end_ns = (double)event->end_ns,
        .submits = submits,
    };
    struct last *last = last_of(self, event->tid);
    if (!last)
        return;
    if (last == &self->last[self->count])
        self->count++;
    else
        add_last(self, last);
    const struct xfw_caller *before = xfw_callers_add(&self->callers, &call);
    *last = (struct last){
        .tid = event->tid,
        .kind = event->kind,
        .submits = submits && !(event->flags & XFT_CAPTURED),
        .behind = before != NULL,
        .loading = before && before->loads,
        .stack = event->stack,
        .call = event->call,
        .ns = xfa_event_ns(event),
    };
    /* Both lists get their threads here, so each has the same place in both. */
    for (unsigned i = 0; i < self->count; i++) {
        struct last *other = &self->last[i];
        if (other != last && self->callers.items[i].end_ns > call.start_ns)
            last->crowded = other->crowded = true;
    }
}

static void event(void *of, const struct xfa_event *event)
{
    called(of, event, xfw_submits(event->kind));
}

static void transfer(void *of, const struct xfa_event *event)
{
    const struct xfa_class_key *key = &event->transfer.class->key;
    called(of, event, key->row.async && !xfa_row_pageable(&key->row));
}

static void end(void *of, struct xfa_process *process)
{
    struct contention *self = of;
    double alone[XFW_KINDS];
    for (unsigned i = 0; i < self->count; i++)
        add_last(self, &self->last[i]);
    for (unsigned i = 0; i < XFW_KINDS; i++)
        alone[i] = alone_of(&self->kinds[i]);
    xfw_alone_add(&self->alone, process->number, alone);
    for (size_t i = 0; i < self->behind.count; i++) {
        const struct behind *behind = xfa_table_at(&self->behind, i);
        double lost = behind->ns - (double)behind->times * alone[behind->key.kind];
        if (!(lost > 0))
            continue;
        const struct site_key key = {xfa_process_site(process, behind->key.stack)->number,
                                     xfa_process_function(process, behind->key.call)->number,
                                     behind->key.loading};
        struct site *site = xfa_table_put(&self->sites, &key);
        if (site->times == 0)
            site->met.process = process->number;
        site->times += behind->times;
        xfa_exact_add(&site->lost, lost);
    }
    xfa_table_free(&self->behind);
    xfa_table_init(&self->behind, sizeof(struct place), sizeof(struct behind));
    memset(self->kinds, 0, XFW_KINDS * sizeof *self->kinds);
    xfw_callers_free(&self->callers);
    self->count = 0;
}

static struct xfa_observer observe(void *of)
{
    struct contention *self = of;
    self->kinds = xfa_alloc(XFW_KINDS * sizeof *self->kinds);
    xfa_table_init(&self->behind, sizeof(struct place), sizeof(struct behind));
    xfa_table_init(&self->sites, sizeof(struct site_key), sizeof(struct site));
    return (struct xfa_observer){
        .name = "driver contention",
        .aside = true,
        .divided = true,
        .kinds = XFW_CALLERS_KINDS,
        .self = self,
        .event = event,
        .transfer = transfer,
        .end = end,
    };
}

static void release(void *of)
{
    struct contention *self = of;
    xfa_table_free(&self->behind);
    xfa_table_free(&self->sites);
    xfw_callers_free(&self->callers);
    xfw_alone_free(&self->alone);
    free(self->kinds);
}

/* ---- members of a team ----------------------------------------------------------------------- */

static bool is_good(const void *analysis, const void *item)
{
    const struct site *site = item;
    return xfa_divided_site(analysis, site->key.site) &&
           xfa_divided_function(analysis, site->key.function);
}

static void add(void *item, const void *more)
{
    struct site *into = item;
    const struct site *from = more;
    into->times += from->times;
    xfa_exact_merge(&into->lost, &from->lost);
}

static const struct xfa_met_table of_sites = {offsetof(struct site, met), is_good, add};

/* What calls take alone, of all processes: nothing of those of other members is known. */
static void give(const void *of, struct xfa_parcel *parcel)
{
    const struct contention *self = of;
    xfa_parcel_number(parcel, self->alone.count);
    xfa_parcel_put(parcel, self->alone.items, self->alone.count * sizeof *self->alone.items);
}

static void take(void *of, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct contention *self = of;
    size_t count = xfa_unpack_count(from, sizeof *self->alone.items);
    from->bad = from->bad || count > analysis->run->process_count;
    for (uint32_t i = 0; i < count && !from->bad; i++) {
        struct xfw_alone_of alone;
        xfa_unpack_bytes(from, &alone, sizeof alone);
        if (alone.ns[0] > 0) /* of a process of who gave it */
            xfw_alone_add(&self->alone, i, alone.ns);
    }
}

/* ---- the finding ----------------------------------------------------------------------------- */

static const struct xfa_finding submitting = {
    .id = XFA_FINDING_CONTENTION,
    .remedy = {.kind = XFA_REMEDY_FEWER_CALLS, .node = -1},
    .assumed = "the threads do nothing else between these calls that would take them longer in one",
};

static const struct xfa_finding loading = {
    .id = XFA_FINDING_CONTENTION,
    .remedy = {.kind = XFA_REMEDY_LOAD_EARLY, .node = -1},
    .question = "there is time to load kernels before threads wait for them ({site})",
};

static void add_sites(const struct xfa_analysis *analysis, const struct contention *self,
                      struct xfa_findings *findings, bool loads)
{
    double lost = 0;
    uint64_t times = 0;
    for (int add = 0; add < 2; add++) {
        for (size_t i = 0; i < self->sites.count; i++) {
            const struct site *of = xfa_table_at(&self->sites, i);
            const struct xfa_finding_site site = {
                .site = xfa_run_site(analysis->run, of->key.site),
                .function = xfa_run_function(analysis->run, of->key.function),
                .transfers = of->times,
                .lost_ns = xfa_exact_value(&of->lost),
                .reckoning = XFA_RECKONED_CONTENDED,
            };
            if ((of->key.loading != 0) != loads)
                continue;
            if (add)
                xfa_findings_add_site(findings, loads ? &loading : &submitting, &site);
            lost += site.lost_ns;
            times += of->times;
        }
        if (lost <= xfa_findings_least_ns(analysis) || (!loads && times < LEAST_BEHIND))
            return;
    }
}

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    add_sites(analysis, sums, findings, true);
}

static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    add_sites(analysis, sums, findings, false);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct contention *self = sums;
    return xfw_change_no_contention(analysis, &self->alone,
                                    finding->remedy.kind == XFA_REMEDY_LOAD_EARLY);
}

const struct xfa_finding_kind xfa_kind_contention = {
    .find = find,
    .try = try,
    .change = change,
    .self_bytes = sizeof(struct contention),
    .observe = observe,
    .free = release,
    .met_of = &of_sites,
    .met_table = offsetof(struct contention, sites),
    .give = give,
    .take = take,
};
