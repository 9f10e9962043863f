/*
 * xferscope-team: `xferscope analyze` by the ranks of an MPI launcher, a program of its own, since
 * it links to MPI. The command starts it in every rank (tools/xferscope/analyze.c); docs/analyze.md
 * ("Together") is its manual, base/team.h says what is shared out, and how it is merged.
 *
 * Ranks with other arguments or working directories are not a team: each analyzes by itself. Those
 * of different versions end with one line. In a team rank 0 alone writes.
 *
 * A rank that is gone ends all: launchers send SIGTERM then, upon which rank 0 says one line.
 */
#ifndef XFA_MPI_TEAM_H
#define XFA_MPI_TEAM_H

/* The program. Returns its exit status. version: all ranks must have the same. */
int xfa_mpi_team_main(int argc, char **argv, const char *version);

#endif
