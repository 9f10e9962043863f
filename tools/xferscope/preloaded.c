#include "tools/xferscope/preloaded.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/xferscope/own_files.h"

enum { MOST_SETTINGS = 32, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

int preloaded_library(char *path, size_t bytes, preloaded_refuse *refuse)
{
    char folder[PATH_MAX];

    if (!xferscope_library_folder(folder, sizeof folder))
        return refuse("cannot tell where this command lies: %s", strerror(errno));
    if ((size_t)snprintf(path, bytes, "%s/libxferscope.so", folder) >= bytes)
        return refuse("the path of libxferscope.so is too long");
    if (access(path, R_OK) != 0)
        return refuse("%s: %s", path, strerror(errno));
    if (strpbrk(path, " :\n"))
        return refuse("%s: LD_PRELOAD cannot hold a path with a space or a colon", path);
    return 0;
}

int preloaded_run(char **program, const char *library, const struct child_setting *settings,
                  size_t count, struct child_result *result, preloaded_refuse *refuse)
{
    struct child_setting all[MOST_SETTINGS + 1];
    const char *other = getenv("LD_PRELOAD");
    char *preload = NULL;
    int status;

    if (count > MOST_SETTINGS)
        count = MOST_SETTINGS;
    if (asprintf(&preload, "%s%s%s", library, other && *other ? ":" : "", other ? other : "") < 0)
        return refuse("out of memory");
    all[0] = (struct child_setting){"LD_PRELOAD", preload};
    memcpy(all + 1, settings, count * sizeof *settings);
    status = child_run(program, all, count + 1, result);
    free(preload);
    if (status != 0)
        return refuse("cannot start a process: %s", strerror(errno));
    if (result->exec_error == 0)
        return 0;
    refuse("cannot run %s: %s", program[0], strerror(result->exec_error));
    return result->exec_error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}
