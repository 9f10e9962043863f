/*
 * degraded-link: copies between the host and a GPU whose PCIe link is slow. One of three things
 * shows it:
 * - the profile's machine: the link runs at a lower generation or with fewer lanes than GPU and
 *   slot can;
 * - the profile's copies: the largest ones in that direction take longer than those of another GPU
 *   of the same name with the same lanes, each from its best node;
 * - the run: nearly all of its large copies take longer than the profile's over the same path.
 *
 * Lost: the part of the copies' time on the device that the full rate would save. Copies of
 * pageable memory are left out: the CPU makes them.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

#define LEAST_FACTOR 1.1
/* factor between two GPUs' copies: equal GPUs differ by a few per cent */
#define LEAST_BEHIND 1.25

/* GB/s of one lane, by generation (PCI-SIG), without the line's encoding. */
static double lane_gbps(int gen)
{
    static const double rates[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    const int known = sizeof rates / sizeof *rates;
    return gen > 0 && gen < known ? rates[gen] : 0;
}

/* How many times faster the link could be, by its lanes and generation. */
static double by_rate(const struct xfp_gpu *gpu)
{
    double is = lane_gbps(gpu->pcie_gen) * gpu->pcie_width;
    double can = lane_gbps(gpu->pcie_max_gen) * gpu->pcie_max_width;
    return is > 0 && can >= LEAST_FACTOR * is ? can / is : 1;
}

/* ---- beside its equals ----------------------------------------------------------------------- */

static bool are_equal(const struct xfp_gpu *a, const struct xfp_gpu *b)
{
    return a->name && b->name && strcmp(a->name, b->name) == 0 &&
           a->pcie_max_gen == b->pcie_max_gen && a->pcie_max_width == b->pcie_max_width;
}

/* Copies of page-locked memory, from the best node, or to it. */
static struct xfp_estimate copy_of(const struct xfp_profile *profile, int gpu, bool up,
                                   uint64_t bytes)
{
    struct xfp_estimate best = {.basis = XFP_UNKNOWN};
    for (int node = -1; node < profile->machine.numa_nodes; node++) {
        const struct xfp_place host = {XFT_MEM_PINNED, -1, node}, there = {XFT_MEM_DEVICE, gpu, -1};
        const struct xfp_path *path =
            xfp_find(profile, XFP_COPY, up ? host : there, up ? there : host, false);
        struct xfp_estimate time = {.basis = XFP_UNKNOWN};
        if (path && path->point_count && path->points[path->point_count - 1].bytes >= bytes)
            time = xfp_time(path, bytes);
        if (time.basis != XFP_UNKNOWN && (best.basis == XFP_UNKNOWN || time.ns < best.ns))
            best = time;
    }
    return best;
}

static double by_equals(const struct xfp_profile *profile, int gpu, bool up)
{
    const struct xfp_machine *machine = &profile->machine;
    const uint64_t bytes = 16 << 20; /* so large that the fixed cost of a copy does not count */
    struct xfp_estimate own = copy_of(profile, gpu, up, bytes);
    double factor = 1;
    for (size_t i = 0; i < machine->gpu_count && own.basis != XFP_UNKNOWN; i++) {
        if ((int)i == gpu || !are_equal(&machine->gpus[i], &machine->gpus[gpu]))
            continue;
        struct xfp_estimate other = copy_of(profile, (int)i, up, bytes);
        if (other.basis != XFP_UNKNOWN &&
            own.ns * (1 - own.error) >= LEAST_BEHIND * other.ns * (1 + other.error))
            factor = fmax(factor, own.ns / other.ns);
    }
    return factor;
}

/* How many times faster the link of a GPU of the run could be, to the device (up) or from it, by
 * the profile alone; 1: no faster, or not known. */
static double factor_of(const struct xfa_analysis *analysis, int gpu, bool up)
{
    const struct xfp_machine *machine = &analysis->profile->machine;
    int number = xfa_achievable_gpu(&analysis->achievable, gpu);
    if (number < 0 || (size_t)number >= machine->gpu_count)
        return 1;
    return fmax(by_rate(&machine->gpus[number]), by_equals(analysis->profile, number, up));
}

/* ---- beside its own figure ------------------------------------------------------------------- */

/*
 * A copy may take longer for many reasons: the other direction is busy, or the host's memory. Over
 * a slow link even the fastest copies are slow. So the fastest tenth of all large copies is
 * compared with the profile's copies while the other direction is busy. Runs in which several GPUs
 * copy are left out, since these may share a link.
 */

#define LARGE ((uint64_t)16 << 20)
#define FEWEST 20 /* large copies */
/* than the profile's; at 36 sites of runs on two H200s it was 1.08 at most */
#define LEAST_SLOWER 1.3
#define NEARLY_ALL 0.95 /* of the bytes that the run copies with the host */
#define BIN_RATIO 1.02  /* between the slowness of two neighbouring bins */
enum { BINS = 200, DIRECTIONS = 2 };

struct slow {
    struct direction {
        uint64_t count, bins[BINS]; /* large copies; the same by how much longer they took than by
                                       the profile */
    } directions[XFW_GPUS][DIRECTIONS];
    uint64_t bytes[XFW_GPUS], all_bytes;
};

static void transfer(void *self, const struct xfa_event *event)
{
    struct slow *slow = self;
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_class_key *key = &transfer->class->key;
    struct xfa_host_side host;
    uint64_t bytes = event->bytes;
    if (!xfa_host_side_of(key, &host) || host.gpu < 0 || host.gpu >= XFW_GPUS)
        return;
    slow->bytes[host.gpu] = xfa_add(slow->bytes[host.gpu], bytes);
    slow->all_bytes = xfa_add(slow->all_bytes, bytes);
    if (bytes < LARGE || host.memory == XFT_MEM_PAGEABLE || host.memory == XFT_MEM_MANAGED ||
        key->shape != XFA_LINEAR || transfer->timed != XFA_TIMED_DEVICE ||
        transfer->achievable.basis == XFP_UNKNOWN || !(transfer->achievable.ns > 0))
        return;
    double times = transfer->achieved_ns / transfer->achievable.ns;
    double bin = times > 1 ? log(times) / log(BIN_RATIO) : 0;
    struct direction *direction = &slow->directions[host.gpu][host.to_device];
    direction->count++;
    direction->bins[bin < BINS - 1 ? (size_t)bin : BINS - 1]++;
}

static struct xfa_observer observe(void *self)
{
    return (struct xfa_observer){
        .name = "slow links", .self = self, .aside = true, .shared = true, .transfer = transfer};
}

/* As many numbers as it has: bytes, and then how many large copies took how much longer. */
static void give(const void *self, struct xfa_parcel *parcel)
{
    xfa_parcel_put(parcel, self, sizeof(struct slow));
}

static void take_direction(struct direction *direction, const struct direction *more)
{
    direction->count += more->count;
    for (size_t i = 0; i < BINS; i++)
        direction->bins[i] += more->bins[i];
}

static void take(void *self, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct slow *slow = self, *more = xfa_alloc(sizeof *more);
    xfa_unpack_bytes(from, more, sizeof *more);
    for (size_t gpu = 0; gpu < XFW_GPUS; gpu++) {
        slow->bytes[gpu] = xfa_add(slow->bytes[gpu], more->bytes[gpu]);
        for (size_t up = 0; up < DIRECTIONS; up++)
            take_direction(&slow->directions[gpu][up], &more->directions[gpu][up]);
    }
    slow->all_bytes = xfa_add(slow->all_bytes, more->all_bytes);
    free(more);
}

/* How many times longer a large copy takes, by the profile, while the other direction is busy. */
static double both_ways(const struct xfp_profile *profile, int gpu, bool up)
{
    const struct xfp_place host = {XFT_MEM_PINNED, -1, -1}, there = {XFT_MEM_DEVICE, gpu, -1};
    const struct xfp_place src = up ? host : there, dst = up ? there : host;
    const struct xfp_path *alone = xfp_find(profile, XFP_COPY, src, dst, false);
    const struct xfp_path *loaded = xfp_find_loaded(profile, XFP_COPY, src, dst, XFP_BOTH_WAYS);
    if (!alone || !loaded)
        return 1;
    struct xfp_estimate one = xfp_time(alone, LARGE), both = xfp_time(loaded, LARGE);
    bool known = one.basis != XFP_UNKNOWN && both.basis != XFP_UNKNOWN && one.ns > 0;
    return known ? fmax(1, both.ns / one.ns) : 1;
}

/* How many times longer than the profile says even the fastest tenth took; 1: no longer, or not
 * known. */
static double by_own_figure(const struct xfa_analysis *analysis, const struct slow *slow, int gpu,
                            bool up)
{
    if (gpu < 0 || gpu >= XFW_GPUS ||
        (double)slow->bytes[gpu] < NEARLY_ALL * (double)slow->all_bytes)
        return 1;
    const struct direction *direction = &slow->directions[gpu][up],
                           *other = &slow->directions[gpu][!up];
    uint64_t before = 0;
    size_t bin = 0;
    while (bin < BINS - 1 && (before += direction->bins[bin]) * 10 <= direction->count)
        bin++;
    double times = pow(BIN_RATIO, (double)bin);
    if (other->count)
        times /= both_ways(analysis->profile, xfa_achievable_gpu(&analysis->achievable, gpu), up);
    return direction->count >= FEWEST && times >= LEAST_SLOWER ? times : 1;
}

/* ---- the finding ----------------------------------------------------------------------------- */

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    const struct xfa_row_key *key = &what->key;
    bool up = key->direction == XFT_DIR_H2D, down = key->direction == XFT_DIR_D2H;
    int gpu = up ? key->dst_gpu : key->src_gpu;
    if (!analysis->profile || analysis->achievable.match == XFA_MATCH_NO || (!up && !down) ||
        xfa_row_pageable(key))
        return false;
    double factor = factor_of(analysis, gpu, up);
    bool known = factor > 1; /* by the profile alone */
    if (!known)
        factor = by_own_figure(analysis, sums, gpu, up);
    const struct xfa_figures *figures = &analysis->rows[row];
    if (!(factor > 1) || figures->device.transfers == 0)
        return false;
    xfa_gain_of(gain, figures);
    gain->transfers = figures->device.transfers;
    gain->bytes = figures->device.bytes;
    gain->achieved_ns = figures->device.ns;
    gain->achievable_ns = figures->device.ns / factor;
    gain->lost_ns = gain->achieved_ns - gain->achievable_ns;
    gain->error = NAN;
    gain->achieved_basis = XFA_BASIS_DEVICE;
    gain->achievable_basis = XFA_BASIS_MODELLED;
    gain->reckoning = known ? XFA_RECKONED_FULL_LINK : XFA_RECKONED_OWN_FIGURE;
    gain->remedy = xfa_remedy_for(what, known ? XFA_REMEDY_MEND_LINK : XFA_REMEDY_CHECK_LINK);
    gain->remedy.to_host = false; /* one thing to do */
    gain->assumed = known ? "the host's memory keeps up with the link"
                          : "nothing else slows the link or the host's memory down: other "
                            "programs, kernels that use mapped memory, threads";
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    size_t count = analysis->run->gpu_count;
    struct xfw_link_factors *factors = xfa_alloc((count + 1) * sizeof *factors);
    bool known = finding->remedy.kind == XFA_REMEDY_MEND_LINK;
    for (int i = 0; i < (int)count; i++) {
        for (int up = 0; up < DIRECTIONS; up++) {
            double by_profile = factor_of(analysis, i, up);
            double by_run = by_profile > 1 ? 1 : by_own_figure(analysis, sums, i, up);
            *(up ? &factors[i].to_device : &factors[i].to_host) = known ? by_profile : by_run;
        }
    }
    struct xfw_change *change = xfw_change_link(analysis, factors, count, known);
    free(factors);
    return change;
}

const struct xfa_finding_kind xfa_kind_degraded_link = {
    .look = look,
    .change = change,
    .self_bytes = sizeof(struct slow),
    .observe = observe,
    .give = give,
    .take = take,
};
