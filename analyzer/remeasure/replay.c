#include "analyzer/remeasure/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/base/alloc.h"

#define LEAST_SLICE_NS 10e6
#define MOST_SLICE_NS 200e6
#define COPIES 8.0             /* copies of each form: one to warm up, and at least six samples */
#define AROUND_NS_PER_BYTE 1.5 /* to fill, clear and compare memory */

void xfa_replayed_free(struct xfa_replayed *replayed)
{
    free(replayed->why);
    free(replayed->note);
    free(replayed->not_kept);
    free(replayed->failure);
    *replayed = (struct xfa_replayed){0};
}

/* ---- measuring within the limit -------------------------------------------------------------- */

/* The shortest wall time, ns, in which it can be measured. */
static double least_ns(const struct xfa_wanted *wanted)
{
    double forms = wanted->spec.blocking ? 2 : 1;
    return COPIES * forms * wanted->copy_ns + AROUND_NS_PER_BYTE * (double)wanted->key.bytes;
}

static size_t count_open(const struct xfa_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->wanted.count; i++)
        count += xfa_wanted_at(plan, i)->state == XFA_WANTED_OPEN;
    return count;
}

static void measure_one(struct xfa_wanted *wanted, const struct xfa_meter *meter, double slice_ns,
                        struct xfa_replayed *replayed)
{
    double slice = fmin(fmax(slice_ns, LEAST_SLICE_NS), MOST_SLICE_NS);
    wanted->spec.slice_ns = (uint64_t)slice;
    meter->measure(meter->self, &wanted->spec, &wanted->measured);
    if (wanted->measured.basis == XFP_MEASURED) {
        wanted->state = XFA_WANTED_MEASURED;
    } else if (meter->stopped(meter->self)) {
        wanted->state = XFA_WANTED_NO_TIME;
    } else {
        wanted->state = XFA_WANTED_FAILED;
        if (!replayed->failure)
            replayed->failure =
                xfa_print("%s of %llu bytes: %s", wanted->like.name,
                          (unsigned long long)wanted->key.bytes, wanted->measured.why);
    }
}

void xfa_replay_measure(struct xfa_plan *plan, const struct xfa_replay_request *request,
                        const struct xfa_meter *meter, struct xfa_replayed *replayed)
{
    uint64_t begun = meter->now_ns(meter->self);
    size_t open = count_open(plan), done = 0;
    for (size_t i = 0; i < plan->wanted.count; i++) {
        struct xfa_wanted *wanted = xfa_wanted_at(plan, i);
        double gone = (double)(meter->now_ns(meter->self) - begun);
        double left = request->limit_s * 1e9 - gone;
        if (wanted->state != XFA_WANTED_OPEN)
            continue;
        if (request->progress)
            request->progress(request->progress_self, done, open, gone / 1e9);
        if (left <= 0 || least_ns(wanted) > left || meter->stopped(meter->self))
            wanted->state = XFA_WANTED_NO_TIME;
        else
            measure_one(wanted, meter, left / (double)(open - done), replayed);
        done++;
    }
    replayed->seconds = (double)(meter->now_ns(meter->self) - begun) / 1e9;
    replayed->stopped = meter->stopped(meter->self);
}

static void count_wanted(const struct xfa_plan *plan, struct xfa_replayed *replayed)
{
    for (size_t i = 0; i < plan->wanted.count; i++) {
        enum xfa_wanted_state state = xfa_wanted_at(plan, i)->state;
        replayed->measured += state == XFA_WANTED_MEASURED;
        replayed->known += state == XFA_WANTED_KNOWN;
        replayed->failed += state == XFA_WANTED_FAILED;
        replayed->no_time += state == XFA_WANTED_NO_TIME || state == XFA_WANTED_OPEN;
    }
}

static bool is_covered(const struct xfa_plan *plan, const struct xfa_planned *planned)
{
    for (size_t i = 0; i < planned->count; i++) {
        enum xfa_wanted_state state = xfa_wanted_at(plan, plan->wants[planned->from + i])->state;
        if (state != XFA_WANTED_MEASURED && state != XFA_WANTED_KNOWN)
            return false;
    }
    return planned->count > 0 && planned->as_it_was;
}

void xfa_replay_sum(const struct xfa_plan *plan, const struct xfa_cells *cells,
                    struct xfa_replayed *replayed)
{
    replayed->distinct = plan->cell_count;
    replayed->transfers = cells->transfers;
    replayed->merged = cells->merged;
    replayed->beyond = cells->beyond;
    replayed->achieved_ns = cells->achieved_ns;
    count_wanted(plan, replayed);
    for (size_t i = 0; i < plan->cell_count; i++) {
        const struct xfa_planned *planned = &plan->cells[i];
        bool covered = is_covered(plan, planned);
        replayed->impossible += !planned->as_it_was;
        replayed->covered += covered;
        replayed->covered_transfers += covered ? planned->cell->transfers : 0;
        replayed->covered_ns += covered ? planned->cell->achieved_ns : 0;
    }
}

/* ---- the probe as the meter ------------------------------------------------------------------ */

static uint64_t now_ns(void *self)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void measure(void *self, const struct xfp_transfer_spec *spec,
                    struct xfp_transfer_point *point)
{
    xfp_measure_transfers(self, spec, 1, point);
}

static bool stopped(void *self)
{
    return xfp_transfers_stopped(self);
}

/* ---- into the profile ------------------------------------------------------------------------ */

/* False: the profile has no room for all points. */
static bool keep_points(const struct xfa_plan *plan, struct xfp_profile *profile)
{
    bool all = true;
    for (size_t i = 0; i < plan->wanted.count; i++) {
        const struct xfa_wanted *wanted = xfa_wanted_at(plan, i);
        if (wanted->state == XFA_WANTED_MEASURED)
            all &= xfp_keep_point(profile, &wanted->like, &wanted->measured.point) == 0;
    }
    return all;
}

static void save(const struct xfa_replay_request *request, const struct xfa_places *places,
                 const struct xfp_profile *profile, struct xfa_replayed *replayed)
{
    char error[1024];
    if (!request->profile_path)
        replayed->not_kept = xfa_text("no --profile names a file for it");
    else if (request->not_kept)
        replayed->not_kept = xfa_text(request->not_kept);
    else if (places->other_profile)
        replayed->not_kept = xfa_text("the profile is of another machine or driver than this one");
    else if (xfp_save(profile, request->profile_path, error, sizeof error) != 0)
        replayed->not_kept = xfa_kept(error, strlen(error));
    replayed->unwritten = replayed->not_kept && request->profile_path;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static uint64_t largest(const struct xfa_cells *cells)
{
    uint64_t most = 0;
    for (size_t i = 0; i < cells->cells.count; i++)
        if (xfa_cell_at(cells, i)->key.bytes > most)
            most = xfa_cell_at(cells, i)->key.bytes;
    return most;
}

static void replay_here(const struct xfa_replay_request *request, const struct xfa_places *places,
                        struct xfp_transfers *session, struct xfp_profile **profile,
                        struct xfa_plan *plan, struct xfa_replayed *replayed)
{
    const struct xfa_meter meter = {session, now_ns, measure, stopped};
    replayed->why = places->refusal ? xfa_text(places->refusal) : NULL;
    replayed->note = places->note ? xfa_text(places->note) : NULL;
    if (replayed->why)
        return;
    xfa_plan_make(plan, request->cells, places, *profile);
    xfa_replay_measure(plan, request, &meter, replayed);
    xfa_replay_sum(plan, request->cells, replayed);
}

/* Without a GPU: does the profile have all that would be measured? */
static bool knows_all(const struct xfa_replay_request *request, const struct xfp_profile *profile,
                      struct xfa_replayed *replayed)
{
    struct xfa_places places;
    struct xfa_plan plan = {0};
    bool all = false;
    if (!profile)
        return false;
    xfa_places_init(&places, request->run, &profile->machine, &profile->machine);
    if (!places.refusal) {
        xfa_plan_make(&plan, request->cells, &places, profile);
        all = plan.wanted.count > 0 && count_open(&plan) == 0;
    }
    if (all)
        xfa_replay_sum(&plan, request->cells, replayed);
    xfa_plan_free(&plan);
    xfa_places_free(&places);
    return all;
}

static bool flushes(const struct xfp_profile *profile)
{
    return !profile || !profile->rules.known || profile->rules.flushed;
}

bool xfa_replay(const struct xfa_replay_request *request, struct xfp_profile **profile,
                struct xfa_replayed *replayed)
{
    struct xfp_transfers_settings settings = {largest(request->cells), flushes(*profile)};
    struct xfa_plan plan = {0};
    struct xfa_places places;
    char error[512] = "";
    *replayed = (struct xfa_replayed){.limit_s = request->limit_s};
    struct xfp_transfers *session = xfp_transfers_open(&settings, error, sizeof error);
    if (!session) {
        if (!knows_all(request, *profile, replayed))
            replayed->why = xfa_print("no GPU to measure on here: %s", error);
        return false;
    }
    xfa_places_init(&places, request->run, &xfp_transfers_machine(session)->machine,
                    *profile ? &(*profile)->machine : NULL);
    replay_here(request, &places, session, profile, &plan, replayed);
    struct xfp_profile *machine = xfp_transfers_close(session);
    bool changed = replayed->measured > 0;
    if (changed && !*profile) {
        *profile = machine;
        machine = NULL;
    }
    if (changed) {
        bool all = keep_points(&plan, *profile);
        save(request, &places, *profile, replayed);
        if (!all && !replayed->not_kept)
            replayed->not_kept = xfa_text("the profile has no room for all of it");
    }
    xfp_free(machine);
    xfa_places_free(&places);
    xfa_plan_free(&plan);
    return changed;
}
