#include "analyzer/remeasure/play_run.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "analyzer/base/alloc.h"
#include "analyzer/remeasure/play_list.h"

#define WARMING 8.0 /* a warm-up, which is not counted, may take 1/8 of the limit */

enum { AS_RECORDED, AS_ADVISED, WAYS };

struct way {
    struct xfa_play_script *script;
    struct xfa_play_account account;
    const struct xfp_play_list *list;
    double took_ns[XFA_PLAY_MOST_TIMES];
};

struct playing {
    const struct xfa_play_request *request;
    struct xfp_play *play;
    struct xfa_places places;
    struct xfa_play_setting setting;
    struct way ways[WAYS];
    size_t way_count; /* 1: nothing is advised */
    struct xfw_played *played;
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- the scripts ----------------------------------------------------------------------------- */

static bool advises(const struct xfa_play_request *request)
{
    for (size_t i = 0; i < request->count; i++)
        if (request->order[i])
            return true;
    return false;
}

/* The longest time, ns, that one play of each way may take. */
static double share_ns(const struct playing *playing)
{
    double times = XFA_PLAY_LEAST_TIMES * (double)playing->way_count;
    return playing->request->limit_s * 1e9 / times;
}

static bool write_script(struct playing *playing, size_t i, uint64_t last_op)
{
    const struct xfa_play_request *request = playing->request;
    struct way *way = &playing->ways[i];
    double end_ns = i == AS_RECORDED ? share_ns(playing) : INFINITY;
    way->script = xfa_play_script_new(&playing->setting, last_op, end_ns);
    struct xfw_tap tap = xfa_play_script_tap(way->script);
    playing->played->why =
        xfw_whatif_tap(request->analysis, request->changes, i == AS_ADVISED ? request->order : NULL,
                       request->count, &tap);
    way->account = xfa_play_script_account(way->script);
    if (!playing->played->why && way->account.why)
        playing->played->why = xfa_text(way->account.why);
    return !playing->played->why;
}

static bool write_scripts(struct playing *playing)
{
    uint64_t last_op = UINT64_MAX;
    for (size_t i = 0; i < playing->way_count; i++) {
        if (!write_script(playing, i, last_op))
            return false;
        if (!playing->ways[AS_RECORDED].account.whole)
            last_op = playing->ways[AS_RECORDED].account.last_op;
    }
    if (playing->way_count == WAYS && playing->ways[AS_RECORDED].account.whole &&
        !playing->ways[AS_ADVISED].account.whole)
        playing->played->why = xfa_text("as advised it has too many calls");
    return !playing->played->why;
}

static bool prepare(struct playing *playing)
{
    char error[240] = "";
    struct xfp_play_stage stage;
    xfa_play_stage_make(&playing->setting, &stage);
    if (xfp_play_prepare(playing->play, &stage, error, sizeof error) != 0)
        playing->played->why = xfa_text(error);
    xfa_play_stage_free(&stage);
    for (size_t i = 0; i < playing->way_count; i++)
        playing->ways[i].list = xfa_play_script_list(playing->ways[i].script);
    return !playing->played->why;
}

/* ---- playing --------------------------------------------------------------------------------- */

static bool play_one(struct playing *playing, struct way *way, double *ns)
{
    struct xfp_played one;
    if (xfp_play_run(playing->play, way->list, &one) != 0) {
        playing->played->why =
            xfp_play_stopped(playing->play) ? xfa_text("it was interrupted") : xfa_text(one.why);
        return false;
    }
    *ns = one.wall_ns + way->account.skipped_ns;
    return true;
}

static double played_part(const struct way *way)
{
    return way->account.model_ns - way->account.skipped_ns;
}

/* How often each way is played: an odd number, so that the median is one of them. */
static unsigned times_for(const struct playing *playing)
{
    double all = 0;
    for (size_t i = 0; i < playing->way_count; i++)
        all += played_part(&playing->ways[i]);
    double fit = playing->request->limit_s * 1e9 / fmax(all, 1);
    unsigned times = fit > XFA_PLAY_MOST_TIMES    ? XFA_PLAY_MOST_TIMES
                     : fit < XFA_PLAY_LEAST_TIMES ? XFA_PLAY_LEAST_TIMES
                                                  : (unsigned)fit;
    return times - (times % 2 == 0);
}

static bool warm_up(struct playing *playing)
{
    double ns;
    for (size_t i = 0; i < playing->way_count; i++)
        if (played_part(&playing->ways[i]) < playing->request->limit_s * 1e9 / WARMING &&
            !play_one(playing, &playing->ways[i], &ns))
            return false;
    return true;
}

static bool play_all(struct playing *playing)
{
    const struct xfa_play_request *request = playing->request;
    double begun = seconds_now();
    unsigned times = times_for(playing);
    if (!warm_up(playing))
        return false;
    for (unsigned t = 0; t < times; t++) {
        if (request->progress)
            request->progress(request->progress_self, t, times, seconds_now() - begun);
        for (size_t i = 0; i < playing->way_count; i++)
            if (!play_one(playing, &playing->ways[i], &playing->ways[i].took_ns[t]))
                return false;
    }
    playing->played->times = times;
    playing->played->seconds = seconds_now() - begun;
    return true;
}

/* ---- results --------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, unsigned count)
{
    double sorted[XFA_PLAY_MOST_TIMES];
    for (unsigned i = 0; i < count; i++)
        sorted[i] = values[i];
    qsort(sorted, count, sizeof *sorted, by_size);
    return sorted[count / 2];
}

static void sum_up(const struct playing *playing)
{
    const struct way *recorded = &playing->ways[AS_RECORDED], *advised = &playing->ways[AS_ADVISED];
    struct xfw_played *played = playing->played;
    unsigned times = played->times;
    played->recorded_ns = median(recorded->took_ns, times);
    played->alone_ns = recorded->account.model_ns;
    played->error = fabs(played->recorded_ns - played->alone_ns) / fmax(played_part(recorded), 1);
    played->whole = recorded->account.whole;
    played->part_ns = recorded->account.model_ns;
    played->steps = recorded->account.steps;
    played->by_time = recorded->account.by_time;
    if (playing->way_count < WAYS)
        return;
    played->advised_ns = median(advised->took_ns, times);
    played->set_ns = advised->account.model_ns;
    played->by_time = advised->account.by_time;
    double saved[XFA_PLAY_MOST_TIMES];
    for (unsigned t = 0; t < times; t++)
        saved[t] = recorded->took_ns[t] - advised->took_ns[t];
    qsort(saved, times, sizeof *saved, by_size);
    struct xfw_saving saving = {saved[0], played->recorded_ns - played->advised_ns,
                                saved[times - 1]};
    played->saving = xfw_saving_within(saving, played->recorded_ns);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool fits_here(struct playing *playing)
{
    if (playing->places.refusal)
        playing->played->why = xfa_text(playing->places.refusal);
    else if (playing->request->analysis->run->process_count != 1)
        playing->played->why = xfa_text("the run has several processes, which are not played");
    if (playing->places.note)
        playing->played->note = xfa_text(playing->places.note);
    return !playing->played->why;
}

static void play_here(struct playing *playing)
{
    if (fits_here(playing) && write_scripts(playing) && prepare(playing) && play_all(playing))
        sum_up(playing);
}

struct xfw_played *xfa_play_run(const struct xfa_play_request *request)
{
    struct playing playing = {.request = request, .way_count = advises(request) ? WAYS : 1};
    struct xfa_analysis *analysis = request->analysis;
    char error[512] = "";
    playing.played = xfa_alloc(sizeof *playing.played);
    *playing.played = (struct xfw_played){
        .advised_ns = NAN,
        .set_ns = NAN,
        .saving = {NAN, NAN, NAN},
        .limit_s = request->limit_s,
    };
    playing.play = xfp_play_open(error, sizeof error);
    if (!playing.play) {
        playing.played->why = xfa_print("no GPU to play it on here: %s", error);
        return playing.played;
    }
    xfa_places_init(&playing.places, analysis->run, &xfp_play_machine(playing.play)->machine, NULL);
    xfa_play_setting_init(&playing.setting, &analysis->classes, &playing.places);
    play_here(&playing);
    for (size_t i = 0; i < WAYS; i++)
        xfa_play_script_free(playing.ways[i].script);
    xfa_play_setting_free(&playing.setting);
    xfa_places_free(&playing.places);
    xfp_free(xfp_play_close(playing.play));
    return playing.played;
}
