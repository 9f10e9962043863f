/*
 * Everything the analyzer does with the bytes of a file, for libFuzzer:
 *
 *     cmake -DCMAKE_C_COMPILER=clang -DXFERSCOPE_FUZZ=ON -DXFERSCOPE_SANITIZE=address,undefined ...
 *     bin/analyzer_fuzz_read CORPUS
 *
 * The sums of a file would stop most mutations at the door: with the first byte of the input odd,
 * they are made right before reading.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/dump/dump.h"
#include "analyzer/report/report.h"
#include "scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mend_header(uint8_t *file, size_t size)
{
    struct xft_file_header header;
    if (size < sizeof header)
        return;
    memcpy(&header, file, sizeof header);
    header.checksum = XXH3_64bits(&header, offsetof(struct xft_file_header, checksum));
    memcpy(file, &header, sizeof header);
}

static void mend_segments(uint8_t *file, size_t size)
{
    struct xft_segment head;
    for (size_t at = XFT_HEADER_BYTES; at + sizeof head <= size; at += 8) {
        memcpy(&head, file + at, sizeof head);
        if (head.magic != XFT_SEGMENT_MAGIC)
            continue;
        if (head.stored_bytes <= size - at - sizeof head)
            head.payload_sum = XXH3_64bits(file + at + sizeof head, head.stored_bytes);
        head.header_sum = XXH3_64bits(&head, offsetof(struct xft_segment, header_sum));
        memcpy(file + at, &head, sizeof head);
    }
}

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
    sink = sink ? sink : fopen("/dev/null", "w");
    if (size < 1 || !sink)
        return 0;
    uint8_t *file = malloc(size); /* of its own: the sanitizer watches its end */
    memcpy(file, data + 1, size - 1);
    if (data[0] & 1) {
        mend_header(file, size - 1);
        mend_segments(file, size - 1);
    }
    read_all(file, size - 1, sink);
    free(file);
    return 0;
}
