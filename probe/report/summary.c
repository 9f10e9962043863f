#include "probe/report/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe/report/statements.h"

/* Two paths at the largest size that both have. */
struct pair {
    const struct xfp_path *a, *b;
    const struct xfp_point *at_a, *at_b;
};

static bool meet(const struct xfp_path *a, const struct xfp_path *b, struct pair *pair)
{
    *pair = (struct pair){.a = a, .b = b};
    for (size_t i = a->point_count; i-- > 0 && !pair->at_a;)
        for (size_t j = b->point_count; j-- > 0;)
            if (a->points[i].bytes == b->points[j].bytes) {
                pair->at_a = &a->points[i];
                pair->at_b = &b->points[j];
                break;
            }
    return pair->at_a;
}

/* 1: a is faster, -1: b is, 0: they are alike. */
static int faster(const struct pair *p)
{
    const struct xfp_point *a = p->at_a, *b = p->at_b;

    if (a->median_ns * (1 + XFP_SUMMARY_PART) < b->median_ns && a->ci_high_ns < b->ci_low_ns)
        return 1;
    return b->median_ns * (1 + XFP_SUMMARY_PART) < a->median_ns && b->ci_high_ns < a->ci_low_ns ? -1
                                                                                                : 0;
}

static bool is_host_copy(const struct xfp_path *p)
{
    return p->method == XFP_COPY && xfp_is_plain(p) && !p->chosen && p->point_count &&
           (p->direction == XFT_DIR_H2D || p->direction == XFT_DIR_D2H);
}

static const struct xfp_place *host_end(const struct xfp_path *p)
{
    return p->direction == XFT_DIR_H2D ? &p->src : &p->dst;
}

static int device_of(const struct xfp_path *p)
{
    return p->direction == XFT_DIR_H2D ? p->dst.device : p->src.device;
}

static bool is_within_host(const struct xfp_path *p)
{
    return p->method == XFP_COPY && p->direction == XFT_DIR_H2H && xfp_is_plain(p) &&
           p->point_count && p->src.numa >= 0 && p->dst.numa >= 0;
}

/* Host memory of a known node; on a machine with one node all memory is. */
static bool is_placed(const struct xfp_profile *profile, const struct xfp_path *p)
{
    return is_host_copy(p) && (host_end(p)->numa >= 0 || profile->machine.numa_nodes < 2);
}

static bool is_peer_copy(const struct xfp_path *p)
{
    return p->method == XFP_COPY && p->direction == XFT_DIR_P2P && xfp_is_plain(p) && !p->chosen &&
           p->point_count;
}

/* "copy/peer/p2p": two paths between the same places differ by it. */
static bool same_kind(const struct xfp_path *a, const struct xfp_path *b)
{
    const char *end_a = strrchr(a->name, '/'), *end_b = strrchr(b->name, '/');

    return end_a && end_b && end_a - a->name == end_b - b->name &&
           !strncmp(a->name, b->name, (size_t)(end_a - a->name));
}

/* Whether the question applies to these two. */
typedef bool asks(const struct xfp_profile *p, const struct xfp_path *a, const struct xfp_path *b);

/* Two paths of one GPU in one direction, between the same kinds of memory. */
static bool same_but_node(const struct xfp_path *a, const struct xfp_path *b)
{
    return is_host_copy(a) && is_host_copy(b) && a->direction == b->direction &&
           device_of(a) == device_of(b) && host_end(a)->memory == host_end(b)->memory;
}

static bool asks_affinity(const struct xfp_profile *p, const struct xfp_path *a,
                          const struct xfp_path *b)
{
    return same_but_node(a, b) && host_end(a)->numa >= 0 && host_end(b)->numa >= 0 &&
           host_end(a)->numa != host_end(b)->numa;
}

/* From one node, to itself and to another. */
static bool asks_nodes(const struct xfp_profile *p, const struct xfp_path *a,
                       const struct xfp_path *b)
{
    return is_within_host(a) && is_within_host(b) && a->src.memory == b->src.memory &&
           a->src.numa == b->src.numa &&
           (a->src.numa == a->dst.numa) != (b->src.numa == b->dst.numa);
}

static bool asks_direction(const struct xfp_profile *p, const struct xfp_path *a,
                           const struct xfp_path *b)
{
    if (is_peer_copy(a) && is_peer_copy(b))
        return same_kind(a, b) && a->src.device == b->dst.device && a->dst.device == b->src.device;
    if (is_within_host(a) && is_within_host(b))
        return a->src.memory == b->src.memory && a->src.numa == b->dst.numa &&
               a->dst.numa == b->src.numa;
    return is_placed(p, a) && is_placed(p, b) && a->direction != b->direction &&
           device_of(a) == device_of(b) && host_end(a)->memory == host_end(b)->memory &&
           host_end(a)->numa == host_end(b)->numa;
}

static const struct xfp_gpu *gpu(const struct xfp_profile *p, int device)
{
    return device >= 0 && (size_t)device < p->machine.gpu_count ? &p->machine.gpus[device] : NULL;
}

static bool same_model(const struct xfp_gpu *a, const struct xfp_gpu *b)
{
    return a && b && !strcmp(a->name ? a->name : "", b->name ? b->name : "");
}

/* Not bound against bound to the GPU's own node. */
static bool asks_binding(const struct xfp_profile *p, const struct xfp_path *a,
                         const struct xfp_path *b)
{
    const struct xfp_gpu *g;

    if (!same_but_node(a, b) || p->machine.numa_nodes < 2)
        return false;
    g = gpu(p, device_of(a));
    return g && g->numa >= 0 &&
           ((host_end(a)->numa < 0 && host_end(b)->numa == g->numa) ||
            (host_end(b)->numa < 0 && host_end(a)->numa == g->numa));
}

/* Whether that memory, or that other GPU, is on the GPU's own node. */
static bool is_local(const struct xfp_profile *p, const struct xfp_path *path)
{
    const struct xfp_gpu *from = gpu(p, path->src.device), *to = gpu(p, path->dst.device);

    if (is_peer_copy(path))
        return from && to && from->numa == to->numa;
    from = gpu(p, device_of(path));
    return from && (host_end(path)->numa < 0 || host_end(path)->numa == from->numa);
}

static bool asks_links(const struct xfp_profile *p, const struct xfp_path *a,
                       const struct xfp_path *b)
{
    if (is_local(p, a) != is_local(p, b))
        return false;
    if (is_peer_copy(a) && is_peer_copy(b))
        return same_kind(a, b) && same_model(gpu(p, a->src.device), gpu(p, b->src.device)) &&
               same_model(gpu(p, a->dst.device), gpu(p, b->dst.device));
    return is_placed(p, a) && is_placed(p, b) && a->direction == b->direction &&
           host_end(a)->memory == host_end(b)->memory && device_of(a) != device_of(b) &&
           same_model(gpu(p, device_of(a)), gpu(p, device_of(b)));
}

static bool is_near(const struct xfp_profile *p, const struct xfp_path *path)
{
    return is_within_host(path) ? path->src.numa == path->dst.numa : is_local(p, path);
}

static void state(const struct xfp_profile *p, struct xfp_statements *all, const struct pair *pair)
{
    struct xfp_side a = {pair->a, pair->at_a, is_near(p, pair->a)};
    struct xfp_side b = {pair->b, pair->at_b, is_near(p, pair->b)};
    bool a_first = pair->at_a->median_ns <= pair->at_b->median_ns;

    xfp_state(all, a_first ? &a : &b, a_first ? &b : &a, XFP_SUMMARY_PART);
}

/* Answers a question for all pairs: how much pairs differ, and how many do not. */
static void answer(const struct xfp_profile *p, FILE *out, const char *title, const char *not_posed,
                   asks *question)
{
    struct xfp_statements statements = {0};
    size_t alike = 0, differ = 0;
    struct pair pair;

    fprintf(out, "%s\n", title);
    for (size_t i = 0; i < p->path_count; i++)
        for (size_t j = i + 1; j < p->path_count; j++) {
            if (!question(p, &p->paths[i], &p->paths[j]) ||
                !meet(&p->paths[i], &p->paths[j], &pair))
                continue;
            if (faster(&pair))
                state(p, &statements, &pair);
            differ += faster(&pair) != 0;
            alike += faster(&pair) == 0;
        }
    xfp_print_statements(&statements, out);
    if (differ || alike)
        fprintf(out, "  %zu of %zu pairs differ by more than %.0f %%\n", differ, differ + alike,
                XFP_SUMMARY_PART * 100);
    else
        fprintf(out, "  %s\n", not_posed);
}

int xfp_print_summary(const struct xfp_profile *p, FILE *out)
{
    answer(p, out, "Affinity: does the NUMA node of host memory matter?",
           "no copies from and to several NUMA nodes were measured", asks_affinity);
    answer(p, out, "Binding: does memory bound to no node do as well as the GPU's own node?",
           "no copies with and without binding were measured", asks_binding);
    answer(p, out, "Nodes: do copies within the host slow down between nodes?",
           "no copies between NUMA nodes were measured", asks_nodes);
    answer(p, out, "Direction: is one direction faster?", "no link was measured in both directions",
           asks_direction);
    answer(p, out, "Links: do those perform alike that should?",
           "no two links of the same kind were measured", asks_links);
    return ferror(out) ? -1 : 0;
}
