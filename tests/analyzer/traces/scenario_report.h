/*
 * Runs that reach the lines of the report which the recorded ones do not. Their figures differ from
 * each other, so that no order hangs on a tie.
 */
#ifndef SCENARIO_REPORT_H
#define SCENARIO_REPORT_H

#include <stdbool.h>

#include "tests/analyzer/traces/scenario.h"

/*
 * By name, with a variant where there are any:
 *
 *   findings    more sites than a finding shows, every remedy; losses that are not known
 *   contents    whole, sampled, killed, simulated, refused: bytes that had moved before
 *   many-contents  one more than are compared
 *   phases      ranges of threads and of the process; too-deep: more than are distinguished
 *   managed     one-thread, threads, off, refused, crowded: managed memory
 *   gpus        three of them, every direction and kind of memory
 *   process     0 to 7: one of a run of several
 *   rank        0 to 2: one of a run on two hosts, with waits
 *   exchange    0 to 3: one of a run of four ranks on two hosts that send each other messages
 *   nameless    nothing but transfers; nothing: not even these
 *   format      1: the minor version of the file
 *   kinds       an event of each kind
 *   compare     before, after, slow: of one program; before:3 is another run of it
 *   absurd      legal and senseless: times and sizes up to the last number (late, early: the clock
 * of the day, too), or texts, more than an export keeps
 *   ranges      more open ones than exports followed once, nested deeper, ended by another thread
 *   moved-nothing  copies beside such that failed, were captured, or are of no bytes
 *   gate        pinned, pageable: what is copied asynchronously in a range
 *
 * false: there is none of that name. findings and contents are in scenario_findings.c,
 * compare in scenario_compare.c, exchange in scenario_messages.c, absurd in scenario_absurd.c, gate
 * in scenario_gate.c, ranges and moved-nothing in scenario_export.c.
 */
bool scenario_report(struct trace_builder *b, const char *name, const char *variant);

void scenario_findings(struct trace_builder *b, const char *variant);
void scenario_contents(struct trace_builder *b, const char *variant);
void scenario_many_contents(struct trace_builder *b, const char *variant);
void scenario_compare(struct trace_builder *b, const char *variant);
void scenario_absurd(struct trace_builder *b, const char *variant);
void scenario_ranges(struct trace_builder *b, const char *variant);
void scenario_moved_nothing(struct trace_builder *b, const char *variant);
void scenario_polled(struct trace_builder *b, const char *variant);
void scenario_exchange(struct trace_builder *b, const char *variant);
void scenario_gate(struct trace_builder *b, const char *variant);

#endif
