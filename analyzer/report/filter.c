#include "analyzer/report/filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/path.h"
#include "analyzer/base/units.h"

/* ---- values ---------------------------------------------------------------------------------- */

static const char *const forms[] = {"sync", "async"};

static int set_kind(struct xfa_filter *filter, enum xfa_kind_of of, unsigned number)
{
    filter->kind_of = of;
    filter->kind_number = number;
    return 0;
}

static const char *direction_of(const char *word)
{
    return strcasecmp(word, "peer") == 0 ? xft_direction_word(XFT_DIR_P2P) : word;
}

#define MOST_WORDS (XFT_DIRECTION_COUNT + XFT_MEMORY_COUNT + 3 + XFA_FINDINGS)

/* "near it: H2D"; of a word that is near none: those there are. */
static char *other_kinds(const char *word)
{
    const char *words[MOST_WORDS], *near[MOST_WORDS];
    size_t count = 0, near_count = 0;
    for (unsigned i = 1; i < XFT_DIRECTION_COUNT; i++)
        words[count++] = xft_direction_word(i);
    for (unsigned i = 1; i < XFT_MEMORY_COUNT; i++)
        words[count++] = xft_memory_word(i);
    words[count++] = "peer";
    words[count++] = forms[0];
    words[count++] = forms[1];
    const size_t of_transfers = count;
    for (unsigned i = 0; i < XFA_FINDINGS; i++)
        words[count++] = xfa_finding_word(i);
    for (size_t i = 0; i < count; i++)
        if (xfa_is_near(word, words[i]))
            near[near_count++] = words[i];
    char *list =
        near_count ? xfa_nearest(word, near, near_count, 4) : xfa_texts_joined(words, of_transfers);
    char *text = near_count ? xfa_print("near it: %s; all are in analyze.md", list)
                            : xfa_print("there are %s, and those of findings in analyze.md", list);
    free(list);
    return text;
}

int xfa_filter_kind(struct xfa_filter *filter, const char *word, char *error, size_t error_bytes)
{
    filter->kind = word;
    for (unsigned i = 0; i < XFT_DIRECTION_COUNT; i++)
        if (strcasecmp(direction_of(word), xft_direction_word(i)) == 0)
            return set_kind(filter, XFA_KIND_DIRECTION, i);
    for (unsigned i = 0; i < XFT_MEMORY_COUNT; i++)
        if (strcasecmp(word, xft_memory_word(i)) == 0)
            return set_kind(filter, XFA_KIND_MEMORY, i);
    for (unsigned i = 0; i < 2; i++)
        if (strcasecmp(word, forms[i]) == 0)
            return set_kind(filter, XFA_KIND_FORM, i);
    for (unsigned i = 0; i < XFA_FINDINGS; i++)
        if (strcasecmp(word, xfa_finding_word(i)) == 0)
            return set_kind(filter, XFA_KIND_FOUND, i);
    char *others = other_kinds(word);
    snprintf(error, error_bytes, "no such kind of transfer or of finding: %.100s (%s)", word,
             others);
    free(others);
    return -1;
}

static bool take_span(struct xfa_filter *filter, char *text)
{
    uint64_t first, last;
    char *to = strchr(text, '-');
    if (to)
        *to++ = 0;
    if (!xfa_number(text, &first) || !xfa_number(to ? to : text, &last) || first > last ||
        last > UINT32_MAX || filter->span_count == XFA_MOST_RANK_SPANS)
        return false;
    filter->spans[filter->span_count++] = (struct xfa_rank_span){(uint32_t)first, (uint32_t)last};
    return true;
}

int xfa_filter_ranks(struct xfa_filter *filter, const char *list, char *error, size_t error_bytes)
{
    char *copy = xfa_text(list), *rest = copy, *span;
    bool fits = true;
    filter->ranks = list;
    filter->span_count = 0;
    while (fits && (span = strsep(&rest, ",")) != NULL)
        fits = take_span(filter, span);
    free(copy);
    if (!fits)
        snprintf(error, error_bytes,
                 "--rank takes ranks and spans of them, as in 0,4-7, not: %.100s", list);
    return fits ? 0 : -1;
}

bool xfa_filter_any(const struct xfa_filter *filter)
{
    return filter && (filter->site || filter->kind || filter->ranks || filter->phase);
}

char *xfa_filter_text(const struct xfa_filter *filter)
{
    const struct {
        const char *option, *value;
    } parts[] = {{"--site ", filter->site},
                 {"--kind ", filter->kind},
                 {"--rank ", filter->ranks},
                 {"--phase ", filter->phase}};
    char *text = xfa_text("");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].value)
            continue;
        char *longer =
            xfa_print("%s%s%s%s", text, *text ? " " : "", parts[i].option, parts[i].value);
        free(text);
        text = longer;
    }
    return text;
}

/* ---- sites and rows -------------------------------------------------------------------------- */

static bool is_glob(const char *pattern)
{
    return strpbrk(pattern, "*?[") != NULL;
}

static bool matches(const char *pattern, const char *text)
{
    if (!text)
        return false;
    return is_glob(pattern) ? fnmatch(pattern, text, 0) == 0 : strstr(text, pattern) != NULL;
}

/* The text, the function, or the file and line, with or without its folders. */
bool xfa_filter_site(const struct xfa_filter *filter, const struct xfa_site *site)
{
    const char *pattern = filter->site;
    if (!pattern || matches(pattern, site->text))
        return true;
    const struct xfa_frame *frame = site->chosen >= 0 ? &site->frames[site->chosen] : NULL;
    if (!frame || !frame->file)
        return frame && matches(pattern, frame->function);
    char *line = xfa_print("%s:%u", frame->file, frame->line);
    bool found = matches(pattern, frame->function) || matches(pattern, line) ||
                 matches(pattern, frame->file) || matches(pattern, xfa_base_name(line)) ||
                 matches(pattern, xfa_base_name(frame->file));
    free(line);
    return found;
}

static bool is_of_kind(const struct xfa_filter *filter, const struct xfa_row_key *key)
{
    switch (filter->kind_of) {
    case XFA_KIND_DIRECTION:
        return key->direction == filter->kind_number;
    case XFA_KIND_MEMORY:
        return key->src_mem == filter->kind_number || key->dst_mem == filter->kind_number;
    case XFA_KIND_FORM:
        return key->async == filter->kind_number;
    default:
        return true;
    }
}

bool xfa_filter_row(const struct xfa_filter *filter, const struct xfa_row *row)
{
    return is_of_kind(filter, &row->key) && xfa_filter_site(filter, row->site);
}

/* ---- ranks and phases ------------------------------------------------------------------------ */

static bool has_rank(const struct xfa_filter *filter, const struct xfa_rank *rank)
{
    bool in = !filter->ranks;
    for (size_t i = 0; i < filter->span_count && rank->known && !in; i++)
        in = rank->number >= filter->spans[i].first && rank->number <= filter->spans[i].last;
    return in;
}

static bool is_named(const char *pattern, const char *name)
{
    return name && (is_glob(pattern) ? fnmatch(pattern, name, 0) == 0 : strcmp(pattern, name) == 0);
}

/* The range itself, or one around it. */
bool xfa_filter_phase(const struct xfa_filter *filter, const struct xfa_phase *phase)
{
    const struct xfa_phase *path[XFA_MAX_NESTING];
    size_t depth = filter->phase ? xfa_phase_path(&filter->analysis->phases, phase, path) : 0;
    for (size_t i = 0; i < depth; i++)
        if (is_named(filter->phase, path[i]->name))
            return true;
    return !filter->phase;
}

static bool in_phase(struct xfa_filter *filter, uint32_t number)
{
    filter->phases = xfa_grown(filter->phases, &filter->phase_capacity, &filter->phase_count,
                               number, sizeof *filter->phases);
    signed char *known = &filter->phases[number];
    if (*known == 0)
        *known =
            xfa_filter_phase(filter, xfa_table_at(&filter->analysis->phases.all, number)) ? 1 : -1;
    return *known > 0;
}

bool xfa_filter_transfer(struct xfa_filter *filter, const struct xfa_event *event)
{
    uint32_t numbers[XFA_PHASES_OF_ONE];
    if (!has_rank(filter, &event->process->rank))
        return false;
    if (!filter->phase)
        return true;
    size_t count = xfa_phases_of(&filter->analysis->phases, event, numbers);
    for (size_t i = 0; i < count; i++)
        if (in_phase(filter, numbers[i]))
            return true;
    return false;
}

bool xfa_filter_observes(const struct xfa_filter *filter)
{
    return filter->ranks || filter->phase;
}

static void take(void *self, const struct xfa_event *event)
{
    struct xfa_filter *filter = self;
    struct xfa_observer rows = xfa_rows_observer(&filter->chosen);
    if (xfa_filter_transfer(filter, event))
        rows.transfer(rows.self, event);
}

struct xfa_observer xfa_filter_observer(struct xfa_filter *filter)
{
    return (struct xfa_observer){.name = "filter", .self = filter, .transfer = take};
}

/* ---- what is shown --------------------------------------------------------------------------- */

/* A finding about managed memory, say, has no rows. */
static bool suits(const struct xfa_filter *filter, const struct xfa_finding *finding)
{
    const char *word = xfa_finding_word(finding->id);
    if (filter->kind_of == XFA_KIND_FOUND)
        return finding->id == filter->kind_number;
    if (filter->kind_of != XFA_KIND_MEMORY || finding->sites[0].row)
        return true;
    const char *memory = xft_memory_word(filter->kind_number);
    return strncmp(word, memory, strlen(memory)) == 0;
}

static bool has_transfers(const struct xfa_filter *filter, uint32_t row)
{
    return !filter->figures || filter->figures[row].transfers > 0;
}

bool xfa_filter_finding_site(const struct xfa_filter *filter, const struct xfa_finding_site *site)
{
    if (!site->row)
        return xfa_filter_site(filter, site->site) && !filter->figures &&
               (filter->kind_of == XFA_KIND_ANY || filter->kind_of == XFA_KIND_FOUND ||
                filter->kind_of == XFA_KIND_MEMORY);
    return xfa_filter_row(filter, site->row) && has_transfers(filter, site->row->number);
}

static bool shows_finding(const struct xfa_filter *filter, const struct xfa_finding *finding)
{
    for (size_t i = 0; i < finding->site_count && suits(filter, finding); i++)
        if (xfa_filter_finding_site(filter, &finding->sites[i]))
            return true;
    return false;
}

/* With a kind of finding: the row has such a finding. */
static bool has_finding(const struct xfa_filter *filter, const struct xfa_findings *findings,
                        const struct xfa_row *row)
{
    if (filter->kind_of != XFA_KIND_FOUND)
        return true;
    for (size_t i = 0; findings && i < findings->count; i++)
        for (size_t k = 0; k < findings->items[i].site_count; k++)
            if (findings->items[i].id == filter->kind_number &&
                findings->items[i].sites[k].row == row)
                return true;
    return false;
}

void xfa_filter_settle(struct xfa_filter *filter, const struct xfa_findings *findings)
{
    const struct xfa_analysis *analysis = filter->analysis;
    size_t found = findings ? findings->count : 0;
    filter->rows = xfa_alloc((analysis->row_count + 1) * sizeof *filter->rows);
    filter->findings = xfa_alloc((found + 1) * sizeof *filter->findings);
    if (xfa_filter_observes(filter))
        filter->figures = xfa_rows_figures(&filter->chosen, &analysis->classes);
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
    filter->nothing = xfa_filter_nothing(filter, findings);
}

void xfa_filter_free(struct xfa_filter *filter)
{
    xfa_rows_free(&filter->chosen);
    free(filter->phases);
    free(filter->figures);
    free(filter->rows);
    free(filter->findings);
    free(filter->nothing);
}
