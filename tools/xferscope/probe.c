/*
 * The subcommand `xferscope probe`. With --net it becomes xferscope-net, which lies beside the
 * recorder: that links to MPI, the command does not. The process stays the rank that the launcher
 * started.
 */
#include "probe/probe.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"
#include "tools/xferscope/commands.h"
#include "tools/xferscope/own_files.h"

static bool is_asked(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], option) == 0)
            return true;
    return false;
}

static int become_net(char **argv)
{
    char folder[PATH_MAX], program[PATH_MAX + 16];

    if (!xferscope_library_folder(folder, sizeof folder)) {
        fprintf(stderr, "xferscope probe: --net: %s\n", strerror(errno));
        return XFP_PROBE_FAILED;
    }
    snprintf(program, sizeof program, "%s/xferscope-net", folder);
    execv(program, argv);
    if (errno == ENOENT)
        xfc_print(stderr,
                  "xferscope probe: --net: %s is not there: this xferscope was built or installed "
                  "without MPI\n",
                  program);
    else
        xfc_print(stderr, "xferscope probe: --net: %s: %s\n", program, strerror(errno));
    return XFP_PROBE_FAILED;
}

int xferscope_probe(int argc, char **argv)
{
    if (is_asked(argc, argv, "--net") && !is_asked(argc, argv, "--help"))
        return become_net(argv);
    return xfp_probe_command(argc, argv);
}
