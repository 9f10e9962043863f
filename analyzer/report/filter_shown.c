/* What a filter shows of a report; and where that is nothing: which option matches nothing, and the
 * nearest values that would. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/filter.h"
#include "analyzer/report/savings.h"

#define MOST_WORDS 2000 /* words among which the nearest are looked for */
#define NAMED 4         /* nearest words that are named */

/* ---- rows and findings ----------------------------------------------------------------------- */

/* A finding about managed memory, say, has no rows. */
static bool suits(const struct xfa_filter *filter, const struct xfa_finding *finding)
{
    const char *word = xfa_finding_word(finding->id);
    if (filter->kind_of == XFA_FILTER_FINDING)
        return finding->id == filter->kind_number;
    if (filter->kind_of != XFA_FILTER_MEMORY || finding->sites[0].row)
        return true;
    const char *memory = xft_memory_word(filter->kind_number);
    return strncmp(word, memory, strlen(memory)) == 0;
}

static bool has_transfers(const struct xfa_filter *filter, uint32_t row)
{
    return !filter->figures || filter->figures[row].transfers > 0;
}

/* Does its remedy save something in the phase that is asked for? */
static bool saves_there(const struct xfa_filter *filter, const struct xfa_finding *finding)
{
    const struct xfw_range_times *phase = xfa_range_named(filter->whatif, filter->phase);
    return phase && finding->in_ranges && !filter->ranks && phase->times.alone_ns > 0 &&
           finding->in_ranges[phase - filter->whatif->ranges] >
               XFA_LEAST_SAVED * phase->times.alone_ns;
}

bool xfa_filter_finding_site(const struct xfa_filter *filter, const struct xfa_finding *finding,
                             const struct xfa_finding_site *site)
{
    if (!site->row)
        return xfa_filter_site(filter, site->site) &&
               (!filter->figures || saves_there(filter, finding)) &&
               (filter->kind_of == XFA_FILTER_ANY || filter->kind_of == XFA_FILTER_FINDING ||
                filter->kind_of == XFA_FILTER_MEMORY);
    return xfa_filter_row(filter, site->row) && has_transfers(filter, site->row->number);
}

static bool shows_finding(const struct xfa_filter *filter, const struct xfa_finding *finding)
{
    for (size_t i = 0; i < finding->site_count && suits(filter, finding); i++)
        if (xfa_filter_finding_site(filter, finding, &finding->sites[i]))
            return true;
    return false;
}

/* With a kind of finding: the row has such a finding. */
static bool has_finding(const struct xfa_filter *filter, const struct xfa_findings *findings,
                        const struct xfa_row *row)
{
    if (filter->kind_of != XFA_FILTER_FINDING)
        return true;
    for (size_t i = 0; findings && i < findings->count; i++)
        for (size_t k = 0; k < findings->items[i].site_count; k++)
            if (findings->items[i].id == filter->kind_number &&
                findings->items[i].sites[k].row == row)
                return true;
    return false;
}

/* ---- what there is --------------------------------------------------------------------------- */

struct words {
    const char *words[MOST_WORDS];
    size_t count;
};

static void add(struct words *words, const char *word)
{
    if (word && words->count < MOST_WORDS)
        words->words[words->count++] = word;
}

static char *named(const char *value, struct words *words, size_t most, const char *are,
                   const char *none)
{
    if (words->count == 0)
        return xfa_text(none);
    char *near = xfa_nearest(value, words->words, words->count, most);
    char *text = xfa_print("%s: %s", are, near);
    free(near);
    return text;
}

/* The i-th call site of waits and managed memory. */
static const struct xfa_site *other_site(const struct xfa_analysis *analysis, size_t i)
{
    const struct xfa_table *waits = &analysis->waits.all, *managed = &analysis->managed.sites;
    if (i < waits->count)
        return xfa_run_site(analysis->run,
                            ((const struct xfa_wait *)xfa_table_at(waits, i))->key.site);
    const struct xfa_managed_site *site = xfa_table_at(managed, i - waits->count);
    return xfa_run_site(analysis->run, site->site);
}

static size_t other_sites(const struct xfa_analysis *analysis)
{
    return analysis->waits.all.count + analysis->managed.sites.count;
}

static char *sites(const struct xfa_filter *filter, struct words *words)
{
    const struct xfa_analysis *analysis = filter->analysis;
    for (size_t i = 0; i < analysis->row_count; i++)
        add(words, xfa_analysis_row(analysis, i)->site->text);
    for (size_t i = 0; i < other_sites(analysis); i++)
        add(words, other_site(analysis, i)->text);
    return named(filter->site, words, NAMED, "call sites are", "there are none");
}

static char *kinds(const struct xfa_filter *filter, const struct xfa_findings *findings,
                   struct words *words)
{
    const struct xfa_analysis *analysis = filter->analysis;
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row_key *key = &xfa_analysis_row(analysis, i)->key;
        add(words, xft_direction_word(key->direction));
        add(words, xft_memory_word(key->src_mem));
        add(words, xft_memory_word(key->dst_mem));
    }
    for (size_t i = 0; findings && i < findings->count; i++)
        add(words, xfa_finding_word(findings->items[i].id));
    return named(filter->kind, words, MOST_WORDS, "there are", "there are no transfers");
}

static char *ranks(const struct xfa_filter *filter)
{
    const struct xfa_run *run = filter->analysis->run;
    uint32_t least = UINT32_MAX, most = 0;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct xfa_rank *rank = &run->processes[i]->rank;
        if (rank->known && rank->number < least)
            least = rank->number;
        if (rank->known && rank->number > most)
            most = rank->number;
    }
    return least > most ? xfa_text("no process of the run is known by a rank")
                        : xfa_print("ranks are %u to %u", least, most);
}

static char *phases(const struct xfa_filter *filter, struct words *words)
{
    const struct xfa_phases *all = &filter->analysis->phases;
    for (size_t i = 0; i < all->all.count; i++)
        add(words, ((const struct xfa_phase *)xfa_table_at(&all->all, i))->name);
    return named(filter->phase, words, NAMED, "ranges are", "the program has no ranges (NVTX)");
}

/* ---- which part ------------------------------------------------------------------------------ */

/* Does this option alone match a row, another call site or a finding? */
static bool leaves(const struct xfa_filter *part, const struct xfa_findings *findings)
{
    const struct xfa_analysis *analysis = part->analysis;
    for (size_t i = 0; i < analysis->row_count && part->kind_of != XFA_FILTER_FINDING; i++)
        if (xfa_filter_row(part, xfa_analysis_row(analysis, i)))
            return true;
    for (size_t i = 0; i < other_sites(analysis) && part->site; i++)
        if (xfa_filter_site(part, other_site(analysis, i)))
            return true;
    for (size_t i = 0; findings && i < findings->count; i++)
        for (size_t k = 0; k < findings->items[i].site_count; k++)
            if ((part->kind_of != XFA_FILTER_FINDING ||
                 part->kind_number == findings->items[i].id) &&
                xfa_filter_finding_site(part, &findings->items[i], &findings->items[i].sites[k]))
                return true;
    return false;
}

static bool has_phase(const struct xfa_filter *filter)
{
    const struct xfa_table *all = &filter->analysis->phases.all;
    for (size_t i = 0; i < all->count; i++)
        if (xfa_filter_phase(filter, xfa_table_at(all, i)))
            return true;
    return false;
}

static bool has_rank(const struct xfa_filter *filter)
{
    const struct xfa_run *run = filter->analysis->run;
    for (size_t i = 0; i < run->process_count; i++)
        if (xfa_filter_rank(filter, &run->processes[i]->rank))
            return true;
    return false;
}

static char *line(const char *option, const char *value, char *instead)
{
    char *text = xfa_print("nothing matches %s %s; %s", option, value, instead);
    free(instead);
    return text;
}

static char *say(const struct xfa_filter *filter, const struct xfa_findings *findings,
                 struct words *words)
{
    const struct xfa_analysis *analysis = filter->analysis;
    const struct xfa_filter site = {.analysis = analysis, .site = filter->site};
    const struct xfa_filter kind = {.analysis = analysis,
                                    .kind = filter->kind,
                                    .kind_of = filter->kind_of,
                                    .kind_number = filter->kind_number};
    if (filter->site && !leaves(&site, findings))
        return line("--site", filter->site, sites(filter, words));
    if (filter->kind && !leaves(&kind, findings))
        return line("--kind", filter->kind, kinds(filter, findings, words));
    if (filter->ranks && !has_rank(filter))
        return line("--rank", filter->ranks, ranks(filter));
    if (filter->phase && !has_phase(filter))
        return line("--phase", filter->phase, phases(filter, words));
    char *all = xfa_filter_text(filter);
    char *text = line("all of", all, xfa_text("each of these alone matches something"));
    if (!filter->site + !filter->kind + !filter->ranks + !filter->phase == 3) {
        free(text);
        text = line(all, "", xfa_text("there are no transfers in it"));
    }
    free(all);
    return text;
}

/* NULL: something is shown. */
static char *nothing_text(const struct xfa_filter *filter, const struct xfa_findings *findings)
{
    bool site_only = !filter->kind && !filter->ranks && !filter->phase;
    if (filter->rows_shown || filter->findings_shown ||
        (site_only && findings && leaves(filter, findings)))
        return NULL;
    struct words *words = xfa_alloc(sizeof *words);
    char *text = say(filter, findings, words);
    free(words);
    return text;
}

/* ---- all of it ------------------------------------------------------------------------------- */

void xfa_filter_finish(struct xfa_filter *filter, const struct xfa_findings *findings)
{
    const struct xfa_analysis *analysis = filter->analysis;
    size_t found = findings ? findings->count : 0;
    filter->whatif = findings ? findings->whatif : NULL;
    filter->rows = xfa_alloc((analysis->row_count + 1) * sizeof *filter->rows);
    filter->findings = xfa_alloc((found + 1) * sizeof *filter->findings);
    if (xfa_filter_observes(filter)) {
        xfa_rows_finish(&filter->chosen);
        filter->figures = xfa_rows_figures(&filter->chosen, &analysis->classes);
    }
    for (uint32_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        filter->rows[i] = xfa_filter_row(filter, row) && has_transfers(filter, i) &&
                          has_finding(filter, findings, row);
        filter->rows_shown += filter->rows[i];
    }
    for (size_t i = 0; i < found; i++) {
        filter->findings[i] = shows_finding(filter, &findings->items[i]);
        filter->findings_shown += filter->findings[i] && !findings->items[i].idle;
    }
    filter->nothing = nothing_text(filter, findings);
}
