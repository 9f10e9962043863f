#include "tools/xferscope/own_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "tools/xferscope/own_step.h"
#include "tools/xferscope/record_end.h"
#include "xferscope/profile.h"

#define MEASURED ".quick" /* behind the profile's name while it is measured */

/* ---- where it is kept ------------------------------------------------------------------------ */

/* Makes the directory and those above it. False: it is not there, or cannot be written to. */
static bool make_folder(char *folder)
{
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0777); /* what fails shows at the end */
        *slash = '/';
    }
    mkdir(folder, 0777);
    return access(folder, W_OK | X_OK) == 0;
}

/* Where a new one is to be, so that the next look-up finds it; "": nowhere. */
static void new_place(bool simulated, char path[PATH_MAX])
{
    char host[256] = "", name[320], folder[PATH_MAX - sizeof name];

    if (gethostname(host, sizeof host) != 0)
        host[0] = '\0';
    host[sizeof host - 1] = '\0';
    xfp_default_name(host, simulated, name, sizeof name);
    if (xfp_data_directory(folder, sizeof folder) && *folder == '/' && make_folder(folder))
        snprintf(path, PATH_MAX, "%s/%s", folder, name);
    else
        snprintf(path, PATH_MAX, "%s", access(".", W_OK | X_OK) == 0 ? name : "");
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void forget(const char *measured)
{
    char partial[PATH_MAX + 16];

    snprintf(partial, sizeof partial, "%s.partial", measured);
    unlink(partial);
    unlink(measured);
}

/* True: it is at `path`. What was interrupted would be taken for the whole later, and is not kept.
 */
static bool measure(const char *path)
{
    enum { PARTLY = 3 };
    char measured[PATH_MAX + sizeof MEASURED];
    struct own_step step;

    snprintf(measured, sizeof measured, "%s" MEASURED, path);
    const char *arguments[] = {"probe", "--quick", "-o", measured, NULL};
    step = own_step_run(arguments, OWN_TO_NOWHERE);
    if ((step.status == 0 || step.status == PARTLY) && !step.interrupted &&
        rename(measured, path) == 0)
        return true;
    forget(measured);
    xfc_print(stderr,
              "xferscope: no profile was made (%s): what this machine can reach is not known\n",
              step.interrupted ? "interrupted" : "see above");
    return false;
}

/* Why none is measured now; NULL: it is. */
static const char *not_now(const struct record_options *options, const struct recorded *recorded)
{
    if (options->no_probe)
        return "--no-probe";
    if (recorded->totals.running)
        return "a process of the run still works";
    if (recorded->rank >= 0)
        return "other ranks may still work";
    return NULL;
}

/* `variable`: XFERSCOPE_PROFILE, which names a file that is not there yet. */
static void make(const char *variable, bool simulated, char path[PATH_MAX])
{
    if (variable)
        snprintf(path, PATH_MAX, "%s", variable);
    else
        new_place(simulated, path);
    if (!*path) {
        fputs("xferscope: no profile of this machine, and no place to keep one\n", stderr);
        return;
    }
    fputs("xferscope: no profile of this machine yet: measuring a quick one, once\n", stderr);
    if (measure(path))
        xfc_print(stderr, "xferscope: kept as %s; `xferscope probe` makes a thorough one\n",
                  record_short_path(path));
    else
        *path = '\0';
}

void own_profile(const struct record_options *options, const struct recorded *recorded,
                 char path[PATH_MAX])
{
    char named[PATH_MAX];
    enum xfp_looked_up found;
    const char *why;

    snprintf(path, PATH_MAX, "%s", options->profile ? options->profile : "");
    if (*path)
        return;
    found = xfp_look_up(NULL, recorded->totals.simulated, named, sizeof named);
    if (found == XFP_BY_NAME || (found == XFP_BY_VARIABLE && access(named, F_OK) == 0)) {
        snprintf(path, PATH_MAX, "%s", named);
        return;
    }
    why = not_now(options, recorded);
    if (why)
        xfc_print(stderr,
                  "xferscope: no profile of this machine: `xferscope probe` makes one (not made "
                  "now: %s)\n",
                  why);
    else
        make(found == XFP_BY_VARIABLE ? named : NULL, recorded->totals.simulated, path);
}
