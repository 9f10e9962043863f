/*
 * Blocks of managed memory that are read as a whole, by many threads of a kernel and by one of the
 * host: the driver serves their faults together, and the cost is that of a record of a migration.
 * And one cell in each block, one behind the other: each is a fault by itself.
 */
#include <string.h>

#include "probe/bench/records_moves.h"
#include "probe/device/cupti.h"
#include "probe/device/launch.h"
#include "probe/device/managed.h"
#include "probe/measure/budget.h"

#define STRIDE ((size_t)2 << 20) /* the driver's block, beyond which it prefetches nothing */
enum { CELLS = 8, WHOLE = 2 /* blocks that are read as a whole */ };

enum { UP, DOWN, FAULT_UP, FAULT_DOWN, FIGURES };
static const enum xfp_records_figure figures_of[FIGURES] = {
    XFP_RECORDS_MOVE_H2D, XFP_RECORDS_MOVE_D2H, XFP_RECORDS_FAULT_H2D, XFP_RECORDS_FAULT_D2H};

struct moves {
    struct xfp_session *s;
    struct xfp_device *device;
    xcu_deviceptr sink;
    struct xfp_managed whole, cells;
    size_t pairs;
    struct xfp_moves counted; /* of the whole blocks */
    double added[FIGURES][XFP_RECORDS_MOST_PAIRS];
};

static uint64_t *cell(const struct moves *m, size_t i)
{
    return (uint64_t *)((char *)(uintptr_t)m->cells.address + i * STRIDE);
}

static bool make(struct moves *m)
{
    struct xfp_system *sys = &m->s->sys;
    const struct xfp_driver *cu = sys->cu;
    const size_t bytes = (WHOLE + CELLS) * STRIDE;

    if (!xfp_managed_applies(sys, m->device->ordinal) ||
        xfp_managed_room(sys, m->device, bytes, 1) < bytes ||
        xfp_device_open_kernels(sys, m->device) || xfp_cupti_switch_moves(sys, true) ||
        xfp_cupti_switch_moves(sys, false) ||
        cu->cuMemAllocManaged(&m->whole.address, WHOLE * STRIDE, 1) ||
        cu->cuMemAllocManaged(&m->cells.address, CELLS * STRIDE, 1))
        return false;
    m->whole.device = m->cells.device = m->device;
    m->whole.bytes = WHOLE * STRIDE;
    m->cells.bytes = CELLS * STRIDE;
    memset((void *)(uintptr_t)m->whole.address, 0, m->whole.bytes);
    xfp_managed_touch(sys, &m->whole, m->whole.bytes);
    for (size_t i = 0; i < CELLS; i++)
        *cell(m, i) = (i + 1) % CELLS * STRIDE; /* the chase's next one */
    return true;
}

/* The host reads a word of each block. */
static void touch_cells(const struct moves *m)
{
    void (*tell)(const void *, uint64_t, int) = m->s->sys.cu->simulated_touch;

    for (size_t i = 0; i < CELLS; i++) {
        if (tell)
            tell(cell(m, i), sizeof(uint64_t), 0);
        (void)*(const volatile uint64_t *)cell(m, i);
    }
}

/* To the device by a kernel's access, and back by the host's: whole blocks, then the cells. */
static int move(struct moves *m, double ns[FIGURES])
{
    struct xfp_system *sys = &m->s->sys;
    const struct xfp_driver *cu = sys->cu;
    xcu_stream stream = m->device->stream;
    uint64_t times[FIGURES + 1] = {xfp_driver_now_ns(cu)};
    xcu_result result =
        xfp_launch_read(sys, m->device, stream, m->whole.address, m->whole.bytes, m->sink);

    if (!result)
        result = cu->cuStreamSynchronize(stream);
    times[UP + 1] = xfp_driver_now_ns(cu);
    xfp_managed_touch(sys, &m->whole, m->whole.bytes);
    times[DOWN + 1] = xfp_driver_now_ns(cu);
    xfp_cupti_collect();
    struct xfp_moves moved = xfp_cupti_moves();
    m->counted.to_device += moved.to_device;
    m->counted.to_host += moved.to_host;
    uint64_t again = xfp_driver_now_ns(cu);
    if (!result)
        result = xfp_launch_chase(sys, m->device, stream, m->cells.address, CELLS, m->sink);
    if (!result)
        result = cu->cuStreamSynchronize(stream);
    times[FAULT_UP + 1] = xfp_driver_now_ns(cu);
    touch_cells(m);
    times[FAULT_DOWN + 1] = xfp_driver_now_ns(cu);
    ns[UP] = (double)(times[UP + 1] - times[UP]);
    ns[DOWN] = (double)(times[DOWN + 1] - times[DOWN]);
    ns[FAULT_UP] = (double)(times[FAULT_UP + 1] - again) / CELLS;
    ns[FAULT_DOWN] = (double)(times[FAULT_DOWN + 1] - times[FAULT_UP + 1]) / CELLS;
    xfp_cupti_collect();
    xfp_cupti_moves(); /* those of the cells are one for each fault */
    return xfp_check(sys, result, "migrating");
}

/* Both states, one after the other, so that drift cancels out; untimed moves before each warm up.
 * Every second pair begins in the state in which the one before ended. */
static int pair(struct moves *m, bool first_on)
{
    double ns[2][FIGURES];

    for (int half = 0; half < 2; half++) {
        bool on = first_on != (half == 1);

        if (half && xfp_cupti_switch_moves(&m->s->sys, on))
            return -1;
        if (move(m, ns[on]) || move(m, ns[on]))
            return -1;
    }
    for (int i = 0; i < FIGURES; i++)
        m->added[i][m->pairs] = ns[1][i] - ns[0][i];
    m->pairs++;
    return 0;
}

/* Records may arrive late, so only the mean number of records per move is known. */
static void share_among_records(struct moves *m)
{
    double goes = 2 * (double)m->pairs;
    double records[] = {(double)m->counted.to_device / goes, (double)m->counted.to_host / goes};

    for (int i = UP; i <= DOWN; i++)
        for (size_t k = 0; k < m->pairs; k++)
            m->added[i][k] /= records[i];
}

static bool enough(const struct moves *m, uint64_t until_ns)
{
    if (m->pairs < XFP_FEWEST_SAMPLES)
        return false;
    return m->pairs == XFP_RECORDS_MOST_PAIRS || m->s->sys.cu->simulated_now_ns ||
           xfp_wall_ns() >= until_ns;
}

int xfp_records_moves(struct xfp_session *s, struct xfp_device *d, xcu_deviceptr sink,
                      uint64_t budget_ns, struct xfp_stats figures[XFP_RECORDS_COUNT])
{
    static struct moves m;
    uint64_t until = xfp_wall_ns() + budget_ns;
    bool on = false;

    m = (struct moves){.s = s, .device = d, .sink = sink};
    if (!make(&m))
        return 0;
    do {
        if (pair(&m, on))
            return -1;
        on = !on;
    } while (!enough(&m, until));
    if (on && xfp_cupti_switch_moves(&s->sys, false))
        return -1;
    if (!m.counted.to_device || !m.counted.to_host)
        return 0;
    share_among_records(&m);
    for (int i = 0; i < FIGURES; i++)
        figures[figures_of[i]] = xfp_stats_of(m.added[i], m.pairs);
    return 0;
}
