/* The report for people: the answer first, then its details. */
#include "analyzer/report/text/text.h"

/* The tables, without those that the filter cannot divide. */
static void write_tables(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_filter *filter = view->filter;
    bool by_kind = filter && filter->kind, by_transfer = filter && (filter->ranks || filter->phase);
    bool by_site = filter && filter->site;
    bool managed = !by_kind ||
                   (filter->kind_of == XFA_FILTER_MEMORY && filter->kind_number == XFT_MEM_MANAGED);
    bool phases = !by_site && !by_kind && !(filter && filter->ranks);
    bool ranks = !by_site && !by_kind && !(filter && filter->phase);
    xfa_write_transfers(report, view, out);
    if (phases)
        xfa_write_phases(report, view, out);
    if (managed && !by_transfer)
        xfa_write_managed(report, view, out);
    if (!by_kind && !by_transfer)
        xfa_write_waits(report, view, out);
    bool messages = !by_kind && !by_transfer;
    if (messages)
        xfa_write_messages(report, view, out);
    if (ranks)
        xfa_write_ranks(report, view, out);
    if (filter)
        xfa_write_words(out, view->width, "\n",
                        "Left out, since the filter cannot divide them:%s%s%s%s%s.",
                        phases ? "" : " phases", managed && !by_transfer ? "" : " managed memory",
                        by_kind || by_transfer ? " waits" : "",
                        messages || report->analysis->messages.calls == 0 ? "" : " messages",
                        ranks ? "" : " ranks");
}

static void write_text(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    if (view->filter && view->filter->nothing) {
        xfa_write_paragraph(out, "", view->filter->nothing, view->width);
        return;
    }
    if (report->analysis->simulated)
        xfa_write_paragraph(out, "", XFA_SIMULATED_TEXT("SIMULATED GPU"), view->width);
    if (report->analysis->contents.host.asked)
        xfa_write_paragraph(out, "", XFA_WATCHED_TEXT, view->width);
    if (report->analysis->contents.verify.asked)
        xfa_write_paragraph(out, "", XFA_VERIFIED_TEXT, view->width);
    xfa_write_answer(report, view, out);
    if (view->brief)
        return;
    xfa_write_findings(report, view, out);
    write_tables(report, view, out);
    xfa_write_run(report, view, out);
    xfa_write_machine(report, view, out);
    xfa_write_words_of(report, view, out);
}

const struct xfa_format xfa_format_text = {.name = "text",
                                           .write = write_text,
                                           .per_transfer = &xfa_per_transfer_text,
                                           .compare = xfa_write_comparison,
                                           .rows = 20,
                                           .shares = true};
