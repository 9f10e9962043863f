/*
 * The raw contents of a trace, for `xferscope dump`: a format is a struct of functions, one per
 * part, called in the order of the fields. NULL for a part that a format leaves out.
 */
#ifndef XFA_DUMP_H
#define XFA_DUMP_H

#include <stdio.h>

#include "analyzer/read/read.h"

struct xfa_dump_format {
    const char *name;
    void (*header)(const struct xfa_trace *trace, FILE *out);
    void (*meta)(const struct xfa_trace *trace, FILE *out);
    void (*segment)(const struct xfa_trace *trace, const struct xfa_segment *segment, FILE *out);
    /* An entry of an INDEX as it lies there, whatever it says. */
    void (*index)(const struct xfa_trace *trace, const struct xft_index_entry *entry, FILE *out);
    void (*event)(const struct xfa_trace *trace, const struct xfa_batch *batch, size_t row,
                  FILE *out);
    void (*stack)(const struct xfa_trace *trace, const struct xfa_stack *stack, FILE *out);
    void (*arguments)(const struct xfa_trace *trace, const struct xfa_arguments *arguments,
                      FILE *out);
    void (*losses)(const struct xfa_trace *trace, const char *line, FILE *out);
};

/* Functions and files of the call sites of these traces, one a line, sorted, each once. Returns how
 * many of the files could be read. */
size_t xfa_dump_sites(char *const *files, size_t count, FILE *out);

extern const struct xfa_dump_format xfa_dump_text, xfa_dump_json;

/* Words of trace_events.h; NULL for a number that this version does not know. */
const char *xfa_segment_word(unsigned type);
extern const char *const xfa_flag_words[11]; /* bit 0 first */

/* Name of the function an event comes from; NULL for what the device reports, which is no call. */
const char *xfa_event_function(const struct xfa_trace *trace, const struct xft_event *event);

/* The text an event refers to (a kernel's, a range's), and a range's domain; NULL = none or not
 * known. The caller frees them. */
char *xfa_event_name(const struct xfa_trace *trace, const struct xft_event *event);
char *xfa_event_domain(const struct xfa_trace *trace, const struct xft_event *event);

/* A rank of a MESSAGE: a number, "any" sender, or "-". */
void xfa_dump_rank(uint32_t rank, char text[16]);

/* A value of META, separators of a list as spaces; the caller frees it. */
char *xfa_dump_value(const char *value);

#endif
