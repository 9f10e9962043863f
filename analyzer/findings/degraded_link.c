/*
 * degraded-link: copies between host and a GPU whose PCIe link, by the profile, runs at a lower
 * generation or with fewer lanes than GPU and slot can. Lost: of the copies' time on the device as
 * much as they would take less at the full rate. Copies of pageable memory are left out: the
 * processor makes them.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/link.h"

#define LEAST_FACTOR 1.1

/* Of one lane, by generation, as PCI-SIG has it, in GB/s less the line's code. */
static double lane_gbps(int gen)
{
    static const double rates[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    const int known = sizeof rates / sizeof *rates;
    return gen > 0 && gen < known ? rates[gen] : 0;
}

/* How many times faster the link of a GPU of the run could be; 1: no faster, or not known. */
static double factor_of(const struct xfa_analysis *analysis, int gpu)
{
    const struct xfp_machine *machine = &analysis->profile->machine;
    int number = xfa_achievable_gpu(&analysis->achievable, gpu);
    if (number < 0 || (size_t)number >= machine->gpu_count)
        return 1;
    const struct xfp_gpu *known = &machine->gpus[number];
    double is = lane_gbps(known->pcie_gen) * known->pcie_width;
    double can = lane_gbps(known->pcie_max_gen) * known->pcie_max_width;
    return is > 0 && can >= LEAST_FACTOR * is ? can / is : 1;
}

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    const struct xfa_row_key *key = &what->key;
    bool up = key->direction == XFT_DIR_H2D, down = key->direction == XFT_DIR_D2H;
    (void)sums;
    if (!analysis->profile || analysis->achievable.match == XFA_MATCH_NO || (!up && !down) ||
        key->src_mem == XFT_MEM_PAGEABLE || key->dst_mem == XFT_MEM_PAGEABLE)
        return false;
    double factor = factor_of(analysis, up ? key->dst_gpu : key->src_gpu);
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
    gain->reckoning = XFA_RECKONED_FULL_LINK;
    gain->remedy = xfa_remedy_for(what, XFA_REMEDY_MEND_LINK);
    gain->remedy.to_host = false; /* one thing to do */
    gain->assumed = "the host's memory keeps up with the link";
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    size_t count = analysis->run->gpu_count;
    double *factors = xfa_alloc((count + 1) * sizeof *factors);
    (void)sums;
    (void)finding;
    for (size_t i = 0; i < count; i++)
        factors[i] = factor_of(analysis, (int)i);
    struct xfw_change *change = xfw_change_link(analysis, factors, count);
    free(factors);
    return change;
}

const struct xfa_finding_kind xfa_kind_degraded_link = {.look = look, .change = change};
