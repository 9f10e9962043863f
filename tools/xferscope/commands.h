/*
 * The subcommands of xferscope. Each takes its own name as argv[0] and returns the exit status of
 * the process; each prints its usage for --help. The others are in the components that do their
 * work: xfa_live_command, xfa_export_command
 * and xfa_dump_command (analyzer/analyzer.h).
 */
#ifndef XFERSCOPE_COMMANDS_H
#define XFERSCOPE_COMMANDS_H

#define XFERSCOPE_EXIT_USAGE 2

/* record.c: runs a program under the recorder. Returns the program's status; dies of the signal
 * the program died of. docs/record.md */
int xferscope_record(int argc, char **argv);

/* run.c: record, a profile, the first screen, the page. Returns as record does. docs/run.md */
int xferscope_run(int argc, char **argv);

/* apply.c: runs a program with the advice carried out. Returns as record does. docs/apply.md */
int xferscope_apply(int argc, char **argv);

/* probe.c: xfp_probe_command (probe/probe.h), or with --net the program xferscope-net in its place.
 * docs/probe.md */
int xferscope_probe(int argc, char **argv);

/* analyze.c: xfa_analyze_command (analyzer/analyzer.h), or in a rank of an MPI launcher the program
 * xferscope-team in its place. docs/analyze.md */
int xferscope_analyze(int argc, char **argv);

/* again.c: an earlier run's program recorded again, and compared. Returns as record does.
 * docs/again.md */
int xferscope_again(int argc, char **argv);

/* doctor*.c: reports what works on this machine. docs/doctor.md */
int xferscope_doctor(int argc, char **argv);

#endif
