#include "preload/apply/leave_out/leave_out.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/apply/state/driver.h"
#include "preload/apply/site/plan.h"
#include "preload/apply/state/state.h"
#include "preload/apply/site/site.h"
#include "preload/apply/staging/staging.h"
#include "preload/apply/leave_out/sum.h"
#include "preload/apply/leave_out/uploads.h"
#include "preload/apply/calls/writes.h"
#include "preload/base/log.h"
#include "preload/base/own_stack.h"
#include "preload/base/settings.h"

#define VERIFIED_STEP ((size_t)1 << 20)
/* One upload on its way. */
struct turn {
    const struct xfs_move *move;
    bool may; /* between memory of kinds that are known, in a stream of the current context */
    struct xfs_site *site;
    struct xfs_upload upload;
    struct xfs_move rest; /* behind the head */
    bool looked;          /* hashed, and perhaps left out; else made as asked, and timed */
    bool due;             /* to be verified, if it could be left out */
    uint64_t begun_ns;
    uint64_t hash_ns, verify_ns;
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

/* ---- what may be spent ----------------------------------------------------------------------- */

#define MIB ((float)(1 << 20))
/* Until they were measured, ns of a MiB: 10 GB/s, and 4 for fetching and comparing. */
#define HASH_GUESS 100000.0F
#define VERIFY_GUESS 250000.0F
#define SPENT_PERCENT 1 /* of the time since the site's first upload */
#define WORTH 0.8F      /* of an upload as asked: what takes more gains nothing that counts */
#define MOST_MISSES 4
#define FIRST_REST 64
#define MOST_REST 65536
#define LOOK_AGAIN 64 /* uploads left out before one is made as asked, to see what that takes */

static uint64_t takes(float per_mib, float guess, uint64_t bytes)
{
    return (uint64_t)((per_mib > 0 ? per_mib : guess) * (float)bytes / MIB);
}

/* An upload as asked, by the fastest of the latest: so nothing is gained but what is certain. */
static float asked_ns(const struct xfs_leave_out_site *of)
{
    float least = of->asked_ns[0];
    for (unsigned i = 1; i < XFS_ASKED; i++)
        if (of->asked_ns[i] > 0 && of->asked_ns[i] < least)
            least = of->asked_ns[i];
    return least;
}

/* What deciding about this upload will have taken before it can save anything. A first look costs
 * one hash; after that hashing begins where it can be carried through. */
static uint64_t price(const struct xfs_leave_out_site *of, uint64_t bytes)
{
    uint64_t hash = takes(of->hash_ns, HASH_GUESS, bytes);
    uint64_t verify = of->hits ? 0 : takes(of->verify_ns, VERIFY_GUESS, bytes);
    if (of->hash_ns <= 0)
        return hash;
    return of->remembered ? hash + verify : 2 * hash + verify;
}

static bool may_spend(const struct xfs_leave_out_site *of, uint64_t ns)
{
    if (!xfs_settings()->apply_trials || xfs_settings()->apply_check)
        return true;
    uint64_t earned = (xfs_apply_now_ns() - of->begun_ns) / 100 * SPENT_PERCENT;
    return (int64_t)earned + of->balance_ns >= (int64_t)ns;
}

/* The site rests: its uploads are neither hashed nor left out. */
static void rest(struct xfs_leave_out_site *of)
{
    of->rest_next = of->rest_next ? of->rest_next : FIRST_REST;
    of->rest = of->rest_next;
    of->rest_next = of->rest_next * 4 < MOST_REST ? of->rest_next * 4 : MOST_REST;
    of->misses = 0;
}

/* Is this upload looked at? One as asked comes first, to compare with. */
static void decide(struct turn *turn)
{
    struct xfs_leave_out_site *of = &turn->site->leave_out;
    uint64_t bytes = turn->move->bytes;
    bool all = !xfs_settings()->apply_trials || xfs_settings()->apply_check;
    if (!xfs_site_hold(turn->site))
        return;
    if (of->begun_ns == 0)
        of->begun_ns = xfs_apply_now_ns();
    turn->looked = of->rest == 0 && of->in_a_row < LOOK_AGAIN && (all || of->asked_ns[0] > 0) &&
                   may_spend(of, price(of, bytes));
    of->rest -= of->rest > 0;
    of->remembered = of->remembered && turn->looked;
    turn->due =
        of->hits == 0 || xfs_settings()->apply_check ||
        (of->hits >= of->verify_at && may_spend(of, takes(of->verify_ns, VERIFY_GUESS, bytes)));
    xfs_site_release(turn->site);
}

/* ---- whether it may -------------------------------------------------------------------------- */

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

/* Pageable memory: page-locked memory may still be written in the order of a stream, and is copied
 * as fast as it is hashed. */
static bool is_readable_host(uint64_t address, uint64_t bytes)
{
    struct end first, last;
    return ask(address, &first) && ask(address + bytes - 1, &last) && !first.managed &&
           !last.managed && first.type == 0 && last.type == 0;
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
    if (xfs_apply_driver() == NULL) /* which knows the clock, too */
        return;
    turn->site = xfs_site_here(XFS_CLASS_LEAVE_OUT, XFT_DIR_H2D);
    if (turn->site == NULL)
        return;
    bool planned = turn->site->planned && !turn->site->off;
    xfs_site_release(turn->site);
    turn->upload.dst = move->dst;
    turn->upload.bytes = move->bytes;
    turn->may = planned && is_readable_host(move->src, move->bytes) &&
                is_plain_device(move->dst, move->bytes, &turn->upload.buffer) && find_order(turn);
    if (turn->may)
        decide(turn);
}

/* ---- what came of it ------------------------------------------------------------------------- */

static void tell(const struct turn *turn, bool left_out, bool loses, uint64_t took_ns)
{
    struct xfs_report_site *line = turn->site->report;
    uint64_t bytes = turn->move->bytes;
    if (line == NULL)
        return;
    __atomic_fetch_add(&line->asked, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->asked_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&line->verdict, loses ? XFS_LOSES : XFS_GAINS, __ATOMIC_RELAXED);
    if (left_out) {
        __atomic_fetch_add(&line->done, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&line->done_bytes, bytes, __ATOMIC_RELAXED);
    }
    if (!turn->looked)
        return;
    /* What was hashed for nothing counts, too. */
    __atomic_fetch_add(&line->compared_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->done_ns, took_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->instead_ns, takes(asked_ns(&turn->site->leave_out), 0, bytes),
                       __ATOMIC_RELAXED);
}

/* Of one that was looked at. */
static void note(struct turn *turn, bool had, bool left_out, bool copied)
{
    struct xfs_leave_out_site *of = &turn->site->leave_out;
    uint64_t took_ns = xfs_apply_now_ns() - turn->begun_ns;
    float mib = (float)turn->move->bytes / MIB, asked = asked_ns(of);
    if (!xfs_site_hold(turn->site))
        return;
    of->hash_ns = (float)turn->hash_ns / mib;
    if (turn->verify_ns) {
        of->verify_ns = (float)turn->verify_ns / mib;
        of->verify_at = 2 * of->hits + 1;
    }
    of->balance_ns += (int64_t)takes(asked, 0, turn->move->bytes) - (int64_t)took_ns;
    float ours = left_out ? (float)(took_ns - turn->verify_ns) / mib : of->hash_ns;
    bool loses = xfs_settings()->apply_trials && asked > 0 && ours > WORTH * asked;
    of->hits += left_out;
    of->in_a_row = left_out ? of->in_a_row + 1 : 0;
    of->misses = had ? 0 : of->misses + 1;
    of->remembered = copied;
    if (loses || of->misses >= MOST_MISSES)
        rest(of);
    tell(turn, left_out, loses, took_ns);
    xfs_site_release(turn->site);
}

/* Of one as asked. */
static void note_asked(struct turn *turn)
{
    struct xfs_leave_out_site *of = &turn->site->leave_out;
    uint64_t took_ns = xfs_apply_now_ns() - turn->begun_ns;
    if (!xfs_site_hold(turn->site))
        return;
    of->asked_ns[of->asked++ % XFS_ASKED] = (float)took_ns * MIB / (float)turn->move->bytes;
    of->in_a_row = 0;
    tell(turn, false, of->rest > 0, 0);
    xfs_site_release(turn->site);
}

/* ---- the bytes ------------------------------------------------------------------------------- */

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
static bool is_same_there(const struct xfs_move *move, char *there)
{
    for (uint64_t at = 0; at < move->bytes; at += VERIFIED_STEP) {
        uint64_t left = move->bytes - at;
        size_t bytes = left < VERIFIED_STEP ? left : VERIFIED_STEP;
        if (xfs_apply_driver()->to_host(there, move->dst + at, bytes, move->stream) !=
                XCU_SUCCESS ||
            memcmp(there, (const char *)(uintptr_t)move->src + at, bytes) != 0)
            return false;
    }
    return true;
}

static void verify(void *argument)
{
    struct turn *turn = argument;
    int mode = XCU_CAPTURE_MODE_RELAXED;
    char *there =
        mmap(NULL, VERIFIED_STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (there == MAP_FAILED)
        return;
    xfs_apply_driver()->exchange(&mode);
    turn->same = is_same_there(turn->move, there);
    xfs_apply_driver()->exchange(&mode);
    munmap(there, VERIFIED_STEP);
}

/* False: the device has something else, and the site is left alone from here on. */
static bool is_verified(struct turn *turn)
{
    struct xfs_report_site *line = turn->site->report;
    uint64_t begun = xfs_apply_now_ns();
    if (!xfs_on_own_stack(verify, turn))
        return false;
    turn->verify_ns = xfs_apply_now_ns() - begun;
    if (line)
        __atomic_fetch_add(&line->checked, 1, __ATOMIC_RELAXED);
    if (turn->same)
        return true;
    if (line)
        __atomic_fetch_add(&line->different, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&turn->site->off, true, __ATOMIC_RELAXED);
    xfs_log("apply: %s: something changes what this copies; nothing is left out there any more",
            turn->site->planned->text);
    return false;
}

/* ---- the upload ------------------------------------------------------------------------------ */

/* The most that Async stages without waiting was 2 MiB where it was measured, the least that it
 * waits with 3 MiB. */
#define AT_ONCE (UINT64_C(2) << 20)

static uint64_t head_of(const struct xfs_move *move)
{
    return move->blocking || move->bytes <= AT_ONCE ? XFS_HEAD : XFS_HEAD_THAT_WAITS;
}

static void cut(struct turn *turn, uint64_t head)
{
    turn->rest = *turn->move;
    turn->rest.dst += head;
    turn->rest.src += head;
    turn->rest.bytes -= head;
}

static int make(const struct xfs_move *move)
{
    int status = XCU_SUCCESS;
    if (!xfs_staging_move(move, &status))
        status = xfs_move_as_asked(move, 0, move->bytes);
    return status;
}

static int make_as_asked(struct turn *turn)
{
    xfs_uploads_written(turn->move->dst, turn->move->bytes);
    int status = make(turn->move);
    if (status == XCU_SUCCESS)
        note_asked(turn);
    return status;
}

/* The rest is copied, and the whole is remembered. */
static int go_on(struct turn *turn, bool had)
{
    uint64_t number = xfs_upload_begins(&turn->upload);
    int status = make(&turn->rest);
    xfs_upload_ends(number, status == XCU_SUCCESS);
    note(turn, had, false, status == XCU_SUCCESS);
    return status;
}

/* The head does not change what is there if it is the same; else what was there is forgotten by
 * go_on(). */
static int run(struct turn *turn)
{
    bool keep = turn->site->planned->flags & XFT_PLAN_KERNELS_KEEP;
    uint64_t head = head_of(turn->move);
    cut(turn, head);
    int status = xfs_move_as_asked(turn->move, 0, head);
    if (status != XCU_SUCCESS) {
        xfs_uploads_written(turn->move->dst, turn->move->bytes);
        return status;
    }
    hash(turn);
    bool had = xfs_uploads_have(&turn->upload, keep);
    if (!had || (turn->due && !is_verified(turn)))
        return go_on(turn, had);
    note(turn, true, true, true);
    return XCU_SUCCESS;
}

bool xfs_leave_out_move(const struct xfs_move *move, int *status)
{
    struct turn turn = {.move = move};
    if (!xfs_leave_out_on() || xfs_move_direction(move) == XFT_DIR_D2H)
        return false;
    if (move->bytes < XFS_LEAVE_OUT_LEAST || move->bytes < 2 * head_of(move) ||
        !xfs_apply_begin() || !xfs_on_own_stack(look, &turn) || !turn.may) {
        xfs_uploads_written(move->dst, move->bytes);
        return false;
    }
    turn.begun_ns = xfs_apply_now_ns();
    *status = turn.looked ? run(&turn) : make_as_asked(&turn);
    return true;
}
