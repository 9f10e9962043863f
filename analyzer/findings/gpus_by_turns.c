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
#define MOST_PLACES 16384

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
        uint32_t stack, call;
    } key;
    uint64_t times, bytes;
    struct xfa_exact ns;
};

struct gpus_by_turns {
    struct xfa_table sites; /* struct xfa_wait_site */
    struct xfa_table servers, places;
    uint32_t last; /* of the last event: its server's place, + 1; 0: none */
};

static bool is_work(unsigned kind)
{
    return kind == XFT_EVENT_TRANSFER || kind == XFT_EVENT_LAUNCH || kind == XFT_EVENT_SET ||
           kind == XFT_EVENT_GRAPH_LAUNCH || kind == XFT_EVENT_PREFETCH;
}

static void spend(struct gpus_by_turns *self, const struct xfa_event *event, double ns)
{
    const struct place_key key = {event->tid, event->stack, event->call};
    if (self->places.count >= MOST_PLACES && !xfa_table_get(&self->places, &key))
        return;
    struct place *place = xfa_table_put(&self->places, &key);
    place->times++;
    place->bytes = xfa_add(place->bytes, event->kind == XFT_EVENT_TRANSFER ? event->bytes : 0);
    xfa_exact_add(&place->ns, ns);
}

static struct server *server_of(struct gpus_by_turns *self, const struct xfa_event *event)
{
    struct server *last = self->last ? xfa_table_at(&self->servers, self->last - 1) : NULL;
    if (last && last->tid == event->tid)
        return last;
    size_t before = self->servers.count;
    struct server *server = xfa_table_put(&self->servers, &event->tid);
    if (self->servers.count > before) {
        server->gpu = -1;
        server->ended_ns = event->start_ns;
    }
    self->last = xfa_table_place(&self->servers, server) + 1;
    return server;
}

static void event(void *of, const struct xfa_event *event)
{
    struct gpus_by_turns *self = of;
    struct server *server = server_of(self, event);
    const uint64_t before = server->ended_ns;
    const bool work = is_work(event->kind);
    if (event->flags & (XFT_CAPTURED | XFT_FAILED))
        return;
    if (work && event->gpu >= 0) {
        server->turns += server->gpu >= 0 && server->gpu != event->gpu;
        server->gpu = event->gpu;
    }
    if (server->turns > 0 && event->stack && event->end_ns > before &&
        (work || event->kind == XFT_EVENT_SYNC))
        spend(self, event, (double)(event->end_ns - before));
    server->ended_ns = event->end_ns > before ? event->end_ns : before;
}

static void forget(struct gpus_by_turns *self)
{
    xfa_table_free(&self->servers);
    xfa_table_free(&self->places);
}

static void init_tables(struct gpus_by_turns *self)
{
    xfa_table_init(&self->servers, sizeof(int32_t), sizeof(struct server));
    xfa_table_init(&self->places, sizeof(struct place_key), sizeof(struct place));
}

static uint64_t process(void *of, struct xfa_process *process)
{
    struct gpus_by_turns *self = of;
    (void)process;
    forget(self);
    self->last = 0;
    init_tables(self);
    return XFA_KINDS_OF_CALLS;
}

static void add_place(struct gpus_by_turns *self, struct xfa_process *process,
                      const struct place *place)
{
    const uint32_t site = xfa_process_site(process, place->key.stack)->number;
    struct xfa_wait_site *into = xfa_wait_site_at(&self->sites, site);
    if (into->times == 0)
        into->met.process = process->number;
    into->function = xfa_process_function(process, place->key.call)->number;
    into->last = process->number;
    into->times += place->times;
    into->bytes = xfa_add(into->bytes, place->bytes);
    xfa_exact_merge(&into->ns, &place->ns);
}

static void end(void *of, struct xfa_process *process)
{
    struct gpus_by_turns *self = of;
    for (size_t i = 0; i < self->places.count; i++) {
        const struct place *place = xfa_table_at(&self->places, i);
        const struct server *server = xfa_table_get(&self->servers, &place->key.tid);
        if (!server || server->turns < LEAST_TURNS)
            continue;
        add_place(self, process, place);
    }
    forget(self);
}

static struct xfa_observer observe(void *of)
{
    struct gpus_by_turns *self = of;
    xfa_wait_sites_init(&self->sites);
    init_tables(self);
    return (struct xfa_observer){
        .name = "GPUs by turns",
        .aside = true,
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
