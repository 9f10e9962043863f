/*
 * Everything the analyzer does with the bytes of a file, for libFuzzer:
 *
 *     cmake -DCMAKE_C_COMPILER=clang -DXFERSCOPE_FUZZ=ON -DXFERSCOPE_SANITIZE=address,undefined ...
 *     bin/analyzer_fuzz_read CORPUS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/dump/dump.h"
#include "analyzer/report/report.h"
#include "tests/analyzer/fuzz_input.h"
#include "tests/analyzer/scenario.h"

static void dump_batch(void *context, const struct xfa_batch *batch)
{
    void **both = context;
    if (batch->rows > 0)
        xfa_dump_text.event(both[0], batch, batch->rows - 1, both[1]);
}

static void read_all(const uint8_t *file, size_t size, FILE *sink)
{
    static struct xfp_profile *profile;
    struct xfa_view view = {.width = 100};
    char error[512];
    struct xfa_trace *trace = xfa_trace_open_bytes(file, size, error, sizeof error);
    if (!trace)
        return;
    profile = profile ? profile : scenario_profile();
    struct xfa_report *report = xfa_report_new("fuzz", profile);
    xfa_report_add(report, trace);
    xfa_report_finish(report, XFA_SORT_LOST);
    xfa_format_text.write(report, &view, sink);
    xfa_format_json.write(report, &view, sink);
    xfa_trace_events(trace, dump_batch, (void *[]){trace, sink});
    xfa_report_free(report);
    xfa_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *sink;
    size_t bytes;
    sink = sink ? sink : fopen("/dev/null", "w");
    uint8_t *file = sink ? fuzz_trace(data, size, &bytes) : NULL;
    if (file)
        read_all(file, bytes, sink);
    free(file);
    return 0;
}
