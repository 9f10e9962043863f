#include "probe/net/collectives.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe/measure/budget.h"
#include "probe/measure/sizes.h"
#include "probe/measure/stats.h"
#include "probe/net/collect.h"
#include "probe/net/parts.h"

enum {
    SAMPLES = 12,
    WARM_UPS = 2, /* the first one connects, the second says how often */
    MOST_REPEATS = 64,
    CYCLE = 97, /* after so many elements what a rank gives comes again */
};
#define SAMPLE_NS 2e6
#define USUAL_S 8.0
#define QUICK_S 2.0

bool xfp_net_all_say(const struct xfp_net_group *group, bool yes)
{
    int own = yes, all = 0;

    xfp_net_mpi(group->run, MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, group->results),
                "agreeing");
    return all;
}

/* ---- what must come of it -------------------------------------------------------------------- */

/* Each rank's part of the bytes is a part of each of the others' results, or of their sources. */
static bool is_divided(enum xft_message what)
{
    return what == XFT_MESSAGE_ALLGATHER || what == XFT_MESSAGE_REDUCE_SCATTER ||
           what == XFT_MESSAGE_ALLTOALL;
}

static size_t in_cycle(size_t at)
{
    return at % CYCLE;
}

void xfp_net_fill(float *values, size_t count, int rank)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)((size_t)rank + 1 + in_cycle(i));
}

/* Element `at` of this rank's result. */
static float expected(const struct xfp_net_group *group, enum xft_message what, size_t bytes,
                      size_t at)
{
    size_t n = (size_t)group->count, rank = (size_t)group->rank, sum = n * (n + 1) / 2;
    size_t part = bytes / sizeof(float) / n, giver = part ? at / part : 0;
    size_t within = at - giver * part;

    switch ((unsigned)what) {
    case XFT_MESSAGE_ALLGATHER:
        return (float)(giver + 1 + in_cycle(within));
    case XFT_MESSAGE_ALLTOALL:
        return (float)(giver + 1 + in_cycle(rank * part + within));
    case XFT_MESSAGE_REDUCE_SCATTER:
        return (float)(sum + n * in_cycle(rank * part + at));
    case XFT_MESSAGE_SENDRECV:
        return (float)((rank + n - 1) % n + 1 + in_cycle(at));
    case XFT_MESSAGE_BCAST:
        return (float)(1 + in_cycle(at));
    default: /* all-reduce, reduce */
        return (float)(sum + n * in_cycle(at));
    }
}

size_t xfp_net_result_count(const struct xfp_net_group *group, enum xft_message what, size_t bytes)
{
    size_t count = bytes / sizeof(float);

    if ((what == XFT_MESSAGE_REDUCE || what == XFT_MESSAGE_BCAST) &&
        (group->rank == 0) == (what == XFT_MESSAGE_BCAST))
        return 0; /* of rank 0, the root, and of the others */
    return what == XFT_MESSAGE_REDUCE_SCATTER ? count / (size_t)group->count : count;
}

bool xfp_net_is_result(const struct xfp_net_group *group, enum xft_message what, size_t bytes,
                       const float *got)
{
    size_t count = xfp_net_result_count(group, what, bytes);

    for (size_t i = 0; i < count; i++)
        if (got[i] != expected(group, what, bytes, i))
            return false;
    return true;
}

/* ---- one size -------------------------------------------------------------------------------- */

/* One operation, until a time. */
struct sweep {
    struct xfp_net_run *run;
    const struct xfp_net_group *group;
    const struct xfp_net_library *library;
    enum xft_message what;
    uint64_t until_ns;
    double first_ns, last_ns; /* rank 0: what one call of a size took, with what goes before it */
    size_t count;
    struct xfp_point points[XFP_NET_MOST_SIZES];
};

static double left_ns(const struct sweep *s)
{
    uint64_t now = xfp_wall_ns();

    return s->until_ns > now ? (double)(s->until_ns - now) : 0;
}

/* Whether rank 0 has time for what takes so long. */
static bool has_time(const struct sweep *s, double ns)
{
    int has = left_ns(s) > ns;

    xfp_net_mpi(s->run, MPI_Bcast(&has, 1, MPI_INT, 0, s->group->results), "agreeing");
    return has;
}

static double timed(const struct sweep *s, size_t bytes, int repeats)
{
    return s->library->timed(s->library->self, s->what, bytes, repeats);
}

/* Calls of a sample: rank 0 says how often, so that the sizes that are left get their time. */
static int repeats_of(const struct sweep *s, size_t sizes_left)
{
    double slice = left_ns(s) / (double)sizes_left / (SAMPLES + WARM_UPS);
    int repeats = (int)fmin(fmax(fmin(SAMPLE_NS, slice) / fmax(s->last_ns, 1), 1), MOST_REPEATS);

    xfp_net_mpi(s->run, MPI_Bcast(&repeats, 1, MPI_INT, 0, s->group->results), "agreeing");
    return repeats;
}

static void measure_size(struct sweep *s, size_t bytes, size_t sizes_left)
{
    struct xfp_net_run *run = s->run;
    double own, times[SAMPLES];
    struct xfp_stats stats = {0};
    size_t taken = 0;
    int repeats;

    for (int i = 0; i < WARM_UPS; i++) {
        uint64_t before = xfp_wall_ns();

        timed(s, bytes, 1);
        s->last_ns = (double)(xfp_wall_ns() - before);
    }
    s->first_ns = s->count ? s->first_ns : s->last_ns;
    repeats = repeats_of(s, sizes_left);
    while (taken < SAMPLES && (taken < XFP_FEWEST_SAMPLES || has_time(s, 0))) {
        own = timed(s, bytes, repeats);
        xfp_net_mpi(run,
                    MPI_Reduce(&own, &times[taken++], 1, MPI_DOUBLE, MPI_MAX, 0, s->group->results),
                    "collecting times");
    }
    if (!run->rank)
        stats = xfp_stats_of(times, taken);
    s->points[s->count++] = (struct xfp_point){.bytes = bytes,
                                               .n = (uint32_t)taken,
                                               .median_ns = stats.median,
                                               .min_ns = stats.min,
                                               .max_ns = stats.max,
                                               .ci_low_ns = stats.ci_low,
                                               .ci_high_ns = stats.ci_high};
}

/* ---- all sizes ------------------------------------------------------------------------------- */

static void name_of(const struct xfp_net_library *library, enum xft_message what,
                    const struct xfp_net_shape_of_ranks *shape, char name[XFP_NAME_TEXT])
{
    char part[XFP_NET_PART_TEXT] = "";

    if (shape)
        xfp_net_part_word((uint32_t)(shape->hosts * shape->each), (uint32_t)shape->hosts, part);
    snprintf(name, XFP_NAME_TEXT, "net/%s/%s%s%s", library->word, xfp_net_operation_word(what),
             library->way, part);
}

static void name_in(const struct xfp_net_group *group, const struct xfp_net_library *library,
                    enum xft_message what, char name[XFP_NAME_TEXT])
{
    const struct xfp_net_shape_of_ranks shape = {group->hosts, group->count / group->hosts};

    name_of(library, what, group->is_part ? &shape : NULL, name);
}

/* Rank 0. */
static void add(const struct sweep *s)
{
    struct xfp_net_run *run = s->run;
    struct xfp_network *network = xfp_net_of(run->session.profile);
    struct xfp_net_collective c = {.point_count = s->count,
                                   .ranks = (uint32_t)s->group->count,
                                   .hosts = (uint32_t)s->group->hosts};
    char name[XFP_NAME_TEXT];

    name_in(s->group, s->library, s->what, name);
    c.name = strdup(name);
    c.bus_per_algbw = xfp_net_bus_factor(name, s->group->count);
    c.points = malloc((s->count + 1) * sizeof(*c.points));
    if (!network || !c.name || !c.points)
        xfp_net_give_up(run, "out of memory");
    memcpy(c.points, s->points, s->count * sizeof(*c.points));
    if (xfp_net_add_collective(network, &c))
        xfp_net_give_up(run, "out of memory");
    xfp_net_keep(run);
}

/* From an element on, or one for each rank; of a barrier 0 alone. Of some of the ranks every other
 * one. */
static size_t list_sizes(const struct sweep *s, uint64_t *sizes)
{
    size_t unit = sizeof(float) * (is_divided(s->what) ? (size_t)s->group->count : 1), kept = 0;
    size_t count = xfp_sweep_sizes(s->run->session.options, sizes, XFP_NET_MOST_SIZES);

    if (s->what == XFT_MESSAGE_BARRIER) {
        sizes[0] = 0;
        return 1;
    }
    for (size_t i = 0, next = 0; i < count; i++)
        if (sizes[i] >= unit && i >= next) {
            sizes[kept++] = sizes[i] / unit * unit;
            next = i + 1 + s->group->is_part;
        }
    return kept;
}

/* What the next size takes at least, after the last one: latency does not grow. The first is
 * measured in any case. */
static double next_ns(const struct sweep *s, uint64_t bytes)
{
    double latency = fmin(s->first_ns, s->last_ns);

    if (!s->count)
        return -1;
    return (XFP_FEWEST_SAMPLES + WARM_UPS) * (latency + (s->last_ns - latency) * (double)bytes /
                                                            (double)s->points[s->count - 1].bytes);
}

static bool is_right(const struct sweep *s, size_t bytes)
{
    return xfp_net_all_say(s->group, !s->run->session.options->verify ||
                                         s->library->is_right(s->library->self, s->what, bytes));
}

enum outcome { WHOLE, CUT, WRONG /* data, on some rank */ };

/* All sizes. */
static enum outcome measure_sizes(const struct xfp_net_group *group,
                                  const struct xfp_net_library *library, enum xft_message what,
                                  double seconds)
{
    struct xfp_net_run *run = group->run;
    struct sweep s = {.run = run,
                      .group = group,
                      .library = library,
                      .what = what,
                      .until_ns = xfp_wall_ns() + (uint64_t)(seconds * 1e9)};
    uint64_t sizes[XFP_NET_MOST_SIZES];
    size_t count = list_sizes(&s, sizes), i = 0;
    bool right = true, in_time = true;
    char name[XFP_NAME_TEXT];

    name_in(group, library, what, name);
    for (; i < count && right && in_time; i++) {
        in_time = has_time(&s, next_ns(&s, sizes[i]));
        right = !in_time || is_right(&s, sizes[i]);
        if (right && in_time)
            measure_size(&s, sizes[i], count - i);
    }
    if (!right && !run->rank)
        xfp_warn(&run->session.sys, "%s: wrong data after %s", library->name,
                 name + strlen("net//") + strlen(library->word));
    if (!in_time && !group->is_part && !run->rank)
        xfp_net_warn_of_end(run, name, sizes[i - 1]);
    if (s.count && !run->rank)
        add(&s);
    return !right ? WRONG : in_time ? WHOLE : CUT;
}

static bool is_chosen(const struct xfp_net_run *run, const struct xfp_net_library *library,
                      const struct xfp_net_shape_of_ranks *shape, enum xft_message what)
{
    char name[XFP_NAME_TEXT];

    name_of(library, what, shape, name);
    return xfp_net_is_chosen(run, name);
}

bool xfp_net_choose_collectives(const struct xfp_net_run *run,
                                const struct xfp_net_library *library,
                                const struct xfp_net_shape_of_ranks *shape,
                                const enum xft_message *operations, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_chosen(run, library, shape, operations[i]))
            return true;
    return false;
}

double xfp_net_collectives_s(const struct xfp_net_run *run)
{
    const struct xfp_probe_options *o = run->session.options;

    return o->time_limit_s > 0 ? o->time_limit_s / 4 : o->quick ? QUICK_S : USUAL_S;
}

/* Of some ranks one line for all operations. */
static void warn_of_parts(const struct xfp_net_group *group, const struct xfp_net_library *library,
                          size_t cut)
{
    char part[XFP_NET_PART_TEXT];

    xfp_net_part_word((uint32_t)group->count, (uint32_t)group->hosts, part);
    if (cut && group->is_part && !group->run->rank)
        xfp_warn(
            &group->run->session.sys,
            "net/%s/...%s: of %zu operation%s not all sizes are measured: the time for them is "
            "over (--time-limit)",
            library->word, part, cut, cut == 1 ? "" : "s");
}

bool xfp_net_measure_collectives(const struct xfp_net_group *group,
                                 const struct xfp_net_library *library,
                                 const enum xft_message *operations, size_t count, double seconds)
{
    const struct xfp_net_shape_of_ranks shape = {group->hosts, group->count / group->hosts};
    const struct xfp_net_shape_of_ranks *of = group->is_part ? &shape : NULL;
    uint64_t began_ns = xfp_wall_ns();
    enum outcome outcome = WHOLE;
    size_t cut = 0;

    for (size_t i = 0; i < count && outcome != WRONG; i++) {
        double left_s = seconds - (double)(xfp_wall_ns() - began_ns) / 1e9;
        size_t left = 0;

        for (size_t k = i; k < count; k++)
            left += is_chosen(group->run, library, of, operations[k]);
        if (!is_chosen(group->run, library, of, operations[i]))
            continue;
        outcome = measure_sizes(group, library, operations[i], fmax(left_s, 0) / (double)left);
        cut += outcome == CUT;
    }
    warn_of_parts(group, library, cut);
    return outcome != WRONG;
}

/* ---- some of the ranks ----------------------------------------------------------------------- */

/* Those that --filter chooses any operation of. */
static size_t list_chosen(struct xfp_net_run *run, const struct xfp_net_library *library,
                          const enum xft_message *operations, size_t count, size_t most,
                          struct xfp_net_shape_of_ranks shapes[XFP_NET_MOST_SHAPES])
{
    int *hosts = calloc((size_t)run->count, sizeof(*hosts));
    size_t all, kept = 0;

    if (!hosts)
        xfp_net_give_up(run, "out of memory");
    for (int i = 0; i < run->count; i++)
        hosts[i] = run->hellos[i].host;
    all = xfp_net_list_shapes(hosts, run->count, shapes);
    for (size_t i = 0; i < all && i < most; i++)
        if (xfp_net_choose_collectives(run, library, &shapes[i], operations, count))
            shapes[kept++] = shapes[i];
    free(hosts);
    return kept;
}

bool xfp_net_choose_parts_of(struct xfp_net_run *run, const struct xfp_net_library *library,
                             const enum xft_message *operations, size_t count, size_t most_shapes)
{
    struct xfp_net_shape_of_ranks shapes[XFP_NET_MOST_SHAPES];

    return list_chosen(run, library, operations, count, most_shapes, shapes) > 0;
}

bool xfp_net_measure_parts(struct xfp_net_run *run, const struct xfp_net_library *library,
                           const enum xft_message *operations, size_t count, size_t most_shapes,
                           bool (*measure)(void *self, const struct xfp_net_group *group,
                                           double seconds))
{
    struct xfp_net_shape_of_ranks shapes[XFP_NET_MOST_SHAPES];
    size_t all = list_chosen(run, library, operations, count, most_shapes, shapes);
    double seconds = xfp_net_collectives_s(run);
    bool right = true;

    for (size_t i = 0; i < all && right; i++) {
        struct xfp_net_group group;
        bool member = xfp_net_open_group(run, shapes[i], &group);

        if (member)
            right = measure(library->self, &group, seconds / (double)all);
        right = xfp_net_close_group(&group, right);
    }
    return right;
}
