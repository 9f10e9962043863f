#include "probe/report/statements.h"

#include <math.h>
#include <string.h>

#include "probe/progress.h"
#include "common/text.h"

/* ---- collecting ---------------------------------------------------------------------------- */

static bool differ_alike(const struct xfp_statement *s, const struct xfp_side *fast,
                         const struct xfp_side *slow)
{
    const struct xfp_side *a = &s->fast.first, *b = &s->slow.first;
    bool turned = fast->path->direction != slow->path->direction;

    if ((a->path->direction != b->path->direction) != turned ||
        (turned && a->path->direction != fast->path->direction))
        return false;
    return a->near - b->near == fast->near - slow->near;
}

static double longer(const struct xfp_side *fast, const struct xfp_side *slow)
{
    return slow->point->median_ns / fast->point->median_ns - 1;
}

static struct xfp_statement *find(struct xfp_statements *all, const struct xfp_side *fast,
                                  const struct xfp_side *slow, double part)
{
    double now = longer(fast, slow);

    for (size_t i = 0; i < all->count; i++) {
        struct xfp_statement *s = &all->items[i];
        double then = longer(&s->fast.first, &s->slow.first);

        if (s->fast.first.point->bytes == fast->point->bytes && differ_alike(s, fast, slow) &&
            fabs(now - then) <= part * (1 + then))
            return s;
    }
    if (all->count == XFP_MOST_STATEMENTS)
        return NULL;
    return &all->items[all->count++];
}

static void widen(struct xfp_range *range, bool first, double x)
{
    range->low = first ? x : fmin(range->low, x);
    range->high = first ? x : fmax(range->high, x);
}

static void take_word(struct xfp_words *words, const char *at, int length)
{
    for (size_t i = 0; i < words->count && i < XFP_WORDS_NAMED; i++)
        if (words->length[i] == length && !strncmp(words->at[i], at, (size_t)length))
            return;
    if (words->count < XFP_WORDS_NAMED) {
        words->at[words->count] = at;
        words->length[words->count] = length;
    }
    words->count += words->count <= XFP_WORDS_NAMED;
}

/* The last part has what is left of a name that has more. */
static void take_name(struct xfp_said *said, const char *name)
{
    for (size_t i = 0; i < XFP_NAME_PARTS; i++) {
        const char *end = i + 1 < XFP_NAME_PARTS ? strchr(name, '/') : NULL;
        int length = end ? (int)(end - name) : (int)strlen(name);

        take_word(&said->parts[i], name, length);
        name += length + (end != NULL);
    }
}

static void take_side(struct xfp_said *said, bool first, const struct xfp_side *side)
{
    if (first)
        said->first = *side;
    widen(&said->gbps, first, xfp_gbps(side->point->bytes, side->point->median_ns));
    take_name(said, side->path->name);
}

void xfp_state(struct xfp_statements *all, const struct xfp_side *fast, const struct xfp_side *slow,
               double part)
{
    struct xfp_statement *s = find(all, fast, slow, part);

    if (!s) {
        all->left_out++;
        return;
    }
    widen(&s->longer, !s->pairs, longer(fast, slow));
    take_side(&s->fast, !s->pairs, fast);
    take_side(&s->slow, !s->pairs, slow);
    s->pairs++;
}

/* ---- printing ------------------------------------------------------------------------------ */

/* "55.4", or "33.2 to 55.4" where that shows. */
static void print_range(FILE *out, const char *format, const struct xfp_range *range, double times)
{
    char low[32], high[32];

    snprintf(low, sizeof(low), format, range->low * times);
    snprintf(high, sizeof(high), format, range->high * times);
    fprintf(out, "%s%s%s", low, strcmp(low, high) ? " to " : "", strcmp(low, high) ? high : "");
}

/* "h2d", "{h2d,d2h}", or a star. */
static void print_words(FILE *out, const struct xfp_words *words)
{
    if (words->count > XFP_WORDS_NAMED) {
        fputc('*', out);
        return;
    }
    fputs(words->count > 1 ? "{" : "", out);
    for (size_t i = 0; i < words->count; i++)
        xfc_print(out, "%s%.*s", i ? "," : "", words->length[i], words->at[i]);
    fputs(words->count > 1 ? "}" : "", out);
}

static void print_side(FILE *out, const struct xfp_said *said, const char *where)
{
    for (size_t i = 0; i < XFP_NAME_PARTS; i++) {
        bool empty = said->parts[i].count == 1 && !said->parts[i].length[0];

        fputs(i && !empty ? "/" : "", out);
        print_words(out, &said->parts[i]);
    }
    fputs(where, out);
    fputc(' ', out);
    print_range(out, "%.1f", &said->gbps, 1);
    fputs(" GB/s", out);
}

static const char *near_word(const struct xfp_said *one, const struct xfp_said *other)
{
    if (one->first.near == other->first.near)
        return "";
    return one->first.near ? " (near)" : " (far)";
}

static void print_statement(FILE *out, const struct xfp_statement *s)
{
    char size[32];

    fputs("  ", out);
    print_side(out, &s->fast, near_word(&s->fast, &s->slow));
    fputs(", ", out);
    print_side(out, &s->slow, near_word(&s->slow, &s->fast));
    fprintf(out, " at %s: ", xfp_size_text(s->fast.first.point->bytes, size, sizeof(size)));
    print_range(out, "%.0f", &s->longer, 100);
    fputs(" % longer", out);
    if (s->pairs > 1)
        fprintf(out, ", %zu pairs", s->pairs);
    fputc('\n', out);
}

void xfp_print_statements(const struct xfp_statements *all, FILE *out)
{
    for (size_t i = 0; i < all->count; i++)
        print_statement(out, &all->items[i]);
    if (all->left_out)
        fprintf(out, "  and %zu pairs in still other ways\n", all->left_out);
}
