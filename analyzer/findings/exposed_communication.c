/*
 * exposed-communication: time in calls of MPI that block, and in those that wait for requests, and
 * of NCCL's kernels, while no other kernel of the process runs. Lost: that time, at most as long as
 * the process's other kernels run: with no more work than that it could overlap. Whether the work
 * of the GPU needs what is received, the record does not show: a question.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"
#include "analyzer/whatif/changes/kernel_parts.h"

#define MOST_KERNELS (1u << 20) /* of NCCL, of a process; others count as work */
#define MOST_CALLS 256          /* under way at one time; further ones are left out */
#define MOST_SITES 16384

struct site_key {
    uint32_t site, function;
};

struct exposed_site {
    struct site_key key;
    struct xfa_met met;
    uint64_t times, bytes;
    struct xfa_exact time; /* ns */
    uint32_t kernels;      /* not 0: of NCCL's kernels, not of calls */
    uint32_t reserved;
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
    int32_t tid;
    uint32_t kernel; /* not 0: of a kernel, not of a call */
    uint32_t reserved;
    double at_ns, ns;
};

struct exposed_calls {
    struct xfa_table sites; /* struct exposed_site */
    struct xfa_table nccl;  /* struct nccl_call; of the process */
    struct call calls[MOST_CALLS];
    unsigned count;
    uint64_t busy_until_ns; /* kernels, as far as they were met */
    double kernels_ns;      /* of the process, those at one time counted once */
    struct places {
        struct place *all;
        size_t count, capacity;
    } places, now; /* of the processes before; of the one at hand */
    bool beyond;   /* there are more than XFW_MOST_CUTS: some were left out */
    const struct xfa_process *process;
};

/* ---- calls ----------------------------------------------------------------------------------- */

static void add_place(struct exposed_calls *self, const struct call *call)
{
    uint64_t from = self->process->start_mono_ns;
    struct places *now = &self->now;
    if (now->count >= XFW_MOST_CUTS) {
        self->beyond = true;
        return;
    }
    now->all = xfa_room(now->all, &now->capacity, now->count + 1, sizeof *now->all);
    now->all[now->count++] = (struct place){
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
        if (site->times++ == 0)
            site->met.process = self->process->number;
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
}

static uint64_t process(void *of, struct xfa_process *process)
{
    struct exposed_calls *self = of;
    const char *kernels = xfa_trace_meta(process->trace, "kernels");
    self->process = process;
    self->busy_until_ns = 0;
    self->kernels_ns = 0;
    self->count = 0;
    self->now.count = 0;
    xfa_table_init(&self->nccl, sizeof(uint64_t), sizeof(struct nccl_call));
    bool known = kernels && strcmp(kernels, "on") == 0 &&
                 !xfa_trace_meta(process->trace, "budget.kernels_until_ns");
    return known ? XFA_ALL_KINDS : 0;
}

/* Where they are too many none is used. */
static void add_places(struct exposed_calls *self)
{
    struct places *all = &self->places;
    const struct places *now = &self->now;
    self->beyond = self->beyond || all->count + now->count > XFW_MOST_CUTS;
    if (self->beyond || now->count == 0)
        return;
    all->all = xfa_room(all->all, &all->capacity, all->count + now->count, sizeof *all->all);
    memcpy(all->all + all->count, now->all, now->count * sizeof *now->all);
    all->count += now->count;
}

/* No more can overlap than kernels run: each call has its part of that. */
static void end(void *of, struct xfa_process *process)
{
    struct exposed_calls *self = of;
    double all = 0;
    reach(self, UINT64_MAX);
    xfa_table_free(&self->nccl);
    self->nccl = (struct xfa_table){0};
    for (size_t i = 0; i < self->now.count; i++)
        all += self->now.all[i].ns;
    double part = all > 0 ? fmin(1, self->kernels_ns / all) : 0;
    for (size_t i = 0; i < self->now.count; i++) {
        struct exposed_site *site = xfa_table_get(&self->sites, &self->now.all[i].key);
        self->now.all[i].ns *= part;
        xfa_exact_add(&site->time, self->now.all[i].ns);
    }
    add_places(self);
}

static double filled(const void *of)
{
    return (double)((const struct exposed_calls *)of)->sites.count / MOST_SITES;
}

static struct xfa_observer observe(void *of)
{
    struct exposed_calls *self = of;
    xfa_table_init(&self->sites, sizeof(struct site_key), sizeof(struct exposed_site));
    return (struct xfa_observer){
        .name = "exposed communication",
        .kinds = XFA_KIND(XFT_EVENT_MESSAGE) | XFA_KIND(XFT_EVENT_KERNEL),
        .self = of,
        .divided = true,
        .process = process,
        .event = event,
        .end = end,
        .filled = filled,
    };
}

static void release(void *of)
{
    struct exposed_calls *self = of;
    xfa_table_free(&self->sites);
    xfa_table_free(&self->nccl);
    free(self->places.all);
    free(self->now.all);
}

/* ---- divided --------------------------------------------------------------------------------- */

static bool is_good(const void *of, const void *item)
{
    const struct xfa_analysis *analysis = of;
    const struct exposed_site *site = item;
    return xfa_divided_site(analysis, site->key.site) &&
           xfa_divided_function(analysis, site->key.function) &&
           site->met.process < analysis->run->process_count;
}

static void add(void *item, const void *more)
{
    struct exposed_site *into = item;
    const struct exposed_site *from = more;
    into->times += from->times;
    into->kernels |= from->kernels;
    into->bytes = xfa_add(into->bytes, from->bytes);
    xfa_exact_merge(&into->time, &from->time);
}

static const struct xfa_met_table of_sites = {offsetof(struct exposed_site, met), is_good, add};

static void give(const void *of, struct xfa_parcel *parcel)
{
    const struct exposed_calls *self = of;
    xfa_parcel_number(parcel, self->beyond);
    xfa_list_give(self->places.all, self->places.count, sizeof *self->places.all, parcel);
}

static void take(void *of, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct exposed_calls *self = of;
    struct places *places = &self->places;
    size_t before = places->count;
    self->beyond = xfa_unpack_number(from) || self->beyond;
    places->all =
        xfa_list_take(places->all, &places->capacity, &places->count, sizeof *places->all, from);
    for (size_t i = before; i < places->count && !from->bad; i++)
        from->bad = places->all[i].process >= analysis->run->process_count;
}

static void taken(void *of)
{
    struct exposed_calls *self = of;
    struct places *places = &self->places;
    xfa_list_sort(places->all, places->count, sizeof *places->all, offsetof(struct place, process));
    self->beyond = self->beyond || places->count > XFW_MOST_CUTS;
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
            .lost_ns = xfa_exact_value(&exposed->time),
            .reckoning = exposed->kernels ? XFA_RECKONED_EXPOSED_KERNELS : XFA_RECKONED_EXPOSED,
        };
        if (site.lost_ns > least_ns)
            xfa_findings_add_site(findings, &likes[exposed->kernels != 0], &site);
    }
}

static struct xfw_change *shorter_waits(const struct xfa_analysis *analysis,
                                        const struct exposed_calls *self,
                                        const struct xfw_set *sites)
{
    struct xfw_cut *cuts = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < self->places.count; i++) {
        const struct place *place = &self->places.all[i];
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

/* Of what other members gave, whatever it is. */
static uint64_t began_ns(const struct place *place)
{
    return place->at_ns >= 0 && place->at_ns < 0x1p62 ? (uint64_t)place->at_ns : 0;
}

static struct xfw_change *shorter_kernels(const struct xfa_analysis *analysis,
                                          const struct exposed_calls *self,
                                          const struct xfw_set *sites)
{
    struct xfw_kernel_part *parts = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < self->places.count; i++) {
        const struct place *place = &self->places.all[i];
        if (!place->kernel || !xfw_set_has(sites, place->key.site))
            continue;
        parts = xfa_room(parts, &capacity, count + 1, sizeof *parts);
        parts[count++] = (struct xfw_kernel_part){
            .process = place->process, .began_ns = began_ns(place), .ns = {[XFW_HIGH] = place->ns}};
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
    .met_of = &of_sites,
    .met_table = offsetof(struct exposed_calls, sites),
    .give = give,
    .take = take,
    .taken = taken,
};
