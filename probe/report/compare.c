#include "probe/report/compare.h"

#include <libsmartcols.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "probe/profile/profile_json.h"
#include "common/text.h"
#include "probe/progress.h"
#include "probe/report/width.h"
#include "xferscope/profile_network.h"

/* The figures that are compared, of any part of the profile: medians at ascending keys. */
struct figure {
    uint64_t key; /* bytes, or what a table's rows count */
    double median, low, high;
};

struct series {
    const char *name;
    char *own;  /* the same when it is no name of the profile, else NULL */
    bool sized; /* the key is bytes */
    size_t count;
    struct figure *figures;
};

struct all {
    size_t count, room;
    struct series *items;
};

static struct series *add_series(struct all *all, const char *name, bool sized, size_t figures)
{
    struct series *s;

    if (!xfc_grow(&all->items, &all->room, all->count, sizeof(*s)))
        return NULL;
    s = &all->items[all->count];
    *s = (struct series){.name = name, .sized = sized};
    s->figures = calloc(figures ? figures : 1, sizeof(*s->figures));
    if (!s->figures)
        return NULL;
    all->count++;
    return s;
}

static int add_points(struct all *all, const char *name, const struct xfp_point *points,
                      size_t count)
{
    struct series *s = add_series(all, name, true, count);

    for (size_t i = 0; s && i < count; i++)
        s->figures[s->count++] = (struct figure){points[i].bytes, points[i].median_ns,
                                                 points[i].ci_low_ns, points[i].ci_high_ns};
    return s ? 0 : -1;
}

/* A small difference of two times depends more on the run than on the machine: in the next process
 * both may differ by as much. */
static bool is_difference(const char *name)
{
    return !strncmp(name, "records/", 8);
}

static int add_costs(struct all *all, const struct xfp_profile *p)
{
    struct series *s;

    for (size_t i = 0; i < p->scalar_count; i++) {
        const struct xfp_cost *c = &p->scalars[i].cost;

        if (is_difference(p->scalars[i].name))
            continue;
        if (!(s = add_series(all, p->scalars[i].name, false, 1)))
            return -1;
        s->figures[s->count++] = (struct figure){0, c->median, c->ci_low, c->ci_high};
    }
    for (size_t i = 0; i < p->table_count; i++) {
        const struct xfp_table *t = &p->tables[i];

        if (!(s = add_series(all, t->name, false, t->row_count)))
            return -1;
        for (size_t j = 0; j < t->row_count; j++)
            s->figures[s->count++] =
                (struct figure){t->rows[j].at, t->rows[j].cost.median, t->rows[j].cost.ci_low,
                                t->rows[j].cost.ci_high};
    }
    return 0;
}

/* One more figure of the series `name what`, which is the last one or begins. */
static int add_figure(struct all *all, const char *name, const char *what, uint64_t key,
                      double median, const struct xfp_spread *spread, size_t most)
{
    struct series *s = all->count ? &all->items[all->count - 1] : NULL;
    char text[XFP_MAX_TEXT + 64];

    snprintf(text, sizeof(text), "%s %s", name, what);
    if (!s || !s->own || strcmp(s->own, text) != 0) {
        char *own = strdup(text);

        s = own ? add_series(all, own, true, most) : NULL;
        if (!s) {
            free(own);
            return -1;
        }
        s->own = own;
    }
    /* without statistics the median is its own interval */
    s->figures[s->count++] = (struct figure){key, median, spread->n ? spread->ci_low_ns : median,
                                             spread->n ? spread->ci_high_ns : median};
    return 0;
}

static int add_staged(struct all *all, const struct xfp_staged *c)
{
    static const char *const versions[] = {"driver", "2B", "3B", "4B"};
    int bad = 0;

    for (size_t v = 0; v < 4; v++)
        for (size_t i = 0; i < c->point_count && !bad; i++) {
            const struct xfp_staged_point *p = &c->points[i];
            const double ns[] = {p->peer_ns, p->unpipelined_ns, p->pipelined_ns, p->adaptive_ns};
            const struct xfp_spread *spreads[] = {&p->peer, &p->unpipelined, &p->pipelined,
                                                  &p->adaptive};

            bad =
                add_figure(all, c->name, versions[v], p->bytes, ns[v], spreads[v], c->point_count);
        }
    return bad;
}

static int add_overlap(struct all *all, const struct xfp_overlap *c)
{
    return add_figure(all, c->name, "h2d", c->bytes, c->h2d_ns, &c->h2d, 1) ||
           add_figure(all, c->name, "d2h", c->bytes, c->d2h_ns, &c->d2h, 1) ||
           add_figure(all, c->name, "both", c->bytes, c->both_ns, &c->both, 1);
}

static int add_net_staged(struct all *all, const struct xfp_net_staged *c)
{
    static const char *const versions[] = {"2B", "3B", "4B", "at once", "MPI"};
    const struct xfp_spread none = {0};
    int bad = 0;

    for (size_t v = 0; v < 5; v++)
        for (size_t i = 0; i < c->point_count && !bad; i++) {
            const struct xfp_net_staged_point *p = &c->points[i];
            const double ns[] = {p->unpipelined_ns, p->pipelined_ns, p->adaptive_ns, p->posted_ns,
                                 p->direct_ns};
            const struct xfp_spread *spreads[] = {&p->unpipelined, &p->pipelined, &p->adaptive,
                                                  &p->posted, &p->direct};

            if (ns[v] > 0)
                bad = add_figure(all, c->name, versions[v], p->bytes, ns[v], spreads[v],
                                 c->point_count);
        }
    for (size_t i = 0; i < c->first_use_count && !bad; i++)
        if (c->first_uses[i].ns > 0)
            bad = add_figure(all, c->name, "MPI's first", c->first_uses[i].bytes,
                             c->first_uses[i].ns, &none, c->first_use_count);
    return bad;
}

/* Of other ranks it would be another figure. */
static int add_collective(struct all *all, const struct xfp_net_collective *c)
{
    char *own = NULL;
    struct series *s;

    if (add_points(all, c->name, c->points, c->point_count))
        return -1;
    if (!c->ranks || xfp_net_is_part(c))
        return 0;
    if (asprintf(&own, "%s (%u rank%s on %u host%s)", c->name, c->ranks, c->ranks == 1 ? "" : "s",
                 c->hosts, c->hosts == 1 ? "" : "s") < 0)
        return -1;
    s = &all->items[all->count - 1];
    s->name = s->own = own;
    return 0;
}

static int add_network(struct all *all, const struct xfp_network *n)
{
    int bad = 0;

    for (size_t i = 0; i < n->path_count && !bad; i++)
        bad = add_points(all, n->paths[i].name, n->paths[i].points, n->paths[i].point_count);
    for (size_t i = 0; i < n->staged_count && !bad; i++)
        bad = add_net_staged(all, &n->staged[i]);
    for (size_t i = 0; i < n->collective_count && !bad; i++)
        bad = add_collective(all, &n->collectives[i]);
    return bad;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct series *)a)->name, ((const struct series *)b)->name);
}

static int collect(const struct xfp_profile *p, struct all *all)
{
    int bad = 0;

    for (size_t i = 0; i < p->path_count && !bad; i++)
        if (!p->paths[i].chosen) /* chosen for programs, on one machine */
            bad = add_points(all, p->paths[i].name, p->paths[i].points, p->paths[i].point_count);
    for (size_t i = 0; i < p->concurrent_count && !bad; i++)
        bad = add_points(all, p->concurrent[i].name, p->concurrent[i].points,
                         p->concurrent[i].point_count);
    for (size_t i = 0; i < p->staged_count && !bad; i++)
        bad = add_staged(all, &p->staged[i]);
    for (size_t i = 0; i < p->overlap_count && !bad; i++)
        bad = add_overlap(all, &p->overlap[i]);
    if (!bad && p->network)
        bad = add_network(all, p->network);
    if (!bad)
        bad = add_costs(all, p);
    if (all->count)
        qsort(all->items, all->count, sizeof(*all->items), by_name);
    return bad;
}

static void free_all(struct all *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].own);
        free(all->items[i].figures);
    }
    free(all->items);
}

/* 1: b is slower than a beyond noise, -1: faster, 0: neither. */
static int differs(const struct figure *a, const struct figure *b, double tolerance)
{
    if (b->low > a->high * (1 + tolerance))
        return 1;
    return b->high * (1 + tolerance) < a->low ? -1 : 0;
}

struct change {
    size_t compared, slower, faster;
    struct figure a, b; /* where they differ most */
};

static double contrast(const struct figure *a, const struct figure *b)
{
    return a->median > 0 && b->median > 0 ? fabs(log(b->median / a->median)) : 0;
}

static struct change compare_series(const struct series *a, const struct series *b,
                                    double tolerance)
{
    struct change c = {0};

    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct figure *x = &a->figures[i], *y = &b->figures[j];
        int way;

        if (x->key != y->key) {
            i += x->key < y->key;
            j += y->key < x->key;
            continue;
        }
        i++;
        j++;
        c.compared++;
        way = differs(x, y, tolerance);
        c.slower += way > 0;
        c.faster += way < 0;
        if (way && contrast(x, y) >= contrast(&c.a, &c.b)) {
            c.a = *x;
            c.b = *y;
        }
    }
    return c;
}

static int add_row(struct libscols_table *table, const struct series *s, const struct change *c)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    char text[5][48], size[32];

    if (!line)
        return -1;
    snprintf(text[0], sizeof(text[0]), "%zu of %zu", c->slower, c->compared);
    snprintf(text[1], sizeof(text[1]), "%zu of %zu", c->faster, c->compared);
    if (s->sized)
        snprintf(text[2], sizeof(text[2]), "%s", xfp_size_text(c->a.key, size, sizeof(size)));
    else
        snprintf(text[2], sizeof(text[2]), "%llu", (unsigned long long)c->a.key);
    snprintf(text[3], sizeof(text[3]), "%.2f / %.2f", c->a.median / 1e3, c->b.median / 1e3);
    snprintf(text[4], sizeof(text[4]), "%+.1f %%", (c->b.median / c->a.median - 1) * 100);
    xfp_set_text(line, 0, s->name);
    for (size_t i = 0; i < 5; i++)
        scols_line_set_data(line, i + 1, text[i]);
    return 0;
}

/* Walks both lists, sorted by name. */
static int walk(const struct all *a, const struct all *b, const regex_t *filter, double tolerance,
                FILE *out, struct libscols_table *table, struct xfp_comparison *result)
{
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        int order = i == a->count   ? 1
                    : j == b->count ? -1
                                    : strcmp(a->items[i].name, b->items[j].name);
        const struct series *s = order <= 0 ? &a->items[i] : &b->items[j];
        struct change c = {0};

        if (!order)
            c = compare_series(s, &b->items[j], tolerance);
        i += order <= 0;
        j += order >= 0;
        if (filter && regexec(filter, s->name, 0, NULL, 0))
            continue;
        if (order) {
            xfc_print(out, "only in the %s: %s\n", order < 0 ? "first" : "second", s->name);
            result->only_first += order < 0;
            result->only_second += order > 0;
            continue;
        }
        result->compared += c.compared > 0;
        result->differ += c.slower || c.faster;
        result->slower += c.slower > 0;
        result->faster += c.faster > 0;
        if ((c.slower || c.faster) && add_row(table, s, &c))
            return -1;
    }
    return 0;
}

static int print(struct libscols_table *table, double tolerance, FILE *out,
                 const struct xfp_comparison *r)
{
    char *text = NULL;
    int bad = 0;

    if (r->differ)
        bad = scols_print_table_to_string(table, &text) || fputs(text, out) < 0;
    free(text);
    xfc_print(out,
              "%zu of %zu benchmarks differ beyond noise (%zu slower, %zu faster; noise: the "
              "medians' 95 %% intervals and %g %%)\n",
              r->differ, r->compared, r->slower, r->faster, tolerance * 100);
    return bad || ferror(out) ? -1 : 0;
}

static struct libscols_table *new_table(void)
{
    static const char *const columns[] = {"benchmark", "slower",     "faster",
                                          "most at",   "1st/2nd us", "time"};
    struct libscols_table *table = scols_new_table();

    for (size_t c = 0; table && c < 6; c++)
        if (!scols_table_new_column(table, columns[c], 0, c ? SCOLS_FL_RIGHT : 0)) {
            scols_unref_table(table);
            return NULL;
        }
    return table;
}

int xfp_compare(const struct xfp_profile *first, const struct xfp_profile *second,
                const char *filter, double tolerance, FILE *out, struct xfp_comparison *result,
                char *error, size_t error_bytes)
{
    struct all a = {0}, b = {0};
    struct libscols_table *table;
    regex_t regex;
    int bad;

    *result = (struct xfp_comparison){0};
    if (filter && regcomp(&regex, filter, REG_EXTENDED | REG_NOSUB)) {
        snprintf(error, error_bytes, "--filter %s: not a regular expression", filter);
        return -1;
    }
    table = new_table();
    bad = !table || collect(first, &a) || collect(second, &b) ||
          walk(&a, &b, filter ? &regex : NULL, tolerance, out, table, result);
    if (!bad)
        bad = print(table, tolerance, out, result);
    if (bad)
        snprintf(error, error_bytes, "%s", ferror(out) ? "cannot write" : "out of memory");
    scols_unref_table(table);
    free_all(&a);
    free_all(&b);
    if (filter)
        regfree(&regex);
    return bad ? -1 : 0;
}
