#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/path.h"
#include "analyzer/findings/applied.h"
#include "analyzer/findings/findings_private.h"
#include "analyzer/whatif/best_set.h"

/* ---- which transfers two findings share ------------------------------------------------------ */

/* A finding's sites sorted by row (without one: by call site), for look-ups: there may be as many
 * as call sites in a run. */
struct by_row {
    const struct xfa_finding_site **sites;
    size_t count;
};

static uintptr_t row_of(const struct xfa_finding_site *site)
{
    return site->row ? (uintptr_t)site->row : (uintptr_t)site->site;
}

static int compare_rows(const void *a, const void *b)
{
    const struct xfa_finding_site *const *x = a, *const *y = b;
    uintptr_t rows[] = {row_of(*x), row_of(*y)};
    return rows[0] != rows[1] ? (rows[0] > rows[1]) - (rows[0] < rows[1]) : (*x > *y) - (*x < *y);
}

static struct by_row by_row(const struct xfa_finding *finding)
{
    struct by_row by = {xfa_alloc((finding->site_count + 1) * sizeof *by.sites),
                        finding->site_count};
    for (size_t i = 0; i < by.count; i++)
        by.sites[i] = &finding->sites[i];
    if (by.count)
        qsort(by.sites, by.count, sizeof *by.sites, compare_rows);
    return by;
}

/* The first site of the same row; NULL: there is none. */
static const struct xfa_finding_site *same_row(const struct by_row *by,
                                               const struct xfa_finding_site *site)
{
    size_t first = 0, end = by->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (row_of(by->sites[middle]) < row_of(site))
            first = middle + 1;
        else
            end = middle;
    }
    return first < by->count && row_of(by->sites[first]) == row_of(site) ? by->sites[first] : NULL;
}

/* All transfers of the one are transfers of the other. */
static bool is_within(const struct xfa_finding *one, const struct xfa_finding *other)
{
    struct by_row by = by_row(other);
    size_t there = 0;
    while (there < one->site_count && one->sites[there].row && same_row(&by, &one->sites[there]))
        there++;
    free(by.sites);
    return there == one->site_count;
}

static bool share_transfers(const struct xfa_finding *one, const struct xfa_finding *other)
{
    struct by_row by = by_row(other);
    size_t i = 0;
    while (i < one->site_count && !(one->sites[i].row && same_row(&by, &one->sites[i])))
        i++;
    free(by.sites);
    return i < one->site_count;
}

/* Can a transfer have only one of the two remedies? */
static enum xfw_excluded exclude(const void *self, size_t a, size_t b)
{
    const struct xfa_finding *const *of = self, *one = of[a], *other = of[b];
    size_t shared = 0, within = 0;
    if (xfa_remedies_instead(one->remedy.kind, other->remedy.kind))
        return is_within(one, other) && is_within(other, one) ? XFW_EXCLUDED : XFW_EXCLUDED_NOT;
    if (!xfa_remedies_exclude(one->remedy.kind, other->remedy.kind))
        return XFW_EXCLUDED_NOT;
    struct by_row by = by_row(other);
    for (size_t i = 0; i < one->site_count; i++) {
        const struct xfa_finding_site *its = same_row(&by, &one->sites[i]);
        shared += its != NULL;
        within += its && its->transfers >= one->sites[i].transfers;
    }
    free(by.sites);
    if (shared == 0)
        return XFW_EXCLUDED_NOT;
    return within == one->site_count ? XFW_EXCLUDED : XFW_EXCLUDED_IN_PART;
}

/* ---- what decides, what is assumed ----------------------------------------------------------- */

double xfa_finding_up_to(const struct xfa_finding *finding)
{
    const double up_to = finding->up_to.run_ns;
    return isnan(up_to) ? finding->saving.high : up_to;
}

char *xfa_finding_question(const struct xfa_finding *finding)
{
    static const char mark[] = "{site}";
    const char *at = finding->question ? strstr(finding->question, mark) : NULL;
    if (!finding->question || !at)
        return finding->question ? xfa_text(finding->question) : NULL;
    return xfa_print("%.*s%s%s", (int)(at - finding->question), finding->question,
                     finding->sites[0].site->text, at + strlen(mark));
}

#define MOST_NAMED 8 /* sites in a key: a guess, for a line that is read */

/* A site as --assume names it. */
static char *name_of_site(const struct xfa_site *site)
{
    const struct xfa_frame *frame = site->chosen >= 0 ? &site->frames[site->chosen] : NULL;
    return frame && frame->file ? xfa_print("%s:%u", xfa_base_name(frame->file), frame->line)
                                : xfa_text(site->text);
}

/* All of its sites: one answer is for the whole finding. Of sites whose names read the same, and
 * beyond MOST_NAMED, the first ones. */
static char *key_of_sites(const struct xfa_finding *finding)
{
    char *names[MOST_NAMED], *key = xfa_text(xfa_finding_word(finding->id));
    size_t count = 0;
    for (size_t i = 0; i < finding->site_count && count < MOST_NAMED; i++) {
        char *name = name_of_site(finding->sites[i].site);
        bool again = false;
        for (size_t k = 0; k < count && !again; k++)
            again = strcmp(names[k], name) == 0;
        if (again) {
            free(name);
            continue;
        }
        key = xfa_append(key, "%c%s", count ? XFA_ANSWER_OR : '@', name);
        names[count++] = name;
    }
    while (count > 0)
        free(names[--count]);
    return key;
}

/* Another one of the kind in the other direction, whose site only reads the same: two calls of one
 * function whose lines are not known. Of one site both have one answer. */
static bool has_opposite(const struct xfa_findings *findings, const struct xfa_finding *finding)
{
    bool has = false;
    char *name = name_of_site(finding->sites[0].site);
    for (size_t i = 0; i < findings->count && !has; i++) {
        const struct xfa_finding *other = &findings->items[i];
        if (other->id != finding->id || other->remedy.to_host == finding->remedy.to_host ||
            other->sites[0].site == finding->sites[0].site)
            continue;
        char *same = name_of_site(other->sites[0].site);
        has = strcmp(same, name) == 0;
        free(same);
    }
    free(name);
    return has;
}

/* In the other direction the kind has another question, which may not be on the screen. */
static bool asks_by_direction(const struct xfa_finding *finding)
{
    return finding->remedy.kind == XFA_REMEDY_ON_DEVICE;
}

char *xfa_finding_key(const struct xfa_findings *findings, const struct xfa_finding *finding)
{
    size_t alike = 0;
    for (size_t i = 0; i < findings->count; i++)
        alike += findings->items[i].id == finding->id;
    char *key = alike == 1 ? xfa_text(xfa_finding_word(finding->id)) : key_of_sites(finding);
    if (alike == 1 ? !asks_by_direction(finding) : !has_opposite(findings, finding))
        return key;
    char *longer = xfa_print("%s/%s", key, finding->remedy.to_host ? "D2H" : "H2D");
    free(key);
    return longer;
}

char *xfa_finding_assumed(const struct xfa_finding *finding)
{
    if (finding->answer == XFA_ANSWER_YES && finding->question) {
        char *question = xfa_finding_question(finding);
        char *text = xfa_print("%s (by --assume)%s%s", question, finding->at_best ? "; " : "",
                               finding->at_best ? finding->at_best : "");
        free(question);
        return text;
    }
    if (!finding->assumed || !finding->at_best)
        return finding->assumed || finding->at_best
                   ? xfa_text(finding->assumed ? finding->assumed : finding->at_best)
                   : NULL;
    return xfa_print("%s; %s", finding->assumed, finding->at_best);
}

/* ---- what the run would save ----------------------------------------------------------------- */

/* What the upper bound assumes in addition, where that is worth a line. */
static const char *at_best(const struct xfw_whatif *whatif, const struct xfw_change *change)
{
    const double least = 0.001; /* of the run */
    if (!change->staged_ns || *change->staged_ns < least * whatif->alone_ns)
        return change->at_best;
    return "at best, the thread's own work right before such a copy, which makes what it sends, is "
           "saved too";
}

bool xfa_finding_at_best_only(const struct xfw_whatif *whatif, const struct xfa_finding *finding)
{
    double least = XFA_LEAST_SAVED * whatif->alone_ns;
    double most = finding->saving.high - xfw_unsure_ns(whatif, finding->saving.likely);
    return finding->saving.likely < least && most >= 2 * least;
}

/* Of a finding in the best set: the transfers that other members have taken. */
static void take_left(struct xfa_finding *finding, const struct xfa_analysis *analysis,
                      const struct xfw_whatif *whatif)
{
    for (size_t i = 0; i < finding->site_count; i++) {
        struct xfa_finding_site *site = &finding->sites[i];
        const struct xfa_class *class = NULL;
        uint64_t taken = 0;
        while (site->row && (class = xfa_row_class(&analysis->classes, site->row, class)))
            taken += xfw_whatif_taken(whatif, finding->change, class->number);
        site->left = taken < site->transfers ? site->transfers - taken : 0;
        finding->left += site->left;
    }
}

/* Is a call or a transfer of the one the other's, too? */
static bool meet(const struct xfa_finding *one, const struct xfa_finding *other)
{
    struct by_row by = by_row(other);
    size_t i = 0;
    while (i < one->site_count && !same_row(&by, &one->sites[i]))
        i++;
    free(by.sites);
    return i < one->site_count;
}

/* The first member of the best set that excludes the finding at that place; else that has some of
 * its transfers, so that it adds nothing. 0: there is none. */
static unsigned member_instead_of(struct xfa_finding **of, const struct xfw_whatif *whatif,
                                  struct xfw_change *const *changes, size_t i)
{
    unsigned first = 0, meets = 0;
    for (size_t k = 0; k < whatif->count && !whatif->order[i]; k++) {
        const unsigned order = whatif->order[k];
        if (order && (changes[i]->excludes >> k & 1) && (first == 0 || order < first))
            first = order;
        if (order && (meets == 0 || order < meets) && meet(of[i], of[k]))
            meets = order;
    }
    return first ? first : meets;
}

/* Is the best set another one with the answer than without? */
static bool answer_adds(const struct xfw_whatif *whatif, const struct xfw_change *change)
{
    double answered = whatif->answered[change->number].likely;
    double more = answered - fmax(0, whatif->set.likely); /* fmax(): 0 of NAN */
    return change->beyond_set ? more >= xfw_change_least_ns(whatif, change)
                              : !whatif->needless[change->number];
}

static void take_savings(struct xfa_finding **of, const struct xfa_analysis *analysis,
                         const struct xfw_whatif *whatif, struct xfw_change *const *changes)
{
    for (size_t i = 0; i < whatif->count && whatif->known; i++) {
        struct xfa_finding *finding = of[i];
        finding->saving = xfw_saving_checked(&whatif->alone[i], whatif->alone_ns);
        finding->in_ranges = whatif->in_ranges + i * whatif->range_count;
        finding->answered = xfw_saving_checked(&whatif->answered[i], whatif->alone_ns);
        finding->up_to = whatif->up_to[i];
        finding->applied = xfw_saving_checked(&whatif->carried[i], whatif->alone_ns);
        finding->added_ns = whatif->added[i].likely;
        finding->last_ns = whatif->last[i].likely;
        finding->order = whatif->order[i];
        finding->instead_of = member_instead_of(of, whatif, changes, i);
        finding->at_best = at_best(whatif, changes[i]);
        if (finding->order && changes[i]->shares != XFW_WHOLE && whatif->taken.count)
            take_left(finding, analysis, whatif);
        double least = xfw_change_least_ns(whatif, changes[i]);
        bool pays =
            finding->saving.likely >= least || (finding->order && finding->last_ns >= least);
        finding->idle =
            !pays || (!finding->order && !xfw_whatif_best_of_family(whatif, changes, i));
        finding->doubtful =
            !finding->idle && !finding->order && xfw_may_cost_more(whatif, &finding->saving);
        finding->idle = finding->idle || finding->doubtful;
        finding->asked = finding->question && finding->idle && finding->saving.high >= least &&
                         xfa_finding_at_best_only(whatif, finding) &&
                         answer_adds(whatif, changes[i]);
    }
}

/* Of two questions the host's time between the same calls may be in both: what is asked beyond the
 * set is not where another one may save as much. That another thread could do the work is
 * asked beside that the GPU could. */
static void drop_lesser_questions(struct xfa_finding **of, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count && of[i]->asked && of[i]->change->beyond_set; k++)
            of[i]->asked = k == i || !of[k]->asked || of[k]->saving.high < of[i]->saving.high ||
                           of[i]->id == XFA_FINDING_SERIAL_WORK ||
                           of[k]->id == XFA_FINDING_SERIAL_WORK;
}

static bool share_a_site(const struct xfa_finding *a, const struct xfa_finding *b)
{
    for (size_t i = 0; i < a->site_count; i++)
        for (size_t k = 0; k < b->site_count; k++)
            if (a->sites[i].site == b->sites[k].site)
                return true;
    return false;
}

/* The host's work that GPUs wait for by turns need not move to them where each has a thread: of the
 * same calls, and of what may save less, only one is advised or asked. */
static void drop_served_questions(struct xfa_finding **of, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count && of[i]->id == XFA_FINDING_HOST_TURNS; k++)
            if (of[k]->id == XFA_FINDING_GPUS_BY_TURNS && (!of[k]->idle || of[k]->asked) &&
                (share_a_site(of[i], of[k]) || of[i]->saving.high <= of[k]->saving.high))
                of[i]->asked = false;
}

static bool compete(enum xfa_remedy_kind a, enum xfa_remedy_kind b)
{
    return xfa_remedies_exclude(a, b) || xfa_remedies_instead(a, b);
}

/* Of two remedies for the same transfers the one that saves hardly more is idle. The simpler one
 * comes first in remedies.def. */
static void drop_superseded(const struct xfw_whatif *whatif, struct xfa_finding **of, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count && !of[i]->idle; k++) {
            bool simpler = of[k]->remedy.kind < of[i]->remedy.kind;
            bool instead = of[i]->order && !of[k]->order; /* with others of the set it saves more */
            of[i]->idle = simpler && !instead && !of[k]->idle &&
                          compete(of[i]->remedy.kind, of[k]->remedy.kind) &&
                          is_within(of[i], of[k]) &&
                          xfw_hardly_more(whatif, of[i]->saving.likely, of[k]->saving.likely);
        }
    }
}

/* Does the one make faster what the other leaves out, and save hardly more? */
static bool stands_behind(const struct xfa_finding *one, const struct xfa_finding *other)
{
    return other->change && other->change->leaves_out && !other->idle && !one->idle &&
           !one->order && !other->order && !(one->change && one->change->leaves_out) &&
           one->saving.likely < XFW_HARDLY_MORE * other->saving.likely &&
           share_transfers(one, other);
}

void xfa_findings_left_out_first(struct xfa_findings *findings)
{
    struct xfa_finding *items = findings->items;
    for (size_t i = 1; i < findings->count; i++) {
        const struct xfa_finding left_out = items[i];
        size_t place = i;
        for (size_t k = 0; k < i && place == i; k++)
            place = stands_behind(&items[k], &left_out) ? k : i;
        memmove(&items[place + 1], &items[place], (i - place) * sizeof *items);
        items[place] = left_out;
    }
}

static int simpler_finding(const void *a, const void *b)
{
    const struct xfa_finding *x = *(struct xfa_finding *const *)a;
    const struct xfa_finding *y = *(struct xfa_finding *const *)b;
    int order = (int)x->remedy.kind - (int)y->remedy.kind;
    return order ? order : (x > y) - (x < y);
}

/* Findings on trial that save nothing are removed, unless they are asked about; one that may but
 * cost more stays as such. */
static void drop_trials(struct xfa_findings *findings)
{
    bool *stays = xfa_alloc((findings->count + 1) * sizeof *stays);
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++)
        stays[i] =
            !findings->items[i].trial ||
            (xfw_saving_known(&findings->items[i].saving) == XFW_KNOWN &&
             (!findings->items[i].idle || findings->items[i].asked || findings->items[i].doubtful));
    for (size_t i = 0; i < findings->count; i++) {
        if (stays[i]) {
            findings->items[kept++] = findings->items[i];
        } else {
            xfw_change_free(findings->items[i].change);
            xfw_change_free(findings->items[i].by_apply);
            free(findings->items[i].sites);
        }
    }
    findings->count = kept;
    free(stays);
}

static void add_trials(struct xfa_findings *findings, const struct xfa_analysis *analysis)
{
    for (unsigned id = 0; id < XFA_FINDINGS; id++) {
        size_t before = findings->count;
        if (xfa_finding_kind_of(id)->try)
            xfa_finding_kind_of(id)->try(analysis, findings->selves[id], findings);
        xfa_findings_drop_denied(findings, before);
        for (size_t i = before; i < findings->count; i++)
            findings->items[i].trial = true;
    }
    xfa_findings_sort(findings);
}

static struct xfw_change *change_by_apply(const struct xfa_findings *findings,
                                          const struct xfa_analysis *analysis,
                                          struct xfa_finding *finding)
{
    const struct xfa_finding_kind *kind = xfa_finding_kind_of(finding->id);
    finding->by_apply =
        kind->by_apply ? kind->by_apply(analysis, findings->selves[finding->id], finding) : NULL;
    if (finding->by_apply)
        finding->by_apply->assured = finding->answer == XFA_ANSWER_YES;
    return finding->by_apply;
}

/* The program itself calls the driver; a static runtime without names would look the same. */
static bool calls_driver(const struct xfa_site *site)
{
    return site->chosen >= 0 && site->frames[site->chosen].function && !site->runtime_function;
}

static bool sites_call_driver(const struct xfa_finding *finding)
{
    for (size_t i = 0; i < finding->site_count; i++)
        if (!calls_driver(finding->sites[i].site))
            return false;
    return finding->site_count > 0;
}

/* A program that transfers by the driver API alone is advised by that API's names. */
static void name_calls(struct xfa_findings *findings, const struct xfa_analysis *analysis)
{
    bool driver = analysis->row_count > 0;
    for (size_t i = 0; i < analysis->row_count && driver; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        driver = row->function->level == XFT_LEVEL_DRIVER && calls_driver(row->site);
    }
    for (size_t i = 0; i < findings->count && driver; i++)
        findings->items[i].remedy.driver = sites_call_driver(&findings->items[i]);
}

void xfa_findings_weigh(struct xfa_findings *findings, struct xfa_analysis *analysis)
{
    add_trials(findings, analysis);
    struct xfa_finding **of = xfa_alloc((findings->count + 1) * sizeof(struct xfa_finding *));
    struct xfw_change **changes = xfa_alloc((findings->count + 1) * sizeof(struct xfw_change *));
    size_t count = 0;
    for (size_t i = 0; i < findings->count && count < XFW_MOST_CHANGES; i++) {
        struct xfa_finding *finding = &findings->items[i];
        const struct xfa_finding_kind *kind = xfa_finding_kind_of(finding->id);
        finding->change =
            kind->change ? kind->change(analysis, findings->selves[finding->id], finding) : NULL;
        if (!finding->change)
            continue;
        /* What a question is worth is its best case. */
        finding->change->on_trial = finding->trial && !finding->question;
        finding->change->assured = finding->answer == XFA_ANSWER_YES;
        finding->change->question = finding->question != NULL;
        of[count++] = finding;
    }
    qsort(of, count, sizeof(struct xfa_finding *), simpler_finding);
    struct xfw_change **by_apply = xfa_alloc((count + 1) * sizeof *by_apply);
    for (size_t i = 0; i < count; i++) {
        changes[i] = of[i]->change;
        by_apply[i] = findings->plan ? change_by_apply(findings, analysis, of[i]) : NULL;
    }
    const size_t most = count + XFA_APPLIED_OWN;
    struct xfw_change *own[XFA_APPLIED_OWN], **applied = xfa_alloc(most * sizeof *applied);
    const struct xfw_proposals proposals = {
        .changes = changes,
        .count = count,
        .excludes = exclude,
        .self = of,
        .applied = applied,
        .applied_count = xfa_findings_applied(findings, analysis, applied, most, own),
        .by_apply = by_apply,
        .gather = findings->gather,
    };
    findings->whatif = xfw_whatif_of_proposals(analysis, &proposals);
    for (size_t i = 0; i < XFA_APPLIED_OWN; i++)
        xfw_change_free(own[i]);
    free(applied);
    free(by_apply);
    take_savings(of, analysis, findings->whatif, changes);
    drop_served_questions(of, count);
    drop_lesser_questions(of, count);
    drop_superseded(findings->whatif, of, count);
    drop_trials(findings);
    xfa_findings_note(findings, analysis);
    name_calls(findings, analysis);
    free(changes);
    free(of);
    xfa_findings_sort(findings);
    xfa_findings_left_out_first(findings);
}
