/*
 * A comparison in words, for all formats. The caller frees the texts; names of the program are in
 * them as recorded, and have to be made safe to print.
 */
#ifndef XFA_COMPARED_H
#define XFA_COMPARED_H

#include "analyzer/compare/compare.h"

const char *xfa_verdict_word(enum xfa_verdict verdict); /* of times: "slower" */
const char *xfa_measure_word(enum xfa_measure measure);
const char *xfa_stands_word(enum xfa_stands stands);
const char *xfa_predicted_word(enum xfa_predicted predicted);

/* "-49.7 %", "+3.2 %"; from ten times on "x 12"; "-" = not known. */
char *xfa_part_text(const struct xfa_change *change);
/* "-56 ms to -53 ms"; "-" where noise is not known from repetitions. */
char *xfa_interval_text(const struct xfa_change *change);

/* What was compared, and what counts as noise. */
char *xfa_runs_text(const struct xfa_side *side); /* the paths */
char *xfa_noise_text(const struct xfa_comparison *comparison);

/* The payoff that tells most: of a phase that has at least half of what was predicted for the run,
 * as the headline of a report does (headline.h); else that of the run. NULL: there is none. */
const struct xfa_payoff *xfa_main_payoff(const struct xfa_comparison *comparison);
/* How that phase changed: "phase train faster: 234 ms before, 114 ms after (-51.2 %)"; NULL: it is
 * of the run. */
char *xfa_phase_verdict_text(const struct xfa_comparison *comparison);
/* In one line: how that phase changed, and the run. */
char *xfa_compared_headline_text(const struct xfa_comparison *comparison);

/* A sentence each: how the run changed; what became of the advice; --fail-on (NULL: not given). */
char *xfa_run_verdict_text(const struct xfa_comparison *comparison);
char *xfa_advice_verdict_text(const struct xfa_comparison *comparison);
char *xfa_limit_text(const struct xfa_comparison *comparison);

/* One line for people who followed advice: "promised 98.0 ms, got 128 ms: within 68.0 ms to 155 ms
 * (209 ms -> 81.0 ms)", or what else is true: nothing was followed, or it is slower. */
char *xfa_promise_text(const struct xfa_comparison *comparison);

/* A measure's name in a table; static. */
const char *xfa_measure_text(enum xfa_measure measure);
/* "predicted 52 ms [45 ms, 59 ms], achieved 55 ms: within". */
char *xfa_payoff_text(const struct xfa_payoff *payoff);
/* "pageable-host-memory at main (before.cu:23): was predicted to save 52 ms [45 ms, 59 ms]". */
char *xfa_compared_finding_text(const struct xfa_compared_finding *finding);

/* A row of transfers. "main (after.cu:23), was before.cu:20"; "H2D pinned, was H2D pageable";
 * "328, was 41"; "faster", "gone". one: there is one GPU only. */
char *xfa_compared_site_text(const struct xfa_compared_row *row);
char *xfa_compared_call_text(const struct xfa_compared_row *row);
char *xfa_compared_path_text(const struct xfa_compared_row *row, bool one);
char *xfa_compared_count_text(const struct xfa_compared_row *row);
const char *xfa_compared_row_word(const struct xfa_compared_row *row);

/* All rows are of GPU 0. */
bool xfa_compared_one_gpu(const struct xfa_comparison *comparison);
/* Rows of both sides; of these, on another line, in another file; rows of one side. */
struct xfa_compared_counts {
    size_t both, moved, other_file, gone, new;
};
struct xfa_compared_counts xfa_compared_counts(const struct xfa_comparison *comparison);

#endif
