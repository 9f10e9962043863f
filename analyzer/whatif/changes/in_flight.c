#include "analyzer/whatif/changes/in_flight.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/waits.h"
#include "xferscope/trace.h"

#define REGION_BYTES_LOG 16

static uint64_t bit(uint32_t place)
{
    return (uint64_t)1 << place;
}

/* The first place of a set, which is taken out. */
static unsigned take_first(uint64_t *set)
{
    unsigned place = (unsigned)__builtin_ctzll(*set);
    *set &= *set - 1;
    return place;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t end_of(const struct xfw_host_memory *host)
{
    return xfa_add(host->first, host->bytes ? host->bytes : 1);
}

/* Of memory: `count` from `first` on. */
struct regions {
    uint64_t first, count;
};

static struct regions regions_of(uint64_t first, uint64_t end)
{
    uint64_t region = first >> REGION_BYTES_LOG;
    uint64_t count = ((end - 1) >> REGION_BYTES_LOG) - region + 1;
    return (struct regions){region, count < XFW_IN_FLIGHT ? count : XFW_IN_FLIGHT};
}

static uint64_t *of_region(struct xfw_in_flight *copies, const struct regions *regions, uint64_t i)
{
    return &copies->of_region[(regions->first + i) % XFW_IN_FLIGHT];
}

/* Which of those use any of the memory. */
static uint64_t using(struct xfw_in_flight *copies, uint64_t those, uint64_t first, uint64_t end)
{
    const struct regions regions = regions_of(first, end);
    uint64_t near = 0, found = 0;
    for (uint64_t i = 0; i < regions.count && those; i++)
        near |= *of_region(copies, &regions, i);
    for (near &= those; near;) {
        unsigned i = take_first(&near);
        if (copies->first[i] < end && first < copies->end[i])
            found |= bit(i);
    }
    return found;
}

/* The place of the copy that used the memory last; if none did, the oldest one's. */
static uint32_t place_of(struct xfw_in_flight *copies, uint64_t first, uint64_t end)
{
    uint64_t found = using(copies, UINT64_MAX, first, end);
    if (found)
        return take_first(&found);
    if (copies->count < XFW_IN_FLIGHT)
        return copies->count++;
    return copies->next++ % XFW_IN_FLIGHT;
}

/* The place has that memory from now on. */
static void take_memory(struct xfw_in_flight *copies, uint32_t place, uint64_t first, uint64_t end)
{
    const bool had = copies->end[place] > 0;
    if (copies->first[place] == first && copies->end[place] == end)
        return;
    const struct regions before = regions_of(copies->first[place], copies->end[place]);
    const struct regions now = regions_of(first, end);
    for (uint64_t i = 0; had && i < before.count; i++)
        *of_region(copies, &before, i) &= ~bit(place);
    for (uint64_t i = 0; i < now.count; i++)
        *of_region(copies, &now, i) |= bit(place);
    copies->first[place] = first;
    copies->end[place] = end;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* A copy that the host does not wait for, of memory that the host may use again. */
static bool is_in_flight(const struct xfw_change *change, const struct xfw_op *op)
{
    if (op->what != XFW_COPY || op->awaits == XFW_AWAITS_ITSELF || op->class == XFW_NONE)
        return false;
    const struct xfa_row_key *row = &xfa_class_key_at(&change->analysis->classes, op->class)->row;
    return xfa_is_page_locked(row->direction == XFT_DIR_H2D ? row->src_mem : row->dst_mem);
}

/* The end of the last op's copy is known now. */
static void note_end(struct xfw_in_flight *copies, const struct xfw_player *player)
{
    if (copies->copying) {
        uint32_t last = copies->copying - 1;
        double done_ns = xfw_schedule_stream_end(xfw_player_schedule(player), copies->stream[last]);
        double *last_done_ns = &copies->last_done_ns[last / XFW_IN_FLIGHT_SET];
        copies->done_ns[last] = done_ns;
        *last_done_ns = xfw_max(*last_done_ns, done_ns);
    }
    copies->copying = 0;
}

/* host: the memory of the host that the op copies. */
static void note_copy(struct xfw_in_flight *copies, const struct xfw_op *op,
                      const struct xfw_host_memory *host)
{
    uint32_t place = place_of(copies, host->first, end_of(host));
    take_memory(copies, place, host->first, end_of(host));
    copies->of_stream[copies->stream[place] % XFW_IN_FLIGHT] &= ~bit(place);
    copies->of_stream[op->stream % XFW_IN_FLIGHT] |= bit(place);
    copies->done_ns[place] = 0;
    copies->stream[place] = op->stream;
    copies->event[place][0] = copies->event[place][1] = 0;
    copies->with_event &= ~bit(place);
    copies->to_host = host->to_host ? copies->to_host | bit(place) : copies->to_host & ~bit(place);
    copies->owed &= ~bit(place);
    copies->copying = place + 1;
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* The host waits until then, before its own time that comes before the op. */
static void wait_until(struct xfw_player *player, const struct xfw_op *op, double ns)
{
    double now = xfw_schedule_thread_now(xfw_player_schedule(player), op->thread);
    if (!(ns > now))
        return;
    struct xfw_op wait = xfw_op_like(op);
    wait.own_ns = ns - now;
    xfw_player_play(player, &wait);
}

/* A wait for copies went. As likely the host waits for one all the same before its memory is copied
 * again (it has been written meanwhile), and before a time of its own in which it can have read
 * what was fetched. */
static void wait_where_needed(struct xfw_in_flight *copies, struct xfw_player *player,
                              const struct xfw_op *op, const struct xfw_host_memory *host)
{
    bool next = copies->went && op->thread == copies->thread;
    double until = 0;
    if (xfw_player_certainty(player) != XFW_LIKELY || (!next && !host))
        return;
    uint64_t used = host ? using(copies, copies->owed, host->first, end_of(host)) : 0;
    uint64_t fetched = next ? copies->owed & copies->to_host & ~used : 0;
    for (uint64_t those = used | fetched; those;) {
        unsigned i = take_first(&those);
        double read_ns = XFW_READ_NS_PER_BYTE * (double)(copies->end[i] - copies->first[i]);
        if (!(used & bit(i)) && !(op->gap_ns >= read_ns))
            continue;
        until = fmax(until, copies->done_ns[i]);
        copies->owed &= ~bit(i);
    }
    wait_until(player, op, until);
    copies->went = copies->went && !next;
}

static void note_event(struct xfw_in_flight *copies, const struct xfw_op *op)
{
    if (op->stream == XFW_NONE || op->event == XFW_NONE)
        return;
    for (uint64_t those = copies->of_stream[op->stream % XFW_IN_FLIGHT]; those;) {
        unsigned i = take_first(&those);
        if (copies->stream[i] != op->stream)
            continue;
        copies->event[i][copies->event[i][0] != 0] = op->event + 1;
        copies->with_event |= bit(i);
    }
}

/* Of the owed ones those that a wait may be for. */
static uint64_t may_await(const struct xfw_in_flight *copies, const struct xfw_op *op)
{
    if (op->awaits == XFW_AWAITS_DEVICE)
        return copies->owed;
    if (op->awaits == XFW_AWAITS_STREAM)
        return copies->owed & copies->of_stream[op->stream % XFW_IN_FLIGHT];
    bool of_event = op->awaits == XFW_AWAITS_EVENT && op->event != XFW_NONE;
    return of_event ? copies->owed & copies->with_event : 0;
}

static void note_wait(struct xfw_in_flight *copies, const struct xfw_op *op)
{
    for (uint64_t those = may_await(copies, op); those;) {
        unsigned i = take_first(&those);
        const uint32_t *event = copies->event[i];
        bool of_event = op->event + 1 == event[0] || op->event + 1 == event[1];
        if (op->awaits == XFW_AWAITS_DEVICE ||
            (op->awaits == XFW_AWAITS_STREAM && op->stream == copies->stream[i]) ||
            (op->awaits == XFW_AWAITS_EVENT && of_event))
            copies->owed &= ~bit(i);
    }
}

void xfw_in_flight_owe(struct xfw_in_flight *copies, const struct xfw_player *player,
                       const struct xfw_op *op)
{
    const double now = xfw_schedule_thread_now(xfw_player_schedule(player), op->thread);
    for (unsigned set = 0; set * XFW_IN_FLIGHT_SET < copies->count; set++) {
        double last = 0;
        if (!(copies->last_done_ns[set] > now))
            continue;
        for (unsigned k = 0; k < XFW_IN_FLIGHT_SET; k++) {
            const unsigned i = set * XFW_IN_FLIGHT_SET + k;
            copies->owed |= (uint64_t)(copies->done_ns[i] > now) << i;
            last = xfw_max(last, copies->done_ns[i]);
        }
        copies->last_done_ns[set] = last;
    }
    copies->went = true;
    copies->thread = op->thread;
}

/* The program's own waits, and its events behind copies, count, too. */
void xfw_in_flight_meet(struct xfw_in_flight *copies, const struct xfw_change *change,
                        struct xfw_player *player, const struct xfw_op *op)
{
    struct xfw_host_memory host;
    const bool of_copy = xfw_host_memory(change->analysis, op, &host);
    note_end(copies, player);
    wait_where_needed(copies, player, op, of_copy ? &host : NULL);
    if (op->what == XFW_RECORD)
        note_event(copies, op);
    else if (op->kind == XFT_EVENT_SYNC)
        note_wait(copies, op);
    if (of_copy && op->stream != XFW_NONE && is_in_flight(change, op))
        note_copy(copies, op, &host);
}
