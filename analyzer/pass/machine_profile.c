#include "analyzer/pass/machine_profile.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/alloc.h"
#include "analyzer/pass/achievable.h"
#include "xferscope/profile_network.h"

/* ---- one that was asked for ------------------------------------------------------------------ */

static void read_asked(struct xfa_machine_profile *taken, const char *by)
{
    char error[1024] = "";
    taken->by = by;
    taken->profile = xfp_read_file(taken->path, error, sizeof error);
    if (!taken->profile)
        taken->problem = xfa_kept(error, strlen(error));
}

/* ---- one that was looked up ------------------------------------------------------------------ */

/* The headers of the run's files. The analysis reports what cannot be read. */
static struct xfa_run *headers_of(const struct xfa_profile_request *request)
{
    char error[1024];
    struct xfa_run *run = xfa_run_new(request->traces[0]);
    for (size_t i = 0; i < request->trace_count; i++) {
        size_t count = 0;
        char **files = xfa_run_files(request->traces[i], &count, error, sizeof error);
        for (size_t f = 0; f < count; f++) {
            struct xfa_process *process = xfa_run_open_heads(run, files[f], error, sizeof error);
            if (process)
                xfa_process_close(process, 0, 0);
        }
        xfa_run_files_free(files, count);
    }
    return run;
}

static void match_all(struct xfa_achievable *achievable, const struct xfp_profile *profile,
                      const struct xfa_run *run)
{
    xfa_achievable_init(achievable, profile, run);
    for (size_t i = 0; i < run->process_count; i++)
        xfa_achievable_match(achievable, run->processes[i]);
}

static void keep_unused(struct xfa_machine_profile *taken, char *why)
{
    if (taken->unused)
        free(why);
    else
        taken->unused = why;
}

/* The profile is dropped where it is not of the run's machine. */
static void hold(struct xfa_machine_profile *taken, const struct xfa_run *run)
{
    struct xfa_achievable achievable;
    match_all(&achievable, taken->profile, run);
    if (achievable.match != XFA_MATCH_YES) {
        keep_unused(taken,
                    achievable.difference
                        ? xfa_print("%s is of another machine than the run (%s): it is not used",
                                    taken->path, achievable.difference)
                        : xfa_print("it is not known whether %s is of the run's machine: it is "
                                    "not used without --profile",
                                    taken->path));
        xfp_free(taken->profile);
        taken->profile = NULL;
    }
    xfa_achievable_free(&achievable);
}

static bool try_path(struct xfa_machine_profile *taken, const struct xfa_run *run, const char *path)
{
    free(taken->path);
    taken->path = xfa_text(path);
    read_asked(taken, "host-name");
    if (taken->profile)
        hold(taken, run);
    if (taken->problem) /* this file was not asked for by name */
        keep_unused(taken, xfa_print("%s: it is not used", taken->problem));
    free(taken->problem);
    taken->problem = NULL;
    return taken->profile;
}

/* By the name of the run's host, then by this one's. */
static void try_names(struct xfa_machine_profile *taken, const struct xfa_run *run)
{
    char by_run[PATH_MAX] = "", by_own[PATH_MAX] = "";
    const char *host = run->host_count ? run->hosts[0].name : NULL;
    if (host && xfp_look_up(host, run->simulated, by_run, sizeof by_run) == XFP_BY_NAME &&
        try_path(taken, run, by_run))
        return;
    if (xfp_look_up(NULL, run->simulated, by_own, sizeof by_own) == XFP_BY_NAME &&
        strcmp(by_own, by_run) != 0)
        try_path(taken, run, by_own);
}

static void look_up(struct xfa_machine_profile *taken, const struct xfa_profile_request *request)
{
    char path[PATH_MAX] = "";
    bool variable = xfp_look_up(NULL, false, path, sizeof path) == XFP_BY_VARIABLE;
    if (variable) {
        taken->path = xfa_text(path);
        read_asked(taken, "environment");
        if (!taken->profile)
            return;
    }
    struct xfa_run *run = headers_of(request);
    if (variable)
        hold(taken, run);
    else if (run->process_count > 0)
        try_names(taken, run);
    if (taken->profile) {
        free(taken->unused);
        taken->unused = NULL;
    }
    xfa_run_free(run);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The other profile's network, in place of its own. Without a profile the other one is it: of its
 * machine it tells nothing. */
static void take_network(struct xfa_machine_profile *taken, const char *path)
{
    char error[1024] = "";
    struct xfp_profile *other = xfp_read_file(path, error, sizeof error);
    if (!other || !other->network) {
        free(taken->problem);
        taken->problem =
            other ? xfa_print("%s has no network", path) : xfa_kept(error, strlen(error));
        xfp_free(other);
        return;
    }
    if (!taken->profile) {
        taken->profile = other;
        free(taken->path);
        taken->path = xfa_text(path);
        taken->by = "option";
        return;
    }
    xfp_net_free(taken->profile->network);
    taken->profile->network = other->network;
    other->network = NULL;
    xfp_free(other);
}

void xfa_machine_profile_take(struct xfa_machine_profile *taken,
                              const struct xfa_profile_request *request)
{
    *taken = (struct xfa_machine_profile){0};
    if (!request->named && !request->none) {
        look_up(taken, request);
    } else if (request->named) {
        taken->path = xfa_text(request->named);
        taken->by = "option";
        if (!request->may_lack || access(request->named, F_OK) == 0)
            read_asked(taken, "option");
    }
    if (request->network)
        take_network(taken, request->network);
}

void xfa_machine_profile_tell(const struct xfa_machine_profile *taken,
                              void (*complain)(const char *line))
{
    if (taken->problem) {
        char *line = xfa_print("%s; going on without what is achievable", taken->problem);
        complain(line);
        free(line);
    }
    if (taken->unused)
        complain(taken->unused);
}

void xfa_machine_profile_free(struct xfa_machine_profile *taken)
{
    if (taken->profile)
        xfp_free(taken->profile);
    free(taken->path);
    free(taken->problem);
    free(taken->unused);
    *taken = (struct xfa_machine_profile){0};
}
