/*
 * The subcommand `xferscope analyze`. As a rank of an MPI launcher it becomes xferscope-team, which
 * lies beside the recorder: that links to MPI, the command does not. The process stays the rank
 * that the launcher started. Where the program is not there (built without MPI), and with --alone,
 * each rank analyzes by itself.
 *
 * So does a command that was started not by the launcher but by a shell or program that is the
 * rank: other ranks may do something else meanwhile, and MPI can be initialised only once in a
 * rank. With --together the user states that all ranks do the same.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "preload/record/ranks.h"
#include "tools/xferscope/commands.h"
#include "tools/xferscope/own_files.h"

enum { MOST_ENVIRONMENT = 4 << 20 };

static bool is_said(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], option) == 0)
            return true;
    return false;
}

struct launcher {
    const char *word, *variable; /* where a process finds its rank */
    bool of_mpich;               /* it starts ranks of MPICH, or with its binary interface */
};

/* Launchers of MPI programs. What others (torchrun) start is no rank of MPI; nor is what Slurm
 * starts without tasks, of which no rank is known. */
static const struct launcher *launcher(void)
{
    static const struct launcher launchers[] = {{"openmpi", "OMPI_COMM_WORLD_RANK", false},
                                                {"mvapich", "MV2_COMM_WORLD_RANK", true},
                                                {"pmi", "PMI_RANK", true},
                                                {"pmix", "PMIX_RANK", false},
                                                {"slurm", "SLURM_PROCID", false}};
    struct xfs_rank rank;

    xfs_rank_find(&rank);
    for (size_t i = 0; rank.launcher && i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(rank.launcher, launchers[i].word) == 0)
            return rank.size > 1 ? &launchers[i] : NULL;
    return NULL;
}

/* What a process was started with, entries ended by zeros, and one more; 0: it may not be read. */
static size_t read_environment(pid_t pid, char *text, size_t room)
{
    char name[64];
    size_t length = 0;
    ssize_t count = 1;

    snprintf(name, sizeof name, "/proc/%d/environ", (int)pid);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && length + 1 < room && count > 0) {
        count = read(file, text + length, room - 1 - length);
        length += count > 0 ? (size_t)count : 0;
    }
    if (file >= 0)
        close(file);
    text[length] = '\0';
    return length;
}

/* The process that started this one is a rank itself. A launcher, also one of another user, is
 * none. */
static bool is_within_rank(const char *variable)
{
    char *text = malloc(MOST_ENVIRONMENT);
    size_t length = text ? read_environment(getppid(), text, MOST_ENVIRONMENT) : 0;
    size_t bytes = strlen(variable);
    bool found = false;

    for (size_t at = 0; at < length && !found; at += strlen(text + at) + 1)
        found = strncmp(text + at, variable, bytes) == 0 && text[at + bytes] == '=';
    free(text);
    return found;
}

/* Where xferscope was built with one MPI alone there is one program: that of this MPI. */
static void become_team(char **argv, bool of_mpich)
{
    char folder[PATH_MAX], program[PATH_MAX + 32];

    if (!xferscope_library_folder(folder, sizeof folder))
        return;
    snprintf(program, sizeof program, "%s/xferscope-team-mpich", folder);
    if (of_mpich)
        execv(program, argv);
    snprintf(program, sizeof program, "%s/xferscope-team", folder);
    execv(program, argv);
}

int xferscope_analyze(int argc, char **argv)
{
    const struct launcher *by = launcher();

    if (by && !is_said(argc, argv, "--alone") && !is_said(argc, argv, "--help") &&
        (is_said(argc, argv, "--together") || !is_within_rank(by->variable)))
        become_team(argv, by->of_mpich);
    if (by) /* other ranks have this machine's processors, too */
        return xfa_analyze_in_team(argc, argv, NULL, NULL);
    return xfa_analyze_command(argc, argv);
}
