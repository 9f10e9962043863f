#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/alloc.h"
#include "analyzer/base/compare.h"
#include "analyzer/base/path.h"

static const struct kind {
    const struct xfa_finding_kind *kind;
    const char *word, *title;
} kinds[] = {
#define XFA_FINDING(id, name, word, title) [XFA_FINDING_##id] = {&xfa_kind_##name, word, title},
#include "analyzer/findings/kinds.def"
#undef XFA_FINDING
};

const char *xfa_finding_word(enum xfa_finding_id id)
{
    return kinds[id].word;
}

const char *xfa_finding_title(enum xfa_finding_id id)
{
    return kinds[id].title;
}

struct xfa_remedy xfa_remedy_for(const struct xfa_row *row, enum xfa_remedy_kind kind)
{
    return (struct xfa_remedy){
        .kind = kind,
        .dialect = row->site->dialect,
        .to_host = row->key.direction == XFT_DIR_D2H,
        .node = -1,
    };
}

void xfa_gain_of(struct xfa_gain *gain, const struct xfa_figures *figures)
{
    double achieved = figures->device.ns + figures->host.ns;
    gain->transfers = figures->transfers;
    gain->bytes = figures->bytes;
    gain->achieved_basis = xfa_achieved_basis(figures);
    gain->achievable_basis = xfa_achievable_basis(figures);
    gain->achieved_ns = achieved > 0 ? achieved : NAN;
    gain->achievable_ns = figures->achievable.transfers ? figures->achievable.ns : NAN;
    gain->lost_ns = xfa_lost_ns(figures);
    gain->error = xfa_achievable_error(figures);
}

bool xfa_host_side_of(const struct xfa_class_key *key, struct xfa_host_side *side)
{
    const struct xfa_row_key *row = &key->row;
    bool up = row->direction == XFT_DIR_H2D, down = row->direction == XFT_DIR_D2H;
    *side = (struct xfa_host_side){up, up ? row->src_mem : row->dst_mem,
                                   up ? key->src_node : key->dst_node,
                                   up ? row->dst_gpu : row->src_gpu};
    return up || down;
}

enum xfa_basis xfa_timed_basis(uint64_t timed, uint64_t by_device)
{
    if (by_device && by_device < timed)
        return XFA_BASIS_MIXED;
    return by_device ? XFA_BASIS_DEVICE : timed ? XFA_BASIS_HOST : XFA_BASIS_UNKNOWN;
}

double xfa_findings_least_ns(const struct xfa_analysis *analysis)
{
    return fmax(XFA_LEAST_LOST_NS, XFA_LEAST_PART * xfa_run_wall_ns(analysis->run));
}

/* ---- life ------------------------------------------------------------------------------------ */

struct xfa_findings *xfa_findings_within(size_t memory)
{
    struct xfa_findings *findings = xfa_alloc(sizeof *findings);
    for (size_t id = 0; id < XFA_FINDINGS; id++) {
        const struct xfa_finding_kind *kind = kinds[id].kind;
        if (!kind->observe)
            continue;
        findings->selves[id] = xfa_alloc(kind->self_bytes);
        findings->observers[findings->observer_count++] = kind->observe(findings->selves[id]);
    }
    size_t room = xfw_op_store_room();
    findings->gather = xfw_gather_new(memory < room ? memory : room, true, NULL);
    findings->observers[findings->observer_count++] = xfw_gather_observer(findings->gather);
    return findings;
}

struct xfa_findings *xfa_findings_new(void)
{
    return xfa_findings_within(XFW_OP_STORE_MOST);
}

void xfa_findings_free(struct xfa_findings *findings)
{
    if (!findings)
        return;
    for (size_t i = 0; i < findings->count; i++) {
        xfw_change_free(findings->items[i].change);
        free(findings->items[i].sites);
    }
    xfw_whatif_free(findings->whatif);
    xfw_gather_free(findings->gather);
    for (size_t id = 0; id < XFA_FINDINGS; id++) {
        if (findings->selves[id] && kinds[id].kind->free)
            kinds[id].kind->free(findings->selves[id]);
        free(findings->selves[id]);
    }
    free(findings->items);
    free(findings);
}

/* ---- gains into findings --------------------------------------------------------------------- */

/* What is compared with the thresholds. */
static double at_stake(const struct xfa_gain *gain)
{
    double own = isnan(gain->lost_ns) ? gain->weight_ns : gain->lost_ns;
    return gain->whole_ns > 0 ? gain->whole_ns : own;
}

static double error_ns(const struct xfa_gain *gain)
{
    bool known = !isnan(gain->error) && !isnan(gain->achievable_ns) && !isnan(gain->lost_ns);
    return known ? gain->error * gain->achievable_ns : 0;
}

static bool worth_it(double at_stake, double error_ns, double least_ns)
{
    return at_stake > least_ns && at_stake > error_ns;
}

struct xfa_finding *xfa_findings_add(struct xfa_findings *findings, enum xfa_finding_id id,
                                     const struct xfa_remedy *remedy)
{
    findings->items = xfa_room(findings->items, &findings->capacity, findings->count + 1,
                               sizeof *findings->items);
    struct xfa_finding *finding = &findings->items[findings->count++];
    *finding = (struct xfa_finding){
        .id = id,
        .remedy = *remedy,
        .achieved_ns = NAN,
        .achievable_ns = NAN,
        .lost_ns = NAN,
        .error = NAN,
        .saving = {NAN, NAN, NAN},
        .added_ns = NAN,
        .last_ns = NAN,
    };
    return finding;
}

void xfa_finding_site_add(struct xfa_finding *finding, const struct xfa_finding_site *site)
{
    finding->sites = xfa_room(finding->sites, &finding->site_capacity, finding->site_count + 1,
                              sizeof *finding->sites);
    finding->sites[finding->site_count++] = *site;
}

void xfa_findings_add_site(struct xfa_findings *findings, const struct xfa_finding *like,
                           const struct xfa_finding_site *site)
{
    struct xfa_remedy remedy = like->remedy;
    struct xfa_finding *finding = NULL;
    enum xfa_answer answer = xfa_answer_of(findings->answers, like->id, site->site);
    if (answer == XFA_ANSWER_NO)
        return;
    remedy.dialect = site->site->dialect;
    for (size_t i = 0; i < findings->count && !finding; i++) {
        const struct xfa_finding *other = &findings->items[i];
        if (other->id == like->id && other->answer == answer &&
            other->remedy.dialect == remedy.dialect && other->remedy.to_host == remedy.to_host &&
            xfa_remedy_equal(&other->remedy, &remedy))
            finding = &findings->items[i];
    }
    if (!finding) {
        finding = xfa_findings_add(findings, like->id, &remedy);
        finding->assumed = like->assumed;
        finding->question = like->question;
        finding->answer = answer;
        finding->lost_ns = 0;
    }
    xfa_finding_site_add(finding, site);
    finding->transfers += site->transfers;
    finding->bytes = xfa_add(finding->bytes, site->bytes);
    finding->lost_ns += site->lost_ns;
}

struct xfw_set xfa_finding_classes(const struct xfa_analysis *analysis,
                                   const struct xfa_finding *finding)
{
    struct xfw_set classes = {0};
    for (size_t i = 0; i < finding->site_count; i++)
        xfw_set_add_row(&classes, analysis, finding->sites[i].row);
    return classes;
}

struct xfw_set xfa_finding_sites(const struct xfa_finding *finding)
{
    struct xfw_set sites = {0};
    for (size_t i = 0; i < finding->site_count; i++)
        xfw_set_add(&sites, finding->sites[i].site->number);
    return sites;
}

struct xfw_change *xfa_other_path_change(const struct xfa_analysis *analysis,
                                         const struct xfa_finding *finding,
                                         xfa_other_path_fn *choose, const void *self,
                                         const struct xfw_times_terms *terms)
{
    struct xfw_new_path *paths = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < finding->site_count; i++) {
        const struct xfa_class *class = NULL;
        while ((class = xfa_row_class(&analysis->classes, finding->sites[i].row, class))) {
            struct xfw_new_path path = {.class = class->number};
            if (!choose(analysis, class, self, &path))
                continue;
            paths = xfa_room(paths, &capacity, count + 1, sizeof *paths);
            paths[count++] = path;
        }
    }
    struct xfw_change *change = count ? xfw_change_times(analysis, paths, count, terms) : NULL;
    free(paths);
    return change;
}

/* The finding with the same remedy, or a new one. */
static struct xfa_finding *finding_for(struct xfa_findings *findings, enum xfa_finding_id id,
                                       const struct xfa_gain *gain, enum xfa_answer answer)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct xfa_finding *finding = &findings->items[i];
        bool knows = !isnan(finding->lost_ns);
        if (finding->id == id && finding->answer == answer &&
            xfa_remedy_equal(&finding->remedy, &gain->remedy) && knows == !isnan(gain->lost_ns))
            return finding;
    }
    struct xfa_finding *finding = xfa_findings_add(findings, id, &gain->remedy);
    finding->answer = answer;
    finding->lost_ns = isnan(gain->lost_ns) ? NAN : 0;
    finding->achieved_ns = finding->achievable_ns = 0;
    finding->error = gain->error;
    finding->achieved_basis = gain->achieved_basis;
    finding->achievable_basis = gain->achievable_basis;
    return finding;
}

static void add_site(struct xfa_finding *finding, const struct xfa_row *row,
                     const struct xfa_gain *gain)
{
    const struct xfa_finding_site site = {
        .row = row,
        .site = row->site,
        .function = xfa_row_called(row),
        .transfers = gain->transfers,
        .bytes = gain->bytes,
        .lost_ns = gain->lost_ns,
        .reckoning = gain->reckoning,
        .earlier = gain->earlier,
    };
    xfa_finding_site_add(finding, &site);
    finding->assumed = gain->assumed ? gain->assumed : finding->assumed;
    finding->question = gain->question ? gain->question : finding->question;
    finding->transfers += gain->transfers;
    finding->bytes = xfa_add(finding->bytes, gain->bytes);
    finding->achieved_ns += gain->achieved_ns;
    finding->achievable_ns += gain->achievable_ns;
    finding->lost_ns += gain->lost_ns;
    finding->error = fmax(finding->error, gain->error);
    finding->probably = finding->probably || gain->probably;
    finding->achieved_basis = xfa_basis_of_both(finding->achieved_basis, gain->achieved_basis);
    finding->achievable_basis = xfa_basis_weaker(finding->achievable_basis, gain->achievable_basis);
}

/* Unless the user says that it is none. */
static void add_gain(struct xfa_findings *findings, enum xfa_finding_id id,
                     const struct xfa_row *row, const struct xfa_gain *gain)
{
    enum xfa_answer answer = xfa_answer_of(findings->answers, id, row->site);
    if (answer != XFA_ANSWER_NO)
        add_site(finding_for(findings, id, gain, answer), row, gain);
}

/* The answer for all of its sites; none where they differ. */
static enum xfa_answer answer_of(const struct xfa_findings *findings,
                                 const struct xfa_finding *finding)
{
    enum xfa_answer answer = XFA_ANSWER_NONE;
    for (size_t i = 0; i < finding->site_count && findings->answers; i++) {
        enum xfa_answer own = xfa_answer_of(findings->answers, finding->id, finding->sites[i].site);
        if (i > 0 && own != answer)
            return XFA_ANSWER_NONE;
        answer = own;
    }
    return answer;
}

/* Of findings that were added as wholes, from one on: those that the user denies go. */
static void drop_denied(struct xfa_findings *findings, size_t from)
{
    size_t kept = from;
    for (size_t i = from; i < findings->count; i++) {
        struct xfa_finding *finding = &findings->items[i];
        if (finding->answer == XFA_ANSWER_NONE)
            finding->answer = answer_of(findings, finding);
        if (finding->answer == XFA_ANSWER_NO)
            free(finding->sites);
        else
            findings->items[kept++] = *finding;
    }
    findings->count = kept;
}

/* ---- order ----------------------------------------------------------------------------------- */

static int worst_site(const void *a, const void *b)
{
    const struct xfa_finding_site *x = a, *y = b;
    int order = xfa_descending(x->lost_ns, y->lost_ns);
    order = order ? order : xfa_descending((double)x->bytes, (double)y->bytes);
    return order ? order : strcmp(x->site->text, y->site->text);
}

static int worst_finding(const void *a, const void *b)
{
    const struct xfa_finding *x = a, *y = b;
    char text[2][XFA_REMEDY_CHARS];
    int order = x->idle - y->idle;
    order = order ? order : xfa_descending(x->saving.likely, y->saving.likely);
    order = order ? order : xfa_descending(x->lost_ns, y->lost_ns);
    order = order ? order : xfa_descending((double)x->bytes, (double)y->bytes);
    order = order ? order : strcmp(kinds[x->id].word, kinds[y->id].word);
    return order
               ? order
               : strcmp(xfa_remedy_text(&x->remedy, text[0]), xfa_remedy_text(&y->remedy, text[1]));
}

static void sort_findings(struct xfa_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct xfa_finding *finding = &findings->items[i];
        qsort(finding->sites, finding->site_count, sizeof *finding->sites, worst_site);
        finding->reckoning = finding->sites[0].reckoning;
    }
    if (findings->count)
        qsort(findings->items, findings->count, sizeof *findings->items, worst_finding);
}

/* Rows of one kind that are too small to be a finding by themselves: with the same remedy they may
 * be one together. */
struct small_gain {
    uint32_t row;
    struct xfa_gain gain;
};

struct pool {
    struct small_gain *items;
    size_t count, capacity;
};

static bool of_one_remedy(const struct xfa_gain *a, const struct xfa_gain *b)
{
    return isnan(a->lost_ns) == isnan(b->lost_ns) && xfa_remedy_equal(&a->remedy, &b->remedy);
}

/* Adds the first one and those with the same remedy, if they are worth it; they leave the pool. */
static void take_pooled(struct xfa_findings *findings, enum xfa_finding_id id,
                        const struct xfa_analysis *analysis, double least_ns, struct pool *pool)
{
    const struct xfa_gain first = pool->items[0].gain;
    double sum_ns = 0, unsure_ns = 0;
    size_t left = 0;
    for (size_t i = 0; i < pool->count; i++) {
        const struct xfa_gain *gain = &pool->items[i].gain;
        sum_ns += of_one_remedy(gain, &first) ? at_stake(gain) : 0;
        unsure_ns += of_one_remedy(gain, &first) ? error_ns(gain) : 0;
    }
    bool worth = worth_it(sum_ns, unsure_ns, least_ns);
    for (size_t i = 0; i < pool->count; i++) {
        const struct small_gain item = pool->items[i];
        if (!of_one_remedy(&item.gain, &first))
            pool->items[left++] = item;
        else if (worth && at_stake(&item.gain) > 0)
            add_gain(findings, id, xfa_analysis_row(analysis, item.row), &item.gain);
    }
    pool->count = left;
}

/* Adds what the kind finds in rows. */
static void look_at_rows(struct xfa_findings *findings, enum xfa_finding_id id,
                         const struct xfa_analysis *analysis, const uint32_t *rows)
{
    double least_ns = xfa_findings_least_ns(analysis);
    struct pool pool = {0};
    for (size_t i = 0; i < analysis->row_count; i++) {
        struct xfa_gain gain = {
            .achieved_ns = NAN, .achievable_ns = NAN, .lost_ns = NAN, .error = NAN};
        if (!kinds[id].kind->look(analysis, findings->selves[id], rows[i], &gain))
            continue;
        if (worth_it(at_stake(&gain), error_ns(&gain), least_ns)) {
            add_gain(findings, id, xfa_analysis_row(analysis, rows[i]), &gain);
            continue;
        }
        pool.items = xfa_room(pool.items, &pool.capacity, pool.count + 1, sizeof *pool.items);
        pool.items[pool.count++] = (struct small_gain){rows[i], gain};
    }
    while (pool.count > 0)
        take_pooled(findings, id, analysis, least_ns, &pool);
    free(pool.items);
}

void xfa_findings_find(struct xfa_findings *findings, const struct xfa_analysis *analysis)
{
    uint32_t *rows = xfa_rows_sorted(analysis, xfa_by_lost);
    for (unsigned id = 0; id < XFA_FINDINGS; id++) {
        if (kinds[id].kind->find)
            kinds[id].kind->find(analysis, findings->selves[id], findings);
        if (kinds[id].kind->look)
            look_at_rows(findings, id, analysis, rows);
    }
    free(rows);
    drop_denied(findings, 0);
    sort_findings(findings);
}

/* ---- what the run would save ----------------------------------------------------------------- */

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

char *xfa_finding_question(const struct xfa_finding *finding)
{
    static const char mark[] = "{site}";
    const char *at = finding->question ? strstr(finding->question, mark) : NULL;
    if (!finding->question || !at)
        return finding->question ? xfa_text(finding->question) : NULL;
    return xfa_print("%.*s%s%s", (int)(at - finding->question), finding->question,
                     finding->sites[0].site->text, at + strlen(mark));
}

char *xfa_finding_key(const struct xfa_findings *findings, const struct xfa_finding *finding)
{
    size_t alike = 0;
    for (size_t i = 0; i < findings->count; i++)
        alike += findings->items[i].id == finding->id;
    const struct xfa_site *site = finding->sites[0].site;
    const struct xfa_frame *frame = site->chosen >= 0 ? &site->frames[site->chosen] : NULL;
    const char *word = kinds[finding->id].word;
    if (alike == 1)
        return xfa_text(word);
    return frame && frame->file
               ? xfa_print("%s@%s:%u", word, xfa_base_name(frame->file), frame->line)
               : xfa_print("%s@%s", word, site->text);
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

/* What the upper bound assumes in addition, where that is worth a line. */
static const char *at_best(const struct xfw_whatif *whatif, const struct xfw_change *change)
{
    const double least = 0.001; /* of the run */
    if (!change->staged_ns || *change->staged_ns < least * whatif->alone_ns)
        return NULL;
    return "at best, the thread's own work between its wake-up and such a copy is saved too";
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

static void take_savings(struct xfa_finding **of, const struct xfa_analysis *analysis,
                         const struct xfw_whatif *whatif, struct xfw_change *const *changes)
{
    for (size_t i = 0; i < whatif->count && whatif->known; i++) {
        struct xfa_finding *finding = of[i];
        finding->saving = xfw_saving_checked(&whatif->alone[i], whatif->alone_ns);
        finding->added_ns = whatif->added[i].likely;
        finding->last_ns = whatif->last[i].likely;
        finding->order = whatif->order[i];
        finding->at_best = at_best(whatif, changes[i]);
        if (finding->order && changes[i]->shares != XFW_WHOLE && whatif->taken.count)
            take_left(finding, analysis, whatif);
        double least = xfw_change_least(changes[i]) * whatif->alone_ns;
        bool pays =
            finding->saving.likely >= least || (finding->order && finding->last_ns >= least);
        finding->idle =
            !pays || (!finding->order && !xfw_whatif_best_of_family(whatif, changes, i));
        finding->asked =
            finding->question && finding->idle && xfa_finding_at_best_only(whatif, finding);
    }
}

static bool compete(enum xfa_remedy_kind a, enum xfa_remedy_kind b)
{
    return xfa_remedies_exclude(a, b) || xfa_remedies_instead(a, b);
}

/* Of two remedies for the same transfers the one that saves hardly more is idle. The simpler one
 * comes first in remedies.def. */
static void drop_superseded(struct xfa_finding **of, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count && !of[i]->idle; k++) {
            bool simpler = of[k]->remedy.kind < of[i]->remedy.kind;
            of[i]->idle = simpler && !of[k]->idle &&
                          compete(of[i]->remedy.kind, of[k]->remedy.kind) &&
                          is_within(of[i], of[k]) &&
                          of[i]->saving.likely < XFW_HARDLY_MORE * of[k]->saving.likely;
        }
    }
}

static int simpler_finding(const void *a, const void *b)
{
    const struct xfa_finding *x = *(struct xfa_finding *const *)a;
    const struct xfa_finding *y = *(struct xfa_finding *const *)b;
    int order = (int)x->remedy.kind - (int)y->remedy.kind;
    return order ? order : (x > y) - (x < y);
}

/* Findings on trial that save nothing are removed. */
static void drop_trials(struct xfa_findings *findings)
{
    bool *stays = xfa_alloc((findings->count + 1) * sizeof *stays);
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++)
        stays[i] =
            !findings->items[i].trial ||
            (xfw_saving_known(&findings->items[i].saving) == XFW_KNOWN && !findings->items[i].idle);
    for (size_t i = 0; i < findings->count; i++) {
        if (stays[i]) {
            findings->items[kept++] = findings->items[i];
        } else {
            xfw_change_free(findings->items[i].change);
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
        if (kinds[id].kind->try)
            kinds[id].kind->try(analysis, findings->selves[id], findings);
        drop_denied(findings, before);
        for (size_t i = before; i < findings->count; i++)
            findings->items[i].trial = true;
    }
    sort_findings(findings);
}

void xfa_findings_weigh(struct xfa_findings *findings, struct xfa_analysis *analysis)
{
    add_trials(findings, analysis);
    struct xfa_finding **of = xfa_alloc((findings->count + 1) * sizeof(struct xfa_finding *));
    struct xfw_change **changes = xfa_alloc((findings->count + 1) * sizeof(struct xfw_change *));
    size_t count = 0;
    for (size_t i = 0; i < findings->count && count < XFW_MOST_CHANGES; i++) {
        struct xfa_finding *finding = &findings->items[i];
        const struct xfa_finding_kind *kind = kinds[finding->id].kind;
        finding->change =
            kind->change ? kind->change(analysis, findings->selves[finding->id], finding) : NULL;
        if (!finding->change)
            continue;
        finding->change->on_trial = finding->trial;
        finding->change->assured = finding->answer == XFA_ANSWER_YES;
        of[count++] = finding;
    }
    qsort(of, count, sizeof(struct xfa_finding *), simpler_finding);
    for (size_t i = 0; i < count; i++)
        changes[i] = of[i]->change;
    findings->whatif = xfw_whatif_of(analysis, changes, count, exclude, of, findings->gather);
    take_savings(of, analysis, findings->whatif, changes);
    drop_superseded(of, count);
    drop_trials(findings);
    free(changes);
    free(of);
    sort_findings(findings);
}
