/*
 * The subcommand `xferscope analyze`. A rank of an MPI launcher becomes xferscope-team, which lies
 * beside the recorder: that links to MPI, the command does not. The process stays the rank that the
 * launcher started. Where the program is not there (built without MPI), and with --alone, each rank
 * analyzes by itself.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "preload/record/ranks.h"
#include "tools/xferscope/commands.h"
#include "tools/xferscope/own_files.h"

static bool is_said(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], option) == 0)
            return true;
    return false;
}

/* Launchers of MPI programs. What others (torchrun) start is no rank of MPI; nor is what Slurm
 * starts without tasks, of which no rank is known. */
static bool is_rank(void)
{
    static const char *const launchers[] = {"openmpi", "mvapich", "pmi", "pmix", "slurm"};
    struct xfs_rank rank;

    xfs_rank_find(&rank);
    for (size_t i = 0; rank.launcher && i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(rank.launcher, launchers[i]) == 0)
            return rank.size > 1;
    return false;
}

static void become_team(char **argv)
{
    char folder[PATH_MAX], program[PATH_MAX + 16];

    if (!xferscope_library_folder(folder, sizeof folder))
        return;
    snprintf(program, sizeof program, "%s/xferscope-team", folder);
    execv(program, argv);
}

int xferscope_analyze(int argc, char **argv)
{
    if (is_rank() && !is_said(argc, argv, "--alone") && !is_said(argc, argv, "--help"))
        become_team(argv);
    return xfa_analyze_command(argc, argv);
}
