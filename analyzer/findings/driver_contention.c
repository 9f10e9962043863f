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
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

#define MOST_STACKS 16384
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
    uint64_t times;
    double lost_ns;
};

struct contention {
    struct xfw_call_times *times; /* of the process at hand */
    struct xfa_table behind, sites;
};

/* ---- the walk -------------------------------------------------------------------------------- */

static void add_behind(struct contention *self, const struct xfa_event *event,
                       const struct xfw_caller *before)
{
    const struct place place = {event->stack, event->call, event->kind, before->loads};
    if (self->behind.count >= MOST_STACKS && !xfa_table_get(&self->behind, &place))
        return;
    struct behind *behind = xfa_table_put(&self->behind, &place);
    behind->times++;
    behind->ns += xfa_event_ns(event);
}

static void called(struct contention *self, const struct xfa_event *event, bool submits)
{
    const struct xfw_call call = {
        .tid = event->tid,
        .kind = event->kind,
        .name = event->kind == XFT_EVENT_LAUNCH ? event->launch.name : 0,
        .start_ns = (double)event->start_ns,
        .end_ns = (double)event->end_ns,
        .ns = xfa_event_ns(event),
        .submits = submits,
        .captured = (event->flags & XFT_CAPTURED) != 0,
    };
    if (!self->times)
        self->times = xfw_call_times_new();
    const struct xfw_caller *before = xfw_call_times_add(self->times, &call);
    if (before && submits && !call.captured)
        add_behind(self, event, before);
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
    double *alone = self->times ? xfw_call_times_end(self->times) : NULL;
    for (size_t i = 0; alone && i < self->behind.count; i++) {
        const struct behind *behind = xfa_table_at(&self->behind, i);
        double lost = behind->ns - (double)behind->times * alone[behind->key.kind];
        if (!(lost > 0))
            continue;
        const struct site_key key = {xfa_process_site(process, behind->key.stack)->number,
                                     xfa_process_function(process, behind->key.call)->number,
                                     behind->key.loading};
        struct site *site = xfa_table_put(&self->sites, &key);
        site->times += behind->times;
        site->lost_ns += lost;
    }
    xfa_table_free(&self->behind);
    xfa_table_init(&self->behind, sizeof(struct place), sizeof(struct behind));
    xfw_call_times_free(self->times);
    self->times = NULL;
    free(process->calls_ns);
    process->calls_ns = alone;
}

static struct xfa_observer observe(void *of)
{
    struct contention *self = of;
    xfa_table_init(&self->behind, sizeof(struct place), sizeof(struct behind));
    xfa_table_init(&self->sites, sizeof(struct site_key), sizeof(struct site));
    return (struct xfa_observer){
        .name = "driver contention",
        .aside = true,
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
    xfw_call_times_free(self->times);
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
                .lost_ns = of->lost_ns,
                .reckoning = XFA_RECKONED_CONTENDED,
            };
            if ((of->key.loading != 0) != loads)
                continue;
            if (add)
                xfa_findings_add_site(findings, loads ? &loading : &submitting, &site);
            lost += of->lost_ns;
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
    (void)sums;
    return xfw_change_no_contention(analysis, finding->remedy.kind == XFA_REMEDY_LOAD_EARLY);
}

const struct xfa_finding_kind xfa_kind_contention = {
    .find = find,
    .try = try,
    .change = change,
    .self_bytes = sizeof(struct contention),
    .observe = observe,
    .free = release,
};
