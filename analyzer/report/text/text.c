/* The report for people: the answer first, what it rests on behind it. */
#include "analyzer/report/text/text.h"

static void write_text(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    if (report->analysis->simulated)
        xfa_write_paragraph(out, "",
                            "SIMULATED GPU: the figures show how xferscope works, not what a GPU "
                            "does.\n",
                            view->width);
    xfa_write_answer(report, view, out);
    xfa_write_findings(report, view, out);
    xfa_write_transfers(report, view, out);
    xfa_write_phases(report, view, out);
    xfa_write_managed(report, view, out);
    xfa_write_waits(report, view, out);
    xfa_write_ranks(report, view, out);
    xfa_write_run(report, view, out);
    xfa_write_machine(report, view, out);
}

const struct xfa_format xfa_format_text = {
    .name = "text", .write = write_text, .per_transfer = &xfa_per_transfer_text};
