/*
 * Copies of two and three dimensions by the length of a row: the same bytes, in ever longer rows.
 * On the host the rows are a part of something twice as wide, and layers of something twice as
 * high; on the device they follow each other.
 */
#include "probe/bench/bench.h"
#include "probe/device/buffer.h"
#include "probe/measure/budget.h"
#include "probe/measure/costs.h"
#include "probe/progress.h"
#include "probe/measure/sample.h"
#include "probe/measure/timed.h"

#include <stdio.h>
#include <string.h>

enum { LEAST_ROW = 64, MOST_ROW = 1 << 20, ROWS_IN_LAYER = 16, LEAD_BYTES = 4096 };
#define TOTAL ((size_t)4 << 20)

struct shape {
    struct xfp_device *device;
    struct xfp_buffer host, there; /* room for the whole, and TOTAL bytes */
    bool to_device;
    bool layers; /* three dimensions */
    size_t row;
};

static size_t rows_in_layer(const struct shape *p)
{
    size_t rows = TOTAL / p->row;

    return !p->layers ? rows : rows < ROWS_IN_LAYER ? rows : ROWS_IN_LAYER;
}

/* Where row `r` lies in the host's buffer. */
static size_t host_offset(const struct shape *p, size_t r)
{
    size_t rows = rows_in_layer(p);

    return (r / rows * 2 * rows + r % rows) * 2 * p->row;
}

static size_t host_bytes(const struct shape *p)
{
    return (p->layers ? 4 : 2) * TOTAL;
}

static xcu_result queue_2d(struct xfp_session *s, const struct shape *p, xcu_stream stream)
{
    struct xcu_memcpy2d copy = {.width = p->row, .height = TOTAL / p->row};

    if (p->to_device) {
        copy.src_type = XCU_MEMORY_HOST;
        copy.src_host = p->host.host;
        copy.src_pitch = 2 * p->row;
        copy.dst_type = XCU_MEMORY_DEVICE;
        copy.dst_device = p->there.address;
        copy.dst_pitch = p->row;
    } else {
        copy.src_type = XCU_MEMORY_DEVICE;
        copy.src_device = p->there.address;
        copy.src_pitch = p->row;
        copy.dst_type = XCU_MEMORY_HOST;
        copy.dst_host = p->host.host;
        copy.dst_pitch = 2 * p->row;
    }
    return s->sys.cu->cuMemcpy2DAsync(&copy, stream);
}

static xcu_result queue_3d(struct xfp_session *s, const struct shape *p, xcu_stream stream)
{
    size_t rows = rows_in_layer(p);
    struct xcu_memcpy3d copy = {.width = p->row, .height = rows, .depth = TOTAL / p->row / rows};

    if (p->to_device) {
        copy.src_type = XCU_MEMORY_HOST;
        copy.src_host = p->host.host;
        copy.src_pitch = 2 * p->row;
        copy.src_height = 2 * rows;
        copy.dst_type = XCU_MEMORY_DEVICE;
        copy.dst_device = p->there.address;
        copy.dst_pitch = p->row;
        copy.dst_height = rows;
    } else {
        copy.src_type = XCU_MEMORY_DEVICE;
        copy.src_device = p->there.address;
        copy.src_pitch = p->row;
        copy.src_height = rows;
        copy.dst_type = XCU_MEMORY_HOST;
        copy.dst_host = p->host.host;
        copy.dst_pitch = 2 * p->row;
        copy.dst_height = 2 * rows;
    }
    return s->sys.cu->cuMemcpy3DAsync(&copy, stream);
}

static xcu_result queue_rows(struct xfp_session *s, void *state, xcu_stream stream)
{
    const struct shape *p = state;

    return p->layers ? queue_3d(s, p, stream) : queue_2d(s, p, stream);
}

/* From end to end: there it is no row that would not have to be copied over. */
static xcu_result queue_lead(struct xfp_session *s, void *state, xcu_stream stream)
{
    const struct shape *p = state;
    unsigned char *host = p->host.host + host_bytes(p) - LEAD_BYTES;
    xcu_deviceptr there = p->there.address + TOTAL - LEAD_BYTES;

    return p->to_device ? s->sys.cu->cuMemcpyHtoDAsync(there, host, LEAD_BYTES, stream)
                        : s->sys.cu->cuMemcpyDtoHAsync(host, p->there.address, LEAD_BYTES, stream);
}

static int flush(struct xfp_session *s, void *state)
{
    const struct shape *p = state;

    xfp_flush_buffer(&s->sys, &p->host, host_bytes(p));
    return 0;
}

/* Row r of the host's side and of the other hold the same, and that is the pattern. */
static void fill_rows(const struct xfp_session *s, struct shape *p)
{
    memset(p->host.host, 0, host_bytes(p));
    for (size_t r = 0; r < TOTAL / p->row; r++)
        memcpy(p->host.host + host_offset(p, r), s->sys.pattern + r * p->row, p->row);
}

static int compare(struct xfp_session *s, const struct shape *p)
{
    const unsigned char *got = p->to_device ? s->sys.check : p->host.host;

    if (p->to_device &&
        xfp_check(&s->sys, s->sys.cu->cuMemcpyDtoH(s->sys.check, p->there.address, TOTAL),
                  "verifying"))
        return -1;
    for (size_t r = 0; r < TOTAL / p->row; r++)
        if (memcmp(got + (p->to_device ? r * p->row : host_offset(p, r)),
                   s->sys.pattern + r * p->row, p->row) != 0)
            return xfp_fail(&s->sys, "wrong data after a copy of rows of %zu bytes: row %zu",
                            p->row, r);
    return 0;
}

static int measure_row(struct xfp_session *s, struct shape *p, uint64_t budget_ns,
                       struct xfp_stats *stats)
{
    struct xfp_timed t = {.device = p->device,
                          .prepare = flush,
                          .lead = queue_lead,
                          .first = queue_rows,
                          .state = p,
                          .gated = true};
    int bad;

    if (p->to_device)
        fill_rows(s, p);
    else
        memset(p->host.host, 0, host_bytes(p));
    bad = p->to_device ? xfp_buffer_clear(&s->sys, &p->there, TOTAL)
                       : xfp_buffer_fill(&s->sys, &p->there, TOTAL);
    if (bad || xfp_sample(s, xfp_once_timed, &t, budget_ns, stats, 1))
        return -1;
    return s->sys.verify ? compare(s, p) : 0;
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    bool to_device = bench->direction == XFT_DIR_H2D;
    struct xfp_place host = to_device ? bench->src : bench->dst;
    struct xfp_place device = to_device ? bench->dst : bench->src;
    struct shape p = {.device = &s->sys.devices[device.device],
                      .to_device = to_device,
                      .layers = bench->variant == 3};
    struct xfp_rows rows = {0};
    int shift = s->options->quick ? 4 : 2;
    int bad = xfp_device_open(&s->sys, p.device);

    if (!bad)
        bad = xfp_buffer_make(&s->sys, p.device, device, TOTAL, &p.there);
    if (!bad)
        bad = xfp_buffer_make(&s->sys, p.device, host, host_bytes(&p), &p.host);
    for (p.row = LEAST_ROW; p.row <= MOST_ROW && !bad && !xfp_interrupted(); p.row <<= shift) {
        struct xfp_stats stats;
        size_t left = 0;

        for (size_t row = p.row; row <= MOST_ROW; row <<= shift)
            left++;
        xfp_progress(s, path->name, p.row);
        bad = measure_row(s, &p, xfp_step_ns(s, left), &stats);
        if (!bad)
            xfp_add_row(&rows, p.row, &stats);
    }
    xfp_buffer_free(&s->sys, &p.host);
    xfp_buffer_free(&s->sys, &p.there);
    xfp_unbind(&s->sys);
    return xfp_add_table(s, &rows, "row bytes", "ns", TOTAL, "%s", path->name) || bad ? -1 : 0;
}

static void add(struct xfp_session *s, const struct xfp_family *family, struct xfp_bench_list *list,
                int dimensions, int ordinal, int numa)
{
    struct xfp_place host = {XFT_MEM_PINNED, -1, numa}, device = {XFT_MEM_DEVICE, ordinal, -1};
    char node[XFP_NODE_TEXT];

    for (int back = 0; back < 2; back++) {
        struct xfp_bench bench = {.family = family,
                                  .direction = back ? XFT_DIR_D2H : XFT_DIR_H2D,
                                  .variant = dimensions,
                                  .src = back ? device : host,
                                  .dst = back ? host : device};

        snprintf(bench.name, sizeof(bench.name), "copy-%dd/pinned/%s/%sgpu%d", dimensions,
                 back ? "d2h" : "h2d", xfp_node_text(s, numa, node), ordinal);
        xfp_bench_add(list, &bench);
    }
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    if (s->options->max_bytes < TOTAL)
        return;
    for (size_t d = 0; d < s->sys.device_count; d++)
        for (int n = 0; n < s->sys.numa_count; n++) {
            if (s->sys.cu->cuMemcpy2DAsync)
                add(s, family, list, 2, s->sys.devices[d].ordinal, s->sys.numa_nodes[n]);
            if (s->sys.cu->cuMemcpy3DAsync)
                add(s, family, list, 3, s->sys.devices[d].ordinal, s->sys.numa_nodes[n]);
        }
}

const struct xfp_family xfp_family_shape = {
    .name = "shape",
    .summary = "2D and 3D copies of 4 MiB, by the length of a row",
    .needs = "sizes from 4M on",
    .method = XFP_COPY,
    .budget_s = 0.5,
    .quick_budget_s = 0.06,
    .enumerate = enumerate,
    .run = run,
};
