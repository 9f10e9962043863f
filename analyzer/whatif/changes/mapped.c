#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

/* ---- page-locked memory is read in place ----------------------------------------------------- */

#define MOST_MAPPED 64 /* stretches of memory at one time */

struct map {
    struct xfw_memories memories;
    struct mapped {
        uint64_t first, end;
    } mapped[MOST_MAPPED];
    unsigned count;
};

static void map_end(const struct xfw_change *change, void *self)
{
    (void)change;
    xfw_memories_free(&((struct map *)self)->memories);
}

/* The memory that a copy fills is mapped from now on, or not any more. */
static void fill(struct map *state, const struct xfw_op *op, bool mapped)
{
    uint64_t end = xfa_add(op->dst, op->bytes);
    for (unsigned i = 0; i < state->count; i++)
        if (state->mapped[i].first < end && op->dst < state->mapped[i].end)
            state->mapped[i--] = state->mapped[--state->count];
    if (mapped)
        state->mapped[state->count++] = (struct mapped){op->dst, end};
}

/* How many of the mapped bytes a kernel was given. */
static uint64_t mapped_given(const struct map *state, const struct xfa_process *process,
                             const struct xfw_op *op)
{
    uint64_t pointer, bytes = 0;
    for (uint32_t k = 0; xfw_launch_pointer(process, op->arguments, k, &pointer); k++) {
        struct xfw_memory memory;
        if (!xfw_memories_find(&state->memories, pointer, &memory))
            continue;
        for (unsigned i = 0; i < state->count; i++) {
            const struct mapped *mapped = &state->mapped[i];
            if (mapped->first < memory.end && pointer < mapped->end)
                bytes = xfa_add(bytes, mapped->end - mapped->first);
        }
    }
    return bytes;
}

static void map_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                   struct xfw_op *op)
{
    static const double part[] = {[XFW_LOW] = 2, [XFW_LIKELY] = 0.5};
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    struct map *state = self;
    xfw_memories_op(&state->memories, op);
    if (op->what == XFW_COPY) {
        bool mapped = op->class != XFW_NONE && xfw_set_has(&change->set, op->class) &&
                      state->count < MOST_MAPPED;
        fill(state, op, mapped);
        if (mapped)
            xfw_op_drop(op);
    }
    if (op->what != XFW_KERNEL || state->count == 0)
        return;
    uint64_t bytes = mapped_given(state, xfw_player_process(player), op);
    if (bytes == 0 || xfw_player_certainty(player) == XFW_HIGH)
        return;
    double read = fmin(1, xfw_share_read(achievable, op->gpu, bytes, op->duration_ns));
    read *= (double)bytes * part[xfw_player_certainty(player)];
    double over_link = xfw_mapped_ns(achievable, op->gpu, false, read);
    if (isnan(over_link))
        return;
    op->duration_ns = fmax(op->duration_ns, over_link);
    op->link_ns = fmin(op->duration_ns - op->reach_ns, op->link_ns + over_link);
}

struct xfw_change *xfw_change_map(const struct xfa_analysis *analysis, struct xfw_set *classes)
{
    static const struct xfw_change_type type = {
        .name = "map", .state_bytes = sizeof(struct map), .op = map_op, .end = map_end};
    return xfw_change_new(sizeof(struct xfw_change), &type, analysis, classes);
}

/* ---- mapped memory is copied ----------------------------------------------------------------- */

#define MOST_COPIED 256 /* buffers of which it is known that they were copied */
#define MOST_READERS 64 /* kernels, by name and what they are given */
#define LAST_READS 16   /* streams */
#define MOST_WAITERS 64 /* threads whose waits are kept apart */

struct stop_mapping {
    struct xfw_change change;
    bool asked;
};

struct stop {
    struct xfw_memories memories;
    struct copied {
        uint64_t first;
        double read_ns; /* when the last kernel that was given it was done, as recorded */
    } copied[MOST_COPIED];
    unsigned copies;
    double waited_ns;    /* when the host's last wait returned, as recorded */
    struct waiter {      /* the same of a thread */
        uint32_t thread; /* number + 1 */
        double ns;
    } waiters[MOST_WAITERS]; /* by number */
    struct reader {          /* a kernel, and the least that it took so far */
        uint32_t name;
        uint64_t bytes, threads;
        double ns;
        bool shares; /* another one read over the link meanwhile, some time */
    } readers[MOST_READERS];
    unsigned reader_count;
    struct last_read { /* a stream's last kernel that was given mapped memory, as recorded */
        uint32_t stream;
        double end_ns;
    } reads[LAST_READS];
    unsigned read_count;
};

/* What a kernel was given of the mapped memory. */
struct given {
    uint64_t bytes;
    uint64_t anew;  /* of these: the host may have changed them since they were copied */
    uint64_t first; /* the address of the first of those */
    enum xfw_writes writes;
};

static void stop_end(const struct xfw_change *change, void *self)
{
    (void)change;
    xfw_memories_free(&((struct stop *)self)->memories);
}

static struct waiter *waiter_of(struct stop *state, uint32_t thread)
{
    return &state->waiters[thread % MOST_WAITERS];
}

static void note_wait(struct stop *state, const struct xfw_op *op)
{
    struct waiter *waiter = waiter_of(state, op->thread);
    if (waiter->thread != op->thread + 1)
        *waiter = (struct waiter){.thread = op->thread + 1};
    waiter->ns = fmax(waiter->ns, op->end_ns);
    state->waited_ns = fmax(state->waited_ns, op->end_ns);
}

/* When the thread last knew what was done: by its own waits, if it ever waits. */
static double waited_ns(struct stop *state, uint32_t thread)
{
    const struct waiter *waiter = waiter_of(state, thread);
    return waiter->thread == thread + 1 ? waiter->ns : state->waited_ns;
}

/* A kernel is given the buffer. Does it have to be copied for it? The host leaves it alone until it
 * has waited for the kernels that read it; at best, or where that is known, for good. */
static bool is_anew(struct stop *state, uint64_t first, const struct xfw_op *op, bool for_good)
{
    double read_ns = isnan(op->device_end_ns) ? op->end_ns : op->device_end_ns;
    for (unsigned i = 0; i < state->copies; i++) {
        struct copied *copied = &state->copied[i];
        if (copied->first != first)
            continue;
        bool anew = !for_good && copied->read_ns <= waited_ns(state, op->thread);
        copied->read_ns = fmax(copied->read_ns, read_ns);
        return anew;
    }
    if (state->copies < MOST_COPIED)
        state->copied[state->copies++] = (struct copied){first, read_ns};
    return true;
}

static struct given given_to(const struct xfw_change *change, struct stop *state,
                             const struct xfa_process *process, const struct xfw_op *op,
                             enum xfw_certainty certainty)
{
    struct given given = {0};
    bool for_good = certainty == XFW_HIGH || change->assured;
    uint64_t pointer;
    for (uint32_t k = 0; xfw_launch_pointer(process, op->arguments, k, &pointer); k++) {
        struct xfw_memory memory;
        if (!xfw_memories_find(&state->memories, pointer, &memory) ||
            !xfa_is_page_locked(memory.kind) || !xfw_set_has(&change->set, memory.by))
            continue;
        enum xfw_writes writes = xfw_writes(process, op->name, op->arguments, k);
        given.bytes = xfa_add(given.bytes, memory.end - memory.first);
        given.writes = writes > given.writes ? writes : given.writes;
        if (!is_anew(state, memory.first, op, for_good))
            continue;
        given.first = given.anew ? given.first : memory.first;
        given.anew = xfa_add(given.anew, memory.end - memory.first);
    }
    return given;
}

static struct xfw_op copy_of(const struct xfw_op *op, const struct xfw_copy_cost *cost, bool up)
{
    struct xfw_op copy = xfw_op_like(op);
    copy.what = XFW_COPY;
    copy.engine = up ? XFW_TO_DEVICE : XFW_TO_HOST;
    copy.exclusive = true;
    copy.own_ns = cost->submit_ns;
    copy.duration_ns = cost->device_ns;
    copy.lead_ns = cost->lead_ns;
    return copy;
}

static void copy_first(const struct xfw_change *change, struct xfw_player *player,
                       struct xfw_op *op, const struct given *given)
{
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    struct xfw_copy_cost up =
        xfw_copy_cost(xfw_host_path(achievable, XFT_DIR_H2D, XFT_MEM_PINNED, -1, op->gpu),
                      given->anew, certainty);
    struct xfw_copy_cost down =
        xfw_copy_cost(xfw_host_path(achievable, XFT_DIR_D2H, XFT_MEM_PINNED, -1, op->gpu),
                      given->bytes, certainty);
    enum xfw_writes copied_back = certainty == XFW_LOW ? XFW_MAY_WRITE : XFW_WRITES;
    if (given->anew > 0) {
        struct xfw_op first = copy_of(op, &up, true);
        first.src = first.dst = given->first; /* by which the kernel names it */
        first.bytes = given->anew;
        xfw_op_take_gap(&first, op); /* in which the host may have changed it */
        xfw_player_insert(player, &first);
    }
    if (given->writes >= copied_back) {
        struct xfw_op last = copy_of(op, &down, false);
        xfw_player_play_behind(player, &last);
    }
}

/* Does another stream's kernel read over the link as this one begins? */
static bool shares_link(struct stop *state, const struct xfw_op *op)
{
    bool shares = false;
    struct last_read *own = NULL;
    for (unsigned i = 0; i < state->read_count; i++) {
        struct last_read *read = &state->reads[i];
        if (read->stream == op->stream)
            own = read;
        else
            shares = shares || read->end_ns > op->device_start_ns;
    }
    if (!own && state->read_count < LAST_READS)
        own = &state->reads[state->read_count++];
    if (own)
        *own = (struct last_read){op->stream, op->device_end_ns};
    return shares;
}

/* What the kernel takes while no other reads over the link: where it is seen to do so beside
 * others, as little as it has taken so far, given as much. */
static double unshared_ns(struct stop *state, const struct xfw_op *op, uint64_t bytes)
{
    bool shares = shares_link(state, op);
    for (unsigned i = 0; i < state->reader_count; i++) {
        struct reader *reader = &state->readers[i];
        if (reader->name != op->name || reader->bytes != bytes || reader->threads != op->threads)
            continue;
        reader->ns = fmin(reader->ns, op->duration_ns);
        reader->shares = reader->shares || shares;
        return reader->shares ? reader->ns : op->duration_ns;
    }
    if (op->name && state->reader_count < MOST_READERS)
        state->readers[state->reader_count++] =
            (struct reader){op->name, bytes, op->threads, op->duration_ns, shares};
    return op->duration_ns;
}

/* The kernel's time when it reads memory of the device. */
static double on_device_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                           uint64_t bytes, double byte, enum xfw_certainty certainty)
{
    double times = xfw_times_over(achievable, op->gpu, bytes, op->duration_ns);
    double once = xfw_read_once_ns(achievable, op->gpu, bytes);
    double reading = byte * (double)bytes * (certainty == XFW_HIGH ? 0.5 : 1);
    bool again = times > XFW_READ_AGAIN && times < XFW_MOST_TIMES_OVER;
    if (again)
        return times * reading;
    if (!(once > 0) || !(op->duration_ns > XFW_READ_ALL * once))
        return op->duration_ns;
    if (op->duration_ns < once) /* the profile's link is that much slower */
        return fmin(op->duration_ns, reading);
    bool slowly = certainty == XFW_HIGH && op->duration_ns < XFW_MOST_TIMES_OVER * once;
    return slowly ? reading : op->duration_ns - once + reading;
}

static void stop_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                    struct xfw_op *op)
{
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    struct stop *state = self;
    if (((const struct stop_mapping *)change)->asked && !change->assured && certainty != XFW_HIGH)
        return;
    xfw_memories_op(&state->memories, op);
    if (op->kind == XFT_EVENT_ALLOC && op->memory == XFT_MEM_MAPPED &&
        xfw_set_has(&change->set, op->site))
        op->memory = XFT_MEM_PINNED; /* no kernel reaches it any more */
    if (op->kind == XFT_EVENT_SYNC || op->what == XFW_QUERY || op->awaits == XFW_AWAITS_ITSELF)
        note_wait(state, op);
    if (op->what != XFW_KERNEL || op->stream == XFW_NONE)
        return;
    struct given given = given_to(change, state, xfw_player_process(player), op, certainty);
    double byte = xfw_device_byte_ns(achievable, op->gpu);
    if (given.bytes == 0 || isnan(byte))
        return;
    copy_first(change, player, op, &given);
    if (certainty == XFW_LOW)
        return;
    op->duration_ns = unshared_ns(state, op, given.bytes);
    op->duration_ns =
        fmin(op->duration_ns, on_device_ns(achievable, op, given.bytes, byte, certainty));
    op->reach_ns = op->link_ns = 0;
}

struct xfw_change *xfw_change_stop_mapping(const struct xfa_analysis *analysis,
                                           struct xfw_set *sites, bool asked)
{
    static const struct xfw_change_type type = {
        .name = "stop mapping", .state_bytes = sizeof(struct stop), .op = stop_op, .end = stop_end};
    struct stop_mapping *stop = xfw_change_new(sizeof *stop, &type, analysis, sites);
    stop->change.first = true; /* others see its copies */
    stop->asked = asked;
    return &stop->change;
}
