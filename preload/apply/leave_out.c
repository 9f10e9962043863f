#include "preload/apply/leave_out.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/apply/driver.h"
#include "preload/apply/plan.h"
#include "preload/apply/room.h"
#include "preload/apply/site.h"
#include "preload/apply/staging.h"
#include "preload/apply/sum.h"
#include "preload/apply/uploads.h"
#include "preload/apply/writes.h"
#include "preload/base/log.h"
#include "preload/base/own_stack.h"
#include "preload/base/settings.h"

#define VERIFIED_STEP ((size_t)1 << 20)
#define MOST_MISSES 4
#define FIRST_REST 16
#define MOST_REST 4096

/* One upload on its way. */
struct turn {
    const struct xfs_move *move;
    bool may; /* between memory of kinds that are known, in a stream of the current context */
    struct xfs_site *site;
    struct xfs_upload upload;
    struct xfs_move rest; /* behind the head */
    uint64_t hash_ns;
    bool same; /* verified */
};

static bool given_up;

bool xfs_leave_out_on(void)
{
    return xfs_plan_has(XFT_PLAN_LEAVE_OUT) && xfs_class_on(XFS_CLASS_LEAVE_OUT) && !given_up;
}

void xfs_leave_out_give_up(void)
{
    given_up = true;
}

/* ---- whether it may ---------------------------------------------------------------------------
 */

struct end {
    unsigned type; /* enum xcu_memorytype; 0: the driver does not know it */
    unsigned managed;
    unsigned plain; /* from cuMemAlloc: not mapped by the program, not from a pool */
    xcu_deviceptr start;
    size_t bytes;
    uint64_t buffer;
};

static bool ask(uint64_t address, struct end *end)
{
    int which[] = {XCU_PTR_MEMORY_TYPE, XCU_PTR_IS_MANAGED, XCU_PTR_LEGACY_IPC,
                   XCU_PTR_RANGE_START, XCU_PTR_RANGE_SIZE, XCU_PTR_BUFFER_ID};
    void *values[] = {&end->type,  &end->managed, &end->plain,
                      &end->start, &end->bytes,   &end->buffer};
    *end = (struct end){0};
    return xfs_apply_driver()->attributes(6, which, values, address) == XCU_SUCCESS;
}

/* Write-combined memory is too slow to be read. */
static bool is_readable_host(uint64_t address, uint64_t bytes, bool blocking)
{
    struct end first, last;
    unsigned flags = 0;
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    if (!ask(address, &first) || !ask(address + bytes - 1, &last) || first.managed ||
        last.managed || first.type != last.type)
        return false;
    if (first.type == 0)
        return true;
    return blocking && first.type == XCU_MEMORY_HOST && driver->host_flags &&
           driver->host_flags(&flags, (void *)(uintptr_t)address) == XCU_SUCCESS &&
           !(flags & XCU_HOST_WRITECOMBINED);
}

static bool is_plain_device(uint64_t address, uint64_t bytes, uint64_t *buffer)
{
    struct end end;
    if (!ask(address, &end) || end.type != XCU_MEMORY_DEVICE || end.managed || !end.plain ||
        end.buffer == 0 || address < end.start || address - end.start > end.bytes ||
        bytes > end.bytes - (address - end.start))
        return false;
    *buffer = end.buffer;
    return true;
}

/* What comes earlier in a stream is there first. The order of a thread's own default stream is that
 * thread's, of others the context's. */
static bool find_order(struct turn *turn)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_stream stream = turn->move->stream;
    xcu_context context, owner;
    int capturing = XCU_CAPTURE_NONE;
    if (driver->current(&context) != XCU_SUCCESS || context == NULL)
        return false;
    owner = context;
    if (stream != XCU_STREAM_LEGACY && stream != XCU_STREAM_PER_THREAD &&
        driver->stream_context(stream, &owner) != XCU_SUCCESS)
        return false;
    turn->upload.stream = (uintptr_t)stream;
    turn->upload.order = (uintptr_t)context + (stream == XCU_STREAM_PER_THREAD ? gettid() : 0);
    return owner == context && driver->is_capturing(stream, &capturing) == XCU_SUCCESS &&
           capturing == XCU_CAPTURE_NONE;
}

static void look(void *argument)
{
    struct turn *turn = argument;
    const struct xfs_move *move = turn->move;
    turn->site = xfs_site_here(XFS_CLASS_LEAVE_OUT, XFT_DIR_H2D);
    if (turn->site == NULL)
        return;
    bool planned = turn->site->planned != NULL;
    xfs_site_release(turn->site);
    turn->upload.dst = move->dst;
    turn->upload.bytes = move->bytes;
    turn->may = planned && xfs_apply_driver() != NULL &&
                is_readable_host(move->src, move->bytes, move->blocking) &&
                is_plain_device(move->dst, move->bytes, &turn->upload.buffer) && find_order(turn);
}

/* ---- the site's memory of its uploads ---------------------------------------------------------
 */

/* The site rests: its uploads are neither hashed nor left out. */
static void rest(struct xfs_leave_out_site *of)
{
    of->rest_next = of->rest_next ? of->rest_next : FIRST_REST;
    of->rest = of->rest_next;
    of->rest_next = of->rest_next * 4 < MOST_REST ? of->rest_next * 4 : MOST_REST;
    of->misses = 0;
}

static bool is_resting(struct turn *turn)
{
    struct xfs_leave_out_site *of = &turn->site->leave_out;
    if (!xfs_site_hold(turn->site))
        return true;
    bool resting = turn->site->off || of->rest > 0;
    of->rest -= of->rest > 0;
    xfs_site_release(turn->site);
    return resting;
}

static void missed(struct turn *turn)
{
    struct xfs_leave_out_site *of = &turn->site->leave_out;
    if (!xfs_site_hold(turn->site))
        return;
    if (++of->misses >= MOST_MISSES)
        rest(of);
    xfs_site_release(turn->site);
}

static enum xfs_way choose(struct turn *turn, bool *due)
{
    struct xfs_leave_out_site *of = &turn->site->leave_out;
    enum xfs_way way = XFS_WAY_AS_ASKED;
    bool timed;
    *due = true;
    if (!xfs_site_hold(turn->site))
        return way;
    struct xfs_proof *proof = xfs_site_proof(turn->site, turn->move->bytes);
    way = xfs_proof_choose(proof, &timed);
    of->misses = 0;
    if (way == XFS_WAY_OURS) {
        of->hits++;
        *due = of->hits <= 2 || (of->hits & (of->hits - 1)) == 0 || xfs_settings()->apply_check;
    } else if (proof->verdict == XFS_LOSES) {
        rest(of);
    }
    xfs_site_release(turn->site);
    return way;
}

static void tell(const struct turn *turn, const struct xfs_proof *proof, enum xfs_way way,
                 uint64_t ns)
{
    struct xfs_told_site *told = turn->site->told;
    if (told == NULL)
        return;
    uint64_t bytes = turn->move->bytes;
    __atomic_fetch_add(&told->asked, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&told->asked_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&told->verdict, proof->verdict, __ATOMIC_RELAXED);
    if (way != XFS_WAY_OURS)
        return;
    __atomic_fetch_add(&told->done, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&told->done_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&told->done_ns, ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&told->instead_ns, xfs_proof_expects(proof, XFS_WAY_AS_ASKED, bytes),
                       __ATOMIC_RELAXED);
}

/* Of an upload that could be left out, what the rest took, and what hashing it did in its place:
 * neither waits for earlier work. */
static void took(struct turn *turn, enum xfs_way way, bool timed, uint64_t ns)
{
    if (!xfs_site_hold(turn->site))
        return;
    struct xfs_proof *proof = xfs_site_proof(turn->site, turn->move->bytes);
    if (timed)
        xfs_proof_took(proof, way, turn->move->bytes, ns);
    tell(turn, proof, way, ns);
    xfs_site_release(turn->site);
}

/* ---- the bytes --------------------------------------------------------------------------------
 */

static void hash(struct turn *turn)
{
    uint64_t begun = xfs_apply_now_ns();
    struct xfs_sum sum =
        xfs_sum_of_program((const void *)(uintptr_t)turn->move->src, turn->move->bytes);
    turn->upload.hash[0] = sum.low;
    turn->upload.hash[1] = sum.high;
    turn->hash_ns = xfs_apply_now_ns() - begun;
}

/* Copies to pageable memory have their data when they return. */
static bool is_same_there(const struct xfs_move *move, char *room)
{
    for (uint64_t at = 0; at < move->bytes; at += VERIFIED_STEP) {
        uint64_t left = move->bytes - at;
        size_t bytes = left < VERIFIED_STEP ? left : VERIFIED_STEP;
        if (xfs_apply_driver()->to_host(room, move->dst + at, bytes, move->stream) != XCU_SUCCESS ||
            memcmp(room, (const char *)(uintptr_t)move->src + at, bytes) != 0)
            return false;
    }
    return true;
}

static void verify(void *argument)
{
    struct turn *turn = argument;
    int mode = XCU_CAPTURE_MODE_RELAXED;
    char *room =
        mmap(NULL, VERIFIED_STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return;
    xfs_apply_driver()->exchange(&mode);
    turn->same = is_same_there(turn->move, room);
    xfs_apply_driver()->exchange(&mode);
    munmap(room, VERIFIED_STEP);
}

/* False: the device has something else, and the site is left alone from here on. */
static bool is_verified(struct turn *turn)
{
    struct xfs_told_site *told = turn->site->told;
    if (!xfs_on_own_stack(verify, turn))
        return false;
    if (told)
        __atomic_fetch_add(&told->checked, 1, __ATOMIC_RELAXED);
    if (turn->same)
        return true;
    if (told)
        __atomic_fetch_add(&told->different, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&turn->site->off, true, __ATOMIC_RELAXED);
    xfs_log("apply: %s: something changes what this copies; nothing is left out there any more",
            turn->site->planned->text);
    return false;
}

/* ---- the upload -------------------------------------------------------------------------------
 */

static void cut(struct turn *turn)
{
    turn->rest = *turn->move;
    turn->rest.dst += XFS_HEAD;
    turn->rest.src += XFS_HEAD;
    turn->rest.bytes -= XFS_HEAD;
}

/* The rest is copied, and the whole is remembered. */
static int go_on(struct turn *turn, bool timed)
{
    int status = XCU_SUCCESS;
    uint64_t number = xfs_upload_begins(&turn->upload);
    uint64_t begun = xfs_apply_now_ns();
    if (!xfs_staging_move(&turn->rest, &status))
        status = xfs_move_as_asked(&turn->rest, 0, turn->rest.bytes);
    took(turn, XFS_WAY_AS_ASKED, timed && status == XCU_SUCCESS, xfs_apply_now_ns() - begun);
    xfs_upload_ends(number, status == XCU_SUCCESS);
    return status;
}

/* The head does not change what is there if it is the same; else what was there is forgotten by
 * go_on(). */
static int run(struct turn *turn)
{
    bool keep = turn->site->planned->flags & XFT_PLAN_KERNELS_KEEP, due;
    cut(turn);
    int status = xfs_move_as_asked(turn->move, 0, XFS_HEAD);
    if (status != XCU_SUCCESS) {
        xfs_uploads_written(turn->move->dst, turn->move->bytes);
        return status;
    }
    hash(turn);
    bool had = xfs_uploads_have(&turn->upload, keep);
    if (!had)
        missed(turn);
    else if (choose(turn, &due) == XFS_WAY_OURS && (!due || is_verified(turn))) {
        took(turn, XFS_WAY_OURS, true, turn->hash_ns);
        return XCU_SUCCESS;
    }
    return go_on(turn, had);
}

bool xfs_leave_out_move(const struct xfs_move *move, int *status)
{
    struct turn turn = {.move = move};
    if (!xfs_leave_out_on() || xfs_move_direction(move) == XFT_DIR_D2H)
        return false;
    if (move->bytes < XFS_LEAVE_OUT_LEAST || !xfs_room_begin() || !xfs_on_own_stack(look, &turn) ||
        !turn.may || is_resting(&turn)) {
        xfs_uploads_written(move->dst, move->bytes);
        return false;
    }
    *status = run(&turn);
    return true;
}
