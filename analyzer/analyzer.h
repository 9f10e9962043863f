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
/* The same as a member of a team (base/team.h): rank 0 reports, and leaves the team once there is
 * nothing more to be done together; the others return in silence. leave: rank 0's last word to the
 * team. */
struct xfa_team;
int xfa_analyze_in_team(int argc, char **argv, struct xfa_team *team,
                        void (*leave)(struct xfa_team *team));
int xfa_dump_command(int argc, char **argv);
int xfa_export_command(int argc, char **argv);
int xfa_live_command(int argc, char **argv);

#endif
