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
#include "analyzer/read/merge.h"
#include "analyzer/report/format.h"
#include "tests/analyzer/lab/one_by_one.h"
#include "tests/analyzer/fuzz_input.h"
#include "tests/analyzer/traces/scenario.h"

#define MOST_MERGED 3000 /* events: of more, in one small file, each part would be read often */

static void dump_batch(void *context, const struct xfa_batch *batch)
{
    void **both = context;
    if (batch->rows > 0)
        xfa_dump_text.event(both[0], batch, batch->rows - 1, both[1]);
}

struct tally {
    uint64_t events, mix;
};

static void add_event(struct tally *tally, uint32_t lane, uint64_t seq, const struct xft_event *e)
{
    tally->events++;
    tally->mix += (e->start_ns ^ e->bytes << 7 ^ seq) * (2 * (uint64_t)lane + 1);
}

static void tally_batch(void *context, const struct xfa_batch *batch)
{
    for (size_t i = 0; i < batch->rows; i++)
        add_event(context, batch->lane, batch->first_seq + i, &batch->events[i]);
}

/* In the order of time the same events come; what an INDEX or a chunk lies about is counted. */
static void merge_within(struct xfa_trace *trace, size_t rows, const struct tally *expected)
{
    struct tally merged = {0};
    struct xfa_merged event;
    uint64_t before = 0;
    bool ordered = true;
    struct xfa_merge *merge = xfa_merge_within(trace, rows);
    struct one_by_one events = {.merge = merge};
    while (one_next(&events, &event)) {
        add_event(&merged, event.lane, event.seq, event.event);
        ordered = ordered && before <= event.event->start_ns;
        before = event.event->start_ns;
    }
    xfa_merge_free(merge);
    if (!ordered && trace->loss.bad_entries == 0)
        abort();
    if (expected && (merged.events != expected->events || merged.mix != expected->mix))
        abort();
}

static void merge_all(struct xfa_trace *trace)
{
    struct tally streamed = {0};
    xfa_trace_events(trace, tally_batch, &streamed);
    bool sound = trace->loss.bad_rows == 0 && trace->loss.bad_entries == 0;
    if (streamed.events > MOST_MERGED)
        return;
    merge_within(trace, XFA_MERGE_ROWS, sound ? &streamed : NULL);
    merge_within(trace, 100, sound ? &streamed : NULL); /* in parts */
}

static void report_all(const uint8_t *file, size_t size, const struct xfp_profile *profile,
                       FILE *sink)
{
    struct xfa_view view = {.width = 100};
    char error[512];
    struct xfa_findings *findings = xfa_findings_new();
    struct xfa_request request = {.path = "fuzz",
                                  .profile = profile,
                                  .observers = findings->observers,
                                  .observer_count = findings->observer_count};
    struct xfa_analysis *analysis = xfa_analysis_new(&request);
    if (xfa_analysis_add_bytes(analysis, file, size, error, sizeof error)) {
        struct xfa_report report = {.analysis = analysis, .findings = findings};
        xfa_analysis_finish(analysis);
        xfa_findings_find(findings, analysis);
        xfa_format_text.write(&report, &view, sink);
        xfa_format_json.write(&report, &view, sink);
    }
    xfa_findings_free(findings);
    xfa_analysis_free(analysis);
}

static void read_all(const uint8_t *file, size_t size, FILE *sink)
{
    static struct xfp_profile *profile;
    char error[512];
    struct xfa_trace *trace = xfa_trace_open_bytes(file, size, error, sizeof error);
    if (!trace)
        return;
    profile = profile ? profile : scenario_profile();
    report_all(file, size, profile, sink);
    xfa_trace_events(trace, dump_batch, (void *[]){trace, sink});
    merge_all(trace);
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
