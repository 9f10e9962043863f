#include "analyzer/report/compared.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/compare/match.h"
#include "analyzer/report/format.h"
#include "analyzer/report/savings.h"

/* ---- words ----------------------------------------------------------------------------------- */

const char *xfa_verdict_word(enum xfa_verdict verdict)
{
    static const char *const words[] = {[XFA_UNSURE] = "not known",
                                        [XFA_ALIKE] = "within noise",
                                        [XFA_LESS] = "faster",
                                        [XFA_MORE] = "slower"};
    return words[verdict];
}

const char *xfa_measure_word(enum xfa_measure measure)
{
    static const char *const words[] = {[XFA_MEASURE_SPAN] = "run",
                                        [XFA_MEASURE_WALL] = "processes",
                                        [XFA_MEASURE_TRANSFERS] = "transfers",
                                        [XFA_MEASURE_KERNELS] = "kernels",
                                        [XFA_MEASURE_WAITS] = "waits"};
    return words[measure];
}

const char *xfa_stands_word(enum xfa_stands stands)
{
    static const char *const words[] = {[XFA_GONE] = "gone",
                                        [XFA_STAYS] = "stays",
                                        [XFA_IDLE_NOW] = "no longer worth it",
                                        [XFA_NEW] = "new"};
    return words[stands];
}

static const char *paid_word(enum xfa_paid paid)
{
    static const char *const words[] = {[XFA_PAID_UNKNOWN] = "not known",
                                        [XFA_PAID_WITHIN] = "within",
                                        [XFA_PAID_LESS] = "less",
                                        [XFA_PAID_MORE] = "more",
                                        [XFA_PAID_UNSURE] = "outside, within noise"};
    return words[paid];
}

const char *xfa_predicted_word(enum xfa_predicted predicted)
{
    static const char *const words[] = {[XFA_PREDICTED_NOTHING] = "nothing",
                                        [XFA_PREDICTED_SET] = "best set",
                                        [XFA_PREDICTED_ONE] = "one finding",
                                        [XFA_PREDICTED_PARTS] = "parts of the best set",
                                        [XFA_PREDICTED_UNKNOWN] = "not known"};
    return words[predicted];
}

/* ---- figures --------------------------------------------------------------------------------- */

#define TIMES_FROM 9.0 /* relative change from which on it is shown as "x 10" */

char *xfa_part_text(const struct xfa_change *change)
{
    double part = xfa_change_part(change);
    if (isnan(part))
        return xfa_text("-");
    if (part >= TIMES_FROM)
        return xfa_print("x %.0f", part + 1);
    double percent = part * 100;
    return xfa_print("%+.*f %%", fabs(percent) < 99.95 ? 1 : 0, fabs(percent) < 0.05 ? 0 : percent);
}

/* "-54.7 ms", "+3 us". */
static char *shift_text(double ns)
{
    char text[XFA_UNIT_CHARS];
    if (isnan(ns))
        return xfa_text("-");
    return xfa_print("%s%s", ns < 0 ? "-" : "+", xfa_time_text(text, fabs(ns)));
}

static char *signed_text(double ns)
{
    char text[XFA_UNIT_CHARS];
    return isnan(ns) ? xfa_text("-")
                     : xfa_print("%s%s", ns < 0 ? "-" : "", xfa_time_text(text, fabs(ns)));
}

char *xfa_interval_text(const struct xfa_change *change)
{
    if (isnan(change->confidence))
        return xfa_text("-");
    char *low = shift_text(change->low), *high = shift_text(change->high);
    char *text = xfa_print("%s to %s", low, high);
    free(low);
    free(high);
    return text;
}

static char *saving_text(const struct xfw_saving *saving)
{
    if (xfw_saving_known(saving) != XFW_KNOWN)
        return xfw_saving_known(saving) == XFW_AT_MOST ? xfa_most_text(saving)
                                                       : xfa_text("not known");
    char *likely = signed_text(saving->likely), *bounds = xfa_bounds_text(saving);
    char *text = xfa_print("%s (%s)", likely, bounds);
    free(likely);
    free(bounds);
    return text;
}

/* ---- what was compared ----------------------------------------------------------------------- */

char *xfa_runs_text(const struct xfa_side *side)
{
    char *text = xfa_text(side->runs[0]->path);
    for (size_t i = 1; i < side->count; i++) {
        text = xfa_append(text, ", %s", side->runs[i]->path);
    }
    if (side->count > 1) {
        text = xfa_append(text, " (%zu runs; findings are those of %s, the one in the middle)",
                          side->count, xfa_side_middle(side)->path);
    }
    return text;
}

char *xfa_noise_text(const struct xfa_comparison *comparison)
{
    double confidence = comparison->measures[XFA_MEASURE_WALL].confidence;
    if (comparison->repeated && !isnan(confidence))
        return xfa_print("known from repetitions: a change counts when its %.1f %% interval "
                         "(Mann-Whitney) excludes zero, and it is more than %g %%",
                         confidence * 100, XFA_LEAST_CHANGE * 100);
    return xfa_print(
        "not known: that takes four runs on each side, or three and five. A time counts as changed "
        "by more than %g %% where the host takes part, by more than %g %% on the GPU alone; the "
        "time of transfers also by more than their own times vary",
        XFA_ONE_RUN_HOST * 100, XFA_ONE_RUN_DEVICE * 100);
}

/* ---- in a sentence --------------------------------------------------------------------------- */

static enum xfa_measure main_measure(const struct xfa_comparison *comparison)
{
    bool span = !isnan(comparison->measures[XFA_MEASURE_SPAN].shift);
    return span ? XFA_MEASURE_SPAN : XFA_MEASURE_WALL;
}

static char *change_text(const struct xfa_change *change)
{
    static const char *const words[] = {[XFA_UNSURE] = "whether it changed is not known",
                                        [XFA_ALIKE] = "no change beyond noise",
                                        [XFA_LESS] = "faster",
                                        [XFA_MORE] = "SLOWER"};
    char before[XFA_UNIT_CHARS], after[XFA_UNIT_CHARS];
    char *part = xfa_part_text(change);
    char *text =
        xfa_print("%s: %s before, %s after (%s)", words[change->verdict],
                  xfa_time_text(before, change->before), xfa_time_text(after, change->after), part);
    free(part);
    return text;
}

char *xfa_run_verdict_text(const struct xfa_comparison *comparison)
{
    return change_text(&comparison->measures[main_measure(comparison)]);
}

char *xfa_phase_verdict_text(const struct xfa_comparison *comparison)
{
    const struct xfa_payoff *payoff = xfa_main_payoff(comparison);
    if (!payoff || !payoff->phase || isnan(payoff->time.shift))
        return NULL;
    char *change = change_text(&payoff->time);
    char *text = xfa_print("phase %s %s", payoff->phase, change);
    free(change);
    return text;
}

char *xfa_compared_headline_text(const struct xfa_comparison *comparison)
{
    char *phase = xfa_phase_verdict_text(comparison), *run = xfa_run_verdict_text(comparison);
    if (!phase)
        return run;
    char *text = xfa_print("%s; the run: %s", phase, run);
    free(phase);
    free(run);
    return text;
}

static char *paid_text(const struct xfa_comparison *comparison, size_t followed)
{
    static const char *const words[] = {[XFA_PAID_UNKNOWN] = "; what that saved is not known",
                                        [XFA_PAID_WITHIN] = ", which saved what was predicted",
                                        [XFA_PAID_LESS] = ", which saved LESS than predicted",
                                        [XFA_PAID_MORE] = ", which saved more than predicted",
                                        [XFA_PAID_UNSURE] =
                                            ", which saved what was predicted, within noise"};
    const struct xfa_payoff *main = xfa_main_payoff(comparison);
    char *payoff = xfa_payoff_text(main);
    char *text = xfa_print("%zu finding%s followed%s:%s%s %s", followed, followed == 1 ? "" : "s",
                           words[main->paid], main->phase ? " in phase " : "",
                           main->phase ? main->phase : "", payoff);
    free(payoff);
    return text;
}

char *xfa_advice_verdict_text(const struct xfa_comparison *comparison)
{
    size_t followed = 0, advised = 0;
    for (size_t i = 0; i < comparison->finding_count; i++) {
        const struct xfa_compared_finding *finding = &comparison->findings[i];
        followed += finding->followed;
        advised += finding->before && !finding->before->idle;
    }
    if (advised == 0)
        return xfa_text("nothing was advised before");
    if (followed == 0)
        return xfa_print("none of %zu finding%s was followed", advised, advised == 1 ? "" : "s");
    return paid_text(comparison, followed);
}

char *xfa_limit_text(const struct xfa_comparison *comparison)
{
    if (isnan(comparison->limit))
        return NULL;
    if (!comparison->failed)
        return xfa_print("passed%s: nothing got slower by more than %g %% beyond noise",
                         comparison->repeated ? "" : " (by few runs)", comparison->limit * 100);
    char *part = xfa_part_text(&comparison->measures[comparison->slowest]);
    char *text = xfa_print("FAILED: %s %s, %g %% is allowed", xfa_measure_word(comparison->slowest),
                           part, comparison->limit * 100);
    free(part);
    return text;
}

/* ---- parts ----------------------------------------------------------------------------------- */

const char *xfa_measure_text(enum xfa_measure measure)
{
    static const char *const texts[] = {
        [XFA_MEASURE_SPAN] = "run (first GPU work to last)",
        [XFA_MEASURE_WALL] = "processes, start to end",
        [XFA_MEASURE_TRANSFERS] = "transfers, added up",
        [XFA_MEASURE_KERNELS] = "kernels, added up",
        [XFA_MEASURE_WAITS] = "host in calls that wait",
    };
    return texts[measure];
}

char *xfa_payoff_text(const struct xfa_payoff *payoff)
{
    char *predicted = saving_text(&payoff->predicted), *achieved = signed_text(-payoff->time.shift);
    bool noise = payoff->time.verdict == XFA_ALIKE, known = payoff->paid != XFA_PAID_UNKNOWN;
    char *text = xfa_print("predicted %s, achieved %s%s%s%s", predicted, achieved,
                           noise ? " (within noise)" : "", known ? ": " : "",
                           known ? paid_word(payoff->paid) : "");
    free(predicted);
    free(achieved);
    return text;
}

static char *sites_text(const struct xfa_snapshot_finding *finding)
{
    if (finding->site_count == 0)
        return xfa_text("the run");
    if (finding->site_count == 1)
        return xfa_text(finding->sites[0].text);
    return xfa_print("%s and %zu more", finding->sites[0].text, finding->site_count - 1);
}

static const char *tense(const struct xfa_compared_finding *finding)
{
    if (finding->stands == XFA_STAYS || finding->stands == XFA_NEW)
        return "would save";
    return "was predicted to save";
}

char *xfa_compared_finding_text(const struct xfa_compared_finding *finding)
{
    bool now = finding->after && (finding->stands == XFA_STAYS || finding->stands == XFA_NEW);
    const struct xfa_snapshot_finding *shown = now ? finding->after : finding->before;
    char *saving = saving_text(&shown->saving), *sites = sites_text(shown);
    char fewer[96] = "";
    if (now && finding->before && finding->after->site_count < finding->before->site_count)
        snprintf(fewer, sizeof fewer, " (%zu of %zu call sites)", finding->after->site_count,
                 finding->before->site_count);
    bool was_idle = finding->stands == XFA_STAYS && finding->before && finding->before->idle;
    char *text = xfa_print("%s at %s%s: %s %s%s", xfa_finding_word(shown->id), sites, fewer,
                           tense(finding), saving, was_idle ? ", was not worth it before" : "");
    free(saving);
    free(sites);
    return text;
}

/* ---- a row ----------------------------------------------------------------------------------- */

static char *place_text(const struct xfa_call_place *place)
{
    if (place->file && place->line && place->function)
        return xfa_print("%s:%" PRIu64, place->file, place->line);
    return xfa_text(place->text);
}

char *xfa_compared_site_text(const struct xfa_compared_row *row)
{
    const struct xfa_call_place *place = &xfa_compared_of(row)->place;
    if (!row->before || !row->after || !(row->moved & (XFA_MOVED_LINE | XFA_MOVED_FILE)))
        return xfa_text(place->text);
    char *was = place_text(&row->before->row->place);
    char *text = xfa_print("%s, was %s", place->text, was);
    free(was);
    return text;
}

char *xfa_compared_call_text(const struct xfa_compared_row *row)
{
    const char *called = xfa_compared_of(row)->called;
    if (row->moved & XFA_MOVED_CALL)
        return xfa_print("%s, was %s", called, row->before->row->called);
    return xfa_text(called);
}

char *xfa_compared_path_text(const struct xfa_compared_row *row, bool one)
{
    char *path = xfa_path_text(&xfa_compared_of(row)->key, one);
    if (!(row->moved & XFA_MOVED_KIND))
        return path;
    char *was = xfa_path_text(&row->before->row->key, one);
    char *text = xfa_print("%s, was %s", path, was);
    free(path);
    free(was);
    return text;
}

char *xfa_compared_count_text(const struct xfa_compared_row *row)
{
    double before = row->before ? row->before->transfers : 0;
    double after = row->after ? row->after->transfers : 0;
    if (!row->before || !row->after || before == after)
        return xfa_print("%.10g", row->after ? after : before);
    return xfa_print("%.10g, was %.10g", after, before);
}

const char *xfa_compared_row_word(const struct xfa_compared_row *row)
{
    if (!row->after)
        return "gone";
    if (!row->before)
        return "new";
    return xfa_verdict_word(row->time.verdict);
}

bool xfa_compared_one_gpu(const struct xfa_comparison *comparison)
{
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct xfa_compared_row *row = &comparison->rows[i];
        if ((row->before &&
             (row->before->row->key.src_gpu > 0 || row->before->row->key.dst_gpu > 0)) ||
            (row->after && (row->after->row->key.src_gpu > 0 || row->after->row->key.dst_gpu > 0)))
            return false;
    }
    return true;
}

struct xfa_compared_counts xfa_compared_counts(const struct xfa_comparison *comparison)
{
    struct xfa_compared_counts counts = {0};
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct xfa_compared_row *row = &comparison->rows[i];
        bool both = row->before && row->after;
        counts.both += both;
        counts.moved += both && (row->moved & XFA_MOVED_LINE) && !(row->moved & XFA_MOVED_FILE);
        counts.other_file += both && (row->moved & XFA_MOVED_FILE);
        counts.gone += !row->after;
        counts.new += !row->before;
    }
    return counts;
}
