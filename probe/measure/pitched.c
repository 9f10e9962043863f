#include "probe/measure/pitched.h"

#include <string.h>

#include "probe/measure/sample.h"
#include "probe/measure/timed.h"

enum { ROWS_IN_LAYER = 16, LEAD_BYTES = 4096 };

static size_t rows_in_layer(const struct xfp_pitched_copy *p)
{
    size_t rows = p->total / p->row;

    return !p->layers ? rows : rows < ROWS_IN_LAYER ? rows : ROWS_IN_LAYER;
}

/* Where row `r` lies in the host's buffer. */
static size_t host_offset(const struct xfp_pitched_copy *p, size_t r)
{
    size_t rows = rows_in_layer(p);

    return (r / rows * 2 * rows + r % rows) * 2 * p->row;
}

size_t xfp_pitched_host_bytes(const struct xfp_pitched_copy *p)
{
    return (p->layers ? 4 : 2) * p->total;
}

static xcu_result queue_2d(struct xfp_session *s, const struct xfp_pitched_copy *p,
                           xcu_stream stream)
{
    struct xcu_memcpy2d copy = {.width = p->row, .height = p->total / p->row};

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

static xcu_result queue_3d(struct xfp_session *s, const struct xfp_pitched_copy *p,
                           xcu_stream stream)
{
    size_t rows = rows_in_layer(p);
    struct xcu_memcpy3d copy = {.width = p->row, .height = rows, .depth = p->total / p->row / rows};

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
    const struct xfp_pitched_copy *p = state;

    return p->layers ? queue_3d(s, p, stream) : queue_2d(s, p, stream);
}

/* From end to end: there it is no row that would not have to be copied over. */
static xcu_result queue_lead(struct xfp_session *s, void *state, xcu_stream stream)
{
    const struct xfp_pitched_copy *p = state;
    size_t bytes = p->total < LEAD_BYTES ? p->total : LEAD_BYTES;
    unsigned char *host = p->host.host + xfp_pitched_host_bytes(p) - bytes;
    xcu_deviceptr there = p->there.address + p->total - bytes;

    return p->to_device ? s->sys.cu->cuMemcpyHtoDAsync(there, host, bytes, stream)
                        : s->sys.cu->cuMemcpyDtoHAsync(host, p->there.address, bytes, stream);
}

static int flush(struct xfp_session *s, void *state)
{
    const struct xfp_pitched_copy *p = state;

    xfp_flush_buffer(&s->sys, &p->host, xfp_pitched_host_bytes(p));
    return 0;
}

/* Row r of the host's side and of the other hold the same, and that is the pattern. */
static void fill_rows(const struct xfp_session *s, struct xfp_pitched_copy *p)
{
    memset(p->host.host, 0, xfp_pitched_host_bytes(p));
    for (size_t r = 0; r < p->total / p->row; r++)
        memcpy(p->host.host + host_offset(p, r), s->sys.pattern + r * p->row, p->row);
}

static int compare(struct xfp_session *s, const struct xfp_pitched_copy *p)
{
    const unsigned char *got = p->to_device ? s->sys.check : p->host.host;

    if (p->to_device &&
        xfp_check(&s->sys, s->sys.cu->cuMemcpyDtoH(s->sys.check, p->there.address, p->total),
                  "verifying"))
        return -1;
    for (size_t r = 0; r < p->total / p->row; r++)
        if (memcmp(got + (p->to_device ? r * p->row : host_offset(p, r)),
                   s->sys.pattern + r * p->row, p->row) != 0)
            return xfp_fail(&s->sys, "wrong data after a copy of rows of %zu bytes: row %zu",
                            p->row, r);
    return 0;
}

int xfp_measure_pitched(struct xfp_session *s, struct xfp_pitched_copy *p, uint64_t budget_ns,
                        struct xfp_stats *stats)
{
    struct xfp_timed t = {.device = p->device,
                          .prepare = flush,
                          .lead = queue_lead,
                          .first = queue_rows,
                          .state = p,
                          .gated = p->host.place.memory != XFT_MEM_PAGEABLE};
    int bad;

    if (p->to_device)
        fill_rows(s, p);
    else
        memset(p->host.host, 0, xfp_pitched_host_bytes(p));
    bad = p->to_device ? xfp_buffer_clear(&s->sys, &p->there, p->total)
                       : xfp_buffer_fill(&s->sys, &p->there, p->total);
    if (bad || xfp_sample(s, xfp_once_timed, &t, budget_ns, stats, 1))
        return -1;
    return s->sys.verify ? compare(s, p) : 0;
}
