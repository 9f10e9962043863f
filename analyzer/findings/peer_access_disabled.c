/*
 * peer-access-disabled: copies between two GPUs that went through the host because peer access was
 * not enabled. Lost: achieved time minus that of a copy of the same size with peer access.
 *
 * Only GPUs between which the profile of this machine has such copies: others cannot have peer
 * access, or it is not known. Memory may be shared without the calls that enable peer access
 * (pools, cuMemSetAccess, IPC); then the device reports one copy, not two (class.h). So copies
 * without device times are left out. Copies of rows and batches are left out too: what they would
 * take with peer access was not measured.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The profile's name for copies that were measured with peer access (docs/profile-format.md). */
#define WITH_PEER_ACCESS "copy/peer/"

static bool is_without(const struct xfa_class *class)
{
    return class->key.peer == XFA_PEER_OFF && class->key.shape == XFA_LINEAR &&
           class->achievable.path_count == 1 &&
           strncmp(class->achievable.paths[0]->name, WITH_PEER_ACCESS,
                   sizeof WITH_PEER_ACCESS - 1) == 0;
}

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    const struct xfa_class *class = NULL;
    struct xfa_figures without = {0};
    if (analysis->achievable.match == XFA_MATCH_NO)
        return false; /* another machine's GPUs */
    while ((class = xfa_row_class(&analysis->classes, what, class)))
        if (is_without(class))
            xfa_figures_merge(&without, xfa_rows_class(&analysis->of_classes, class->number));
    xfa_gain_of(gain, &without);
    if (isnan(gain->lost_ns))
        return false;
    gain->reckoning = XFA_RECKONED_PEER_ACCESS;
    gain->remedy = xfa_remedy_for(what, XFA_REMEDY_PEER_ACCESS);
    return true;
}

/* Without peer access, between the same two; NULL: not measured. */
static const struct xfp_path *path_without(const struct xfa_analysis *analysis,
                                           const struct xfp_path *with)
{
    char name[100];
    snprintf(name, sizeof name, "copy/no-peer/%s", with->name + sizeof WITH_PEER_ACCESS - 1);
    for (size_t i = 0; i < analysis->profile->path_count; i++)
        if (strcmp(analysis->profile->paths[i].name, name) == 0)
            return &analysis->profile->paths[i];
    return NULL;
}

static bool with_access(const struct xfa_analysis *analysis, const struct xfa_class *class,
                        const void *self, struct xfw_new_path *path)
{
    if (!is_without(class))
        return false;
    path->to = class->achievable.paths[0];
    path->from = path_without(analysis, path->to);
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    return xfa_other_path_change(analysis, finding, with_access, NULL,
                                 &(struct xfw_times_terms){0});
}

const struct xfa_finding_kind xfa_kind_peer_access = {.look = look, .change = change};
