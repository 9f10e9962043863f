/*
 * The command line of `xferscope probe`.
 */
#ifndef XFP_OPTIONS_H
#define XFP_OPTIONS_H

#include "probe/probe.h"
#include "probe/report/report.h"

struct xfp_command {
    struct xfp_probe_options options;
    const char *output; /* NULL: the default */
    const struct xfp_report_format *format;
    const char *resume;         /* profile to go on with */
    const char *first, *second; /* profiles to compare */
    const char *described;      /* profile to summarise instead of measuring */
    char whole[4096];           /* output, when resuming from a partial profile */
    double tolerance;           /* of a comparison: 0.05 = 5 % */
    bool list, help, sized, summary, full, flush_said, tolerance_said;
    bool net, loaded; /* between the ranks of an MPI program; with all pairs at once */
};

/* A run that is killed leaves its incomplete profile in OUTPUT.partial. */
#define XFP_PARTIAL ".partial"

extern const char xfp_probe_usage[];

/* Fills command from argv. 0, or the exit status after one line on stderr. */
int xfp_parse_options(struct xfp_command *command, int argc, char **argv);

#endif
