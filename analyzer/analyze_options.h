/*
 * What `xferscope analyze` was asked for: docs/analyze.md has the options.
 */
#ifndef XFA_ANALYZE_OPTIONS_H
#define XFA_ANALYZE_OPTIONS_H

#include "analyzer/report/format.h"

enum xfa_colour_choice { XFA_COLOUR_AUTO, XFA_COLOUR_ALWAYS, XFA_COLOUR_NEVER };

struct xfa_analyze_options {
    const char **traces; /* the caller frees the list */
    size_t trace_count;
    size_t before;  /* of these stand before --to; SIZE_MAX: there is no --to */
    double fail_on; /* relative; NAN: nothing fails */
    const char *profile, *output;
    const struct xfa_format *format;
    struct xfa_view view;
    bool no_profile, compare, per_transfer, sorted, replay, play, limited;
    double replay_s;
    enum xfa_colour_choice colour;
    struct xfa_filter filter; /* what of it is to be shown; not settled */
};

/* 0: go on; 1: help was asked for; -1: wrong usage, which was said in a line. Texts are argv's. */
int xfa_analyze_options(struct xfa_analyze_options *options, int argc, char **argv);

extern const char xfa_analyze_usage[];

#endif
