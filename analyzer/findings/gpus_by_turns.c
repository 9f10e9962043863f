/*
 * gpus-by-turns: a thread that gives work to several GPUs, one after the other, again and again, so
 * that each GPU waits while the thread works for another one, or waits for it. A thread, or a
 * process, for each GPU does the same side by side (whatif/changes/gpu_threads.h). Only the replay
 * shows what that saves: a trial. Lost: not known for single calls.
 *
 * Whether the host's work for one GPU needs what it does for another no record shows. Likely it
 * does not where nothing that came from a GPU was there to be looked at; where only that is in the
 * way, it is a question.
 *
 * Its sites are those of the calls before and in which such threads spent their time.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "analyzer/findings/divided.h"
#include "analyzer/findings/finding.h"
#include "analyzer/findings/wait_sites.h"
#include "analyzer/whatif/changes/changes.h"

#define LEAST_TURNS 8   /* guesses, as is the next: fewer are for setting up */
#define LEAST_PART 0.05 /* of the time of the worst site: others are not named */

/* A thread of the process at hand. */
struct server {
    int32_t tid; /* key */
    int gpu;     /* of its last work; -1: none yet */
    uint64_t turns, ended_ns;
};

/* What a thread spent at a site: a key without a byte that is not set. */
struct place {
    struct place_key {
        int32_t tid;
        uint32_t site;
    } key;
    struct xfa_wait_site spent;
};

struct gpus_by_turns {
    struct xfa_table sites; /* struct xfa_wait_site */
    struct xfa_table servers, places;
};

static bool is_work(unsigned kind)
{
    return kind == XFT_EVENT_TRANSFER || kind == XFT_EVENT_LAUNCH || kind == XFT_EVENT_SET ||
           kind == XFT_EVENT_GRAPH_LAUNCH || kind == XFT_EVENT_PREFETCH;
}

static void spend(struct gpus_by_turns *self, const struct xfa_event *event, double ns)
{
    const struct place_key key = {event->tid, xfa_site_of(event)->number};
    struct place *place = xfa_table_put(&self->places, &key);
    place->spent.site = key.site;
    place->spent.function = xfa_function_of(event)->number;
    xfa_wait_site_add(&place->spent, event->kind == XFT_EVENT_TRANSFER ? event->bytes : 0, ns);
}

static void event(void *of, const struct xfa_event *event)
{
    struct gpus_by_turns *self = of;
    bool known = xfa_table_get(&self->servers, &event->tid) != NULL;
    struct server *server = xfa_table_put(&self->servers, &event->tid);
    uint64_t before = known && server->ended_ns ? server->ended_ns : event->start_ns;
    if (!known)
        server->gpu = -1;
    if (event->flags & (XFT_CAPTURED | XFT_FAILED))
        return;
    if (is_work(event->kind) && event->gpu >= 0) {
        server->turns += server->gpu >= 0 && server->gpu != event->gpu;
        server->gpu = event->gpu;
    }
    bool serves = is_work(event->kind) || event->kind == XFT_EVENT_SYNC;
    if (event->stack && serves && server->gpu >= 0 && event->end_ns > before)
        spend(self, event, (double)(event->end_ns - before));
    server->ended_ns = event->end_ns > before ? event->end_ns : before;
}

static void forget(struct gpus_by_turns *self)
{
    xfa_table_free(&self->servers);
    xfa_table_free(&self->places);
}

static uint64_t process(void *of, struct xfa_process *process)
{
    struct gpus_by_turns *self = of;
    (void)process;
    forget(self);
    xfa_table_init(&self->servers, sizeof(int32_t), sizeof(struct server));
    xfa_table_init(&self->places, sizeof(struct place_key), sizeof(struct place));
    return XFA_KINDS_OF_CALLS;
}

static void end(void *of, struct xfa_process *process)
{
    struct gpus_by_turns *self = of;
    for (size_t i = 0; i < self->places.count; i++) {
        const struct place *place = xfa_table_at(&self->places, i);
        const struct server *server = xfa_table_get(&self->servers, &place->key.tid);
        if (!server || server->turns < LEAST_TURNS)
            continue;
        struct xfa_wait_site *into = xfa_wait_site_at(&self->sites, place->key.site);
        if (into->times == 0)
            into->met.process = process->number;
        into->function = place->spent.function;
        into->last = process->number;
        into->times += place->spent.times;
        into->bytes = xfa_add(into->bytes, place->spent.bytes);
        xfa_exact_merge(&into->ns, &place->spent.ns);
    }
    forget(self);
}

static struct xfa_observer observe(void *of)
{
    struct gpus_by_turns *self = of;
    xfa_wait_sites_init(&self->sites);
    xfa_table_init(&self->servers, sizeof(int32_t), sizeof(struct server));
    xfa_table_init(&self->places, sizeof(struct place_key), sizeof(struct place));
    return (struct xfa_observer){
        .name = "GPUs by turns",
        .divided = true,
        .kinds = XFA_KINDS_OF_CALLS,
        .self = self,
        .process = process,
        .event = event,
        .transfer = event,
        .end = end,
    };
}

static void release(void *of)
{
    struct gpus_by_turns *self = of;
    xfa_table_free(&self->sites);
    forget(self);
}

/* ---- the finding ----------------------------------------------------------------------------- */

static double worst_ns(const struct xfa_table *sites)
{
    double worst = 0;
    for (size_t i = 0; i < sites->count; i++) {
        const struct xfa_wait_site *site = xfa_table_at(sites, i);
        worst = fmax(worst, xfa_exact_value(&site->ns));
    }
    return worst;
}

/* On trial, since without a replay it says nothing. */
static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    const struct gpus_by_turns *self = sums;
    const double worst = worst_ns(&self->sites);
    const struct xfa_finding like = {
        .id = XFA_FINDING_GPUS_BY_TURNS,
        .remedy = {.kind = XFA_REMEDY_GPU_THREADS, .node = -1},
        .lost_ns = NAN,
        .assumed = "what the host does for one GPU needs nothing of what it does for another",
        .question = "what the host does for one GPU, as before {site}, needs no results of another "
                    "one",
    };
    for (size_t i = 0; i < self->sites.count; i++) {
        const struct xfa_wait_site *of = xfa_table_at(&self->sites, i);
        const struct xfa_finding_site site = xfa_wait_site_found(analysis, of, XFA_RECKONED_SERVED);
        if (xfa_exact_value(&of->ns) > LEAST_PART * worst)
            xfa_findings_add_site(findings, &like, &site);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums;
    (void)finding;
    return xfw_change_gpu_threads(analysis);
}

const struct xfa_finding_kind xfa_kind_gpus_by_turns = {
    .try = try,
    .change = change,
    .self_bytes = sizeof(struct gpus_by_turns),
    .observe = observe,
    .free = release,
    .met_of = &xfa_wait_sites,
    .met_table = offsetof(struct gpus_by_turns, sites),
};
