/*
 * What CUPTI's records add to calls and to the device, measured in a process of its own: records
 * would slow down later measurements, and CUPTI must see the first context being created.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/bench/bench.h"
#include "probe/bench/records.h"
#include "probe/device/launch.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/progress.h"

#define MOST_S 30 /* beyond its budget: libraries loaded, a context made, the device shared */
enum { LOOK_MS = 100 };

#define BY_PROCESS "launch/by-process"
#define BETWEEN_NODES "graph/device-node"

extern char **environ;

static const char *const names[XFP_RECORDS_COUNT] = {
#define NAME(figure, name, what) name,
    XFP_RECORDS_FIGURES(NAME)
#undef NAME
};

/* ---- the child ------------------------------------------------------------------------------- */

struct started {
    pid_t pid;
    int from; /* its reply comes here */
};

static int start(struct xfp_session *s, int gpu, uint64_t budget_ns, const char *what,
                 struct started *child)
{
    char argument[80];
    char *const argv[] = {"xferscope", "probe", argument, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], bad;

    snprintf(argument, sizeof(argument), XFP_RECORDS_ARGUMENT "%d:%llu%s", gpu,
             (unsigned long long)budget_ns, what);
    if (pipe2(ends, O_CLOEXEC)) {
        xfp_fail(&s->sys, "a pipe: %s", strerror(errno));
        return -1;
    }
    bad = posix_spawn_file_actions_init(&actions);
    if (!bad) {
        bad = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        if (!bad)
            bad = posix_spawn(&child->pid, "/proc/self/exe", &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    child->from = ends[0];
    if (!bad)
        return 0;
    close(ends[0]);
    xfp_fail(&s->sys, "a process of its own: %s", strerror(bad));
    return -1;
}

/* Receives replies until the child closes its end or is killed; returns their bytes. */
static size_t receive(const struct started *child, uint64_t until_ns, void *reply, size_t bytes)
{
    struct pollfd from = {.fd = child->from, .events = POLLIN};
    size_t got = 0;

    while (got < bytes) {
        int ready = poll(&from, 1, LOOK_MS);
        ssize_t more = ready > 0 ? read(child->from, (char *)reply + got, bytes - got) : -1;

        if (ready > 0 && (!more || (more < 0 && errno != EINTR)))
            return got;
        got += more > 0 ? (size_t)more : 0;
        if (xfp_interrupted() || xfp_wall_ns() > until_ns) {
            kill(child->pid, SIGKILL);
            return xfp_interrupted() ? 0 : got;
        }
    }
    return got;
}

/* The last complete reply; if there is one, the child's exit status is ignored. */
static int take_reply(struct xfp_session *s, const struct started *child, uint64_t budget_ns,
                      struct xfp_records_reply *reply)
{
    static struct xfp_records_reply replies[XFP_RECORDS_REPLIES];
    uint64_t until = xfp_wall_ns() + budget_ns + MOST_S * 1000000000ull;
    size_t whole = receive(child, until, replies, sizeof(replies)) / sizeof(*replies);
    int status = 0;

    close(child->from);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (whole) {
        *reply = replies[whole - 1];
        reply->why[sizeof(reply->why) - 1] = '\0';
        return 0;
    }
    if (xfp_wall_ns() > until)
        return xfp_fail(&s->sys, "no answer from the process that measures it");
    return WIFSIGNALED(status)
               ? xfp_fail(&s->sys, "the process that measures it was ended by signal %d",
                          WTERMSIG(status))
               : xfp_fail(&s->sys, "the process that measures it gave no answer");
}

/* ---- pairs of processes ---------------------------------------------------------------------- */

enum { PAIRS = XFP_FEWEST_SAMPLES, PAIRS_S = 30 /* at most, all of them */ };

/* One process; false: it gave no figures. */
static bool tells(struct xfp_session *s, int gpu, bool with, struct xfp_records_reply *reply)
{
    struct started child;

    return !start(s, gpu, 0, with ? XFP_RECORDS_WITH : XFP_RECORDS_WITHOUT, &child) &&
           !take_reply(s, &child, 0, reply) && reply->state == XFP_RECORDS_MEASURED;
}

/* Where one of them gives no figures, or all take too long, their figures stay unknown. alone: what
 * a launch took in those without records. */
static void measure_pairs(struct xfp_session *s, int gpu, struct xfp_records_reply *reply,
                          struct xfp_stats *alone)
{
    uint64_t until = xfp_wall_ns() + PAIRS_S * 1000000000ull;
    double added[XFP_RECORDS_COUNT][PAIRS], bare[PAIRS];
    size_t pairs[XFP_RECORDS_COUNT] = {0};

    for (size_t i = 0; i < PAIRS; i++) {
        static struct xfp_records_reply replies[2];

        for (size_t half = 0; half < 2; half++) {
            size_t with = (i + half) % 2;

            if (xfp_interrupted() || xfp_wall_ns() > until || !tells(s, gpu, with, &replies[with]))
                return;
        }
        bare[i] = replies[0].figures[XFP_RECORDS_LAUNCH].median;
        for (int f = 0; f < XFP_RECORDS_COUNT; f++)
            if (replies[0].figures[f].n && replies[1].figures[f].n)
                added[f][pairs[f]++] = replies[1].figures[f].median - replies[0].figures[f].median;
    }
    for (int f = 0; f < XFP_RECORDS_COUNT; f++)
        if (pairs[f] == PAIRS)
            reply->figures[f] = xfp_stats_of(added[f], PAIRS);
    if (pairs[XFP_RECORDS_LAUNCH] == PAIRS)
        *alone = xfp_stats_of(bare, PAIRS);
}

/* A warning for readers of this machine's figures. */
static void warn_of_speeds(struct xfp_session *s, const struct xfp_stats *alone)
{
    const double much = 1.2;

    if (alone->n && alone->max > much * alone->min)
        xfp_warn(
            &s->sys,
            "processes differ in speed here: a launch took %.2f us in one and %.2f us in another",
            alone->min / 1e3, alone->max / 1e3);
}

/* ---- the family ------------------------------------------------------------------------------ */

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    for (size_t d = 0; d < s->sys.device_count; d++) {
        struct xfp_bench bench = {.family = family,
                                  .src = {XFT_MEM_UNKNOWN, -1, -1},
                                  .dst = {XFT_MEM_DEVICE, s->sys.devices[d].ordinal, -1}};

        snprintf(bench.name, sizeof(bench.name), "records/gpu%d", bench.dst.device);
        snprintf(bench.result, sizeof(bench.result), "records/%s/gpu%d",
                 names[XFP_RECORDS_COPY_H2D], bench.dst.device);
        xfp_bench_add(list, &bench);
    }
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct xfp_records_reply reply = {0};
    struct xfp_stats alone = {0};
    uint64_t budget_ns = xfp_share_ns(s, 1);
    struct started child;
    int bad = 0;

    xfp_progress(s, path->name, 0);
    if (start(s, bench->dst.device, budget_ns, "", &child))
        return -1;
    if (take_reply(s, &child, budget_ns, &reply))
        return xfp_interrupted() ? 0 : -1;
    if (reply.state == XFP_RECORDS_ABSENT) {
        snprintf(s->absent, sizeof(s->absent), "%s", reply.why);
        return 0;
    }
    if (reply.state != XFP_RECORDS_MEASURED)
        return xfp_fail(&s->sys, "%s", reply.why);
    measure_pairs(s, bench->dst.device, &reply, &alone);
    for (int f = 0; f < XFP_RECORDS_COUNT && !bad; f++)
        bad = xfp_add_added(s, &reply.figures[f], "records/%s/gpu%d", names[f], bench->dst.device);
    if (!bad)
        bad = xfp_add_added(s, &reply.between_nodes, BETWEEN_NODES "/gpu%d", bench->dst.device);
    warn_of_speeds(s, &alone);
    return bad ? bad : xfp_add_added(s, &alone, BY_PROCESS "/gpu%d", bench->dst.device);
}

const struct xfp_family xfp_family_records = {
    .name = "records",
    .summary = "what CUPTI's records of a recorded program add to calls, copies and kernels",
    .names =
        {
#define NAME(figure, name, what) {"records/" name "/gpuN", what},
            XFP_RECORDS_FIGURES(NAME)
#undef NAME
                {BY_PROCESS "/gpuN", "the call that launches an empty kernel, without records, a "
                                     "sample for each of several processes (host)"},
            {BETWEEN_NODES "/gpuN", "from the end of a kernel of a graph to the start of the "
                                    "next one, which depends on it (device)"},
        },
    .bench_names = "records/gpuN",
    .part = XFP_PART_SCALARS,
    .needs = XFP_NEED_PROCESS,
    .method = XFP_COPY,
    .budget_s = 0.5,
    .quick_budget_s = 0.1,
    .enumerate = enumerate,
    .run = run,
};
