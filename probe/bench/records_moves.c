/* Managed memory is read as a whole, by a kernel and by a thread of the host. */
#include <string.h>

#include "probe/bench/records_moves.h"
#include "probe/device/cupti.h"
#include "probe/device/launch.h"
#include "probe/device/managed.h"
#include "probe/measure/budget.h"

enum { UP, DOWN, FIGURES };
static const enum xfp_records_figure figures_of[FIGURES] = {XFP_RECORDS_MOVE_H2D,
                                                            XFP_RECORDS_MOVE_D2H};
#define MOVED ((size_t)4 << 20) /* bytes */

struct moves {
    struct xfp_session *s;
    struct xfp_device *device;
    xcu_deviceptr sink;
    struct xfp_managed managed;
    size_t pairs;
    double added[FIGURES][XFP_RECORDS_MOST_PAIRS];
};

static bool make(struct moves *m)
{
    struct xfp_system *sys = &m->s->sys;
    const struct xfp_driver *cu = sys->cu;

    if (!xfp_managed_applies(sys, m->device->ordinal) ||
        xfp_managed_room(sys, m->device, MOVED, 1) < MOVED ||
        xfp_device_open_kernels(sys, m->device) || xfp_cupti_switch_moves(sys, true) ||
        xfp_cupti_switch_moves(sys, false) || cu->cuMemAllocManaged(&m->managed.address, MOVED, 1))
        return false;
    m->managed.device = m->device;
    m->managed.bytes = MOVED;
    memset((void *)(uintptr_t)m->managed.address, 0, MOVED);
    xfp_managed_touch(sys, &m->managed, MOVED);
    return true;
}

/* To the device by a kernel's access, and back by the host's. */
static int move(struct moves *m, double ns[FIGURES])
{
    struct xfp_system *sys = &m->s->sys;
    const struct xfp_driver *cu = sys->cu;
    xcu_stream stream = m->device->stream;
    uint64_t times[FIGURES + 1] = {xfp_driver_now_ns(cu)};
    xcu_result result = xfp_launch_read(sys, m->device, stream, m->managed.address, MOVED, m->sink);

    if (!result)
        result = cu->cuStreamSynchronize(stream);
    times[1] = xfp_driver_now_ns(cu);
    xfp_managed_touch(sys, &m->managed, MOVED);
    times[2] = xfp_driver_now_ns(cu);
    for (int i = 0; i < FIGURES; i++)
        ns[i] = (double)(times[i + 1] - times[i]);
    xfp_cupti_collect();
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
        int bad = move(m, ns[on]);
        if (bad || (bad = move(m, ns[on])))
            return bad;
    }
    for (int i = 0; i < FIGURES; i++)
        m->added[i][m->pairs] = ns[1][i] - ns[0][i];
    m->pairs++;
    return 0;
}

/* Records may arrive late, so only the mean number of records per move is known. */
static bool share_among_records(struct moves *m)
{
    struct xfp_moves counted = xfp_cupti_moves();
    double goes = 2 * (double)m->pairs;
    double records[] = {(double)counted.to_device / goes, (double)counted.to_host / goes};

    for (int i = 0; i < FIGURES; i++)
        for (size_t k = 0; k < m->pairs; k++)
            m->added[i][k] /= records[i];
    return counted.to_device && counted.to_host;
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
    xfp_cupti_moves();
    do {
        if (pair(&m, on))
            return -1;
        on = !on;
    } while (!enough(&m, until));
    if (on && xfp_cupti_switch_moves(&s->sys, false))
        return -1;
    if (!share_among_records(&m))
        return 0;
    for (int i = 0; i < FIGURES; i++)
        figures[figures_of[i]] = xfp_stats_of(m.added[i], m.pairs);
    return 0;
}
