/*
 * Explicit copies between host and device: from and to pageable, pinned, write-combined and
 * registered memory, on every NUMA node and without binding, with every GPU (Comm|Scope's Table 1,
 * "explicit").
 */
#include "probe/bench/bench.h"
#include "probe/measure/measure.h"

#include <stdio.h>

static const enum xft_memory kinds[] = {XFT_MEM_PAGEABLE, XFT_MEM_PINNED, XFT_MEM_WRITE_COMBINED,
                                        XFT_MEM_REGISTERED};

static void add(struct xfp_session *s, const struct xfp_family *family, struct xfp_bench_list *list,
                struct xfp_place host, struct xfp_place device)
{
    struct xfp_bench bench = {.family = family};
    char node[XFP_NODE_TEXT];

    xfp_node_text(s, host.numa, node);
    for (int back = 0; back < 2; back++) {
        bench.direction = back ? XFT_DIR_D2H : XFT_DIR_H2D;
        bench.src = back ? device : host;
        bench.dst = back ? host : device;
        snprintf(bench.name, sizeof(bench.name), "copy/%s/%s/%sgpu%d", xft_memory_word(host.memory),
                 back ? "d2h" : "h2d", node, device.device);
        xfp_bench_add(list, &bench);
    }
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    int nodes[XFP_MOST_NODES];
    size_t count = xfp_host_nodes(s, nodes, XFP_MOST_NODES);

    for (size_t d = 0; d < s->sys.device_count; d++)
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
            for (size_t n = 0; n < count; n++)
                add(s, family, list,
                    (struct xfp_place){.memory = kinds[k], .device = -1, .numa = nodes[n]},
                    (struct xfp_place){XFT_MEM_DEVICE, s->sys.devices[d].ordinal, -1});
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct xfp_host_ends ends = xfp_host_ends(s, bench);
    struct xfp_buffer host = {0}, device = {0};
    struct xfp_copy copy = {.device = ends.d, .gated = ends.host.memory != XFT_MEM_PAGEABLE};
    size_t most = s->sys.most_bytes, least = s->options->min_bytes;
    int bad = xfp_device_open(&s->sys, ends.d);

    if (!bad)
        bad = xfp_buffer_make_fitting(&s->sys, ends.d, ends.device, least, &most, &device);
    if (!bad)
        bad = xfp_buffer_make_fitting(&s->sys, ends.d, ends.host, least, &most, &host);
    copy.src = ends.to_device ? &host : &device;
    copy.dst = ends.to_device ? &device : &host;
    if (!bad)
        bad = xfp_sweep_copy(s, &copy, path, most);
    xfp_buffer_free(&s->sys, &host);
    xfp_buffer_free(&s->sys, &device);
    xfp_unbind(&s->sys);
    return bad;
}

const struct xfp_family xfp_family_host_device = {
    .name = "host-device",
    .summary = "explicit copies between host and device, asynchronous and blocking",
    .names =
        {
            {"copy/{pageable,pinned}/{h2d,d2h}/[nodeN-]gpuN", NULL},
            {"copy/{write-combined,registered}/{h2d,d2h}/[nodeN-]gpuN", NULL},
        },
    .part = XFP_PART_PATHS,
    .method = XFP_COPY,
    .enumerate = enumerate,
    .run = run,
};
