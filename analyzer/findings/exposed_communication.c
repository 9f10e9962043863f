/*
 * exposed-communication: time in calls of MPI that block, and in those that wait for requests, and
 * of NCCL's kernels, while no other kernel of the process runs. Lost: that time, at most as long as
 * the process's other kernels run: with no more work than that it could overlap. Whether the work
 * of the GPU needs what is received, the record does not show: a question.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/kernel_parts.h"

#define MOST_KERNELS (1u << 20) /* of NCCL, of a process; others count as work */
#define MOST_CALLS 256          /* under way at one time; further ones are left out */
#define MOST_SITES 16384

struct site_key {
    uint32_t site, function;
};

struct exposed_site {
    struct site_key key;
    uint64_t times, bytes;
    double ns;
    bool kernels; /* of NCCL's kernels, not of calls */
};

/* Calls of NCCL whose kernel has not been met. */
struct nccl_call {
    uint64_t correlation; /* key */
    struct site_key of;   /* the first one */
    uint64_t bytes;
};

/* A call, or a kernel of NCCL, whose end the walk has not reached. */
struct call {
    struct site_key key;
    bool kernel; /* not a call */
    uint64_t start_ns, end_ns;
    uint64_t until_ns; /* what is known of its time */
    uint64_t bytes;
    int32_t tid;
    double ns; /* exposed, up to there */
};

struct place {
    struct site_key key;
    uint32_t process;
    bool kernel;
    int32_t tid;
    double at_ns, ns;
};

struct exposed_calls {
    struct xfa_table sites; /* struct exposed_site */
    struct xfa_table nccl;  /* struct nccl_call; of the process */
    struct call calls[MOST_CALLS];
    unsigned count;
    uint64_t busy_until_ns; /* kernels, as far as they were met */
    double kernels_ns;      /* of the process, those at one time counted once */
    struct place *places;
    size_t place_count, place_capacity, first_place; /* the process's first */
    bool beyond;
    bool touched; /* the process at hand, or the one before, has such calls */
    const struct xfa_process *process;
};

/* ---- calls ----------------------------------------------------------------------------------- */

static void add_place(struct exposed_calls *self, const struct call *call)
{
    uint64_t from = self->process->start_mono_ns;
    if (self->place_count >= XFW_MOST_CUTS) {
        self->beyond = true;
        return;
    }
    self->places =
        xfa_room(self->places, &self->place_capacity, self->place_count + 1, sizeof *self->places);
    self->places[self->place_count++] = (struct place){
        .key = call->key,
        .process = self->process->number,
        .kernel = call->kernel,
        .tid = call->tid,
        .at_ns = call->start_ns > from ? (double)(call->start_ns - from) : 0,
        .ns = call->ns,
    };
}

static void end_call(struct exposed_calls *self, unsigned i)
{
    struct call *call = &self->calls[i];
    if (self->sites.count < MOST_SITES || xfa_table_get(&self->sites, &call->key)) {
        struct exposed_site *site = xfa_table_put(&self->sites, &call->key);
        site->times++;
        site->kernels = call->kernel;
        site->bytes = xfa_add(site->bytes, call->bytes);
        if (call->ns > 0)
            add_place(self, call);
    }
    self->calls[i] = self->calls[--self->count];
}

/* Nothing runs between what is known and `until`. */
static void idle(struct call *call, uint64_t until_ns)
{
    uint64_t until = until_ns < call->end_ns ? until_ns : call->end_ns;
    if (until > call->until_ns) {
        call->ns += (double)(until - call->until_ns);
        call->until_ns = until;
    }
}

/* All events up to this time have been met. */
static void reach(struct exposed_calls *self, uint64_t now_ns)
{
    for (unsigned i = self->count; i-- > 0;) {
        idle(&self->calls[i], now_ns);
        if (self->calls[i].end_ns <= now_ns)
            end_call(self, i);
    }
}

static void ran(struct exposed_calls *self, const struct xfa_event *event)
{
    uint64_t from = event->start_ns > self->busy_until_ns ? event->start_ns : self->busy_until_ns;
    reach(self, event->start_ns);
    if (event->end_ns <= from)
        return;
    self->kernels_ns += (double)(event->end_ns - from);
    self->busy_until_ns = event->end_ns;
    for (unsigned i = 0; i < self->count; i++) {
        struct call *call = &self->calls[i];
        if (event->end_ns > call->until_ns)
            call->until_ns = event->end_ns < call->end_ns ? event->end_ns : call->end_ns;
    }
}

/* Something that no kernel may run beside begins now. */
static void begin_call(struct exposed_calls *self, struct call call)
{
    reach(self, call.start_ns);
    if (call.end_ns <= call.start_ns || self->count == MOST_CALLS)
        return;
    call.until_ns = call.start_ns;
    if (self->busy_until_ns > call.until_ns)
        call.until_ns = self->busy_until_ns < call.end_ns ? self->busy_until_ns : call.end_ns;
    self->calls[self->count++] = call;
}

static uint64_t bytes_of(const struct xfa_event *event)
{
    return event->bytes > event->message.arrives ? event->bytes : event->message.arrives;
}

static struct site_key key_of(const struct xfa_event *event)
{
    return (struct site_key){xfa_site_of(event)->number, xfa_function_of(event)->number};
}

static void called(struct exposed_calls *self, const struct xfa_event *event)
{
    reach(self, event->start_ns);
    if (event->flags & XFT_ASYNC)
        return;
    begin_call(self, (struct call){.key = key_of(event),
                                   .start_ns = event->start_ns,
                                   .end_ns = event->end_ns,
                                   .bytes = bytes_of(event),
                                   .tid = event->tid});
}

/* ---- kernels of NCCL ------------------------------------------------------------------------- */

static void called_nccl(struct exposed_calls *self, const struct xfa_event *event)
{
    const uint64_t key = event->correlation;
    struct nccl_call *call = xfa_table_get(&self->nccl, &key);
    if (key == 0 || (!call && self->nccl.count >= MOST_KERNELS))
        return;
    if (!call) {
        call = xfa_table_put(&self->nccl, &key);
        call->of = key_of(event);
    }
    call->bytes = xfa_add(call->bytes, bytes_of(event));
}

static void took(struct exposed_calls *self, const struct xfa_event *event)
{
    const uint64_t key = event->correlation;
    const struct nccl_call *call = key ? xfa_table_get(&self->nccl, &key) : NULL;
    if (!call) {
        ran(self, event);
        return;
    }
    begin_call(self, (struct call){.key = call->of,
                                   .kernel = true,
                                   .start_ns = event->start_ns,
                                   .end_ns = event->end_ns,
                                   .bytes = call->bytes,
                                   .tid = event->tid});
}

/* ---- the observer ---------------------------------------------------------------------------- */

static void event(void *of, const struct xfa_event *event)
{
    struct exposed_calls *self = of;
    if (event->kind == XFT_EVENT_KERNEL)
        took(self, event);
    else if (event->message.level == XFT_LEVEL_MPI)
        called(self, event);
    else
        called_nccl(self, event);
    self->touched = self->touched || event->kind != XFT_EVENT_KERNEL;
}

static uint64_t process(void *of, struct xfa_process *process)
{
    struct exposed_calls *self = of;
    const char *kernels = xfa_trace_meta(process->trace, "kernels");
    self->process = process;
    self->touched = false;
    self->busy_until_ns = 0;
    self->kernels_ns = 0;
    self->count = 0;
    self->first_place = self->place_count;
    xfa_table_init(&self->nccl, sizeof(uint64_t), sizeof(struct nccl_call));
    bool known = kernels && strcmp(kernels, "on") == 0 &&
                 !xfa_trace_meta(process->trace, "budget.kernels_until_ns");
    return known ? XFA_ALL_KINDS : 0;
}

/* No more can overlap than kernels run: each call has its part of that. */
static void end(void *of, struct xfa_process *process)
{
    struct exposed_calls *self = of;
    double all = 0;
    (void)process;
    reach(self, UINT64_MAX);
    xfa_table_free(&self->nccl);
    self->nccl = (struct xfa_table){0};
    for (size_t i = self->first_place; i < self->place_count; i++)
        all += self->places[i].ns;
    double part = all > 0 ? fmin(1, self->kernels_ns / all) : 0;
    for (size_t i = self->first_place; i < self->place_count; i++) {
        struct exposed_site *site = xfa_table_get(&self->sites, &self->places[i].key);
        self->places[i].ns *= part;
        site->ns += self->places[i].ns;
    }
}

static bool touched(const void *of)
{
    return ((const struct exposed_calls *)of)->touched;
}

static struct xfa_observer observe(void *of)
{
    struct exposed_calls *self = of;
    xfa_table_init(&self->sites, sizeof(struct site_key), sizeof(struct exposed_site));
    return (struct xfa_observer){
        .name = "exposed communication",
        .kinds = XFA_KIND(XFT_EVENT_MESSAGE) | XFA_KIND(XFT_EVENT_KERNEL),
        .self = of,
        .process = process,
        .event = event,
        .end = end,
        .touched = touched,
    };
}

static void release(void *of)
{
    struct exposed_calls *self = of;
    xfa_table_free(&self->sites);
    xfa_table_free(&self->nccl);
    free(self->places);
}

/* ---- the finding ----------------------------------------------------------------------------- */

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    static const struct xfa_finding likes[2] = {
        {
            .id = XFA_FINDING_EXPOSED_COMMUNICATION,
            .remedy = {.kind = XFA_REMEDY_OVERLAP_MESSAGES, .node = -1},
            .question = "the GPU has work that does not need what {site} waits for",
        },
        {
            .id = XFA_FINDING_EXPOSED_COMMUNICATION,
            .remedy = {.kind = XFA_REMEDY_OVERLAP_COLLECTIVES, .node = -1},
            .question = "the GPU has work that does not need what {site} brings",
        },
    };
    const struct exposed_calls *self = sums;
    double least_ns = xfa_findings_least_ns(analysis);
    for (size_t i = 0; i < self->sites.count; i++) {
        const struct exposed_site *exposed = xfa_table_at(&self->sites, i);
        const struct xfa_finding_site site = {
            .site = xfa_run_site(analysis->run, exposed->key.site),
            .function = xfa_run_function(analysis->run, exposed->key.function),
            .transfers = exposed->times,
            .bytes = exposed->bytes,
            .lost_ns = exposed->ns,
            .reckoning = exposed->kernels ? XFA_RECKONED_EXPOSED_KERNELS : XFA_RECKONED_EXPOSED,
        };
        if (exposed->ns > least_ns)
            xfa_findings_add_site(findings, &likes[exposed->kernels], &site);
    }
}

static struct xfw_change *shorter_waits(const struct xfa_analysis *analysis,
                                        const struct exposed_calls *self,
                                        const struct xfw_set *sites)
{
    struct xfw_cut *cuts = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < self->place_count; i++) {
        const struct place *place = &self->places[i];
        if (place->kernel || !xfw_set_has(sites, place->key.site))
            continue;
        cuts = xfa_room(cuts, &capacity, count + 1, sizeof *cuts);
        cuts[count++] = (struct xfw_cut){.process = place->process,
                                         .tid = place->tid,
                                         .at_ns = place->at_ns,
                                         .began_ns = place->at_ns,
                                         .of = XFW_CUT_WAIT,
                                         .ns = {[XFW_HIGH] = place->ns}};
    }
    return count ? xfw_change_own_time(analysis, cuts, count) : NULL;
}

static struct xfw_change *shorter_kernels(const struct xfa_analysis *analysis,
                                          const struct exposed_calls *self,
                                          const struct xfw_set *sites)
{
    struct xfw_kernel_part *parts = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < self->place_count; i++) {
        const struct place *place = &self->places[i];
        if (!place->kernel || !xfw_set_has(sites, place->key.site))
            continue;
        parts = xfa_room(parts, &capacity, count + 1, sizeof *parts);
        parts[count++] = (struct xfw_kernel_part){.process = place->process,
                                                  .began_ns = (uint64_t)place->at_ns,
                                                  .ns = {[XFW_HIGH] = place->ns}};
    }
    return count ? xfw_change_kernel_parts(analysis, parts, count) : NULL;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    const struct exposed_calls *self = sums;
    struct xfw_set sites = xfa_finding_sites(finding);
    struct xfw_change *change = NULL;
    if (!self->beyond)
        change = finding->remedy.kind == XFA_REMEDY_OVERLAP_MESSAGES
                     ? shorter_waits(analysis, self, &sites)
                     : shorter_kernels(analysis, self, &sites);
    xfw_set_free(&sites);
    return change;
}

const struct xfa_finding_kind xfa_kind_exposed_communication = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct exposed_calls),
    .observe = observe,
    .free = release,
};
