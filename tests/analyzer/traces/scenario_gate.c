/* A step that uploads a batch in the range "train", after a read in "load"; asked to be
 * asynchronous. */
#include <string.h>

#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/traces/scenario_report.h"

enum { SITE_READ = 40, SITE_UPLOAD };
enum { TEXT_LOAD = 40, TEXT_TRAIN };

#define STEPS 8
#define BATCH_BYTES ((uint64_t)1 << 20)

static void range(struct play *play, unsigned kind, uint64_t name)
{
    struct xft_event event = {.kind = (uint8_t)kind, .aux = name};
    play_event(play, event, 100);
}

/* variant: the batch's memory, pinned or pageable (as a view of it is copied before it is sent). */
void scenario_gate(struct trace_builder *b, const char *variant)
{
    unsigned memory = strcmp(variant, "pageable") == 0 ? XFT_MEM_PAGEABLE : XFT_MEM_PINNED;
    struct play play;
    play_start(&play, b, 4900);
    build_text(b, TEXT_LOAD, "load");
    build_text(b, TEXT_TRAIN, "train");
    play_site(&play, SITE_READ, "read", 11);
    play_site(&play, SITE_UPLOAD, "upload", 21);
    range(&play, XFT_EVENT_RANGE_BEGIN, TEXT_LOAD);
    play_copy(&play, SITE_READ, XFT_DIR_H2D, XFT_MEM_PAGEABLE, BATCH_BYTES, 90000);
    range(&play, XFT_EVENT_RANGE_END, 0);
    range(&play, XFT_EVENT_RANGE_BEGIN, TEXT_TRAIN);
    for (unsigned i = 0; i < STEPS; i++)
        play_async(&play, SITE_UPLOAD, XFT_DIR_H2D, memory, BATCH_BYTES, 30000);
    range(&play, XFT_EVENT_RANGE_END, 0);
    play_end(&play, XFT_STATE_CLOSED);
}
