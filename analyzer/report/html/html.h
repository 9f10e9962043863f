/*
 * The report as one page that opens from disk: page/ as the build made it, with two blocks of data
 * in it. The page loads nothing and runs no script but its own (its Content-Security-Policy names
 * that by its hash).
 *
 * `report` is exactly what --format json prints, compact; of a comparison (--compare) too,
 * and `timeline` is null. `timeline` is this, with null for what is
 * not known; keys may be added:
 *
 * versions   the run `as recorded`, and where there is a best set of remedies `as advised`:
 *            name, begin_ns (0), end_ns (of the run), resolution_ns (neighbours within it may be
 *            one slice; 0: none are), tracks
 * tracks     id, label, kind (copies, kernels, exposed, waits, host, migrations; ranges: NVTX,
 *            in the first version alone), gpu, thread, direction, cause, process (place in the
 * report's run.processes) and slices: lists, with an entry for each slice: start   ns after the
 * start of the one before; of the first, after begin_ns dur     ns count   operations in it bytes
 * that they moved busy    their durations added up: more than dur where several ran at once name
 * place in names; -1: none, or several names      of kernels, functions with their call sites
 * shares     ns of the run: compute, hidden, exposed (transfers), waits, host; together the run
 *            (timeline/shares.h). compute and hidden are null when no kernel was recorded:
 *            exposed is all of transfers then. `advised`: the same five, or null
 * focus      what the headline is of: phase (its name), and as `shares` the five while ranges of it
 *            were open, as recorded; null: it is of the run, or of its part with work for a GPU
 * sets       parts of the best set of remedies that were played by themselves (timeline.h):
 *            members (places in the best set), with_s (what the run would take), saved_s, shares
 *            (the five), version (as in versions)
 * untimed    transfers that are in no track, since their time is not known
 * places     host:NODE, host (which node is not known), gpu:NUMBER, gpu; of the second host on
 *            host1:NODE ...: id, label, parent (the place a GPU is attached to), host (its name)
 * links      a, b (places), label, gb_s (what the profile's longest copy from a to b reached)
 * traffic    from, to (places), bytes, count, time_ns (of the transfers of which it is known)
 * curves     what the profile has, for the run's directions and the GPUs that it used: label,
 * direction, memory, node (of the host's memory), gpu, peer, points: [bytes, gb_s, low, high]
 * migrations begin_ns, bin_ns, series: label, bytes of each bin; null: none
 * buffers    most traffic first: kind (of memory), bytes (at one time, at most), allocations,
 *            traffic (bytes), transfers, site
 * buffers_left_out  how many more there are
 */
#ifndef XFA_REPORT_HTML_H
#define XFA_REPORT_HTML_H

#include "analyzer/base/json.h"
#include "analyzer/report/format.h"
#include "analyzer/timeline/timeline.h"

#define XFA_SHOWN_BUFFERS 200
#define XFA_MIGRATION_BINS 256

/* Into a stream that html.c escapes. phase: that the headline is of; NULL: of none. */
void xfa_timeline_write(const struct xfa_timeline *timeline, const char *phase, FILE *out);

/* The parts that are of the machine; the caller owns them. */
json_t *xfa_places_json(const struct xfa_timeline *timeline);
json_t *xfa_links_json(const struct xfa_analysis *analysis);
json_t *xfa_traffic_places_json(const struct xfa_timeline *timeline);
json_t *xfa_curves_json(const struct xfa_timeline *timeline);

/* A stream to `out` in which no text can end a <script> or begin a comment: <, >, & and the line
 * separators of Unicode as JSON's escapes. Close it with fclose(); what cannot be written is an
 * error of `out`. */
FILE *xfa_html_escaping(FILE *out);

#endif
