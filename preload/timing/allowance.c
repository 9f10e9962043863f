#include "preload/timing/allowance.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* ns that a record adds to the program's time, about: docs/results/budget-2026-11-23.md (the rows
 * "no bound" and "launches" beside "host times", and its phases), kernel_only and
 * records-h200-2026-11-22.md. */
static const uint32_t measured[XFS_RECORD_COSTS] = {
    [XFS_COST_TO_DEVICE] = 650, [XFS_COST_TO_HOST] = 2000, [XFS_COST_OTHER_COPY] = 650,
    [XFS_COST_MEMSET] = 650,    [XFS_COST_KERNEL] = 600,   [XFS_COST_MOVE] = 2000,
    [XFS_COST_LAUNCH] = 850,
};

/* A part that has cost less than this share of the allowance keeps its records: giving them up
 * would help little. */
#define LEAST_SHARE 8

/* ---- what records cost ----------------------------------------------------------------------- */

static bool parse_number(const char **text, uint32_t *number)
{
    uint64_t n = 0;
    const char *at = *text;
    for (; *at >= '0' && *at <= '9' && n <= UINT32_MAX; at++)
        n = 10 * n + (uint64_t)(*at - '0');
    if (at == *text || n > UINT32_MAX)
        return false;
    *number = (uint32_t)n;
    *text = at;
    return true;
}

static bool parse_numbers(uint32_t numbers[XFS_RECORD_COSTS], const char *text)
{
    numbers[XFS_COST_LAUNCH] = 0;
    for (size_t i = 0; i < XFS_RECORD_COSTS && (i != XFS_COST_LAUNCH || *text); i++)
        if ((i > 0 && *text++ != ',') || !parse_number(&text, &numbers[i]))
            return false;
    return *text == '\0';
}

bool xfs_allowance_costs(uint32_t costs[XFS_RECORD_COSTS], const char *text, bool simulated)
{
    uint32_t given[XFS_RECORD_COSTS];
    bool good = *text == '\0' || parse_numbers(given, text);
    if (good && *text)
        memcpy(costs, given, sizeof given);
    else if (simulated)
        memset(costs, 0, sizeof measured);
    else
        memcpy(costs, measured, sizeof measured);
    return good;
}

static enum xfs_record_cost cost_of(const struct xft_event *record)
{
    switch ((enum xft_event_kind)record->kind) {
    case XFT_EVENT_KERNEL:
        return XFS_COST_KERNEL;
    case XFT_EVENT_MEMSET:
        return XFS_COST_MEMSET;
    case XFT_EVENT_MIGRATION:
    case XFT_EVENT_FAULT:
        return XFS_COST_MOVE;
    default:
        return record->direction == XFT_DIR_H2D   ? XFS_COST_TO_DEVICE
               : record->direction == XFT_DIR_D2H ? XFS_COST_TO_HOST
                                                  : XFS_COST_OTHER_COPY;
    }
}

static enum xfs_part part_of(enum xfs_record_cost cost)
{
    return cost == XFS_COST_KERNEL ? XFS_PART_KERNELS
           : cost == XFS_COST_MOVE ? XFS_PART_MANAGED
                                   : XFS_PART_COPIES;
}

/* ---- before ---------------------------------------------------------------------------------- */

bool xfs_allowance_matters(const struct xfs_allowance *allowance, unsigned percent)
{
    for (size_t i = 0; percent > 0 && i < XFS_RECORD_COSTS; i++)
        if (allowance->record_ns[i] > 0)
            return true;
    return false;
}

bool xfs_allowance_fits(const struct xfs_allowance *allowance, unsigned percent, uint64_t passed_ns,
                        uint64_t hooks_ns, const uint64_t calls[XFS_PARTS], unsigned parts)
{
    const uint32_t *each = allowance->record_ns;
    double records = 0, share = (double)passed_ns / 100 * (double)percent;
    if (parts & 1u << XFS_PART_COPIES)
        records += (double)calls[XFS_PART_COPIES] *
                       ((double)each[XFS_COST_TO_DEVICE] + (double)each[XFS_COST_TO_HOST]) / 2 +
                   (double)calls[XFS_PART_KERNELS] * (double)each[XFS_COST_LAUNCH];
    if (parts & 1u << XFS_PART_KERNELS)
        records += (double)calls[XFS_PART_KERNELS] * (double)each[XFS_COST_KERNEL];
    return records <= share / LEAST_SHARE || (double)hooks_ns + records <= share;
}

/* ---- the allowance --------------------------------------------------------------------------- */

void xfs_allowance_start(struct xfs_allowance *allowance, unsigned percent, uint64_t now_ns,
                         uint64_t hooks_ns, uint64_t launches)
{
    allowance->launches_then = launches;
    allowance->bounded = percent > 0;
    allowance->of_second_ns = (uint64_t)percent * 10000000u;
    allowance->left_ns = (int64_t)allowance->of_second_ns;
    allowance->then_ns = now_ns;
    allowance->hooks_then_ns = hooks_ns;
}

void xfs_allowance_record(struct xfs_allowance *allowance, const struct xft_event *record)
{
    enum xfs_record_cost cost = cost_of(record);
    enum xfs_part part = part_of(cost);
    allowance->records[part]++;
    if (!allowance->off[part])
        allowance->new_ns[part] += allowance->record_ns[cost];
}

static void earn(struct xfs_allowance *allowance, uint64_t now_ns)
{
    const uint64_t second_ns = 1000000000u;
    uint64_t passed_ns = now_ns > allowance->then_ns ? now_ns - allowance->then_ns : 0;
    allowance->then_ns = now_ns;
    double earned = (double)passed_ns / (double)second_ns * (double)allowance->of_second_ns;
    double left = (double)allowance->left_ns + earned;
    allowance->left_ns =
        left < (double)allowance->of_second_ns ? (int64_t)left : (int64_t)allowance->of_second_ns;
    if (allowance->left_ns == (int64_t)allowance->of_second_ns)
        memset(allowance->spent_ns, 0, sizeof allowance->spent_ns);
}

static void spend(struct xfs_allowance *allowance, uint64_t hooks_ns)
{
    if (hooks_ns > allowance->hooks_then_ns)
        allowance->left_ns -= (int64_t)(hooks_ns - allowance->hooks_then_ns);
    allowance->hooks_then_ns = hooks_ns;
    for (size_t i = 0; i < XFS_PARTS; i++) {
        allowance->left_ns -= (int64_t)allowance->new_ns[i];
        allowance->spent_ns[i] += allowance->new_ns[i];
        allowance->new_ns[i] = 0;
    }
    if (allowance->left_ns < -(int64_t)allowance->of_second_ns) /* what is gone is gone */
        allowance->left_ns = -(int64_t)allowance->of_second_ns;
}

static void charge_launches(struct xfs_allowance *allowance, uint64_t launches)
{
    bool kernels = allowance->records[XFS_PART_KERNELS] > 0 && !allowance->off[XFS_PART_KERNELS];
    enum xfs_part part = kernels ? XFS_PART_KERNELS : XFS_PART_COPIES;
    if (!allowance->off[part] && launches > allowance->launches_then)
        allowance->new_ns[part] +=
            (launches - allowance->launches_then) * allowance->record_ns[XFS_COST_LAUNCH];
    allowance->launches_then = launches;
}

enum xfs_part xfs_allowance_look(struct xfs_allowance *allowance, uint64_t now_ns,
                                 uint64_t hooks_ns, uint64_t launches)
{
    enum xfs_part most = XFS_PARTS;
    if (!allowance->bounded)
        return XFS_PARTS;
    charge_launches(allowance, launches);
    earn(allowance, now_ns);
    spend(allowance, hooks_ns);
    for (size_t i = 0; allowance->left_ns < 0 && i < XFS_PARTS; i++)
        if (!allowance->off[i] && allowance->spent_ns[i] > allowance->of_second_ns / LEAST_SHARE &&
            (most == XFS_PARTS || allowance->spent_ns[i] > allowance->spent_ns[most]))
            most = (enum xfs_part)i;
    return most;
}

/* Half of it is back, so that the other parts are judged by what they cost themselves. */
void xfs_allowance_gave_way(struct xfs_allowance *allowance, enum xfs_part part)
{
    allowance->off[part] = true;
    memset(allowance->spent_ns, 0, sizeof allowance->spent_ns);
    memset(allowance->new_ns, 0, sizeof allowance->new_ns);
    allowance->left_ns = (int64_t)(allowance->of_second_ns / 2);
}

/* ---- which calls are timed ------------------------------------------------------------------- */

#define CLASSES 256 /* a power of two */

static struct {
    _Atomic uint64_t key;
    _Atomic uint32_t seen, next;
} __attribute__((aligned(64))) classes[CLASSES];

static uint64_t mix(uint64_t n)
{
    n *= UINT64_C(0x9e3779b97f4a7c15);
    return n ^ n >> 32;
}

static uint32_t gap(uint32_t seen)
{
    return seen < XFS_SAMPLE_FIRST ? 1 : 1 + seen / 12 + (uint32_t)(mix(seen) % (1 + seen / 12));
}

bool xfs_sample_takes(uint16_t call, uintptr_t returns_to)
{
    uint64_t key = mix(returns_to ^ (uint64_t)call << 48) | 1;
    size_t at = (size_t)(key >> 8) % CLASSES;
    uint64_t found = atomic_load_explicit(&classes[at].key, memory_order_relaxed);
    for (int i = 0; i < 4 && found != key && found != 0; i++) {
        at = (at + 1) % CLASSES;
        found = atomic_load_explicit(&classes[at].key, memory_order_relaxed);
    }
    if (found == 0)
        atomic_store_explicit(&classes[at].key, key, memory_order_relaxed);
    uint32_t seen = atomic_load_explicit(&classes[at].seen, memory_order_relaxed) + 1;
    atomic_store_explicit(&classes[at].seen, seen, memory_order_relaxed);
    if (seen < atomic_load_explicit(&classes[at].next, memory_order_relaxed))
        return false;
    atomic_store_explicit(&classes[at].next, seen + gap(seen), memory_order_relaxed);
    return true;
}
