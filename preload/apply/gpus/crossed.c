#include "preload/apply/gpus/crossed.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "preload/apply/calls/ends.h"
#include "preload/apply/gpus/crossings.h"
#include "preload/apply/state/driver.h"
#include "preload/apply/gpus/pairs.h"
#include "preload/base/sandbox.h"

/* ---- ends ------------------------------------------------------------------------------------ */

static xcu_context context_at(uint64_t address, xcu_context named)
{
    struct xfs_end end;
    if (address == 0)
        return named;
    return xfs_end_ask(address, 1, &end) && end.type == XCU_MEMORY_DEVICE ? end.context : NULL;
}

/* The stream's context; NULL: it is being captured, or not known. */
static xcu_context context_of(xcu_stream stream)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_context context = NULL;
    bool own = stream != XCU_STREAM_LEGACY && stream != XCU_STREAM_PER_THREAD;
    xcu_result found = own ? driver->stream_context(stream, &context) : driver->current(&context);
    int capturing = XCU_CAPTURE_NONE;
    if (found != XCU_SUCCESS || driver->is_capturing(stream, &capturing) != XCU_SUCCESS ||
        capturing != XCU_CAPTURE_NONE)
        return NULL;
    return context;
}

static bool may_look(void)
{
    return xfs_apply_driver() && xfs_may_call_kernel();
}

/* False: access of ours has nothing to do with it. */
static bool look(const struct xfs_crossed *copy, struct xfs_crossing *found)
{
    xcu_context ends[] = {context_at(copy->src, copy->from), context_at(copy->dst, copy->to)};
    *found = (struct xfs_crossing){.by = context_of(copy->stream), .stream = copy->stream};
    if (found->by == NULL)
        return false;
    bool between = ends[0] && ends[1] && ends[0] != ends[1] && xfs_pair_is_ours(ends[0], ends[1]);
    for (unsigned side = 0; side < 2; side++)
        if (ends[side] && ends[side] != found->by &&
            (between || xfs_pair_is_ours(found->by, ends[side])))
            found->with[side] = ends[side];
    return found->with[0] || found->with[1];
}

void xfs_crossed_copy(const struct xfs_crossed *copy)
{
    struct xfs_crossing crossing;
    int saved = errno;
    if (may_look() && look(copy, &crossing))
        xfs_crossings_note(&crossing);
    errno = saved;
}

/* With whatever context. */
static void note_any(xcu_stream stream)
{
    struct xfs_crossing crossing = {.by = context_of(stream), .stream = stream, .any = true};
    if (crossing.by)
        xfs_crossings_note(&crossing);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static uint64_t address_of(int type, xcu_deviceptr device, const void *host, size_t offset)
{
    if (type == XCU_MEMORY_ARRAY)
        return 0;
    return (type == XCU_MEMORY_HOST ? (uint64_t)(uintptr_t)host : (uint64_t)device) + offset;
}

static struct xfs_crossed ends_of(const struct xcu_memcpy3d *p, bool named)
{
    size_t from = (p->src_z * p->src_height + p->src_y) * p->src_pitch + p->src_x;
    size_t to = (p->dst_z * p->dst_height + p->dst_y) * p->dst_pitch + p->dst_x;
    return (struct xfs_crossed){
        .src = address_of(p->src_type, p->src_device, p->src_host, from),
        .dst = address_of(p->dst_type, p->dst_device, p->dst_host, to),
        .from = named ? p->src_context : NULL,
        .to = named ? p->dst_context : NULL,
    };
}

void xfs_crossed_shaped(xcu_stream stream, const struct xcu_memcpy3d *copy, bool named)
{
    struct xfs_crossed ends = ends_of(copy, named);
    ends.stream = stream;
    xfs_crossed_copy(&ends);
}

void xfs_crossed_flat(xcu_stream stream, const struct xcu_memcpy2d *p)
{
    size_t from = p->src_y * p->src_pitch + p->src_x, to = p->dst_y * p->dst_pitch + p->dst_x;
    xfs_crossed_copy(&(struct xfs_crossed){
        .stream = stream,
        .src = address_of(p->src_type, p->src_device, p->src_host, from),
        .dst = address_of(p->dst_type, p->dst_device, p->dst_host, to),
    });
}

/* ---- batches: one event behind all ----------------------------------------------------------- */

/* One of a batch's. of: what its function was given. */
typedef struct xfs_crossed ends_at(const void *const of[2], size_t i);

static struct xfs_crossed addresses_at(const void *const of[2], size_t i)
{
    const xcu_deviceptr *dst = of[0], *src = of[1];
    return (struct xfs_crossed){.dst = dst[i], .src = src[i]};
}

static uint64_t operand(const struct xcu_operand *of)
{
    return of->type == XCU_OPERAND_POINTER ? (uint64_t)of->op.ptr.ptr : 0;
}

static struct xfs_crossed shapes_at(const void *const of[2], size_t i)
{
    const struct xcu_memcpy3d_op *shapes = of[0];
    return (struct xfs_crossed){.dst = operand(&shapes[i].dst), .src = operand(&shapes[i].src)};
}

static void crossed(ends_at *at, const void *const of[2], size_t count, xcu_stream stream)
{
    struct xfs_crossing unused;
    int saved = errno;
    bool crosses = false;
    for (size_t i = 0; may_look() && i < count && !crosses; i++) {
        struct xfs_crossed copy = at(of, i);
        copy.stream = stream;
        crosses = look(&copy, &unused);
    }
    if (crosses)
        note_any(stream);
    errno = saved;
}

void xfs_crossed_batch(xcu_stream stream, const xcu_deviceptr *dst, const xcu_deviceptr *src,
                       size_t count)
{
    const void *const of[] = {dst, src};
    crossed(addresses_at, of, count, stream);
}

void xfs_crossed_shapes(xcu_stream stream, const struct xcu_memcpy3d_op *copies, size_t count)
{
    const void *const of[] = {copies, NULL};
    crossed(shapes_at, of, count, stream);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static atomic_bool graphs_copy;

/* Ends that are not known may be anywhere. */
static bool is_between(const struct xcu_memcpy3d *copy)
{
    struct xfs_crossed ends = ends_of(copy, false);
    struct xfs_end src, dst;
    bool host = copy->src_type == XCU_MEMORY_HOST || copy->dst_type == XCU_MEMORY_HOST;
    if (!host && ends.src && ends.dst && xfs_end_ask(ends.src, 1, &src) &&
        xfs_end_ask(ends.dst, 1, &dst))
        return src.type == XCU_MEMORY_DEVICE && dst.type == XCU_MEMORY_DEVICE &&
               src.device != dst.device;
    return !host;
}

static bool may_copy(xcu_graph_node node)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    struct xcu_memcpy3d copy;
    int type = XCU_NODE_MEMCPY;
    if (driver->node_type(node, &type) != XCU_SUCCESS)
        return true;
    if (type == XCU_NODE_MEMCPY)
        return !driver->node_copy || driver->node_copy(node, &copy) != XCU_SUCCESS ||
               is_between(&copy);
    return type == XCU_NODE_GRAPH || type > XCU_NODE_MEM_FREE;
}

static bool any_may_copy(xcu_graph graph)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    size_t count = 0;
    bool any = false;
    if (!driver->graph_nodes || !driver->node_type ||
        driver->graph_nodes(graph, NULL, &count) != XCU_SUCCESS)
        return true;
    size_t bytes = count * sizeof(xcu_graph_node);
    xcu_graph_node *nodes =
        bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
              : MAP_FAILED;
    if (nodes == MAP_FAILED)
        return count > 0;
    any = driver->graph_nodes(graph, nodes, &count) != XCU_SUCCESS;
    for (size_t i = 0; i < count && !any; i++)
        any = may_copy(nodes[i]);
    munmap(nodes, bytes);
    return any;
}

/* A program with one GPU is not asked. */
void xfs_crossed_graph_made(xcu_graph graph)
{
    int saved = errno;
    if (!atomic_load(&graphs_copy) && xfs_apply_driver() && xfs_has_several_devices() &&
        (!xfs_may_call_kernel() || any_may_copy(graph))) {
        atomic_store(&graphs_copy, true);
        xfs_pairs_refuse();
    }
    errno = saved;
}

void xfs_crossed_graph_launched(xcu_stream stream)
{
    int saved = errno;
    if (atomic_load(&graphs_copy) && may_look())
        note_any(stream);
    errno = saved;
}
