/*
 * narrow-rows: copies between a GPU and the host whose rows are not contiguous (2D, 3D), and so
 * short that they take longer than one contiguous copy of as many bytes from or to the same kind of
 * memory. Lost: achieved time minus the time of that contiguous copy, per transfer.
 */
#include "analyzer/findings/finding.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

/* The profile's contiguous copies from or to the same memory; NULL: not a class of such rows. */
static const struct xfp_path *contiguous(const struct xfa_analysis *analysis,
                                         const struct xfa_class *class)
{
    const struct xfa_class_key *key = &class->key;
    struct xfa_host_side host;
    if (!xfa_host_side_of(key, &host) || key->shape != XFA_STRIDED)
        return NULL;
    return xfw_host_path(&analysis->achievable, (enum xft_direction)key->row.direction, host.memory,
                         host.node, host.gpu);
}

/* Time of contiguous copies of as many bytes, for classes of pageable memory: the achievable
 * figures of those are of page-locked copies. */
static double contiguous_ns(const struct xfp_path *path, const struct xfa_figures *figures)
{
    uint64_t each = figures->transfers ? figures->bytes / figures->transfers : 0;
    struct xfw_copy_cost cost = xfw_copy_cost(path, each, XFW_LIKELY);
    return cost.known ? (double)figures->transfers * cost.blocking_ns : NAN;
}

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    const struct xfa_class *class = NULL;
    struct xfa_figures narrow = {0};
    double pageable_ns = 0;
    while ((class = xfa_row_class(&analysis->classes, what, class))) {
        const struct xfp_path *path = contiguous(analysis, class);
        const struct xfa_figures *figures = xfa_rows_class(&analysis->of_classes, class->number);
        if (!path)
            continue;
        xfa_figures_merge(&narrow, figures);
        pageable_ns += contiguous_ns(path, figures);
    }
    if (narrow.transfers == 0)
        return false;
    xfa_gain_of(gain, &narrow);
    if (xfa_row_pageable(&what->key)) {
        gain->achievable_ns = pageable_ns;
        gain->lost_ns = fmax(0, gain->achieved_ns - pageable_ns);
    }
    if (isnan(gain->lost_ns) || isnan(gain->achievable_ns))
        return false;
    gain->reckoning = XFA_RECKONED_CONTIGUOUS;
    gain->assumed = "the program can keep these rows contiguous on both sides";
    gain->remedy = xfa_remedy_for(what, XFA_REMEDY_CONTIGUOUS);
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    struct xfw_contiguous_path *paths = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < finding->site_count; i++) {
        const struct xfa_class *class = NULL;
        while ((class = xfa_row_class(&analysis->classes, finding->sites[i].row, class))) {
            const struct xfp_path *path = contiguous(analysis, class);
            if (!path)
                continue;
            paths = xfa_room(paths, &capacity, count + 1, sizeof *paths);
            paths[count++] =
                (struct xfw_contiguous_path){class->number, path, xfa_row_pageable(&class->key.row),
                                             class->key.row.direction == XFT_DIR_D2H};
        }
    }
    return count ? xfw_change_contiguous(analysis, paths, count) : NULL;
}

const struct xfa_finding_kind xfa_kind_narrow = {.look = look, .change = change};
