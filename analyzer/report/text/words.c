/* The section "Words": the terms that the other sections of the full report use. */
#include "analyzer/report/savings.h"
#include "analyzer/report/text/text.h"

static void write_word(const struct xfa_view *view, FILE *out, const char *word, const char *means)
{
    xfa_write_fact(out, view->width, word, "%s", means);
}

void xfa_write_words_of(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    xfa_write_title(view, out, "Words (docs/glossary.md has them all)");
    write_word(view, out, "saves",
               "by how much the run would be shorter with that change alone; between the worst and "
               "the best case of what is not known");
    if (xfa_savings_known(report->findings)) {
        write_word(view, out, "best set",
                   "the changes that together save the most; of two that exclude each other one");
        write_word(view, out, "replayed",
                   "computed again from the recorded calls and what waited for what; replayed "
                   "unchanged, the run should take what was recorded: how far it is off is the "
                   "error of the model");
        write_word(view, out, "recording",
                   "times without what recording cost are those of the program alone, without the "
                   "time that the recorder added to its calls");
    }
    write_word(view, out, "lost",
               "time beyond what this machine reaches by its profile; not all of it can be saved, "
               "as other work may hide it");
    write_word(view, out, "Lo + k G",
               "the modelled time of a transfer of k bytes: a fixed cost Lo, and G for each byte");
    write_word(view, out, "units", "sizes in powers of 1024 (KiB, MiB, GiB), GB/s in 10^9 bytes/s");
}
