/*
 * A run in a few lines, for the end of `xferscope record`: the time of transfers, and the worst
 * finding with its saving. Each line is one sentence without a prefix.
 */
#ifndef XFA_SUMMARY_H
#define XFA_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

/* The character before a line that stands for the next one, if the work ends before that is
 * written: a large run takes long, and the process that waits for it has a time limit. */
#define XFA_SUMMARY_SO_FAR '\x01'

struct xfa_summary_request {
    const char *run;          /* path */
    const char *profile;      /* path; NULL: there is none */
    const char *make_profile; /* half a sentence: how to make one */
};

/* Each line is written, and flushed, as soon as it is known. False: nothing could be read. */
bool xfa_summarize(const struct xfa_summary_request *request, FILE *out);

/* Takes the lines as xfa_summarize() wrote them, `text` is changed: those that are to be shown, one
 * after the other, to `say`. `why` it ended before its time, in a few words; NULL: it did not. */
void xfa_summary_lines(char *text, const char *why, void (*say)(const char *line, const char *why));

#endif
