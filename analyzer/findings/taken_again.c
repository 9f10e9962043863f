#include "analyzer/findings/taken_again.h"

#include "analyzer/base/alloc.h"

/* ---- the sums -------------------------------------------------------------------------------- */

static void event(void *self, const struct xfa_event *event)
{
    struct xfa_taken *taken = self;
    double ns = xfa_event_ns(event);
    if (event->memory.address == 0)
        return;
    if (event->kind == taken->gives) {
        xfw_once_give(&taken->book, event->memory.address, ns);
        return;
    }
    const struct xfw_once_key key = {
        .address = event->kind == XFT_EVENT_REGISTER ? event->memory.address : 0,
        .bytes = event->bytes,
        .process = event->process->number,
        .site = event->stack,
        .gpu = event->gpu < 0 ? -1 : event->gpu,
        .memory = event->dst_mem,
    };
    struct xfw_once_calls *calls = xfw_once_take(&taken->book, &key, event->memory.address, ns);
    if (calls && calls->takes == 1)
        calls->first = event->call;
}

static void add(struct xfa_table *table, const struct xfw_once_key *key,
                const struct xfw_once_calls *more, uint32_t function)
{
    if (table->count >= XFW_ONCE_MOST && !xfa_table_get(table, key))
        return;
    struct xfw_once_calls *calls = xfa_table_put(table, key);
    calls->first = calls->takes ? calls->first : function;
    calls->takes += more->takes;
    calls->gives += more->gives;
    calls->held += more->held;
    calls->most += more->most;
    calls->needless_ns += more->needless_ns;
    calls->gives_ns += more->gives_ns;
}

/* Several stacks may be of one site. Sites are asked for only now, and only those that matter: of
 * the stacks of a site the first that is asked for stands for it in reports, and that had better be
 * one of its transfers. */
static void end(void *self, struct xfa_process *process)
{
    struct xfa_taken *taken = self;
    for (size_t i = 0; i < taken->book.calls.count; i++) {
        const struct xfw_once_calls *calls = xfa_table_at(&taken->book.calls, i);
        struct xfw_once_key key = calls->key;
        if (!key.site || xfw_once_needless_takes(calls) == 0)
            continue; /* nobody could say where to look; or nothing to say */
        key.site = xfa_process_site(process, calls->key.site)->number;
        add(&taken->calls, &key, calls, xfa_process_function(process, calls->first)->number);
    }
    xfw_once_book_free(&taken->book);
    xfw_once_book_init(&taken->book);
}

struct xfa_observer xfa_taken_observer(struct xfa_taken *taken, enum xft_event_kind takes,
                                       enum xft_event_kind gives)
{
    xfa_table_init(&taken->calls, sizeof(struct xfw_once_key), sizeof(struct xfw_once_calls));
    xfw_once_book_init(&taken->book);
    taken->takes = takes;
    taken->gives = gives;
    return (struct xfa_observer){
        .name = "memory taken again",
        .kinds = XFA_KIND(takes) | XFA_KIND(gives),
        .self = taken,
        .event = event,
        .end = end,
    };
}

void xfa_taken_free(void *self)
{
    struct xfa_taken *taken = self;
    xfa_table_free(&taken->calls);
    xfw_once_book_free(&taken->book);
}

/* ---- findings -------------------------------------------------------------------------------- */

static bool is_host(unsigned memory)
{
    return memory != XFT_MEM_DEVICE && memory != XFT_MEM_MANAGED && memory != XFT_MEM_ARRAY;
}

/* What one finding is about. */
struct about {
    bool host;
    enum xfa_dialect dialect;
};

static const struct xfw_once_calls *calls_at(const struct xfa_taken *taken, size_t i)
{
    return xfa_table_at(&taken->calls, i);
}

static bool is_of(const struct xfa_analysis *analysis, const struct xfw_once_calls *calls,
                  const struct about *about)
{
    const struct xfa_site *site = xfa_run_site(analysis->run, calls->key.site);
    return is_host(calls->key.memory) == about->host && site->dialect == about->dialect;
}

static double needless_ns(const struct xfw_once_calls *calls)
{
    double gives = calls->gives ? (double)xfw_once_needless_gives(calls) / (double)calls->gives : 0;
    return calls->needless_ns + gives * calls->gives_ns;
}

/* The site's sums over sizes, GPUs and processes. */
struct of_site {
    uint32_t site; /* key */
    struct xfa_finding_site sums;
};

static void add_to_site(struct xfa_table *sites, const struct xfa_analysis *analysis,
                        const struct xfw_once_calls *calls)
{
    struct of_site *of = xfa_table_put(sites, &calls->key.site);
    of->sums.site = xfa_run_site(analysis->run, calls->key.site);
    if (!of->sums.function)
        of->sums.function = xfa_run_function(analysis->run, calls->first);
    of->sums.transfers += calls->takes;
    of->sums.bytes = xfa_add(of->sums.bytes, calls->takes * calls->key.bytes);
    of->sums.lost_ns += needless_ns(calls);
}

static void find(const struct xfa_analysis *analysis, const struct xfa_taken *taken,
                 struct xfa_findings *findings, const struct xfa_finding *like,
                 const struct about *about)
{
    double least = XFA_LEAST_PART * xfa_run_wall_ns(analysis->run);
    struct xfa_finding *finding = NULL;
    struct xfa_table sites;
    xfa_table_init(&sites, sizeof(uint32_t), sizeof(struct of_site));
    for (size_t i = 0; i < taken->calls.count; i++)
        if (is_of(analysis, calls_at(taken, i), about))
            add_to_site(&sites, analysis, calls_at(taken, i));
    for (size_t i = 0; i < sites.count; i++) {
        struct of_site *of = xfa_table_at(&sites, i);
        if (!(of->sums.lost_ns > XFA_LEAST_LOST_NS && of->sums.lost_ns > least))
            continue;
        if (!finding) {
            finding = xfa_findings_add(findings, like->id, &like->remedy);
            finding->assumed = like->assumed;
            finding->lost_ns = 0;
        }
        of->sums.reckoning = XFA_RECKONED_KEPT;
        xfa_finding_site_add(finding, &of->sums);
        finding->transfers += of->sums.transfers;
        finding->bytes = xfa_add(finding->bytes, of->sums.bytes);
        finding->lost_ns += of->sums.lost_ns;
    }
    xfa_table_free(&sites);
}

void xfa_taken_find(const struct xfa_analysis *analysis, const struct xfa_taken *taken,
                    struct xfa_findings *findings, enum xfa_finding_id id,
                    enum xfa_remedy_kind remedy, const char *assumed)
{
    for (unsigned i = 0; i < 2 * XFA_DIALECTS; i++) {
        const struct about about = {.host = i & 1, .dialect = i / 2};
        const struct xfa_finding like = {
            .id = id,
            .assumed = assumed,
            .remedy = {.kind = remedy, .dialect = about.dialect, .to_host = about.host, .node = -1},
        };
        find(analysis, taken, findings, &like, &about);
    }
}

static bool has_site(const struct xfa_finding *finding, uint32_t site)
{
    for (size_t i = 0; i < finding->site_count; i++)
        if (finding->sites[i].site->number == site)
            return true;
    return false;
}

struct xfw_change *xfa_taken_change(const struct xfa_analysis *analysis,
                                    const struct xfa_taken *taken,
                                    const struct xfa_finding *finding)
{
    const struct about about = {finding->remedy.to_host, finding->remedy.dialect};
    struct xfw_set chosen = {0};
    for (size_t i = 0; i < taken->calls.count; i++) {
        const struct xfw_once_calls *calls = calls_at(taken, i);
        if (is_of(analysis, calls, &about) && has_site(finding, calls->key.site))
            xfw_set_add(&chosen, (uint32_t)i);
    }
    return xfw_change_calls_once(analysis, &taken->calls, &chosen);
}
