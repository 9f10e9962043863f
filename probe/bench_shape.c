/*
 * Copies of two dimensions by the length of a row: the same bytes, in ever longer rows; on one side
 * the rows lie apart by twice their length, on the other they follow each other.
 */
#include "bench.h"
#include "buffer.h"
#include "progress.h"
#include "sample.h"

#include <stdio.h>
#include <string.h>

enum { LEAST_ROW = 64, MOST_ROW = 1 << 20 };
#define TOTAL ((size_t)4 << 20)

/* The host's rows are the ones apart: a sub-matrix of the program's. */
struct shape {
    struct xfp_device *device;
    struct xfp_buffer host, there; /* 2 TOTAL and TOTAL bytes */
    bool to_device;
    size_t row;
};

static xcu_result queue_rows(struct xfp_session *s, void *state, xcu_stream stream)
{
    const struct shape *p = state;
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
    return s->cu->cuMemcpy2DAsync(&copy, stream);
}

/* Row r of the host's side and of the other hold the same, and that is the pattern. */
static void fill_rows(const struct xfp_session *s, struct shape *p)
{
    memset(p->host.host, 0, 2 * TOTAL);
    for (size_t at = 0; at < TOTAL; at += p->row)
        memcpy(p->host.host + 2 * at, s->pattern + at, p->row);
}

static int compare(struct xfp_session *s, const struct shape *p)
{
    size_t apart = p->to_device ? 1 : 2;
    const unsigned char *got = p->to_device ? s->check : p->host.host;

    if (p->to_device &&
        xfp_check(s, s->cu->cuMemcpyDtoH(s->check, p->there.address, TOTAL), "verifying"))
        return -1;
    for (size_t at = 0; at < TOTAL; at += p->row)
        if (memcmp(got + apart * at, s->pattern + at, p->row) != 0)
            return xfp_fail(s, "wrong data after a copy of rows of %zu bytes: row %zu", p->row,
                            at / p->row);
    return 0;
}

static int measure_row(struct xfp_session *s, struct shape *p, uint64_t budget_ns,
                       struct xfp_stats *stats)
{
    struct xfp_timed t = {.device = p->device, .first = queue_rows, .state = p, .gated = true};
    int bad;

    if (p->to_device)
        fill_rows(s, p);
    else
        memset(p->host.host, 0, 2 * TOTAL);
    bad =
        p->to_device ? xfp_buffer_clear(s, &p->there, TOTAL) : xfp_buffer_fill(s, &p->there, TOTAL);
    if (bad || xfp_sample(s, xfp_once_timed, &t, budget_ns, stats, 1))
        return -1;
    return s->options->verify ? compare(s, p) : 0;
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    bool to_device = bench->direction == XFT_DIR_H2D;
    struct xfp_place host = to_device ? bench->src : bench->dst;
    struct xfp_place device = to_device ? bench->dst : bench->src;
    struct shape p = {.device = &s->devices[device.device], .to_device = to_device};
    struct xfp_rows rows = {0};
    int shift = s->options->quick ? 4 : 2;
    int bad = xfp_device_open(s, p.device);

    if (!bad)
        bad = xfp_buffer_make(s, p.device, device, TOTAL, &p.there);
    if (!bad)
        bad = xfp_buffer_make(s, p.device, host, 2 * TOTAL, &p.host);
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
    xfp_buffer_free(s, &p.host);
    xfp_buffer_free(s, &p.there);
    xfp_unbind(s);
    return xfp_add_table(s, &rows, "row bytes", "ns", TOTAL, "%s", path->name) || bad ? -1 : 0;
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    if (!s->cu->cuMemcpy2DAsync || s->options->max_bytes < TOTAL)
        return;
    for (size_t d = 0; d < s->device_count; d++)
        for (int n = 0; n < s->numa_count; n++)
            for (int back = 0; back < 2; back++) {
                struct xfp_place host = {XFT_MEM_PINNED, -1, s->numa_nodes[n]};
                struct xfp_place device = {XFT_MEM_DEVICE, s->devices[d].ordinal, -1};
                struct xfp_bench bench = {.family = family,
                                          .direction = back ? XFT_DIR_D2H : XFT_DIR_H2D,
                                          .src = back ? device : host,
                                          .dst = back ? host : device};
                char node[24] = "";

                if (s->numa_count > 1)
                    snprintf(node, sizeof(node), "node%d-", host.numa);
                snprintf(bench.name, sizeof(bench.name), "copy-2d/pinned/%s/%sgpu%d",
                         back ? "d2h" : "h2d", node, device.device);
                xfp_bench_add(list, &bench);
            }
}

const struct xfp_family xfp_family_shape = {
    .name = "copy-2d",
    .summary = "explicit copies of 4 MiB in rows, by the length of a row",
    .method = XFP_COPY,
    .budget_s = 0.5,
    .quick_budget_s = 0.08,
    .enumerate = enumerate,
    .run = run,
};
