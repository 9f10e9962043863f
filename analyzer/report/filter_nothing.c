/* Where a filter leaves nothing: which part of it, and what there is instead, the nearest first. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/filter.h"

#define LONGEST 64      /* characters of a word that are compared */
#define MOST_WORDS 2000 /* of which the nearest are looked for */
#define NAMED 4         /* that are named */

/* ---- near words ------------------------------------------------------------------------------ */

static int differs(char a, char b)
{
    char one[2] = {a, 0}, other[2] = {b, 0};
    return strcasecmp(one, other) != 0;
}

/* Edit distance (Levenshtein) of the beginnings, without regard to case. */
static unsigned distance(const char *word, const char *other)
{
    unsigned row[LONGEST + 1];
    size_t length = strnlen(other, LONGEST), from = strnlen(word, LONGEST);
    for (size_t k = 0; k <= length; k++)
        row[k] = (unsigned)k;
    for (size_t i = 1; i <= from; i++) {
        unsigned before = row[0];
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= length; k++) {
            unsigned changed = before + (unsigned)differs(word[i - 1], other[k - 1]);
            unsigned longer = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;
            before = row[k];
            row[k] = changed < longer ? changed : longer;
        }
    }
    return row[length];
}

struct near {
    const char *word;
    unsigned distance;
    size_t place;
};

static int nearer(const void *a, const void *b)
{
    const struct near *x = a, *y = b;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* A word that has this one in it is nearer than any other. */
static unsigned distance_to(const char *word, const char *other)
{
    return strcasestr(other, word) ? 0 : distance(word, other);
}

bool xfa_is_near(const char *word, const char *other)
{
    return distance_to(word, other) <= 1 + strnlen(word, LONGEST) / 4;
}

static bool is_said(const struct near *list, size_t before, const char *word)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(list[i].word, word) == 0)
            return true;
    return false;
}

char *xfa_nearest(const char *word, const char *const *words, size_t count, size_t most)
{
    struct near *list = xfa_alloc((count + 1) * sizeof *list);
    char *text = xfa_text("");
    for (size_t i = 0; i < count; i++)
        list[i] = (struct near){words[i], distance_to(word, words[i]), i};
    qsort(list, count, sizeof *list, nearer);
    size_t said = 0;
    for (size_t i = 0; i < count && said < most; i++) {
        if (is_said(list, i, list[i].word))
            continue;
        char *longer = xfa_print("%s%s%s", text, said ? ", " : "", list[i].word);
        free(text);
        text = longer;
        said++;
    }
    if (said == most && count > most) {
        char *longer = xfa_print("%s ...", text);
        free(text);
        text = longer;
    }
    free(list);
    return text;
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

/* Of waits and of managed memory, by number. */
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

/* Is there a row, or another place, that this part alone leaves? */
static bool leaves(const struct xfa_filter *part, const struct xfa_findings *findings)
{
    const struct xfa_analysis *analysis = part->analysis;
    for (size_t i = 0; i < analysis->row_count && part->kind_of != XFA_KIND_FOUND; i++)
        if (xfa_filter_row(part, xfa_analysis_row(analysis, i)))
            return true;
    for (size_t i = 0; i < other_sites(analysis) && part->site; i++)
        if (xfa_filter_site(part, other_site(analysis, i)))
            return true;
    for (size_t i = 0; findings && i < findings->count; i++)
        for (size_t k = 0; k < findings->items[i].site_count; k++)
            if ((part->kind_of != XFA_KIND_FOUND || part->kind_number == findings->items[i].id) &&
                xfa_filter_finding_site(part, &findings->items[i].sites[k]))
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
        for (size_t k = 0; k < filter->span_count && run->processes[i]->rank.known; k++)
            if (run->processes[i]->rank.number >= filter->spans[k].first &&
                run->processes[i]->rank.number <= filter->spans[k].last)
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

char *xfa_filter_nothing(const struct xfa_filter *filter, const struct xfa_findings *findings)
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
