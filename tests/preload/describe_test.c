/* What calls say about the transfer: copies of no bytes, alone and within batches; batches of
 * several kinds; peers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/content/content.h"
#include "preload/intercept/classify.h"
#include "preload/intercept/describe.h"
#include "preload/intercept/peers.h"

/* ---- what the descriptions ask ------------------------------------------------------------ */

#define HOST 0x1000
#define PAGEABLE 0x1800
#define GPU 0x2000
#define MANAGED 0x2800
#define ARRAY ((xcu_array)0x3000)

atomic_int xfs_content_mode = XFS_CONTENT_SAMPLED;
_Atomic uint32_t xfs_ranges_sequence = 2;
static int not_copied;
XFS_TLS struct xfs_place_entry xfs_places[XFS_PLACE_ENTRIES];

struct xfs_place xfs_classify_slowly(struct xfs_place_entry *entry, uint64_t address,
                                     uint32_t epoch)
{
    switch (address) {
    case HOST:
        return (struct xfs_place){XFT_MEM_PINNED, 0};
    case PAGEABLE:
        return (struct xfs_place){XFT_MEM_PAGEABLE, 0};
    case MANAGED:
        return (struct xfs_place){XFT_MEM_MANAGED, XFT_PLACE_UNKNOWN};
    }
    assert_int_equal(address, GPU); /* nobody asks about the others */
    return (struct xfs_place){XFT_MEM_DEVICE, 0};
}

int16_t xfs_current_device(void)
{
    return 0;
}

unsigned xfs_array_element_bytes(void *array)
{
    return 4;
}

bool xfs_peers_enabled(int one, int other)
{
    return false;
}

atomic_bool xfs_access_watching;
void xfs_access_before(struct xft_event *event)
{
    (void)event;
}

void xfs_content_copied(const struct xft_event *event, const struct xfs_rows *dst,
                        const struct xfs_rows *src)
{
}

void xfs_content_not_copied(void)
{
    not_copied++;
}

/* ---- batches ------------------------------------------------------------------------------ */

static struct xft_event batch(const xcu_deviceptr *dsts, const xcu_deviceptr *srcs,
                              const size_t *sizes, size_t count)
{
    struct xfs_frame frame = {0};
    xfs_copy_batch(&frame, dsts, srcs, sizes, count);
    assert_int_equal(frame.event.kind, XFT_EVENT_TRANSFER);
    return frame.event;
}

static void test_batch_with_empty_copies(void **state)
{
    xcu_deviceptr dsts[] = {0, GPU, HOST, GPU, 0x99}, srcs[] = {0x99, HOST, GPU, HOST, 0};
    struct xft_event event = batch(dsts, srcs, (size_t[]){0, 100, 0, 28, 0}, 5);
    assert_int_equal(event.count, 2);
    assert_int_equal(event.bytes, 128);
    assert_int_equal(event.direction, XFT_DIR_H2D);
    assert_int_equal(event.src_mem, XFT_MEM_PINNED);
    assert_int_equal(event.dst, GPU);
    event = batch(dsts, srcs, (size_t[]){0, 100, 1, 28, 0}, 5); /* now the third one counts */
    assert_int_equal(event.count, 3);
    assert_int_equal(event.bytes, 129);
    assert_int_equal(event.direction, XFT_DIR_UNKNOWN);
}

/* What not all copies of a batch share is known of none; what they share is. */
static void test_batch_of_several_kinds(void **state)
{
    xcu_deviceptr gpu[] = {GPU, GPU, GPU}, host[] = {HOST, PAGEABLE, HOST};
    xcu_deviceptr kinds[] = {GPU, MANAGED};
    const size_t sizes[] = {8, 8, 8};
    struct xft_event event = batch(gpu, host, sizes, 3);
    assert_int_equal(event.direction, XFT_DIR_H2D);
    assert_int_equal(event.src_mem, XFT_MEM_UNKNOWN);
    assert_int_equal(event.dst_mem, XFT_MEM_DEVICE);
    event = batch(host, gpu, sizes, 3);
    assert_int_equal(event.direction, XFT_DIR_D2H);
    assert_int_equal(event.src_mem, XFT_MEM_DEVICE);
    assert_int_equal(event.dst_mem, XFT_MEM_UNKNOWN);
    event = batch(kinds, gpu, sizes, 2);
    assert_int_equal(event.dst_mem, XFT_MEM_UNKNOWN);
    assert_int_equal(event.src_mem, XFT_MEM_DEVICE);
    event = batch(gpu, (xcu_deviceptr[]){PAGEABLE, PAGEABLE}, sizes, 2);
    assert_int_equal(event.src_mem, XFT_MEM_PAGEABLE);
}

static void test_batch_of_nothing(void **state)
{
    xcu_deviceptr none[] = {0, 0};
    not_copied = 0;
    for (size_t count = 0; count <= 2; count++) {
        struct xft_event event = batch(none, none, (size_t[]){0, 0}, count);
        assert_int_equal(event.bytes, 0);
        assert_int_equal(event.count, 0);
        assert_int_equal(event.device, XFT_PLACE_UNKNOWN);
    }
    assert_int_equal(not_copied, 0); /* there is nothing to hash */
}

static struct xcu_operand pointer(uint64_t address)
{
    return (struct xcu_operand){.type = XCU_OPERAND_POINTER, .op.ptr.ptr = address};
}

static void test_batch_of_rows(void **state)
{
    struct xcu_memcpy3d_op ops[] = {
        {.src = pointer(HOST), .dst = pointer(0x99), .extent = {16, 0, 1}},
        {.src = pointer(HOST), .dst = {.type = XCU_OPERAND_ARRAY}, .extent = {16, 2, 3}},
        {.src = pointer(0x99), .dst = pointer(GPU), .extent = {0, 7, 7}},
        {.src = pointer(0x99), .dst = pointer(GPU), .extent = {7, 7, 0}},
    };
    struct xfs_frame frame = {0};
    ops[1].dst.op.array.array = ARRAY;
    not_copied = 0;
    xfs_copy_3d_batch(&frame, ops, 4);
    assert_int_equal(frame.event.count, 1);
    assert_int_equal(frame.event.bytes, 16 * 4 * 2 * 3);
    assert_int_equal(frame.event.direction, XFT_DIR_H2D);
    assert_int_equal(not_copied, 1);
    frame = (struct xfs_frame){0};
    xfs_copy_3d_batch(&frame, ops + 2, 2);
    assert_int_equal(frame.event.count, 0);
    assert_int_equal(frame.event.bytes, 0);
    assert_int_equal(not_copied, 1);
}

static void test_failed_batch_is_not_read(void **state)
{
    struct xfs_frame frame = {.event.status = 1};
    xfs_copy_batch(&frame, NULL, NULL, NULL, 3);
    xfs_copy_3d_batch(&frame, NULL, 3);
    assert_int_equal(frame.event.bytes, 0);
    assert_true(frame.event.flags & XFT_FAILED);
}

/* ---- shapes ------------------------------------------------------------------------------- */

static void test_shapes_of_nothing(void **state)
{
    struct xfs_frame frame = {0};
    not_copied = 0;
    xfs_copy(&frame, GPU, HOST, 0, XRT_COPY_DEFAULT);
    assert_int_equal(frame.event.bytes, 0);
    frame = (struct xfs_frame){0};
    xfs_copy_rows(&frame, GPU, 64, HOST, 64, 32, 0, XRT_COPY_H2D);
    assert_int_equal(frame.event.bytes, 0);
    frame = (struct xfs_frame){0};
    xfs_copy_array(&frame, ARRAY, XFS_NO_ARRAY, 0, HOST, 32, 0, XRT_COPY_H2D);
    assert_int_equal(frame.event.bytes, 0);
    frame = (struct xfs_frame){0};
    xfs_copy_3d(&frame, &(struct xcu_memcpy3d){.src_type = XCU_MEMORY_HOST,
                                               .src_host = (const void *)HOST,
                                               .dst_type = XCU_MEMORY_DEVICE,
                                               .dst_device = GPU,
                                               .width = 32,
                                               .height = 2});
    assert_int_equal(frame.event.bytes, 0);
    assert_int_equal(not_copied, 0);
}

/* How far rows reach on the host, which may be more than their bytes: there alone. */
static void test_reach(void **state)
{
    struct xfs_frame frame = {0};
    xfs_copy_rows(&frame, GPU, 512, HOST, 96, 32, 10, XRT_COPY_H2D);
    assert_int_equal(frame.event.aux, 9 * 96 + 32);
    frame = (struct xfs_frame){0};
    xfs_copy_rows(&frame, HOST, 48, GPU, 512, 32, 10, XRT_COPY_D2H);
    assert_int_equal(frame.event.aux, 9 * 48 + 32);
    frame = (struct xfs_frame){0};
    xfs_copy_rows(&frame, GPU, 512, GPU, 256, 32, 10, XRT_COPY_D2D);
    assert_int_equal(frame.event.aux, 0);
    frame = (struct xfs_frame){0};
    xfs_copy_rows(&frame, GPU, 512, HOST, 96, 32, 1, XRT_COPY_H2D);
    assert_int_equal(frame.event.aux, 0);
    frame = (struct xfs_frame){0};
    xfs_copy_3d(&frame, &(struct xcu_memcpy3d){.src_type = XCU_MEMORY_HOST,
                                               .src_host = (const void *)HOST,
                                               .src_x = 8,
                                               .src_pitch = 96,
                                               .src_height = 20,
                                               .dst_type = XCU_MEMORY_DEVICE,
                                               .dst_device = GPU,
                                               .dst_pitch = 32,
                                               .dst_height = 10,
                                               .width = 32,
                                               .height = 10,
                                               .depth = 3});
    assert_int_equal(frame.event.aux, 8 + 2 * 20 * 96 + 9 * 96 + 32);
}

/* ---- peers -------------------------------------------------------------------------------- */

static void test_peers(void **state)
{
    static const struct {
        int from, to, direction;
    } rows[] = {{0, 1, XFT_DIR_P2P}, {1, 0, XFT_DIR_P2P}, {1, 1, XFT_DIR_D2D}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct xfs_frame frame = {0};
        xfs_copy_peer(&frame, GPU, rows[i].to, GPU + 4096, rows[i].from, 64);
        assert_int_equal(frame.event.direction, rows[i].direction);
        assert_int_equal(frame.event.src_place, rows[i].from);
        assert_int_equal(frame.event.dst_place, rows[i].to);
        assert_int_equal(frame.event.device, rows[i].from);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_with_empty_copies),
        cmocka_unit_test(test_batch_of_several_kinds),
        cmocka_unit_test(test_batch_of_nothing),
        cmocka_unit_test(test_batch_of_rows),
        cmocka_unit_test(test_failed_batch_is_not_read),
        cmocka_unit_test(test_shapes_of_nothing),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_peers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
