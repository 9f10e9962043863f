/*
 * Copies from GPU to GPU, by size: 2B, 3B, the grid that 4B is chosen from, pieces begun at once,
 * and MPI itself, of which the first messages are measured before all others.
 */
#include "probe/net/parts.h"

#include <stdlib.h>
#include <string.h>

#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"
#include "probe/net/collect.h"

enum { MOST_CHECKED_BYTES = 4 << 20 };

struct copying {
    struct xfp_net_link *link;
    struct xfp_net_order order;
};

static int copy_once(struct xfp_session *s, void *state, double *ns)
{
    struct copying *c = state;

    return xfp_net_lead(c->link, &c->order, ns);
}

/* Times one way of copying; when asked, first whether the data is right. */
static int measure_copy(struct xfp_net_link *link, struct xfp_net_order order, double slice,
                        double *ns, struct xfp_spread *spread)
{
    struct xfp_session *s = &link->run->session;
    struct copying c = {.link = link, .order = order};
    struct xfp_point p = {0};
    double once;

    c.order.check = s->options->verify && order.bytes <= MOST_CHECKED_BYTES;
    if (c.order.check && xfp_net_lead(link, &c.order, &once))
        return -1;
    c.order.check = false;
    if (xfp_repeat(s, copy_once, &c, (uint64_t)slice, &p))
        return -1;
    *ns = p.n ? p.median_ns : 0;
    *spread = (struct xfp_spread){p.n, p.min_ns, p.max_ns, p.ci_low_ns, p.ci_high_ns};
    return 0;
}

static struct xfp_net_order ring(uint64_t bytes, uint64_t buffer_bytes, uint32_t buffers)
{
    return (struct xfp_net_order){
        .what = XFP_NET_DO_RING, .bytes = bytes, .buffer_bytes = buffer_bytes, .buffers = buffers};
}

/* In pieces of 3B's size, larger ones where there would be more than there are requests. */
static struct xfp_net_order posted(uint64_t bytes)
{
    struct xfp_net_order order = ring(bytes, XFP_STAGED_BUFFER_BYTES, XFP_MOST_BUFFERS);

    order.what = XFP_NET_DO_POSTED;
    if (bytes > (uint64_t)XFP_MOST_BUFFERS * XFP_STAGED_BUFFER_BYTES)
        order.buffer_bytes = (bytes + XFP_MOST_BUFFERS - 1) / XFP_MOST_BUFFERS;
    return order;
}

static int measure_grid(struct xfp_net_link *link, struct xfp_staged_cell *cells, size_t count,
                        double slice, struct xfp_net_staged_point *p)
{
    for (size_t i = 0; i < count; i++) {
        struct xfp_staged_cell *cell = &cells[i];

        if (measure_copy(link, ring(cell->bytes, cell->buffer_bytes, cell->buffers), slice,
                         &cell->median_ns, &cell->spread))
            return -1;
        if (i && cell->median_ns >= p->adaptive_ns)
            continue;
        p->adaptive_ns = cell->median_ns;
        p->adaptive = cell->spread;
        p->buffers = cell->buffers;
        p->buffer_bytes = cell->buffer_bytes;
    }
    return 0;
}

/* Checking takes longer than copying: of large copies only the ring chosen is checked. */
static int check_chosen(struct xfp_net_link *link, const struct xfp_net_staged_point *p)
{
    struct xfp_net_order order = ring(p->bytes, p->buffer_bytes, p->buffers);
    double ns;

    order.check = true;
    if (!link->run->session.options->verify || p->bytes <= MOST_CHECKED_BYTES)
        return 0;
    return xfp_net_lead(link, &order, &ns);
}

static bool takes_devices(const struct xfp_net_link *link)
{
    const struct xfp_net_run *run = link->run;

    return run->hellos[run->rank].direct == XFP_NET_TAKEN &&
           run->hellos[link->peer].direct == XFP_NET_TAKEN;
}

/* All versions of one size. */
static int measure_staged(struct xfp_net_link *link, uint64_t bytes, double slice,
                          struct xfp_staged_cell *cells, size_t *count,
                          struct xfp_net_staged_point *p)
{
    struct xfp_net_order direct = {.what = XFP_NET_DO_DIRECT, .bytes = bytes};
    int bad;

    *p = (struct xfp_net_staged_point){.bytes = bytes};
    *count = xfp_list_rings(link->run->session.options->quick, bytes, cells);
    bad = measure_copy(link, ring(bytes, bytes, 1), slice / 8, &p->unpipelined_ns, &p->unpipelined);
    if (!bad)
        bad = measure_copy(link, ring(bytes, XFP_STAGED_BUFFER_BYTES, XFP_STAGED_BUFFERS),
                           slice / 8, &p->pipelined_ns, &p->pipelined);
    if (!bad)
        bad = measure_copy(link, posted(bytes), slice / 8, &p->posted_ns, &p->posted);
    if (!bad && takes_devices(link))
        bad = measure_copy(link, direct, slice / 8, &p->direct_ns, &p->direct);
    if (!bad)
        bad = measure_grid(link, cells, *count, slice / 2 / (double)*count, p);
    return bad ? bad : check_chosen(link, p);
}

static void keep_staged(struct xfp_net_run *run, const struct xfp_net_staged *staged)
{
    struct xfp_network *network = xfp_net_of(run->session.profile);
    struct xfp_net_staged copy = *staged;

    copy.name = strdup(staged->name);
    copy.points = calloc(staged->point_count + 1, sizeof(*copy.points));
    copy.cells = calloc(staged->cell_count + 1, sizeof(*copy.cells));
    copy.first_uses = calloc(staged->first_use_count + 1, sizeof(*copy.first_uses));
    if (!network || !copy.name || !copy.points || !copy.cells || !copy.first_uses)
        xfp_net_give_up(run, "out of memory");
    if (staged->first_use_count)
        memcpy(copy.first_uses, staged->first_uses,
               staged->first_use_count * sizeof(*copy.first_uses));
    memcpy(copy.points, staged->points, staged->point_count * sizeof(*copy.points));
    memcpy(copy.cells, staged->cells, staged->cell_count * sizeof(*copy.cells));
    copy.hybrid_bytes = xfp_net_hybrid_bytes(copy.points, copy.point_count);
    if (xfp_net_add_staged(network, &copy))
        xfp_net_give_up(run, "out of memory");
    xfp_net_keep(run);
}

size_t xfp_net_staged_sizes(const struct xfp_net_run *run, uint64_t *sizes)
{
    size_t count = xfp_sweep_sizes(run->session.options, sizes, XFP_NET_MOST_SIZES), kept = 0;

    for (size_t i = 0; i < count; i++)
        if (sizes[i] >= XFP_NET_LEAST_STAGED)
            sizes[kept++] = sizes[i];
    return kept;
}

static bool is_whole(const struct xfp_net_staged_point *p)
{
    return p->unpipelined_ns > 0 && p->pipelined_ns > 0 && p->adaptive_ns > 0 && p->posted_ns > 0;
}

/* What the fewest copies of that size take, in every way. */
static double fewest_ns(const struct xfp_net_run *run, const struct xfp_net_staged_point *last,
                        uint64_t bytes)
{
    struct xfp_staged_cell cells[XFP_MOST_CELLS];
    size_t ways = xfp_list_rings(run->session.options->quick, bytes, cells) + 4;

    return last->adaptive_ns * (double)bytes / (double)last->bytes * XFP_NET_FEWEST * (double)ways;
}

/* ---- the first messages of device memory ----------------------------------------------------- */

enum { FIRST_ROUNDS = 8, FIRST_SIZES = 4 };
#define AS_LATER 1.25 /* a round is one of the later ones when it takes so much of their median */

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double xfp_net_first_excess(const double *times, size_t count)
{
    size_t first = count / 2, middle = first + (count - first) / 2;
    double later[XFP_NET_MOST_FIRST], excess = 0;

    memcpy(later, times, count * sizeof(*later));
    qsort(later + first, count - first, sizeof(*later), compare_times);
    for (size_t i = 0; i < first && times[i] > AS_LATER * later[middle]; i++)
        excess += times[i] - later[middle];
    return excess;
}

/* Before any other message of device memory between the two, from small to large: what MPI makes
 * for eager messages is made before what it makes for others. */
static int measure_first_uses(struct xfp_net_link *link, uint64_t most,
                              struct xfp_net_first_use uses[FIRST_SIZES], size_t *count)
{
    static const uint64_t sizes[FIRST_SIZES] = {1 << 10, 64 << 10, 1 << 20, 16 << 20};
    double times[FIRST_ROUNDS];

    *count = 0;
    for (size_t i = 0; i < FIRST_SIZES && sizes[i] <= most; i++) {
        struct xfp_net_order order = {
            .what = XFP_NET_DO_FIRST, .bytes = sizes[i], .repeat = FIRST_ROUNDS};

        if (xfp_net_lead(link, &order, times))
            return -1;
        uses[(*count)++] = (struct xfp_net_first_use){
            sizes[i], xfp_net_first_excess(times, FIRST_ROUNDS), FIRST_ROUNDS};
    }
    return 0;
}

/* ---- all sizes ------------------------------------------------------------------------------- */

int xfp_net_sweep_staged(struct xfp_net_link *link, const uint64_t *sizes, size_t count)
{
    struct xfp_net_run *run = link->run;
    size_t cells;
    struct xfp_net_staged_point points[XFP_NET_MOST_SIZES];
    struct xfp_staged_cell *grid =
        calloc((size_t)XFP_NET_MOST_SIZES * XFP_MOST_CELLS, sizeof(*grid));
    char name[XFP_NAME_TEXT];
    struct xfp_net_first_use uses[FIRST_SIZES];
    struct xfp_net_staged staged = {.name = name,
                                    .from = run->rank,
                                    .to = link->peer,
                                    .loaded = run->loaded,
                                    .points = points,
                                    .cells = grid,
                                    .first_uses = uses};
    int bad = 0;

    if (!grid)
        xfp_net_give_up(run, "out of memory");
    xfp_net_name(link, "staged", name);
    xfp_net_begin_part(run, XFP_NET_STAGED_COPIES, 1);
    if (takes_devices(link) && !link->devices_met)
        bad = measure_first_uses(link, sizes[count - 1], uses, &staged.first_use_count);
    for (size_t i = 0; i < count && !bad; i++) {
        struct xfp_net_staged_point *p = &points[staged.point_count];
        double left = xfp_net_left_ns(run);

        if (i && xfp_net_too_long(run, fewest_ns(run, &p[-1], sizes[i]))) {
            xfp_net_warn_of_end(run, name, sizes[i]);
            break;
        }
        bad = measure_staged(link, sizes[i], left * 0.9 / (double)(count - i),
                             &grid[staged.cell_count], &cells, p);
        if (bad || !is_whole(p))
            break;
        staged.point_count++;
        staged.cell_count += cells;
        keep_staged(run, &staged);
    }
    free(grid);
    return bad;
}
