/*
 * A change: what a program fetches and sends element by element, by turns, it fetches at once and
 * sends at once.
 *
 * Of each run the first copy to the host from a area (areas.h) brings all of it; what more
 * it takes is added at the run's last piece. The host works on its copy, and sends each area
 * that it has written to there, with one copy; of a area that it has written to in part, and
 * has not fetched from, all of it is fetched first. All other pieces go, and what the host waited
 * for behind them.
 *
 * The time between two calls is a framework's as well as the program's: where it is short, what is
 * left of it is as likely a turn of a loop; at best nothing, at worst all of it. The copies on the
 * host cost what packing does (pack.h).
 */
#ifndef XFW_ELEMENTS_H
#define XFW_ELEMENTS_H

#include "analyzer/whatif/changes/changes.h"

/* Transfers in runs: all but the last, and the last. */
struct xfw_element_runs {
    struct xfw_marks pieces, lasts;
};
void xfw_element_runs_free(struct xfw_element_runs *runs);

/* runs: borrowed; rows: numbers of rows. */
struct xfw_change *xfw_change_elements(const struct xfa_analysis *analysis,
                                       const struct xfw_element_runs *runs, struct xfw_set *rows);

#endif
