#include "analyzer/findings/findings_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/alloc.h"
#include "analyzer/base/compare.h"
#include "analyzer/findings/divided.h"

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

void xfa_gain_of_all(struct xfa_gain *gain, const struct xfa_timed_sum *sum)
{
    gain->transfers = sum->sum.transfers;
    gain->bytes = sum->sum.bytes;
    gain->achieved_ns = gain->lost_ns = sum->timed ? sum->sum.ns : NAN;
    gain->weight_ns = (double)sum->sum.bytes * XFA_STAND_IN_NS_PER_BYTE;
    gain->achieved_basis = xfa_timed_basis(sum);
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

double xfa_findings_least_ns(const struct xfa_analysis *analysis)
{
    return fmax(XFA_LEAST_LOST_NS, XFA_LEAST_PART * xfa_run_wall_ns(analysis->run));
}

/* ---- life ------------------------------------------------------------------------------------ */

static void share_sums(struct xfa_findings *findings)
{
    for (size_t id = 0; id < XFA_FINDINGS; id++)
        for (size_t of = 0; of < XFA_FINDINGS; of++)
            if (xfa_finding_kind_of(id)->sums_of == xfa_finding_kind_of(of))
                findings->selves[id] = findings->selves[of];
}

struct xfa_findings *xfa_findings_of_survey(void)
{
    struct xfa_findings *findings = xfa_alloc(sizeof *findings);
    for (size_t id = 0; id < XFA_FINDINGS; id++) {
        const struct xfa_finding_kind *kind = xfa_finding_kind_of(id);
        if (!kind->observe)
            continue;
        findings->selves[id] = xfa_alloc(kind->self_bytes);
        struct xfa_observer observer = kind->observe(findings->selves[id]);
        findings->by_survey[id] = observer.divided;
        findings->observers[findings->observer_count++] = observer;
    }
    share_sums(findings);
    return findings;
}

struct xfa_findings *xfa_findings_within(size_t memory)
{
    struct xfa_findings *findings = xfa_findings_of_survey();
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
        xfw_change_free(findings->items[i].by_apply);
        free(findings->items[i].sites);
    }
    xfw_whatif_free(findings->whatif);
    xfw_gather_free(findings->gather);
    for (size_t id = 0; id < XFA_FINDINGS; id++) {
        const struct xfa_finding_kind *kind = xfa_finding_kind_of(id);
        if (kind->sums_of)
            continue;
        if (findings->selves[id] && kind->free)
            kind->free(findings->selves[id]);
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
        .answered = {NAN, NAN, NAN},
        .up_to = {NAN, NAN, NAN},
        .applied = {NAN, NAN, NAN},
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

struct xfa_finding_site xfa_finding_site_of_row(const struct xfa_row *row,
                                                const struct xfa_figures *figures,
                                                enum xfa_reckoning reckoning)
{
    return (struct xfa_finding_site){
        .row = row,
        .site = row->site,
        .function = xfa_row_called(row),
        .transfers = figures->transfers,
        .bytes = figures->bytes,
        .lost_ns = NAN,
        .reckoning = reckoning,
    };
}

/* What MPI or NCCL calls for its own ends the program cannot change: no kind is looked for there.
 * Nor is any in what another library does to make something, but that it is made again. */
static enum xfa_answer answer_at(const struct xfa_findings *findings, enum xfa_finding_id id,
                                 const struct xfa_site *site, bool to_host)
{
    bool left = site->within && !(site->makes && id == XFA_FINDING_LIBRARY_SETUP);
    return left ? XFA_ANSWER_NO : xfa_answer_of(findings->answers, id, site, to_host);
}

#define MOST_FUNCTIONS 8 /* whose sites are findings of their own: each is replayed (a guess) */

/* Of the program; where none is known by what the sites read. */
static bool of_one_function(const struct xfa_site *a, const struct xfa_site *b)
{
    const char *functions[] = {a->text, b->text};
    const struct xfa_site *const sites[] = {a, b};
    for (int i = 0; i < 2; i++)
        if (sites[i]->chosen >= 0 && sites[i]->frames[sites[i]->chosen].function)
            functions[i] = sites[i]->frames[sites[i]->chosen].function;
    return strcmp(functions[0], functions[1]) == 0;
}

/* The finding that the site joins; NULL: a new one. */
static struct xfa_finding *joined_by(const struct xfa_findings *findings,
                                     const struct xfa_finding *like,
                                     const struct xfa_remedy *remedy, enum xfa_answer answer,
                                     const struct xfa_site *site)
{
    struct xfa_finding *last = NULL;
    unsigned apart = 0;
    for (size_t i = 0; i < findings->count; i++) {
        struct xfa_finding *other = &findings->items[i];
        if (other->id != like->id || other->answer != answer ||
            other->remedy.dialect != remedy->dialect || other->remedy.to_host != remedy->to_host ||
            !xfa_remedy_equal(&other->remedy, remedy))
            continue;
        if (!like->by_function || of_one_function(other->sites[0].site, site))
            return other;
        last = other;
        apart++;
    }
    return apart >= MOST_FUNCTIONS ? last : NULL;
}

void xfa_findings_add_site(struct xfa_findings *findings, const struct xfa_finding *like,
                           const struct xfa_finding_site *site)
{
    struct xfa_remedy remedy = like->remedy;
    enum xfa_answer answer = answer_at(findings, like->id, site->site, remedy.to_host);
    if (answer == XFA_ANSWER_NO)
        return;
    remedy.dialect = site->site->dialect;
    struct xfa_finding *finding = joined_by(findings, like, &remedy, answer, site->site);
    if (!finding) {
        finding = xfa_findings_add(findings, like->id, &remedy);
        finding->assumed = like->assumed;
        finding->question = like->question;
        finding->answer = answer;
        finding->by_function = like->by_function;
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

struct xfa_finding_site xfa_finding_site_of_gain(const struct xfa_row *row,
                                                 const struct xfa_gain *gain)
{
    return (struct xfa_finding_site){
        .row = row,
        .site = row->site,
        .function = xfa_row_called(row),
        .transfers = gain->transfers,
        .bytes = gain->bytes,
        .lost_ns = gain->lost_ns,
        .reckoning = gain->reckoning,
        .earlier = gain->earlier,
    };
}

static void add_site(struct xfa_finding *finding, const struct xfa_row *row,
                     const struct xfa_gain *gain)
{
    const struct xfa_finding_site site = xfa_finding_site_of_gain(row, gain);
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
    enum xfa_answer answer = answer_at(findings, id, row->site, gain->remedy.to_host);
    if (answer != XFA_ANSWER_NO)
        add_site(finding_for(findings, id, gain, answer), row, gain);
}

/* The answer for all of its sites; none where they differ. */
static enum xfa_answer answer_of(const struct xfa_findings *findings,
                                 const struct xfa_finding *finding)
{
    enum xfa_answer answer = XFA_ANSWER_NONE;
    for (size_t i = 0; i < finding->site_count; i++) {
        enum xfa_answer own =
            answer_at(findings, finding->id, finding->sites[i].site, finding->remedy.to_host);
        if (i > 0 && own != answer)
            return XFA_ANSWER_NONE;
        answer = own;
    }
    return answer;
}

void xfa_findings_drop_denied(struct xfa_findings *findings, size_t from)
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
    order = order ? order : !x->order - !y->order;
    order = order ? order : (x->order > y->order) - (x->order < y->order);
    order = order ? order : xfa_descending(x->saving.likely, y->saving.likely);
    order = order ? order : xfa_descending(x->lost_ns, y->lost_ns);
    order = order ? order : xfa_descending((double)x->bytes, (double)y->bytes);
    order = order ? order : strcmp(xfa_finding_word(x->id), xfa_finding_word(y->id));
    return order
               ? order
               : strcmp(xfa_remedy_text(&x->remedy, text[0]), xfa_remedy_text(&y->remedy, text[1]));
}

void xfa_findings_sort(struct xfa_findings *findings)
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
        if (!xfa_finding_kind_of(id)->look(analysis, findings->selves[id], rows[i], &gain))
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
    xfa_findings_merge(findings, analysis);
    for (unsigned id = 0; id < XFA_FINDINGS; id++) {
        if (xfa_finding_kind_of(id)->find)
            xfa_finding_kind_of(id)->find(analysis, findings->selves[id], findings);
        if (xfa_finding_kind_of(id)->look)
            look_at_rows(findings, id, analysis, rows);
    }
    free(rows);
    xfa_findings_drop_denied(findings, 0);
    xfa_findings_sort(findings);
}
