/* xferscope analyze --gate, --gate-write: docs/gate.md. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/analyze_steps.h"
#include "analyzer/analyzer.h"
#include "analyzer/base/path.h"
#include "common/text.h"

/* The run as far as a gate looks at it: without a profile and without findings. */
struct reading {
    struct xfa_filter filter;
    struct xfa_analysis *analysis;
    const struct xfa_figures *figures; /* by row: those of the phase, or all */
};

static void read_run(struct reading *reading, const struct xfa_analyze_options *options,
                     const char *phase)
{
    reading->filter = (struct xfa_filter){.phase = phase};
    struct xfa_observer observer = xfa_filter_observer(&reading->filter);
    struct xfa_request request = {
        .path = options->traces[0],
        .observers = &observer,
        .observer_count = phase != NULL,
    };
    reading->analysis = xfa_analysis_new(&request);
    reading->filter.analysis = reading->analysis;
    for (size_t i = 0; i < options->trace_count; i++)
        xfa_analysis_add(reading->analysis, options->traces[i], xfa_analyze_complain);
    xfa_analysis_finish(reading->analysis);
    reading->figures = reading->analysis->rows;
}

/* Is there anything to judge? Says why not. */
static bool has_transfers(struct reading *reading)
{
    if (reading->analysis->run->process_count == 0)
        return false;
    xfa_analysis_tell_losses(reading->analysis, xfa_analyze_complain);
    if (!reading->filter.phase)
        return true;
    xfa_filter_finish(&reading->filter, NULL);
    reading->figures = reading->filter.figures;
    if (reading->filter.nothing)
        xfa_analyze_complain(reading->filter.nothing);
    return !reading->filter.nothing;
}

static void end(struct reading *reading)
{
    xfa_filter_free(&reading->filter);
    xfa_analysis_free(reading->analysis);
}

/* ---- --gate-write ---------------------------------------------------------------------------- */

static int write_gate(const struct reading *reading, const struct xfa_analyze_options *options)
{
    struct xfa_output output;
    struct xfa_gate *gate = xfa_gate_of(reading->analysis, reading->figures, options->filter.phase);
    size_t rows = gate->site_count;
    int status = XFA_OUTPUT;
    if (xfa_output_open(&output, options->gate_write) == 0) {
        xfa_gate_write(gate, output.stream);
        if (xfa_output_close(&output) == 0)
            status = reading->analysis->lossy ? XFA_LOSSES : XFA_OK;
    }
    xfa_gate_free(gate);
    if (status != XFA_OUTPUT && output.path)
        xfc_print(stdout,
                  "%s: %zu row%s of transfers, as they are now; edit it, then: "
                  "xferscope analyze RUN --gate %s\n",
                  options->gate_write, rows, rows == 1 ? "" : "s", options->gate_write);
    return status;
}

/* ---- --gate ---------------------------------------------------------------------------------- */

/* Sites of another program match by chance at best. */
static void compare_programs(const struct xfa_gate *gate, const struct xfa_run *run)
{
    const char *program = run->program ? xfa_base_name(run->program) : NULL;
    if (gate->program && program && strcmp(gate->program, program) != 0)
        xfc_print(stderr, "xferscope analyze: the gate is of %s, the run of %s\n", gate->program,
                  program);
}

static int judge(const struct reading *reading, const struct xfa_analyze_options *options,
                 const struct xfa_gate *gate)
{
    struct xfa_output output;
    compare_programs(gate, reading->analysis->run);
    if (xfa_output_open(&output, options->output) != 0)
        return XFA_OUTPUT;
    struct xfa_gate_verdict *verdict = xfa_gate_judge(gate, reading->analysis, reading->figures);
    options->gate_format->write(verdict, options->gate, output.stream);
    bool broken = verdict->broken > 0;
    xfa_gate_verdict_free(verdict);
    if (xfa_output_close(&output) != 0)
        return XFA_OUTPUT;
    return broken ? XFA_GATED : reading->analysis->lossy ? XFA_LOSSES : XFA_OK;
}

int xfa_gate_command(const struct xfa_analyze_options *options)
{
    char error[512];
    struct reading reading;
    struct xfa_gate *gate =
        options->gate ? xfa_gate_read(options->gate, error, sizeof error) : NULL;
    if (options->gate && !gate) {
        xfc_print(stderr, "xferscope analyze: --gate %s: %s\n", options->gate, error);
        return XFA_USAGE;
    }
    read_run(&reading, options, gate ? gate->phase : options->filter.phase);
    int status = XFA_NOTHING;
    if (has_transfers(&reading))
        status = gate ? judge(&reading, options, gate) : write_gate(&reading, options);
    end(&reading);
    xfa_gate_free(gate);
    return status;
}
