/*
 * The options of `xferscope analyze` (docs/analyze.md).
 */
#ifndef XFA_ANALYZE_OPTIONS_H
#define XFA_ANALYZE_OPTIONS_H

#include "analyzer/gate/gate.h"
#include "analyzer/report/format.h"

enum xfa_colour_choice { XFA_COLOUR_AUTO, XFA_COLOUR_ALWAYS, XFA_COLOUR_NEVER };

struct xfa_analyze_options {
    const char **traces; /* the caller frees the list */
    size_t trace_count;
    size_t before;  /* number of traces before --to; SIZE_MAX: no --to */
    double fail_on; /* relative; NAN: nothing fails */
    const char *profile, *network, *output;
    const char *format_word;         /* NULL: text */
    const struct xfa_format *format; /* by that word; unless with a gate */
    const char *gate, *gate_write;   /* NULL: none */
    const struct xfa_gate_format *gate_format;
    const char
        *plan; /* to be written beside the report; of --compare: what was carried out; NULL: none */
    struct xfa_view view;
    bool no_profile, compare, per_transfer, sorted, replay, play, limited;
    bool full;            /* the whole report, on a terminal through a pager */
    bool brief;           /* the first screen, or the one line of a comparison, wherever it goes */
    bool open;            /* show the page in the browser */
    bool alone, together; /* for who starts the process as a member of a team, or does not */
    uint32_t jobs;        /* processes of this machine that analyze the run; 0: not said */
    double replay_s;
    struct xfa_answers answers; /* --assume; for xfa_answers_free() */
    size_t memory;              /* bytes that may be kept of a run for its replays */
    enum xfa_colour_choice colour;
    struct xfa_filter filter; /* which part is shown; not finished */
    struct xfa_team *team;    /* of which this process is; NULL: none */
};

/* 0: go on; 1: --help; -1: wrong usage, reported on stderr. Texts are argv's. */
int xfa_analyze_options(struct xfa_analyze_options *options, int argc, char **argv);

extern const char xfa_analyze_usage[];

#endif
