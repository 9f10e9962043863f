/*
 * A run of the probe: from options to a profile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/bench/bench.h"
#include "common/text.h"
#include "probe/interrupt.h"
#include "probe/machine/machine.h"
#include "probe/measure/budget.h"
#include "probe/progress.h"
#include "probe/resume.h"
#include "probe/schedule.h"

#define INTERVAL_NS 3000000000u /* between two checkpoints */

/* ---- checkpoints ----------------------------------------------------------------------------- */

struct checkpoint {
    uint64_t last_ns; /* when the profile was last written; 0: never */
    bool failed;      /* the file could not be written: no further tries */
};

/* The time spent on measuring, that of an earlier run included. */
static void note_time(struct xfp_session *s)
{
    double before = s->options->resume ? s->options->resume->rules.seconds : 0;

    s->profile->rules.seconds = before + (double)(xfp_wall_ns() - s->started_ns) / 1e9;
}

/* The warning in a profile that is not complete. */
static void warn_interrupted(struct xfp_session *s, const struct xfp_probe_outcome *outcome)
{
    xfp_warn(&s->sys, "interrupted: %zu of %zu benchmarks", outcome->measured, outcome->selected);
}

static bool is_due(const struct checkpoint *c, const struct xfp_session *s)
{
    uint64_t last = c->last_ns ? c->last_ns : s->started_ns;
    /* a simulated run must not depend on this machine's clock */
    uint64_t interval = s->sys.cu->simulated_now_ns ? 0 : INTERVAL_NS;

    return s->options->checkpoint && !c->failed && xfp_wall_ns() - last >= interval;
}

/* The profile so far, between two benchmarks, marked as interrupted, so that --resume can continue
 * after the probe was killed: where the options name a file, there is a result, and a few seconds
 * have passed since the last one. */
static void keep_checkpoint(struct checkpoint *c, struct xfp_session *s,
                            const struct xfp_probe_outcome *outcome)
{
    struct xfp_profile *p = s->profile;
    size_t warnings = p->warning_count;
    char error[200];

    if (!outcome->measured || !is_due(c, s))
        return;
    c->last_ns = xfp_wall_ns();
    note_time(s);
    warn_interrupted(s, outcome);
    c->failed = xfp_save(p, s->options->checkpoint, error, sizeof(error)) != 0;
    if (p->warning_count > warnings)
        free(p->warnings[--p->warning_count]);
}

/* ---- the run --------------------------------------------------------------------------------- */

/* One line for a failure, even if all benchmarks fail in the same way (a busy GPU). */
static void complain(struct xfp_session *s, const char *name, const char *why, char *last)
{
    xfp_progress_clear(s);
    if (strcmp(why, last)) {
        xfc_print(stderr, "xferscope probe: %s: %s\n", name, why);
        snprintf(last, sizeof(s->sys.error), "%s", why);
    }
    xfp_warn(&s->sys, "%s: %s", name, why);
}

/* A benchmark that does not apply is no failure, and no warning about other figures. With --quick
 * it is named only if it was asked for. */
static void say_absent(const struct xfp_session *s, const char *name, char *last)
{
    bool asked = !s->options->quick || s->options->filter;

    xfp_progress_clear(s);
    if (s->options->quiet || !asked || !strcmp(s->absent, last))
        return;
    xfc_print(stderr, "xferscope probe: %s does not apply: %s\n", name, s->absent);
    snprintf(last, sizeof(s->sys.error), "%s", s->absent);
}

static void run_one(struct xfp_session *s, const struct xfp_bench *bench,
                    struct xfp_probe_outcome *outcome, char *last)
{
    size_t before = s->results;
    int bad;

    s->sys.notice[0] = s->absent[0] = '\0';
    bad = xfp_schedule_over(s) ? xfp_fail(&s->sys, "not measured: the time limit is over")
                               : xfp_bench_run(s, bench);
    xfp_see_links(s, bench);
    outcome->measured += s->results > before;
    outcome->failed += bad || *s->sys.notice;
    if (bad)
        complain(s, bench->name, s->sys.error, last);
    else if (*s->sys.notice)
        complain(s, bench->name, s->sys.notice, last);
    else if (*s->absent)
        say_absent(s, bench->name, last);
}

static void run_all(struct xfp_session *s, const struct xfp_bench_list *list,
                    struct xfp_probe_outcome *outcome)
{
    char last[sizeof(s->sys.error)] = "";
    struct checkpoint checkpoint = {0};

    xfp_schedule_start(s, list);
    xfp_progress_begin(s, list->count);
    for (size_t i = 0; i < list->count && !xfp_interrupted(); i++) {
        xfp_schedule_begin(s, list, i);
        run_one(s, &list->items[i], outcome, last);
        keep_checkpoint(&checkpoint, s, outcome);
        xfp_schedule_end(s, list, i);
    }
    xfp_progress_clear(s);
    xfp_judge_gpus(s);
    note_time(s);
    outcome->interrupted = xfp_interrupted();
    if (outcome->interrupted)
        warn_interrupted(s, outcome);
}

static int select_benches(struct xfp_session *s, struct xfp_bench_list *list)
{
    int device = s->options->device;

    if (device >= (int)s->sys.device_count)
        return xfp_fail(&s->sys, "--device %d: this machine has %zu GPU(s), numbered from 0",
                        device, s->sys.device_count);
    if (xfp_bench_select(s, list))
        return -1;
    return list->count ? 0 : xfp_fail(&s->sys, "no benchmark matches (--list names them)");
}

static int prepare(struct xfp_session *s, const struct xfp_probe_options *options,
                   struct xfp_bench_list *list)
{
    return xfp_session_open(s, options) || select_benches(s, list) ? -1 : 0;
}

int xfp_probe_list(const struct xfp_probe_options *options, FILE *out, char *error,
                   size_t error_bytes)
{
    struct xfp_session s;
    struct xfp_bench_list list = {0};
    int bad = prepare(&s, options, &list);

    if (bad)
        snprintf(error, error_bytes, "%s", s.sys.error);
    for (size_t i = 0; i < list.count && !bad; i++)
        fprintf(out, "%-36s %s\n", list.items[i].name, list.items[i].family->summary);
    free(list.items);
    xfp_session_close(&s);
    xfp_free(s.profile);
    return bad;
}

struct xfp_profile *xfp_probe_run(const struct xfp_probe_options *options,
                                  struct xfp_probe_outcome *outcome, char *error,
                                  size_t error_bytes)
{
    struct xfp_session s;
    struct xfp_bench_list list = {0};
    int bad = prepare(&s, options, &list);

    *outcome = (struct xfp_probe_outcome){.selected = list.count};
    if (!bad && options->resume)
        bad = xfp_resume_check(&s, options->resume);
    if (!bad && options->resume)
        outcome->measured = xfp_resume_skip(&s, options->resume, &list);
    if (!bad)
        bad = xfp_session_make_pattern(&s);
    if (!bad) {
        xfp_catch_signals();
        run_all(&s, &list, outcome);
        if (options->resume && xfp_resume_merge(&s, options->resume))
            xfp_warn(&s.sys, "%s", s.sys.error);
        xfp_session_close(&s);
        xfp_release_signals();
    } else {
        xfp_session_close(&s);
        snprintf(error, error_bytes, "%s", s.sys.error);
        xfp_free(s.profile);
        s.profile = NULL;
    }
    free(list.items);
    return s.profile;
}
