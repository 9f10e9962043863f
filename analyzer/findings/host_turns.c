/*
 * host-device-turns: the host works on what it copies from the GPU again and again, and the GPU
 * waits for that. Whether the GPU could do that work itself, or nobody reads the copies, no record
 * shows: a question, and nothing is saved unless it is answered. Lost: not known.
 *
 * What is copied in small pieces is another kind's (frequent-readback): a program decides by it.
 *
 * The other way, the host makes what it copies to the GPU while that waits. If it converts what is
 * less (bytes to floats), the GPU could do that: a question, too. If it takes longer for it, it may
 * make it of little or nothing (random numbers, indices, a formula), as the GPU could: another one.
 */
#include "analyzer/findings/finding.h"

#include "analyzer/whatif/changes/changes.h"

#define LEAST_TIMES 8      /* else they are results */
#define LEAST_BYTES 65536u /* of a copy, on average */

static bool is_again(const struct xfa_row *row, const struct xfa_figures *figures)
{
    return (row->key.direction == XFT_DIR_D2H || row->key.direction == XFT_DIR_H2D) &&
           figures->transfers >= LEAST_TIMES && figures->bytes / LEAST_BYTES >= figures->transfers;
}

static void add(const struct xfa_row *row, const struct xfa_figures *figures,
                enum xfa_remedy_kind kind, const char *question, struct xfa_findings *findings)
{
    const struct xfa_finding like = {
        .id = XFA_FINDING_HOST_TURNS,
        .remedy = xfa_remedy_for(row, kind),
        .assumed = "the GPU needs no time for it that counts",
        .question = question,
    };
    const struct xfa_finding_site site = xfa_finding_site_of_row(row, figures, XFA_RECKONED_TURNS);
    xfa_findings_add_site(findings, &like, &site);
}

/* On trial, since without a replay it says nothing. */
static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    (void)sums;
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        const struct xfa_figures *figures = &analysis->rows[i];
        if (!is_again(row, figures))
            continue;
        if (row->key.direction == XFT_DIR_D2H) {
            add(row, figures, XFA_REMEDY_ON_DEVICE,
                "the GPU can do the host's work on what {site} brings", findings);
            continue;
        }
        add(row, figures, XFA_REMEDY_ON_DEVICE,
            "the host only converts what {site} sends, and the GPU can do that", findings);
        add(row, figures, XFA_REMEDY_MAKE_THERE,
            "the host makes what {site} sends of little or nothing (random numbers, indices, a "
            "formula), and the GPU can do that",
            findings);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums;
    struct xfw_set classes = xfa_finding_classes(analysis, finding);
    if (finding->remedy.kind == XFA_REMEDY_MAKE_THERE)
        return xfw_change_host_makes(analysis, &classes);
    return finding->remedy.to_host ? xfw_change_host_turns(analysis, &classes)
                                   : xfw_change_host_converts(analysis, &classes);
}

const struct xfa_finding_kind xfa_kind_host_turns = {.try = try, .change = change};
