#include "analyzer/report/savings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/format.h"

const char *xfa_percent_text(char text[XFA_PERCENT_CHARS], double part, double whole)
{
    double value = whole > 0 ? part / whole * 100 : 0;
    snprintf(text, XFA_PERCENT_CHARS, "%.*f %%", fabs(value) >= 9.95 ? 0 : 1,
             fabs(value) < 0.05 ? 0 : value); /* no -0.0 */
    return text;
}

const char *xfa_signed_time_text(char text[XFA_UNIT_CHARS + 1], double ns)
{
    *text = '-';
    xfa_time_text(text + (ns < 0), fabs(ns));
    return text;
}

/* Less than a nanosecond is no cost. */
static bool may_cost(const struct xfw_saving *saving)
{
    return saving->low <= -1;
}

/* It saves nothing even at best. */
static bool only_costs(const struct xfw_saving *saving)
{
    return may_cost(saving) && saving->high <= 0;
}

char *xfa_bounds_text(const struct xfw_saving *saving)
{
    char one[XFA_UNIT_CHARS], other[XFA_UNIT_CHARS];
    if (only_costs(saving))
        return xfa_print("costs between %s and %s", xfa_time_text(one, -saving->high),
                         xfa_time_text(other, -saving->low));
    xfa_time_text(one, saving->high);
    if (may_cost(saving))
        return xfa_print("at most %s, and may cost up to %s", one,
                         xfa_time_text(other, -saving->low));
    return xfa_print("between %s and %s", xfa_time_text(other, fmax(0, saving->low)), one);
}

char *xfa_bounds_cell(const struct xfw_saving *saving, const char *line_break)
{
    char from[XFA_UNIT_CHARS], to[XFA_UNIT_CHARS];
    if (only_costs(saving))
        return xfa_print("costs up to%s%s", line_break, xfa_time_text(to, -saving->low));
    xfa_time_text(to, saving->high);
    if (may_cost(saving))
        return xfa_print("up to %s,%smay cost %s", to, line_break,
                         xfa_time_text(from, -saving->low));
    char *unit = strchr(xfa_time_text(from, fmax(0, saving->low)), ' '), *other = strchr(to, ' ');
    if (unit && other && strcmp(unit, other) == 0)
        *unit = 0;
    return xfa_print("%s-%s", from, to);
}

char *xfa_after_text(double whole_ns, const struct xfw_saving *saving)
{
    char best[XFA_UNIT_CHARS], worst[XFA_UNIT_CHARS];
    xfa_time_text(best, fmax(0, whole_ns - saving->high));
    if (may_cost(saving))
        return xfa_print("at best %s, may cost up to %s", best, xfa_time_text(worst, -saving->low));
    char *unit = strchr(best, ' '), *other;
    other = strchr(xfa_time_text(worst, whole_ns - saving->low), ' ');
    if (unit && other && strcmp(unit, other) == 0)
        *unit = 0;
    return xfa_print("%s to %s", best, worst);
}

bool xfa_applied_may_save(const struct xfa_findings *findings)
{
    const struct xfw_whatif *whatif = findings->whatif;
    return whatif && whatif->known && xfw_saving_known(&whatif->applied) == XFW_KNOWN &&
           whatif->applied.high > XFA_LEAST_SAVED * whatif->alone_ns;
}

char *xfa_applied_text(const struct xfa_findings *findings)
{
    char time[XFA_UNIT_CHARS];
    const struct xfw_whatif *whatif = findings->whatif;
    if (!xfa_applied_may_save(findings) ||
        whatif->applied.likely < XFA_LEAST_SAVED * whatif->alone_ns)
        return NULL;
    const struct xfw_saving saving = xfa_saving_shown(findings, &whatif->applied);
    char *bounds = xfa_bounds_text(&saving);
    char *text = xfa_print("without an edit: xferscope apply would save %s (%s)",
                           xfa_time_text(time, saving.likely), bounds);
    free(bounds);
    return text;
}

char *xfa_most_text(const struct xfw_saving *saving)
{
    char most[XFA_UNIT_CHARS + 1];
    return xfa_print("up to %s", xfa_signed_time_text(most, saving->high));
}

const struct xfw_range_times *xfa_range_named(const struct xfw_whatif *whatif, const char *name)
{
    for (size_t i = 0; whatif && name && i < whatif->range_count; i++)
        if (strcmp(whatif->ranges[i].name, name) == 0)
            return &whatif->ranges[i];
    return NULL;
}

struct xfw_saving xfa_saving_shown(const struct xfa_findings *findings,
                                   const struct xfw_saving *saving)
{
    return xfw_saving_checked(saving, findings->whatif ? findings->whatif->alone_ns : INFINITY);
}

bool xfa_savings_known(const struct xfa_findings *findings)
{
    return findings->whatif && findings->whatif->known;
}

/* ---- which there are ------------------------------------------------------------------------- */

size_t xfa_findings_count(const struct xfa_findings *findings)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += !findings->items[i].idle;
    return count;
}

size_t xfa_findings_in_set(const struct xfa_findings *findings)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += findings->items[i].order > 0 && !findings->items[i].idle;
    return count;
}

const struct xfa_finding *xfa_finding_in_set(const struct xfa_findings *findings, unsigned place)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].order == place)
            return &findings->items[i];
    return NULL;
}

const char *xfa_in_part_text(char text[XFA_IN_PART_CHARS], const struct xfa_finding_site *site)
{
    if (site->left == 0)
        return "";
    if (site->left >= site->transfers)
        return "; not in the best set";
    snprintf(text, XFA_IN_PART_CHARS, "; in the best set for %" PRIu64 " of them",
             site->transfers - site->left);
    return text;
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* "; from 13 % of its calls ...: within 5 ms" where a sample of the calls was replayed, and where
 * it stopped, else "". */
static char *sampled_text(const struct xfw_whatif *whatif)
{
    char part[XFA_PERCENT_CHARS], within[XFA_UNIT_CHARS];
    if (whatif->ops.came == 0)
        return xfa_text("");
    return xfa_print("; from %s of its calls, which %s: within %s",
                     xfa_percent_text(part, (double)whatif->ops.played, (double)whatif->ops.came),
                     whatif->stopped
                         ? "is where it stopped, since all of them are too many to be replayed"
                         : "repeat themselves",
                     xfa_time_text(within, whatif->sample_error_ns));
}

/* "160 messages", "160 messages and 20 of NCCL", "20 messages of NCCL". */
static char *messages_text(const struct xfw_ranks *ranks)
{
    bool nccl = ranks->meetings > 0, both = nccl && ranks->messages > 0;
    uint64_t count = ranks->messages > 0 ? ranks->messages : ranks->meetings;
    char *more = both ? xfa_print(" and %" PRIu64 " of NCCL", ranks->meetings)
                      : xfa_text(nccl ? " of NCCL" : "");
    char *text = xfa_print("%" PRIu64 " message%s%s", count, count == 1 ? "" : "s", more);
    free(more);
    return text;
}

/* "; 2 processes together, by 160 messages" or "". */
static char *together_text(const struct xfw_whatif *whatif)
{
    const struct xfw_ranks *ranks = &whatif->ranks;
    if (ranks->processes == 0)
        return xfa_text("");
    char *messages = messages_text(ranks);
    char *unmet = ranks->unmet ? xfa_print("; %" PRIu64 " calls of NCCL were not matched, and wait "
                                           "as recorded",
                                           ranks->unmet)
                               : xfa_text("");
    char *text = xfa_print("; %zu process%s together, by %s%s", ranks->processes,
                           ranks->processes == 1 ? "'s GPUs" : "es", messages, unmet);
    free(messages);
    free(unmet);
    return text;
}

char *xfa_check_text(const struct xfw_whatif *whatif)
{
    char off[XFA_PERCENT_CHARS], takes[XFA_UNIT_CHARS];
    char *sampled = sampled_text(whatif), *together = together_text(whatif);
    char *text = xfa_print("replayed unchanged: %s off%s; without what recording cost%s: %s%s%s",
                           xfa_percent_text(off, whatif->error, 1),
                           whatif->marked ? ", which makes all savings uncertain" : "",
                           whatif->recording_known ? "" : " (as far as that is known)",
                           xfa_time_text(takes, whatif->alone_ns), sampled, together);
    free(sampled);
    free(together);
    return text;
}

/* ---- threads that keep others' pace ---------------------------------------------------------- */

#define LONG_SLEEP 0.01 /* of the span */

struct sleeper {
    const struct xfa_process *process;
    const struct xfa_paced *thread; /* the one that sleeps longest; NULL: none does */
    size_t others;
};

static struct sleeper longest_sleeper(const struct xfa_run *run, double least_ns, bool likely)
{
    struct sleeper longest = {NULL, NULL, 0};
    size_t count = 0;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct xfa_process *process = run->processes[i];
        for (size_t k = 0; k < process->paced_count; k++) {
            const struct xfa_paced *thread = &process->paced[k];
            if (thread->slept_ns < least_ns || likely != (thread->paced >= XFW_PACED_LIKELY))
                continue;
            count++;
            if (!longest.thread || thread->slept_ns > longest.thread->slept_ns)
                longest = (struct sleeper){process, thread, 0};
        }
    }
    longest.others = count > 0 ? count - 1 : 0;
    return longest;
}

/* What is believed of it. */
static const char *paced_words(const struct xfa_paced *thread)
{
    if (thread->even)
        return "likely until times of its own, however long it was awake before: when its calls "
               "take less, it sleeps longer";
    switch ((enum xfw_paced)thread->paced) {
    case XFW_PACED_AT_BEST:
        return "until other threads of the program, which make no calls, have something for it: "
               "when its calls take less, it sleeps longer";
    case XFW_PACED_LIKELY:
        return "likely until other threads of the program, which make no calls, have something for "
               "it: when its calls take less, it likely sleeps longer";
    default:
        return "for what is not known: at worst until other threads have something for it, and "
               "when its calls take less, it sleeps longer";
    }
}

char *xfa_paced_text(const struct xfa_analysis *analysis, const struct xfw_whatif *whatif,
                     bool likely)
{
    char part[XFA_PERCENT_CHARS], slept[XFA_UNIT_CHARS];
    const struct xfa_run *run = analysis->run;
    double span = whatif->span.recorded_ns;
    struct sleeper longest = longest_sleeper(run, LONG_SLEEP * span, likely);
    if (!longest.thread)
        return NULL;
    char *of =
        run->process_count > 1 ? xfa_print(" of process %d", longest.process->pid) : xfa_text("");
    char *others = longest.others ? xfa_print("; so do %zu others", longest.others) : xfa_text("");
    char *text = xfa_print("thread %d%s sleeps %s (%s of the span) between its calls, %s%s",
                           longest.thread->tid, of, xfa_time_text(slept, longest.thread->slept_ns),
                           xfa_percent_text(part, fmin(longest.thread->slept_ns, span), span),
                           paced_words(longest.thread), others);
    free(of);
    free(others);
    return text;
}

/* ---- the best set ---------------------------------------------------------------------------- */

char *xfa_members_text(const struct xfa_findings *findings)
{
    size_t members = xfa_findings_in_set(findings);
    if (members < 2)
        return xfa_text("1");
    return xfa_print("1 %s %zu", members == 2 ? "and" : "to", members);
}

bool xfa_finding_is_smaller(const struct xfa_findings *findings, const struct xfa_finding *finding)
{
    return finding->order > 0 && finding->idle && xfa_findings_in_set(findings) > 0;
}

static size_t smaller_members(const struct xfa_findings *findings)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += xfa_finding_is_smaller(findings, &findings->items[i]);
    return count;
}

char *xfa_changes_text(const struct xfa_findings *findings)
{
    size_t members = xfa_findings_in_set(findings), small = smaller_members(findings);
    char smaller[48] = "";
    if (members == 0)
        return NULL;
    if (small)
        snprintf(smaller, sizeof smaller, " and %zu smaller", small);
    if (members == xfa_findings_count(findings))
        return xfa_print("%zu change%s%s", members, members == 1 ? "" : "s", smaller);
    char *numbers = xfa_members_text(findings);
    char *text = xfa_print("change%s %s%s", members == 1 ? "" : "s", numbers, smaller);
    free(numbers);
    return text;
}

char *xfa_smaller_text(const struct xfa_findings *findings, const struct xfa_view *view)
{
    char time[XFA_UNIT_CHARS + 1];
    char *list = xfa_text("");
    size_t count = 0;
    for (size_t i = 0; i < findings->count && xfa_savings_known(findings); i++) {
        const struct xfa_finding *finding = &findings->items[i];
        if (!xfa_finding_is_smaller(findings, finding) || !xfa_view_finding(view, i))
            continue;
        list = xfa_append(list, "%s%s at %s, %s%s", count > 0 ? "; " : "",
                          xfa_finding_word(finding->id), finding->sites[0].site->text,
                          xfa_signed_time_text(time, finding->added_ns),
                          finding->order > 1 ? " more" : "");
        count++;
    }
    char *text = count ? xfa_print("%zu smaller, in the best set, too little to be advice alone: "
                                   "%s",
                                   count, list)
                       : NULL;
    free(list);
    return text;
}

static bool moved_anything(const struct xfa_analysis *analysis)
{
    return analysis->row_count || analysis->managed.sites.count || analysis->managed.unseen;
}

struct xfw_saving xfa_best_alone(const struct xfa_findings *findings)
{
    struct xfw_saving best = {0, 0, 0};
    for (size_t i = 0; i < findings->count; i++) {
        const struct xfw_saving *saving = &findings->items[i].saving;
        best.likely = fmax(best.likely, saving->likely);
        best.high = fmax(best.high, saving->high);
    }
    best.high = fmax(best.likely, best.high);
    return best;
}

/* Of the best that was found; what it would save at best only where that would be worth a change.
 */
static char *too_little_text(const struct xfa_findings *findings)
{
    char saves[XFA_UNIT_CHARS], most[XFA_UNIT_CHARS];
    double alone = findings->whatif->alone_ns;
    const struct xfw_saving best = xfa_best_alone(findings);
    xfa_time_text(saves, best.likely);
    if (best.high < XFW_LEAST_SAVED * alone)
        return xfa_print(
            "Nothing worth changing: the best that was found would save %s of the run.", saves);
    return xfa_print("Nothing worth changing: the best that was found would save %s of the run, at "
                     "best %s.",
                     saves, xfa_time_text(most, best.high));
}

char *xfa_nothing_text(const struct xfa_analysis *analysis, const struct xfa_findings *findings)
{
    size_t asked = 0;
    if (findings->count == 0)
        return xfa_text(moved_anything(analysis) ? "Nothing worth changing was found."
                                                 : "Nothing was moved: no transfer was seen.");
    for (size_t i = 0; i < findings->count; i++)
        asked += findings->items[i].asked;
    if (asked)
        return xfa_print(
            "Nothing is worth changing for certain; %s on what the record cannot show.",
            asked > 1 ? "much depends" : "it depends");
    return too_little_text(findings);
}
