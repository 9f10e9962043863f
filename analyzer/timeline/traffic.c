#include "analyzer/timeline/traffic.h"

#include <math.h>

#include "analyzer/base/alloc.h"

struct between_key {
    struct xfa_place from, to;
};

void xfa_traffic_init(struct xfa_traffic *traffic)
{
    xfa_table_init(&traffic->table, sizeof(struct between_key), sizeof(struct xfa_between));
}

void xfa_traffic_free(struct xfa_traffic *traffic)
{
    xfa_table_free(&traffic->table);
}

static struct xfa_place host_place(const struct xfa_process *process, int node)
{
    return (struct xfa_place){
        .host = process->host, .gpu = -1, .node = (int16_t)(node < 0 ? -1 : node)};
}

static struct xfa_place gpu_place(int gpu)
{
    return (struct xfa_place){.gpu = (int16_t)(gpu < 0 ? XFA_SOME_GPU : gpu), .node = -1};
}

void xfa_traffic_add(struct xfa_traffic *traffic, const struct xfa_between *more)
{
    struct between_key key = {more->from, more->to};
    struct xfa_between *between = xfa_table_get(&traffic->table, &key);
    if (!between && traffic->table.count == XFA_MOST_TRAFFIC)
        return;
    if (!between)
        between = xfa_table_put(&traffic->table, &key);
    between->count += more->count;
    between->bytes = xfa_add(between->bytes, more->bytes);
    between->timed += more->timed;
    between->ns += more->ns;
}

static void add(struct xfa_traffic *traffic, struct xfa_place from, struct xfa_place to,
                uint64_t bytes, double ns)
{
    struct xfa_between more = {.from = from, .to = to, .count = 1, .bytes = bytes};
    if (!isnan(ns)) {
        more.timed = 1;
        more.ns = ns;
    }
    xfa_traffic_add(traffic, &more);
}

void xfa_traffic_transfer(struct xfa_traffic *traffic, const struct xfa_event *event)
{
    const struct xfa_class_key *class = &event->transfer.class->key;
    const struct xfa_row_key *key = &class->row;
    bool from_host = key->direction == XFT_DIR_H2D || key->direction == XFT_DIR_H2H ||
                     (key->direction == XFT_DIR_UNKNOWN && key->src_gpu < 0);
    bool to_host = key->direction == XFT_DIR_D2H || key->direction == XFT_DIR_H2H ||
                   (key->direction == XFT_DIR_UNKNOWN && key->dst_gpu < 0);
    struct xfa_place from =
        from_host ? host_place(event->process, class->src_node) : gpu_place(key->src_gpu);
    struct xfa_place to =
        to_host ? host_place(event->process, class->dst_node) : gpu_place(key->dst_gpu);
    add(traffic, from, to, event->bytes, event->transfer.achieved_ns);
}

void xfa_traffic_migration(struct xfa_traffic *traffic, const struct xfa_process *process,
                           const struct xfa_event *event, int gpu)
{
    struct xfa_place host = host_place(process, -1), device = gpu_place(gpu);
    double ns = event->end_ns >= event->start_ns ? (double)(event->end_ns - event->start_ns) : NAN;
    if (event->direction == XFT_DIR_D2H)
        add(traffic, device, host, event->bytes, ns);
    else if (event->direction == XFT_DIR_H2D)
        add(traffic, host, device, event->bytes, ns);
    else
        add(traffic, gpu_place(xfa_process_gpu(process, event->src_place)), device, event->bytes,
            ns);
}
