/*
 * serial-host-work: a thread works on what it copies from the GPU again and again before it goes
 * on. Another thread could do that while this one, and the GPU, go on: unless what follows needs
 * what the work finds, which no record shows. A question, and nothing is saved unless it is
 * answered. Lost: not known.
 *
 * That the GPU does the work is asked by host_turns.c, for the same copies.
 */
#include "analyzer/findings/host_turns.h"

#include "analyzer/whatif/changes/changes.h"

/* On trial, since without a replay it says nothing. */
static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        const struct xfa_figures *figures = &analysis->rows[i];
        if (row->key.direction != XFT_DIR_D2H || !xfa_is_turn(sums, row, figures))
            continue;
        const struct xfa_finding like = {
            .id = XFA_FINDING_SERIAL_WORK,
            .by_function = true, /* one piece of the host's work each */
            .remedy = xfa_remedy_for(row, XFA_REMEDY_WORK_BESIDE),
            .assumed = "a processor is free for another thread, and what follows does not need "
                       "what the work finds",
            .question = "what follows does not need the host's work on what {site} brings, so "
                        "that another thread can do it meanwhile",
        };
        const struct xfa_finding_site site =
            xfa_finding_site_of_row(row, figures, XFA_RECKONED_TURNS);
        xfa_findings_add_site(findings, &like, &site);
    }
}

static bool send_nothing(const void *sums, const struct xfa_finding *finding)
{
    for (size_t i = 0; i < finding->site_count; i++)
        if (!xfa_turn_sends_nothing(sums, finding->sites[i].row))
            return false;
    return true;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    struct xfw_set classes = xfa_finding_classes(analysis, finding);
    return xfw_change_work_beside(analysis, &classes, xfa_brought_part(analysis, sums),
                                  send_nothing(sums, finding));
}

const struct xfa_finding_kind xfa_kind_serial_work = {
    .try = try,
    .change = change,
    .sums_of = &xfa_kind_host_turns,
};
