#include "analyzer/report/filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/run/site.h"

/* ---- near words ------------------------------------------------------------------------------ */

#define LONGEST 64 /* characters of a word that are compared */

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

/* 0 for a word that contains this one. */
static unsigned distance_to(const char *word, const char *other)
{
    return strcasestr(other, word) ? 0 : distance(word, other);
}

/* A likely typing error. */
static bool is_near(const char *word, const char *other)
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
        text = xfa_append(text, "%s%s", said ? ", " : "", list[i].word);
        said++;
    }
    if (said == most && count > most) {
        text = xfa_append(text, " ...");
    }
    free(list);
    return text;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *const forms[] = {"sync", "async"};

static int set_kind(struct xfa_filter *filter, enum xfa_filter_kind_of of, unsigned number)
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

/* "near it: H2D"; for a word that is near none: the words that there are. */
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
        if (is_near(word, words[i]))
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
            return set_kind(filter, XFA_FILTER_DIRECTION, i);
    for (unsigned i = 0; i < XFT_MEMORY_COUNT; i++)
        if (strcasecmp(word, xft_memory_word(i)) == 0)
            return set_kind(filter, XFA_FILTER_MEMORY, i);
    for (unsigned i = 0; i < 2; i++)
        if (strcasecmp(word, forms[i]) == 0)
            return set_kind(filter, XFA_FILTER_FORM, i);
    for (unsigned i = 0; i < XFA_FINDINGS; i++)
        if (strcasecmp(word, xfa_finding_word(i)) == 0)
            return set_kind(filter, XFA_FILTER_FINDING, i);
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
        text = xfa_append(text, "%s%s%s", *text ? " " : "", parts[i].option, parts[i].value);
    }
    return text;
}

/* ---- sites and rows -------------------------------------------------------------------------- */

bool xfa_filter_site(const struct xfa_filter *filter, const struct xfa_site *site)
{
    return !filter->site || xfa_site_matches(filter->site, site);
}

static bool is_of_kind(const struct xfa_filter *filter, const struct xfa_row_key *key)
{
    switch (filter->kind_of) {
    case XFA_FILTER_DIRECTION:
        return key->direction == filter->kind_number;
    case XFA_FILTER_MEMORY:
        return key->src_mem == filter->kind_number || key->dst_mem == filter->kind_number;
    case XFA_FILTER_FORM:
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

bool xfa_filter_rank(const struct xfa_filter *filter, const struct xfa_rank *rank)
{
    bool in = !filter->ranks;
    for (size_t i = 0; i < filter->span_count && rank->known && !in; i++)
        in = rank->number >= filter->spans[i].first && rank->number <= filter->spans[i].last;
    return in;
}

static bool is_named(const char *pattern, const char *name)
{
    return name &&
           (xfa_is_glob(pattern) ? fnmatch(pattern, name, 0) == 0 : strcmp(pattern, name) == 0);
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
    if (!xfa_filter_rank(filter, &event->process->rank))
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

void xfa_filter_free(struct xfa_filter *filter)
{
    xfa_rows_free(&filter->chosen);
    free(filter->phases);
    free(filter->figures);
    free(filter->rows);
    free(filter->findings);
    free(filter->nothing);
}
