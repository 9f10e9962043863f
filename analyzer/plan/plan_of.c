/* A plan as made of a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/path.h"
#include "analyzer/findings/default_stream.h"
#include "analyzer/findings/remote_numa_node.h"
#include "analyzer/plan/plan.h"
#include "analyzer/plan/remote.h"
#include "analyzer/report/described.h"
#include "analyzer/whatif/changes/changes.h"

/* ---- what carries a remedy out --------------------------------------------------------------- */

/* What carries out the remedy of a finding in one direction, or why nothing does. Remedies that are
 * not named change the program itself. */
static const struct carrier {
    enum xfa_remedy_kind remedy;
    bool to_host;
    enum xft_plan_class by;
    const char *why_not;
} carriers[] = {
    {XFA_REMEDY_KEEP, false, XFT_PLAN_LEAVE_OUT, NULL},
    {XFA_REMEDY_KEEP, true, XFT_PLAN_NOTHING,
     "a copy to the host is always made: the program may have written there"},
    {XFA_REMEDY_ALLOCATE_ONCE, false, XFT_PLAN_POOL, NULL},
    {XFA_REMEDY_PREFETCH, false, XFT_PLAN_PREFETCH, NULL},
    {XFA_REMEDY_ALLOCATE_ONCE, true, XFT_PLAN_NOTHING,
     "apply keeps page-locked memory without a plan"},
    {XFA_REMEDY_PIN, false, XFT_PLAN_NOTHING, "apply copies pageable memory faster without a plan"},
    {XFA_REMEDY_PIN, true, XFT_PLAN_NOTHING, "apply copies pageable memory faster without a plan"},
    {XFA_REMEDY_STAGE, false, XFT_PLAN_NOTHING, "apply does so without a plan"},
    {XFA_REMEDY_STAGE, true, XFT_PLAN_NOTHING, "apply does so without a plan"},
    {XFA_REMEDY_LOCK_BY_HAND, true, XFT_PLAN_NOTHING, "apply does so without a plan"},
    {XFA_REMEDY_PEER_ACCESS, false, XFT_PLAN_NOTHING, "apply does so without a plan"},
    {XFA_REMEDY_NEAR_NODE, false, XFT_PLAN_PLACEMENT, NULL},
    {XFA_REMEDY_NEAR_NODE, true, XFT_PLAN_PLACEMENT, NULL},
    {XFA_REMEDY_STREAM_PER_THREAD, false, XFT_PLAN_STREAMS, NULL},
    {XFA_REMEDY_REGISTER_ONCE, true, XFT_PLAN_NOTHING,
     "memory that the program unlocks is never kept locked: it may be freed next"},
    {XFA_REMEDY_LEAVE_OUT, false, XFT_PLAN_NOTHING,
     "kernels may reach the memory in ways that nobody sees"},
};

static struct carrier carrier_of(const struct xfa_remedy *remedy)
{
    for (size_t i = 0; i < sizeof carriers / sizeof *carriers; i++)
        if (carriers[i].remedy == remedy->kind && carriers[i].to_host == remedy->to_host)
            return carriers[i];
    return (struct carrier){.why_not = "the program itself has to be changed for it"};
}

/* ---- places ---------------------------------------------------------------------------------- */

static char *text_or_null(const char *text)
{
    return text ? xfa_text(text) : NULL;
}

/* NULL: it is not there, or may have been changed since the run began. */
static char *file_hash_of(const struct xfa_run *run, const char *path)
{
    char hash[XFA_FILE_HASH_CHARS];
    uint64_t changed_ns = 0, begun_ns = xfa_run_start_real_ns(run);
    bool known = path && begun_ns && xfa_apply_file_hash(path, hash, &changed_ns);
    return known && changed_ns < begun_ns ? xfa_text(hash) : NULL;
}

static struct xfa_apply_place place_of(const struct xfa_run *run, const struct xfa_frame *frame)
{
    bool python = frame->address & XFT_PYTHON_FRAME;
    return (struct xfa_apply_place){
        .function = text_or_null(frame->function),
        .file = text_or_null(frame->file),
        .module = text_or_null(frame->module),
        .build_id = text_or_null(frame->build_id),
        .offset = frame->offset,
        .line = frame->line,
        .python = python,
        .file_hash = python && frame->line ? file_hash_of(run, frame->file) : NULL,
    };
}

/* Either the record shows that kernels were given the memory only to read, or the user says so. */
static bool kernels_keep(const struct xfa_finding *finding, const struct xfa_finding_site *site)
{
    return site->reckoning == XFA_RECKONED_REPEATED || finding->answer == XFA_ANSWER_YES;
}

static struct xfa_apply_site site_of(const struct xfa_run *run, const struct xfa_finding *finding,
                                     const struct xfa_finding_site *of, enum xft_plan_class by)
{
    const struct xfa_site *site = of->site;
    const struct xfa_row *row = of->row;
    const struct xfa_function *called = row ? row->function : of->function;
    const char *direction = row ? xft_direction_word(row->key.direction) : NULL;
    struct xfa_apply_site result = {
        .text = xfa_text(site->text),
        .call = text_or_null(called ? called->name : NULL),
        .direction = text_or_null(direction),
        .transfers = of->transfers,
        .bytes = of->bytes,
        .kernels_keep = by == XFT_PLAN_LEAVE_OUT && kernels_keep(finding, of),
    };
    int caller = xfa_site_caller(site);
    if (site->chosen >= 0)
        result.place = place_of(run, &site->frames[site->chosen]);
    if (caller >= 0 && site->text == site->long_text) /* others have the same line */
        result.caller = place_of(run, &site->frames[caller]);
    return result;
}

static bool is_placed(const struct xfa_apply_step *step)
{
    for (size_t i = 0; i < step->site_count; i++)
        if (step->sites[i].place.build_id || step->sites[i].place.file_hash)
            return true;
    return false;
}

/* ---- where memory is taken ------------------------------------------------------------------- */

/* Memory is placed where it is allocated or page-locked, not where it is copied. */
static void take_memory_sites(struct xfa_apply_step *step, const struct xfa_analysis *analysis,
                              const struct xfa_findings *findings,
                              const struct xfa_finding *finding)
{
    size_t count = 0;
    struct xfa_finding_site *sites = xfa_remote_node_memory(
        analysis, findings->selves[XFA_FINDING_REMOTE_NODE], finding, &count);
    step->sites = xfa_alloc((count + 1) * sizeof *step->sites);
    for (size_t i = 0; i < count; i++)
        step->sites[step->site_count++] =
            site_of(analysis->run, finding, &sites[i], XFT_PLAN_PLACEMENT);
    free(sites);
}

/* ---- which work has streams of its own ------------------------------------------------------- */

#define STREAMS_LEAST ((uint64_t)1 << 20)

static bool is_waited_for(const struct xfa_function *function)
{
    static const char *const waited_for[] = {"cudaMemcpy", "cuMemcpy", "cuMemcpyHtoD_v2",
                                             "cuMemcpyDtoH_v2"};
    for (size_t i = 0; function && i < sizeof waited_for / sizeof *waited_for; i++)
        if (strcmp(function->name, waited_for[i]) == 0)
            return true;
    return false;
}

/* Of page-locked memory, and large on average. */
static bool is_streamed(const struct xfa_analysis *analysis, size_t number,
                        const struct xfa_site *site)
{
    const struct xfa_row *row = xfa_analysis_row(analysis, number);
    return row->site == site && is_waited_for(row->function) &&
           (xfa_is_page_locked(row->key.src_mem) || xfa_is_page_locked(row->key.dst_mem)) &&
           analysis->rows[number].bytes / STREAMS_LEAST >= analysis->rows[number].transfers;
}

/* Of pageable memory, and large on average. */
static bool is_left_out(const struct xfa_finding_site *site)
{
    return site->row && site->row->key.src_mem == XFT_MEM_PAGEABLE &&
           site->bytes / XFW_APPLIED_LEFT_OUT >= site->transfers;
}

/* Of the legacy default stream's work the copies that are waited for have call sites. */
static bool is_for(enum xft_plan_class by, const struct xfa_analysis *analysis,
                   const struct xfa_finding_site *site)
{
    if (by == XFT_PLAN_LEAVE_OUT)
        return is_left_out(site);
    if (by != XFT_PLAN_STREAMS)
        return true;
    for (size_t i = 0; i < analysis->row_count && is_waited_for(site->function); i++)
        if (is_streamed(analysis, i, site->site))
            return true;
    return false;
}

static bool has_any_for(enum xft_plan_class by, const struct xfa_analysis *analysis,
                        const struct xfa_finding *finding)
{
    for (size_t i = 0; i < finding->site_count; i++)
        if (is_for(by, analysis, &finding->sites[i]))
            return true;
    return false;
}

static void take_readers(struct xfa_apply_step *step, const void *sums)
{
    size_t count = 0;
    const struct xfa_stream_reader *readers = xfa_default_stream_readers(sums, &count);
    step->readers = xfa_alloc((count + 1) * sizeof *step->readers);
    for (size_t i = 0; i < count; i++)
        step->readers[step->reader_count++] =
            (struct xfa_apply_reader){xfa_text(readers[i].kernel), readers[i].arguments};
}

/* Kernels and fills, too, where no thread's work uses what another one's writes. */
static void take_kernels(struct xfa_apply_step *step, const struct xfa_findings *findings)
{
    if (step->by != XFT_PLAN_STREAMS ||
        !xfa_default_stream_threads_apart(findings->selves[XFA_FINDING_DEFAULT_STREAM]))
        return;
    char *before = step->assumes;
    step->kernels_apart = true;
    take_readers(step, findings->selves[XFA_FINDING_DEFAULT_STREAM]);
    step->assumes = xfa_print(
        "%s%skernels reach only the allocations that their arguments name (no variables of "
        "modules, no textures, no pointers in memory), and nobody relies on the order of what they "
        "print%s",
        before ? before : "", before ? "; " : "",
        step->reader_count ? "; kernels only read what kernels_read says" : "");
    free(before);
}

static void take_sites(struct xfa_apply_step *step, const struct xfa_analysis *analysis,
                       const struct xfa_findings *findings, const struct xfa_finding *finding)
{
    if (step->by == XFT_PLAN_PLACEMENT)
        take_memory_sites(step, analysis, findings, finding);
    if (step->site_count)
        return;
    if (step->by == XFT_PLAN_PLACEMENT) {
        step->by = XFT_PLAN_NOTHING;
        step->why_not =
            xfa_text("no call site is known that allocates or page-locks memory for "
                     "this node alone, and whose copies save more than moving it takes");
    }
    if (step->by == XFT_PLAN_STREAMS && !has_any_for(step->by, analysis, finding)) {
        step->by = XFT_PLAN_NOTHING;
        step->why_not = xfa_text("only copies between host and device that are waited for, of "
                                 "page-locked memory and 1 MiB and more, can have streams of their "
                                 "own; what else there is, a kernel may use");
    }
    if (step->by == XFT_PLAN_LEAVE_OUT && !has_any_for(step->by, analysis, finding)) {
        step->by = XFT_PLAN_NOTHING;
        step->why_not = xfa_text("only uploads of pageable memory, of 512 KiB and more, are left "
                                 "out: others are copied as fast as they are hashed");
    }
    free(step->sites);
    step->sites = xfa_alloc((finding->site_count + 1) * sizeof *step->sites);
    for (size_t i = 0; i < finding->site_count; i++)
        if (is_for(step->by, analysis, &finding->sites[i]))
            step->sites[step->site_count++] =
                site_of(analysis->run, finding, &finding->sites[i], step->by);
    take_kernels(step, findings);
}

/* ---- steps ----------------------------------------------------------------------------------- */

#define NOT_PLACED                                                                                 \
    "its call sites are neither places in a module with a build id nor lines of Python files "     \
    "that "                                                                                        \
    "are as they were"

/* Of the best set, what can be carried out; of the others, why not. */
static void choose(struct xfa_apply_step *step)
{
    const char *why_not = NULL;
    if (step->by != XFT_PLAN_NOTHING && !is_placed(step))
        why_not = NOT_PLACED;
    else if (step->by != XFT_PLAN_NOTHING && step->order == 0)
        why_not = step->question ? "a question decides" : "it is not in the best set of fixes";
    step->carry_out = step->by != XFT_PLAN_NOTHING && !why_not;
    if (why_not)
        step->why_not = xfa_text(why_not);
}

static struct xfa_apply_step step_of(const struct xfa_analysis *analysis,
                                     const struct xfa_findings *findings,
                                     const struct xfa_finding *finding)
{
    char brief[XFA_REMEDY_CHARS];
    struct xfa_described described = xfa_describe(analysis, findings, finding);
    struct carrier carrier = carrier_of(&finding->remedy);
    struct xfa_apply_step step = {
        .finding = xfa_text(described.word),
        .remedy = xfa_text(xfa_remedy_word(finding->remedy.kind)),
        .fix = xfa_text(xfa_remedy_brief(&finding->remedy, brief)),
        .by = carrier.by,
        .why_not = text_or_null(carrier.why_not),
        .numbers = finding->remedy,
        .order = finding->order,
        .saving = described.saving,
        .applied = {NAN, NAN, NAN},
        .added_ns = finding->added_ns,
        .assumes = text_or_null(described.assumed),
        .question = text_or_null(described.condition),
        .key = text_or_null(described.key),
    };
    take_sites(&step, analysis, findings, finding);
    if (step.by != XFT_PLAN_NOTHING)
        step.applied = xfa_saving_shown(findings, &finding->applied);
    choose(&step);
    xfa_described_free(&described);
    return step;
}

/* ---- pageable memory on another node --------------------------------------------------------- */

static struct xfa_apply_step remote_step(const struct xfa_remote_site *of)
{
    char brief[XFA_REMEDY_CHARS];
    struct xfa_remedy remedy = xfa_remedy_for(of->site.row, XFA_REMEDY_NEAR_NODE);
    remedy.node = of->node;
    return (struct xfa_apply_step){
        .finding = xfa_text(xfa_finding_word(XFA_FINDING_REMOTE_NODE)),
        .remedy = xfa_text(xfa_remedy_word(remedy.kind)),
        .fix = xfa_text(xfa_remedy_brief(&remedy, brief)),
        .by = XFT_PLAN_PLACEMENT,
        .numbers = remedy,
        .saving = {NAN, NAN, 0}, /* only the most is known */
        .applied = {NAN, NAN, NAN},
        .added_ns = NAN,
        .assumes = xfa_text("the driver's own buffers do not decide; the profile's figures are of "
                            "threads that run on the node of their memory"),
    };
}

/* A step for each node, of copies of which only a trial can say whether they gain: it is made where
 * their places are known, whatever the best set has. */
static void take_remote(struct xfa_apply_plan *plan, const struct xfa_analysis *analysis,
                        const struct xfa_findings *findings)
{
    size_t count = 0, first = plan->step_count;
    struct xfa_remote_site *sites = xfa_remote_sites(analysis, findings, &count);
    for (size_t i = 0; i < count; i++) {
        size_t at = first;
        while (at < plan->step_count && plan->steps[at].numbers.node != sites[i].node)
            at++;
        if (at == XFT_PLAN_STEPS_MOST)
            break;
        struct xfa_apply_step *step = &plan->steps[at];
        if (at == plan->step_count) {
            plan->steps[plan->step_count++] = remote_step(&sites[i]);
            step->sites = xfa_alloc((count + 1) * sizeof *step->sites);
        }
        step->sites[step->site_count++] =
            site_of(analysis->run, &(struct xfa_finding){0}, &sites[i].site, XFT_PLAN_PLACEMENT);
        step->saving.high += sites[i].site.lost_ns;
        step->carry_out = is_placed(step);
    }
    for (size_t at = first; at < plan->step_count; at++)
        if (!plan->steps[at].carry_out)
            plan->steps[at].why_not = xfa_text(NOT_PLACED);
    free(sites);
}

/* The best set in its order, then the others as reports have them. */
static void take_steps(struct xfa_apply_plan *plan, const struct xfa_analysis *analysis,
                       const struct xfa_findings *findings)
{
    const struct xfa_finding *member;
    plan->steps = xfa_alloc((findings->count + XFT_PLAN_STEPS_MOST + 1) * sizeof *plan->steps);
    for (unsigned place = 1; (member = xfa_finding_in_set(findings, place)); place++)
        plan->steps[plan->step_count++] = step_of(analysis, findings, member);
    for (size_t i = 0; i < findings->count && plan->step_count < XFT_PLAN_STEPS_MOST; i++)
        if (!findings->items[i].order)
            plan->steps[plan->step_count++] = step_of(analysis, findings, &findings->items[i]);
    take_remote(plan, analysis, findings);
}

struct xfa_apply_plan *xfa_apply_plan_of(const struct xfa_analysis *analysis,
                                         const struct xfa_findings *findings)
{
    const struct xfa_run *run = analysis->run;
    const struct xfw_whatif *whatif = findings->whatif;
    struct xfa_apply_plan *plan = xfa_alloc(sizeof *plan);
    plan->program = run->program ? xfa_text(xfa_base_name(run->program)) : NULL;
    plan->trace = xfa_text(run->path);
    plan->simulated = run->simulated;
    plan->time_ns = whatif && whatif->known ? whatif->alone_ns : NAN;
    plan->saving = plan->applied = (struct xfw_saving){NAN, NAN, NAN};
    if (whatif && whatif->known) {
        bool planned = xfw_saving_known(&whatif->planned) == XFW_KNOWN;
        plan->saving = xfa_saving_shown(findings, &whatif->set);
        plan->applied = xfa_saving_shown(findings, planned ? &whatif->planned : &whatif->applied);
    }
    take_steps(plan, analysis, findings);
    return plan;
}

size_t xfa_apply_plan_chosen(const struct xfa_apply_plan *plan)
{
    size_t chosen = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        chosen += plan->steps[i].carry_out;
    return chosen;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void free_place(struct xfa_apply_place *place)
{
    free(place->function);
    free(place->file);
    free(place->module);
    free(place->build_id);
    free(place->file_hash);
}

static void free_step(struct xfa_apply_step *step)
{
    for (size_t i = 0; i < step->site_count; i++) {
        struct xfa_apply_site *site = &step->sites[i];
        free_place(&site->place);
        free_place(&site->caller);
        free(site->text);
        free(site->call);
        free(site->direction);
    }
    for (size_t i = 0; i < step->reader_count; i++)
        free(step->readers[i].kernel);
    free(step->readers);
    free(step->sites);
    free(step->finding);
    free(step->remedy);
    free(step->fix);
    free(step->why_not);
    free(step->assumes);
    free(step->question);
    free(step->key);
}

void xfa_apply_plan_free(struct xfa_apply_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->step_count; i++)
        free_step(&plan->steps[i]);
    free(plan->steps);
    free(plan->program);
    free(plan->trace);
    free(plan);
}
