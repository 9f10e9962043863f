#include "analyzer/report/described.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/compare.h"
#include "analyzer/base/units.h"

static const char *why_not(const struct xfa_analysis *analysis)
{
    return analysis->profile ? "what this fix would change in the run is not known"
                             : "that takes a machine profile";
}

/* Of a finding that is not in the best set, where there is one: which member excludes it, else that
 * it adds nothing to the members. */
static char *role_text(const struct xfa_findings *findings, const struct xfa_finding *finding)
{
    if (finding->order || finding->idle || xfa_findings_in_set(findings) == 0)
        return NULL;
    const struct xfa_finding *member =
        finding->instead_of ? xfa_finding_in_set(findings, finding->instead_of) : NULL;
    if (member && member->idle)
        return xfa_print("instead of %s", xfa_finding_word(member->id));
    if (member)
        return xfa_print("instead of %zu", (size_t)(member - findings->items) + 1);
    char *numbers = xfa_members_text(findings);
    char *text = xfa_print("needless after %s", numbers);
    free(numbers);
    return text;
}

/* Members behind the first with what they add, so that the figures add up to the set's. */
static void describe_added(struct xfa_described *described)
{
    const struct xfa_finding *finding = described->finding;
    bool behind = finding->order > 1;
    char added[XFA_UNIT_CHARS + 1];
    described->adds = behind ? xfa_print("%s more", xfa_signed_time_text(added, finding->added_ns))
                             : xfa_text(described->likely);
    described->brief =
        xfa_print("%s (%s%s)", described->adds, behind ? "alone " : "", described->cell);
}

/* In the program's words where it calls CUDA itself: a framework has one way. */
static char *pinned_text(const struct xfw_pinned *pinned, enum xfa_dialect dialect)
{
    char time[XFA_UNIT_CHARS], threads[32] = "";
    static const char *const ways[] = {
        [XFW_PINNED_UNKNOWN] = "",
        [XFW_PINNED_REGISTERED] = ": cudaHostRegister() on the buffer as it is",
        [XFW_PINNED_ALLOCATED] = ": cudaMallocHost()",
        [XFW_PINNED_BY_HAND] = ": mmap(), a write to each page, then cudaHostRegister()",
    };
    const char *way = dialect == XFA_DIALECT_CUDA ? ways[pinned->by] : "";
    if (*way && pinned->by == XFW_PINNED_BY_HAND && pinned->threads > 1)
        snprintf(threads, sizeof threads, ", by %u threads", pinned->threads);
    return xfa_print("page-locking takes %s once, which is counted%s%s",
                     xfa_time_text(time, pinned->ns), way, threads);
}

static char *note_text(const struct xfa_finding *finding)
{
    const struct xfa_fix_note *note = &finding->note;
    const bool locks = note->pinned.by != XFW_PINNED_UNKNOWN;
    char *text = note->in_order ? xfa_text("the host sends what it has fetched, so rounds stay in "
                                           "order: take pieces of one round")
                                : NULL;
    if (!locks)
        return text;
    char *pinned = pinned_text(&note->pinned, finding->remedy.dialect);
    if (!text)
        return pinned;
    text = xfa_append(text, "; %s", pinned);
    free(pinned);
    return text;
}

/* Of the phase that is asked for: what is saved in it, of its time. */
static void describe_share(struct xfa_described *described, const struct xfa_findings *findings)
{
    const struct xfw_whatif *whatif = findings->whatif;
    const struct xfw_range_times *phase = xfa_range_named(whatif, findings->phase);
    const double *saved = described->finding->in_ranges;
    bool of_phase = phase && saved && phase->times.alone_ns > 0;
    double part = of_phase ? saved[phase - whatif->ranges] : described->saving.likely;
    double whole = of_phase ? phase->times.alone_ns : whatif->alone_ns;
    char text[XFA_PERCENT_CHARS];
    described->share = part / whole;
    described->part = xfa_text(xfa_percent_text(text, part, whole));
    described->part_of = of_phase ? xfa_print("phase %s", phase->name) : xfa_text("the run");
}

static void describe_known(struct xfa_described *described, const struct xfa_findings *findings)
{
    const struct xfw_saving *saving = &described->saving;
    char likely[XFA_UNIT_CHARS + 1];
    described->likely = xfa_text(xfa_signed_time_text(likely, saving->likely));
    describe_share(described, findings);
    described->cell = xfa_bounds_cell(saving, " ");
    describe_added(described);
    described->role = role_text(findings, described->finding);
    char *range = xfa_bounds_text(saving);
    bool of_run = strcmp(described->part_of, "the run") == 0;
    described->sentence = xfa_print(
        "%s of the run (%s%s%s), %s (modelled)%s%s", described->likely, described->part,
        of_run ? "" : " of ", of_run ? "" : described->part_of, range,
        described->role ? "; not in the best set: " : "", described->role ? described->role : "");
    free(range);
}

#define MUCH_OF_MOST 0.95 /* of what is saved at most: as good as that */

static void describe_at_most(struct xfa_described *described)
{
    described->likely = xfa_most_text(&described->saving);
    described->adds = xfa_text(described->likely);
    described->brief = xfa_text(described->likely);
    described->sentence = xfa_print("%s of the run; how much is not known: %s", described->likely,
                                    described->why_not);
}

/* "54.0 ms, up to 98.0 ms in all,": what is likely is said where it reads otherwise than the most.
 */
static char *question_figures(double likely, const struct xfw_saving *most, bool in_all)
{
    char *at_most = xfa_most_text(most), *text;
    char likely_text[XFA_UNIT_CHARS + 1];
    const char *all = in_all ? " in all" : "";
    if (likely > 0 && likely < MUCH_OF_MOST * most->high)
        text = xfa_print("%s, %s%s,", xfa_signed_time_text(likely_text, likely), at_most, all);
    else
        text = xfa_print("%s%s", at_most, all);
    free(at_most);
    return text;
}

static void describe_question(struct xfa_described *described, const struct xfa_findings *findings)
{
    const struct xfa_finding *finding = described->finding;
    const struct xfw_saving most = {.high = xfa_finding_up_to(finding)};
    const struct xfw_saving up_to = xfa_saving_shown(findings, &most);
    /* The first screen compares with the span. */
    const struct xfw_saving of_span = {.high = fmin(up_to.high, finding->up_to.span_ns)};
    const double alone = described->saving.high;
    const double likely = fmin(finding->answered.likely, finding->up_to.likely_span_ns);
    char brief[XFA_REMEDY_CHARS];
    /* With other changes of the set it is the whole that may be saved so much. */
    bool in_all = up_to.high - alone >= XFA_LEAST_SAVED * findings->whatif->alone_ns;
    char *figures = question_figures(likely, &of_span, in_all);
    described->up_to_ns = up_to.high;
    described->condition = xfa_finding_question(finding);
    described->question = xfa_print("%s if %s: %s", figures, described->condition,
                                    xfa_remedy_brief(&finding->remedy, brief));
    described->key = xfa_finding_key(findings, described->finding);
    free(figures);
}

struct xfa_described xfa_describe(const struct xfa_analysis *analysis,
                                  const struct xfa_findings *findings,
                                  const struct xfa_finding *finding)
{
    struct xfa_described described = {
        .finding = finding,
        .share = NAN,
        .up_to_ns = NAN,
        .word = xfa_finding_word(finding->id),
        .title = xfa_finding_title(finding->id),
        .saving = xfa_saving_shown(findings, &finding->saving),
        .assumed = xfa_finding_assumed(finding),
        .note = note_text(finding),
    };
    if (!xfa_savings_known(findings))
        return described;
    described.known = xfw_saving_known(&described.saving);
    if (finding->asked)
        describe_question(&described, findings);
    described.why_not = described.known == XFW_KNOWN ? NULL : why_not(analysis);
    if (described.known == XFW_KNOWN)
        describe_known(&described, findings);
    else if (described.known == XFW_AT_MOST)
        describe_at_most(&described);
    else
        described.sentence = xfa_print("not known: %s", described.why_not);
    return described;
}

void xfa_described_free(struct xfa_described *described)
{
    free(described->likely);
    free(described->part);
    free(described->part_of);
    free(described->cell);
    free(described->adds);
    free(described->brief);
    free(described->role);
    free(described->sentence);
    free(described->assumed);
    free(described->note);
    free(described->condition);
    free(described->question);
    free(described->key);
}

static int by_most(const void *a, const void *b, void *self)
{
    const struct xfa_findings *findings = self;
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int order = xfa_descending(xfa_finding_up_to(&findings->items[x]),
                               xfa_finding_up_to(&findings->items[y]));
    return order ? order : (x > y) - (x < y);
}

/* One answer is for all findings of a kind at a site, both directions' too. */
static bool asked_before(const struct xfa_findings *findings, const size_t *places, size_t count,
                         size_t place)
{
    const struct xfa_finding *finding = &findings->items[place];
    for (size_t i = 0; i < count; i++) {
        const struct xfa_finding *other = &findings->items[places[i]];
        if (other->id == finding->id && other->sites[0].site == finding->sites[0].site)
            return true;
    }
    return false;
}

size_t *xfa_questions(const struct xfa_findings *findings, size_t *count)
{
    size_t *places = xfa_alloc((findings->count + 1) * sizeof *places);
    *count = 0;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].asked)
            places[(*count)++] = i;
    qsort_r(places, *count, sizeof *places, by_most, (void *)findings);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (!asked_before(findings, places, kept, places[i]))
            places[kept++] = places[i];
    *count = kept;
    return places;
}

#define TIMES_MORE 10 /* than the set: a guess */

bool xfa_questions_first(const struct xfa_findings *findings)
{
    size_t count, *places = xfa_questions(findings, &count);
    double most = count ? xfa_finding_up_to(&findings->items[places[0]]) : 0;
    free(places);
    if (!count || !xfa_savings_known(findings) ||
        xfw_saving_known(&findings->whatif->set) != XFW_KNOWN)
        return false;
    return most > TIMES_MORE * fmax(0, findings->whatif->set.high);
}

char *xfa_answers_text(const struct xfa_findings *findings)
{
    const struct xfa_answers *answers = findings->answers;
    char *text = answers && answers->count ? xfa_text("") : NULL;
    for (size_t i = 0; text && i < answers->count; i++)
        text = xfa_append(text, "%s%s", i ? ", " : "", answers->items[i].text);
    return text;
}
