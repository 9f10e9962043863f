/* What was lost, in one line. */
#include "analyzer/read/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "xferscope/losses.h"

static void part(char **line, uint64_t count, const char *what, const char *one)
{
    if (count == 0)
        return;
    char *longer =
        xfa_print("%s%s%" PRIu64 " %s", *line, **line ? ", " : "", count, count == 1 ? one : what);
    free(*line);
    *line = longer;
}

static void say(char **line, bool holds, const char *what)
{
    if (!holds)
        return;
    char *longer = xfa_print("%s%s%s", *line, **line ? ", " : "", what);
    free(*line);
    *line = longer;
}

char *xfa_trace_loss_line(const struct xfa_trace *trace)
{
    const struct xfa_loss *loss = &trace->loss;
    const struct xft_file_header *header = &trace->header;
    char *line = xfa_text("");
    say(&line, loss->header_damaged, "the file header is damaged");
    say(&line, loss->truncated, "the file ends inside a segment");
    say(&line, loss->cut_short, "the end of the file is missing");
    part(&line, loss->damaged_segments, "damaged places skipped", "damaged place skipped");
    part(&line, loss->damaged_bytes, "bytes unreadable", "byte unreadable");
    part(&line, loss->limited_segments, "segments too large or too new to read",
         "segment too large or too new to read");
    part(&line, loss->bad_entries, "malformed entries", "malformed entry");
    part(&line, loss->bad_rows, "malformed events", "malformed event");
    part(&line, loss->missing_events, "events missing from the file",
         "event missing from the file");
#define XFT_LOSS(name, field, json, metric, what, one)                                             \
    part(&line, xft_loss_of(header, XFT_LOSS_##name), what, one);
#include "xferscope/losses.def"
#undef XFT_LOSS
    if (*line)
        return line;
    free(line);
    return NULL;
}

bool xfa_trace_lossy(const struct xfa_trace *trace)
{
    char *line = xfa_trace_loss_line(trace);
    free(line);
    return line != NULL;
}
