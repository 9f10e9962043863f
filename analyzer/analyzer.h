/*
 * The analyzer: reads a trace (docs/trace-format.md), compares it with a machine profile
 * (include/xferscope/profile.h) and reports. Four subcommands of `xferscope`; needs no CUDA.
 *
 * argv[0] is the subcommand's name; the functions return the exit status of the process.
 */
#ifndef XFA_ANALYZER_H
#define XFA_ANALYZER_H

enum xfa_status {
    XFA_OK = 0,
    XFA_NOTHING = 1, /* nothing could be read */
    XFA_USAGE = 2,   /* unknown option, missing argument */
    XFA_LOSSES = 3,  /* reported, but something was lost or could not be read */
    XFA_OUTPUT = 4,  /* the output could not be written */
    XFA_SLOWER = 5,  /* compared, and slower than --fail-on allows */
    XFA_GATED = 6,   /* it does what --gate does not allow */
};

int xfa_analyze_command(int argc, char **argv);
int xfa_dump_command(int argc, char **argv);
int xfa_export_command(int argc, char **argv);
int xfa_live_command(int argc, char **argv);

#endif
