/* Transfers: what moved, between what kinds of memory, in which direction. */
#include <stddef.h>

#include "preload/base/check.h"
#include "preload/content/content.h"
#include "preload/intercept/classify.h"
#include "preload/intercept/describe.h"
#include "preload/intercept/faults.h"
#include "preload/intercept/peers.h"

/* ---- ends and direction --------------------------------------------------------------------- */

struct end {
    uint64_t address;
    struct xfs_place place;
};

static struct end at(uint64_t address)
{
    return (struct end){address, xfs_classify(address)};
}

static struct end on_device(uint64_t address, int device)
{
    return (struct end){address, {XFT_MEM_DEVICE, (int16_t)device}};
}

static struct end in_array(xcu_array array)
{
    return (struct end){XFS_ADDR(array), {XFT_MEM_ARRAY, xfs_current_device()}};
}

enum side {
    SIDE_UNKNOWN,
    SIDE_HOST,
    SIDE_DEVICE,
};

static enum side side_of(const struct end *end)
{
    switch (end->place.memory) {
    case XFT_MEM_DEVICE:
    case XFT_MEM_ARRAY:
        return SIDE_DEVICE;
    case XFT_MEM_UNKNOWN:
        return SIDE_UNKNOWN;
    case XFT_MEM_MANAGED: /* managed memory, wherever its pages are: as the driver and CUPTI count
                             it */
        return SIDE_DEVICE;
    default:
        return SIDE_HOST;
    }
}

/* The side of the memory; where that is unknown, the side in the call's name, else the device. */
static enum side decide_side(const struct end *end, enum side said, bool *guessed)
{
    enum side side = side_of(end);
    if (side == SIDE_UNKNOWN || end->place.memory == XFT_MEM_MANAGED)
        *guessed = true;
    if (side != SIDE_UNKNOWN)
        return side;
    return said == SIDE_UNKNOWN ? SIDE_DEVICE : said;
}

static enum xft_direction direction_of(bool from_host, bool to_host, struct xfs_place src,
                                       struct xfs_place dst)
{
    if (from_host)
        return to_host ? XFT_DIR_H2H : XFT_DIR_H2D;
    if (to_host)
        return XFT_DIR_D2H;
    return src.place >= 0 && dst.place >= 0 && src.place != dst.place ? XFT_DIR_P2P : XFT_DIR_D2D;
}

/* Where the kinds of memory do not determine the direction. */
static __attribute__((cold, noinline)) enum xft_direction
guess_direction(struct xft_event *e, const struct end *dst, const struct end *src, int kind)
{
    static const enum side said[][2] = {
        [XRT_COPY_H2H] = {SIDE_HOST, SIDE_HOST},
        [XRT_COPY_H2D] = {SIDE_HOST, SIDE_DEVICE},
        [XRT_COPY_D2H] = {SIDE_DEVICE, SIDE_HOST},
        [XRT_COPY_D2D] = {SIDE_DEVICE, SIDE_DEVICE},
        [XRT_COPY_DEFAULT] = {SIDE_UNKNOWN, SIDE_UNKNOWN},
    };
    if (kind < 0 || kind > XRT_COPY_DEFAULT)
        kind = XRT_COPY_DEFAULT;
    bool guessed = false;
    enum side from = decide_side(src, said[kind][0], &guessed);
    enum side to = decide_side(dst, said[kind][1], &guessed);
    if (guessed)
        e->flags |= XFT_GUESSED;
    return direction_of(from == SIDE_HOST, to == SIDE_HOST, src->place, dst->place);
}

static inline enum xft_direction find_direction(struct xft_event *e, const struct end *dst,
                                                const struct end *src, int kind)
{
    enum {
        TELLING = ~(1u << XFT_MEM_UNKNOWN | 1u << XFT_MEM_MANAGED),
        DEVICE = 1u << XFT_MEM_DEVICE | 1u << XFT_MEM_ARRAY,
    };
    uint32_t from = 1u << src->place.memory, to = 1u << dst->place.memory;
    if (__builtin_expect((from & TELLING) != 0 && (to & TELLING) != 0, 1))
        return direction_of(!(from & DEVICE), !(to & DEVICE), src->place, dst->place);
    return guess_direction(e, dst, src, kind);
}

/* ---- every transfer ends here ---------------------------------------------------------------- */

static inline void set_ends(struct xft_event *e, struct end dst, struct end src, int kind)
{
    e->dst = dst.address;
    e->src = src.address;
    e->dst_mem = dst.place.memory;
    e->src_mem = src.place.memory;
    e->dst_place = dst.place.place;
    e->src_place = src.place.place;
    e->direction = find_direction(e, &dst, &src, kind);
    bool device_is_dst = e->direction == XFT_DIR_H2D || e->direction == XFT_DIR_H2H;
    e->device = (int16_t)(device_is_dst ? e->dst_place : e->src_place);
    if (e->direction == XFT_DIR_H2H)
        e->device = XFT_PLACE_UNKNOWN;
    else if (e->direction == XFT_DIR_P2P && xfs_peers_enabled(e->src_place, e->dst_place))
        e->flags |= XFT_PEER_ACCESS;
}

/* True when the arguments may be read. */
static bool transfer(struct xfs_frame *f)
{
    f->event.kind = XFT_EVENT_TRANSFER;
    f->event.count = 1;
    if (f->event.status != 0)
        f->event.flags |= XFT_FAILED;
    return f->event.status == 0 && f->early != XFS_SIZED;
}

static void finish(struct xfs_frame *f, struct end dst, struct end src, uint64_t width,
                   uint64_t rows, int kind)
{
    f->event.width = width;
    f->event.bytes = width * rows;
    set_ends(&f->event, dst, src, kind);
}

/* Passes the moved memory to hashing: contiguous bytes. */
static void show(struct xfs_frame *f)
{
    const struct xft_event *e = &f->event;
    struct xfs_rows dst = {e->dst, e->bytes, 1, 1, 0, 0}, src = {e->src, e->bytes, 1, 1, 0, 0};
    if (!f->early)
        xfs_content_copied(e, &dst, &src);
}

/* The same for rows. An end that is a CUDA array has no address. */
static void show_rows(struct xfs_frame *f, const struct xfs_rows *dst, const struct xfs_rows *src)
{
    if (!f->early)
        xfs_content_copied(&f->event, dst, src);
}

/* How far rows reach on the host, of a copy between it and a device. */
static void note_reach(struct xft_event *e, const struct xfs_rows *dst, const struct xfs_rows *src)
{
    if (e->bytes == 0 || e->width == e->bytes)
        return;
    if (e->direction == XFT_DIR_H2D)
        e->aux = xfs_rows_end(src) - e->src;
    else if (e->direction == XFT_DIR_D2H)
        e->aux = xfs_rows_end(dst) - e->dst;
}

static void finish_rows(struct xfs_frame *f, const struct xfs_rows *dst, const struct xfs_rows *src)
{
    note_reach(&f->event, dst, src);
    if (xfs_content_of(&f->event))
        show_rows(f, dst, src);
}

void xfs_copy_rows(struct xfs_frame *f, uint64_t dst, uint64_t dst_pitch, uint64_t src,
                   uint64_t src_pitch, uint64_t width, uint64_t rows, int kind)
{
    if (!transfer(f))
        return;
    finish(f, at(dst), at(src), width, rows, kind);
    finish_rows(f, &(struct xfs_rows){dst, width, rows, 1, dst_pitch, 0},
                &(struct xfs_rows){src, width, rows, 1, src_pitch, 0});
}

void xfs_copy(struct xfs_frame *f, uint64_t dst, uint64_t src, uint64_t bytes, int kind)
{
    if (!transfer(f)) {
        f->event.bytes = f->event.width = f->early == XFS_SIZED ? bytes : 0;
        return;
    }
    finish(f, at(dst), at(src), bytes, 1, kind);
    if (!f->early)
        xfs_faults_behind(&f->event);
    if (xfs_content_of(&f->event))
        show(f);
}

void xfs_copy_array(struct xfs_frame *f, xcu_array dst_array, xcu_array src_array, uint64_t dst,
                    uint64_t src, uint64_t width, uint64_t rows, int kind)
{
    if (!transfer(f))
        return;
    finish(f, dst_array ? in_array(dst_array) : at(dst), src_array ? in_array(src_array) : at(src),
           width, rows, kind);
    if (xfs_content_of(&f->event) && rows == 1)
        show(f);
    else if (xfs_content_on() && f->event.bytes > 0 && !f->early)
        xfs_content_not_copied();
}

void xfs_copy_peer(struct xfs_frame *f, uint64_t dst, int dst_device, uint64_t src, int src_device,
                   uint64_t bytes)
{
    if (transfer(f))
        finish(f, on_device(dst, dst_device), on_device(src, src_device), bytes, 1, XRT_COPY_D2D);
}

/* A symbol stands for device memory of the current device. */
void xfs_copy_to_symbol(struct xfs_frame *f, const void *symbol, uint64_t src, uint64_t bytes)
{
    if (!transfer(f))
        return;
    finish(f, on_device(XFS_ADDR(symbol), xfs_current_device()), at(src), bytes, 1,
           XRT_COPY_DEFAULT);
    if (xfs_content_of(&f->event))
        show(f);
}

void xfs_copy_from_symbol(struct xfs_frame *f, uint64_t dst, const void *symbol, uint64_t bytes)
{
    if (!transfer(f))
        return;
    finish(f, at(dst), on_device(XFS_ADDR(symbol), xfs_current_device()), bytes, 1,
           XRT_COPY_DEFAULT);
    if (xfs_content_of(&f->event))
        show(f);
}

/* ---- before the copy ------------------------------------------------------------------------- */

void xfs_ahead_begins(struct xfs_frame *f)
{
    f->early = xfs_access_on() ? XFS_AHEAD : XFS_SIZED;
}

void xfs_ahead_ends(struct xfs_frame *f)
{
    struct xft_event *e = &f->event;
    if (f->early == XFS_AHEAD)
        xfs_access_before(e);
    xfs_faults_before_copy(e->width == e->bytes ? e->bytes : 0);
    f->early = XFS_NOT_EARLY;
    f->event = (struct xft_event){
        .start_ns = f->event.start_ns,
        .call = f->event.call,
        .flags = f->event.flags & XFT_PER_THREAD,
    };
}

/* ---- driver descriptors ---------------------------------------------------------------------- */

static struct end end_of_type(int type, const void *host, xcu_deviceptr device, xcu_array array)
{
    switch (type) {
    case XCU_MEMORY_HOST:
        return at(XFS_ADDR(host));
    case XCU_MEMORY_ARRAY:
        return in_array(array);
    default: /* device, or unified: the field the address is in is the same */
        return at(device);
    }
}

/* The rows from x, y, z on, of what starts at the address: `height` rows to a slice. */
static struct xfs_rows rows_from(uint64_t address, uint64_t pitch, uint64_t height,
                                 struct xcu_offset from, struct xcu_extent extent)
{
    uint64_t slice = pitch * height;
    return (struct xfs_rows){address + from.z * slice + from.y * pitch + from.x,
                             extent.width,
                             extent.height,
                             extent.depth,
                             pitch,
                             slice};
}

void xfs_copy_2d(struct xfs_frame *f, const struct xcu_memcpy2d *p)
{
    if (!transfer(f))
        return;
    finish(f, end_of_type(p->dst_type, p->dst_host, p->dst_device, p->dst_array),
           end_of_type(p->src_type, p->src_host, p->src_device, p->src_array), p->width, p->height,
           XRT_COPY_DEFAULT);
    struct xcu_extent extent = {p->width, p->height, 1};
    struct xcu_offset to = {p->dst_x, p->dst_y, 0}, from = {p->src_x, p->src_y, 0};
    struct xfs_rows dst = rows_from(f->event.dst, p->dst_pitch, 0, to, extent);
    struct xfs_rows src = rows_from(f->event.src, p->src_pitch, 0, from, extent);
    finish_rows(f, &dst, &src);
}

void xfs_copy_3d(struct xfs_frame *f, const struct xcu_memcpy3d *p)
{
    if (!transfer(f))
        return;
    finish(f, end_of_type(p->dst_type, p->dst_host, p->dst_device, p->dst_array),
           end_of_type(p->src_type, p->src_host, p->src_device, p->src_array), p->width,
           p->height * p->depth, XRT_COPY_DEFAULT);
    struct xcu_extent extent = {p->width, p->height, p->depth};
    struct xcu_offset to = {p->dst_x, p->dst_y, p->dst_z}, from = {p->src_x, p->src_y, p->src_z};
    struct xfs_rows dst = rows_from(f->event.dst, p->dst_pitch, p->dst_height, to, extent);
    struct xfs_rows src = rows_from(f->event.src, p->src_pitch, p->src_height, from, extent);
    finish_rows(f, &dst, &src);
}

static struct end end_in(const struct xfs_range *range, uint64_t address, uint8_t memory,
                         int16_t place)
{
    bool inside = address >= range->start && address < range->end && memory != XFT_MEM_ARRAY;
    struct xfs_place old = {memory, place}, new = {range->memory, range->place};
    return (struct end){address, inside ? new : old};
}

void xfs_copy_in_memory(struct xft_event *e, const struct xfs_range *range)
{
    struct end dst = end_in(range, e->dst, e->dst_mem, e->dst_place);
    struct end src = end_in(range, e->src, e->src_mem, e->src_place);
    if (dst.place.memory == e->dst_mem && src.place.memory == e->src_mem)
        return;
    e->flags &= (uint16_t) ~(XFT_GUESSED | XFT_PEER_ACCESS);
    set_ends(e, dst, src, XRT_COPY_DEFAULT);
}

/* ---- runtime descriptors --------------------------------------------------------------------- */

/* Width in bytes: the extent counts elements when an array takes part. */
static uint64_t row_bytes(xcu_array dst, xcu_array src, uint64_t width)
{
    if (dst == NULL && src == NULL)
        return width;
    return width * xfs_array_element_bytes(dst ? dst : src);
}

void xfs_copy_runtime_3d(struct xfs_frame *f, const struct xrt_memcpy3d *p)
{
    if (!transfer(f))
        return;
    struct end dst = p->dst_array ? in_array(p->dst_array) : at(XFS_ADDR(p->dst_ptr.ptr));
    struct end src = p->src_array ? in_array(p->src_array) : at(XFS_ADDR(p->src_ptr.ptr));
    struct xcu_extent extent = p->extent;
    extent.width = row_bytes(p->dst_array, p->src_array, p->extent.width);
    finish(f, dst, src, extent.width, extent.height * extent.depth, p->kind);
    struct xfs_rows to =
        rows_from(f->event.dst, p->dst_ptr.pitch, p->dst_ptr.ysize, p->dst_pos, extent);
    struct xfs_rows from =
        rows_from(f->event.src, p->src_ptr.pitch, p->src_ptr.ysize, p->src_pos, extent);
    finish_rows(f, &to, &from);
}

void xfs_copy_runtime_3d_peer(struct xfs_frame *f, const struct xrt_memcpy3d_peer *p)
{
    if (!transfer(f))
        return;
    struct end dst = on_device(XFS_ADDR(p->dst_ptr.ptr), p->dst_device);
    struct end src = on_device(XFS_ADDR(p->src_ptr.ptr), p->src_device);
    if (p->dst_array)
        dst = (struct end){XFS_ADDR(p->dst_array), {XFT_MEM_ARRAY, (int16_t)p->dst_device}};
    if (p->src_array)
        src = (struct end){XFS_ADDR(p->src_array), {XFT_MEM_ARRAY, (int16_t)p->src_device}};
    finish(f, dst, src, row_bytes(p->dst_array, p->src_array, p->extent.width),
           p->extent.height * p->extent.depth, XRT_COPY_D2D);
}

/* ---- batches --------------------------------------------------------------------------------- */

/*
 * A batch is one event: bytes and count are of all its copies that move any; ends and direction are
 * the first such copy's, and a direction or memory kind that the others do not share becomes
 * unknown.
 */
static void merge(struct xft_event *e, struct end dst, struct end src)
{
    struct xft_event other = {0};
    set_ends(&other, dst, src, XRT_COPY_DEFAULT);
    if (other.direction != e->direction)
        e->direction = XFT_DIR_UNKNOWN;
    if (other.dst_mem != e->dst_mem)
        e->dst_mem = XFT_MEM_UNKNOWN;
    if (other.src_mem != e->src_mem)
        e->src_mem = XFT_MEM_UNKNOWN;
}

static bool batch_begin(struct xfs_frame *f)
{
    if (!transfer(f))
        return false;
    f->event.count = 0;
    f->event.dst_place = f->event.src_place = f->event.device = XFT_PLACE_UNKNOWN;
    return true;
}

static void batch_add(struct xfs_frame *f, struct end dst, struct end src, uint64_t width,
                      uint64_t bytes)
{
    uint64_t before = f->event.bytes;
    if (f->event.count++ == 0)
        finish(f, dst, src, width, 1, XRT_COPY_DEFAULT);
    else
        merge(&f->event, dst, src);
    f->event.bytes = before + bytes;
}

static void batch_end(const struct xfs_frame *f)
{
    XFS_EXPECT((f->event.count == 0) == (f->event.bytes == 0),
               "a batch has copies without bytes, or bytes without copies");
    if (f->event.count > 0 && xfs_content_on() && !f->early)
        xfs_content_not_copied();
}

void xfs_copy_batch(struct xfs_frame *f, const xcu_deviceptr *dsts, const xcu_deviceptr *srcs,
                    const size_t *sizes, size_t count)
{
    if (!batch_begin(f))
        return;
    for (size_t i = 0; i < count; i++)
        if (sizes[i] > 0)
            batch_add(f, at(dsts[i]), at(srcs[i]), sizes[i], sizes[i]);
    batch_end(f);
}

static struct end end_of_operand(const struct xcu_operand *operand)
{
    return operand->type == XCU_OPERAND_ARRAY ? in_array(operand->op.array.array)
                                              : at(operand->op.ptr.ptr);
}

static uint64_t operation_bytes(const struct xcu_memcpy3d_op *op)
{
    xcu_array dst = op->dst.type == XCU_OPERAND_ARRAY ? op->dst.op.array.array : NULL;
    xcu_array src = op->src.type == XCU_OPERAND_ARRAY ? op->src.op.array.array : NULL;
    return row_bytes(dst, src, op->extent.width) * op->extent.height * op->extent.depth;
}

void xfs_copy_3d_batch(struct xfs_frame *f, const struct xcu_memcpy3d_op *ops, size_t count)
{
    if (!batch_begin(f))
        return;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = operation_bytes(&ops[i]);
        if (bytes > 0)
            batch_add(f, end_of_operand(&ops[i].dst), end_of_operand(&ops[i].src),
                      ops[i].extent.width, bytes);
    }
    batch_end(f);
}
