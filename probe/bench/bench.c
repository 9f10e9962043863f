#include "probe/bench/bench.h"
#include "probe/measure/budget.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "probe/device/launch.h"
#include "probe/device/managed.h"
#include "probe/measure/measure.h"
#include "probe/measure/sizes.h"
#include "probe/progress.h"

const struct xfp_family *const xfp_families[] = {
#define XFP_FAMILY(name) &xfp_family_##name,
#include "probe/bench/families.def"
#undef XFP_FAMILY
    NULL};

void xfp_bench_add(struct xfp_bench_list *list, const struct xfp_bench *bench)
{
    if (xfc_grow(&list->items, &list->room, list->count, sizeof(*list->items)))
        list->items[list->count++] = *bench;
}

void xfp_bench_add_managed(struct xfp_session *s, const struct xfp_family *family, const char *name,
                           struct xfp_bench_list *list)
{
    for (size_t i = 0; i < s->sys.device_count; i++) {
        int device = s->sys.devices[i].ordinal;
        struct xfp_bench bench = {.family = family,
                                  .direction = XFT_DIR_D2H,
                                  .src = {XFT_MEM_MANAGED, device, -1},
                                  .dst = {XFT_MEM_MANAGED, -1, -1}};

        snprintf(bench.name, sizeof(bench.name), "%s/gpu%d", name, device);
        if (xfp_managed_applies(&s->sys, device))
            xfp_bench_add(list, &bench);
    }
}

static bool concerns_device(const struct xfp_bench *bench, int device)
{
    return device < 0 || bench->src.device == device || bench->dst.device == device;
}

/* Appends one item to a list "A and B" or "A, B and C"; `last`: it is the last one. */
static void append(char text[XFP_NEEDS_TEXT], const char *words, bool last)
{
    size_t used = strlen(text);

    snprintf(text + used, XFP_NEEDS_TEXT - used, "%s%s", !used ? "" : last ? " and " : ", ", words);
}

const char *xfp_family_needs(const struct xfp_family *family, char text[XFP_NEEDS_TEXT])
{
    bool large = family->from_bytes >= 1 << 20;
    unsigned left = family->needs;
    char sizes[48];

    text[0] = '\0';
#define NEED(symbol, bit, words)                                                                   \
    if (left & (bit)) {                                                                            \
        left &= ~(unsigned)(bit);                                                                  \
        append(text, words, !left && !family->from_bytes);                                         \
    }
    XFP_NEED_LIST(NEED)
#undef NEED
    snprintf(sizes, sizeof(sizes), "sizes from %u%s on",
             (unsigned)(family->from_bytes >> (large ? 20 : 10)), large ? "M" : "K");
    if (family->from_bytes)
        append(text, sizes, true);
    return text;
}

/* One line for a family without a benchmark on this machine. */
static void say_absent(const struct xfp_family *family)
{
    char needs[XFP_NEEDS_TEXT];

    xfp_family_needs(family, needs);
    fprintf(stderr, "xferscope probe: %s does not apply: %s%s\n", family->name,
            *needs ? "it needs " : "no size within --sizes, or not in this driver", needs);
}

/* The other needs differ between GPUs: enumerate() checks them. */
static bool possible(struct xfp_session *s, const struct xfp_family *family)
{
    if ((family->needs & XFP_NEED_TWO_GPUS) && s->sys.device_count < 2)
        return false;
    if ((family->needs & XFP_NEED_KERNELS) && !xfp_kernels_built(&s->sys))
        return false;
    if ((family->needs & XFP_NEED_PROCESS) && !s->options->again)
        return false;
    return s->options->max_bytes >= family->from_bytes;
}

/* When a benchmark runs, lower first: those of the first GPU, of the first pair, of the other GPUs,
 * of all others. The time that a limit leaves suffices for what each analysis asks, however many
 * pairs there are; GPUs of a machine are mostly alike. GPUs are read from the name, which names all
 * that take part. */
static int rank_of(const struct xfp_bench *bench)
{
    const int first_pair = 1, others = 2, pairs = 1 << 20;
    int gpus = 0, highest = 0;

    if (strstr(bench->name, "/all"))
        return pairs;
    for (const char *at = bench->name; (at = strstr(at, "gpu")); at += strlen("gpu")) {
        const int gpu = (int)strtol(at + strlen("gpu"), NULL, 10);
        highest = gpu > highest ? gpu : highest;
        gpus++;
    }
    if (gpus > 1)
        return highest == 1 ? first_pair : pairs;
    return highest ? others + highest : 0;
}

/* Benchmarks of one rank stay in the order of their families. */
static void order(struct xfp_bench_list *list)
{
    for (size_t i = 1; i < list->count; i++) {
        const struct xfp_bench bench = list->items[i];
        const int rank = rank_of(&bench);
        size_t at = i;

        for (; at > 0 && rank_of(&list->items[at - 1]) > rank; at--)
            list->items[at] = list->items[at - 1];
        list->items[at] = bench;
    }
}

int xfp_bench_select(struct xfp_session *s, struct xfp_bench_list *list)
{
    const struct xfp_probe_options *options = s->options;
    size_t kept = 0, before = 0;
    regex_t filter;

    if (options->filter && regcomp(&filter, options->filter, REG_EXTENDED | REG_NOSUB))
        return xfp_fail(&s->sys, "--filter %s: not a regular expression", options->filter);
    for (const struct xfp_family *const *family = xfp_families; *family; family++) {
        if (possible(s, *family))
            (*family)->enumerate(s, *family, list);
        if (list->count == before && !options->filter && options->device < 0 && !options->quiet &&
            !options->quick)
            say_absent(*family);
        before = list->count;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct xfp_bench *bench = &list->items[i];

        if (!concerns_device(bench, options->device))
            continue;
        if (options->filter && regexec(&filter, bench->name, 0, NULL, 0))
            continue;
        list->items[kept++] = *bench;
    }
    list->count = kept;
    order(list);
    if (options->filter)
        regfree(&filter);
    return 0;
}

size_t xfp_host_nodes(const struct xfp_session *s, int *nodes, size_t room)
{
    size_t count = 0;

    for (int n = 0; n < s->sys.numa_count && count < room; n++)
        nodes[count++] = s->sys.numa_nodes[n];
    if (s->sys.numa_count > 1 && count < room)
        nodes[count++] = -1;
    return count;
}

const char *xfp_node_text(const struct xfp_session *s, int node, char text[XFP_NODE_TEXT])
{
    text[0] = '\0';
    if (s->sys.numa_count > 1 && node >= 0)
        snprintf(text, XFP_NODE_TEXT, "node%d-", node);
    return text;
}

static void fit(struct xfp_session *s, const struct xfp_copy *c, struct xfp_path *path)
{
    const struct xfp_point *first = &path->points[0];
    double gap = 0;

    path->fit = xfp_fit_points(path->points, path->point_count, 0);
    if (path->fit.valid && !xfp_interrupted())
        gap = xfp_measure_gap(s, c, first->bytes, first->median_ns, path->fit.G_ns_per_byte);
    path->fit.g_ns = gap > 0 ? gap : NAN;
}

int xfp_sweep_copy(struct xfp_session *s, const struct xfp_copy *c, struct xfp_path *path,
                   size_t most_bytes)
{
    uint64_t sizes[64];
    size_t count = xfp_sweep_sizes(s->options, sizes, 64);
    bool blocking = c->src->host || c->dst->host;
    int bad = 0;

    path->points = calloc(count ? count : 1, sizeof(*path->points));
    if (!path->points || xfp_buffer_fill(&s->sys, c->src, most_bytes))
        return path->points ? -1 : xfp_fail(&s->sys, "out of memory");
    path->device_timed = true;
    for (size_t i = 0; i < count && sizes[i] <= most_bytes && !bad; i++) {
        struct xfp_point point = {.bytes = sizes[i]};

        if (xfp_interrupted())
            break;
        xfp_progress(s, path->name, sizes[i]);
        bad = xfp_measure_copy(s, c, blocking, xfp_slice_ns(s), &point);
        s->points_done++;
        if (!bad && point.n)
            path->points[path->point_count++] = point;
    }
    path->blocking = blocking && path->point_count && path->points[0].blocking_ns > 0;
    if (!bad && path->point_count)
        fit(s, c, path);
    return bad;
}

static int append_path(struct xfp_session *s, const struct xfp_path *path)
{
    struct xfp_profile *profile = s->profile;

    if (!xfc_resize(&profile->paths, profile->path_count + 1, sizeof(*path)))
        return xfp_fail(&s->sys, "out of memory");
    profile->paths[profile->path_count++] = *path;
    s->results++;
    return 0;
}

int xfp_bench_run(struct xfp_session *s, const struct xfp_bench *bench)
{
    struct xfp_path path = {.method = bench->family->method,
                            .direction = bench->direction,
                            .src = bench->src,
                            .dst = bench->dst,
                            .fit = {.g_ns = NAN}};
    size_t before = s->results;
    int bad;

    path.name = strdup(bench->name);
    if (!path.name)
        return xfp_fail(&s->sys, "out of memory");
    s->sys.error[0] = s->absent[0] = '\0';
    bad = bench->family->run(s, bench, &path);
    if (path.point_count && !append_path(s, &path))
        return bad;
    free(path.name);
    free(path.points);
    if (bad || xfp_interrupted() || *s->absent || s->results > before)
        return bad;
    return xfp_fail(&s->sys, "too short for the GPU's clock");
}
