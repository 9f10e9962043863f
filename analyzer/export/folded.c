/*
 * Folded stacks, a line for each: frames from the outermost on, between semicolons, and a number
 * (Brendan Gregg's FlameGraph).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/export/stacks.h"
#include "common/text.h"

/* Semicolons part frames, the last space the number: neither is lost in a name. */
static void write_frame(const char *text, FILE *out)
{
    char *shown = xfa_clean(text, strlen(text));
    for (char *at = shown; *at; at++)
        if (*at == ';')
            *at = ':';
    fputs(shown, out);
    free(shown);
}

static void write_stack(struct xfa_export *export, const struct xfa_stack_sum *sum, uint64_t weight)
{
    const struct xfa_site *site = xfa_stacks_frames(export->self, sum);
    for (size_t i = site->frame_count; i-- > 0;) {
        char *text = xfa_frame_text(&site->frames[i]);
        write_frame(text, export->out);
        putc(';', export->out);
        free(text);
    }
    char *leaf = xfa_stacks_leaf(export, sum);
    write_frame(leaf, export->out);
    fprintf(export->out, " %" PRIu64 "\n", weight);
    free(leaf);
}

static void finish(struct xfa_export *export)
{
    const struct xfa_stacks *stacks = export->self;
    if (export->weight == XFA_WEIGHT_SAVING)
        xfa_stacks_save(export);
    for (size_t i = 0; i < xfa_stacks_count(stacks); i++) {
        const struct xfa_stack_sum *sum = xfa_stacks_sum(stacks, i);
        double weight = round(sum->weights[export->weight]);
        if (weight >= 1)
            write_stack(export, sum, xfa_count_of(weight));
    }
}

const struct xfa_export_format xfa_export_folded = {
    .name = "folded",
    .what = "a line for each call stack and what it weighs, for flame graphs",
    .text = true,
    .weighed = true,
    .saves = true,
    .words = XFA_WORDS_SHOWN,
    .self_bytes = sizeof(struct xfa_stacks),
    .begin = xfa_stacks_begin,
    .process = xfa_stacks_process,
    .kinds = XFA_STACKS_KINDS,
    .event = xfa_stacks_event,
    .transfer = xfa_stacks_transfer,
    .finish = finish,
    .free = xfa_stacks_free,
};
