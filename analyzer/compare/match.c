#include "analyzer/compare/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

/* product of the two numbers of rows up to which they are aligned by likeness */
#define MOST_ALIGNED 4096

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* ---- rules ----------------------------------------------------------------------------------- */

struct rule {
    bool file, called, memory;
};
static const struct rule rules[] = {
    {true, true, true},  {true, false, true},  {true, false, false},
    {false, true, true}, {false, false, true}, {false, false, false},
};

struct member {
    char *group;
    const struct xfa_snapshot_row *row;
    size_t number;
};

/* The text that rows have in common which this rule matches. NULL: it does not match this row. */
static char *group_of(const struct xfa_snapshot_row *row, const struct rule *rule)
{
    const struct xfa_call_place *place = &row->place;
    const struct xfa_row_key *key = &row->key;
    bool memory = rule->memory;
    if (!rule->file && !place->function)
        return NULL;
    return xfa_print("%s\n%s\n%s\n%u %d %d %u %u", place->function ? place->function : "",
                     rule->file && place->file ? place->file : "", rule->called ? row->called : "",
                     key->direction, key->src_gpu, key->dst_gpu, memory ? key->src_mem : 0,
                     memory ? key->dst_mem : 0);
}

static int by_group(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = strcmp(x->group, y->group);
    if (order == 0)
        order =
            (x->row->place.line > y->row->place.line) - (x->row->place.line < y->row->place.line);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* The rows not matched yet, sorted by group. */
static struct member *members_of(const struct xfa_snapshot_row *const *rows, size_t count,
                                 const bool *matched, const struct rule *rule, size_t *members)
{
    struct member *all = xfa_alloc((count + 1) * sizeof *all);
    *members = 0;
    for (size_t i = 0; i < count; i++) {
        char *group = matched[i] ? NULL : group_of(rows[i], rule);
        if (group)
            all[(*members)++] = (struct member){group, rows[i], i};
    }
    if (*members)
        qsort(all, *members, sizeof *all, by_group);
    return all;
}

static void free_members(struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(members[i].group);
    free(members);
}

/* ---- one group ------------------------------------------------------------------------------- */

static double apart(uint64_t a, uint64_t b)
{
    return fabs(log(((double)a + 1) / ((double)b + 1)));
}

static double unlike(const struct xfa_snapshot_row *a, const struct xfa_snapshot_row *b)
{
    return apart(a->transfers, b->transfers) + apart(a->bytes, b->bytes) +
           (a->place.line != b->place.line ? 1 : 0);
}

struct state {
    size_t *to;
    bool *before, *after; /* matched */
};

static void pair(struct state *state, const struct member *a, const struct member *b)
{
    state->to[a->number] = b->number;
    state->before[a->number] = state->after[b->number] = true;
}

/* Pairs all of the few with as many of the many, both in order, so that the sum of the unlikeness
 * of the pairs is smallest: cost[i][j] is that sum for the first i of the few among the first j of
 * the many. */
static void align(struct state *state, const struct member *few, size_t m,
                  const struct member *many, size_t n, bool swapped)
{
    double *cost = xfa_alloc((m + 1) * (n + 1) * sizeof *cost);
    size_t wide = n + 1;
    for (size_t i = 1; i <= m; i++) {
        for (size_t j = 0; j <= n; j++) {
            double left_out = j > i ? cost[i * wide + j - 1] : INFINITY;
            double taken =
                j >= i ? cost[(i - 1) * wide + j - 1] + unlike(few[i - 1].row, many[j - 1].row)
                       : INFINITY;
            cost[i * wide + j] = taken < left_out ? taken : left_out;
        }
    }
    for (size_t i = m, j = n; i > 0; j--) {
        if (j > i && cost[i * wide + j] == cost[i * wide + j - 1])
            continue;
        pair(state, swapped ? &many[j - 1] : &few[i - 1], swapped ? &few[i - 1] : &many[j - 1]);
        i--;
    }
    free(cost);
}

static void match_group(struct state *state, const struct member *a, size_t m,
                        const struct member *b, size_t n)
{
    if (m != n && m * n <= MOST_ALIGNED) {
        if (m < n)
            align(state, a, m, b, n, false);
        else
            align(state, b, n, a, m, true);
        return;
    }
    for (size_t i = 0; i < m && i < n; i++)
        pair(state, &a[i], &b[i]);
}

static size_t group_end(const struct member *members, size_t count, size_t from)
{
    size_t end = from + 1;
    while (end < count && strcmp(members[end].group, members[from].group) == 0)
        end++;
    return end;
}

static void match_groups(struct state *state, const struct member *a, size_t m,
                         const struct member *b, size_t n)
{
    for (size_t i = 0, j = 0; i < m && j < n;) {
        int order = strcmp(a[i].group, b[j].group);
        size_t i_end = group_end(a, m, i), j_end = group_end(b, n, j);
        if (order == 0)
            match_group(state, &a[i], i_end - i, &b[j], j_end - j);
        i = order <= 0 ? i_end : i;
        j = order >= 0 ? j_end : j;
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

size_t *xfa_match_rows(const struct xfa_snapshot_row *const *before, size_t m,
                       const struct xfa_snapshot_row *const *after, size_t n)
{
    struct state state = {xfa_alloc((m + 1) * sizeof *state.to),
                          xfa_alloc((m + 1) * sizeof *state.before),
                          xfa_alloc((n + 1) * sizeof *state.after)};
    for (size_t i = 0; i < m; i++)
        state.to[i] = XFA_UNMATCHED;
    for (size_t p = 0; p < sizeof rules / sizeof *rules; p++) {
        size_t left, right;
        struct member *a = members_of(before, m, state.before, &rules[p], &left);
        struct member *b = members_of(after, n, state.after, &rules[p], &right);
        match_groups(&state, a, left, b, right);
        free_members(a, left);
        free_members(b, right);
    }
    free(state.before);
    free(state.after);
    return state.to;
}

unsigned xfa_moved_of(const struct xfa_snapshot_row *before, const struct xfa_snapshot_row *after)
{
    const struct xfa_call_place *a = &before->place, *b = &after->place;
    bool memory =
        before->key.src_mem != after->key.src_mem || before->key.dst_mem != after->key.dst_mem;
    return (a->line != b->line ? XFA_MOVED_LINE : 0) |
           (strcmp(before->called, after->called) != 0 ? XFA_MOVED_CALL : 0) |
           (memory ? XFA_MOVED_KIND : 0) | (!same_text(a->file, b->file) ? XFA_MOVED_FILE : 0);
}
