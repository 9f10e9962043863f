/* xferscope live: docs/live.md */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "analyzer/base/output.h"
#include "analyzer/base/units.h"
#include "analyzer/live/rates.h"
#include "analyzer/live/serve.h"
#include "common/nearest.h"
#include "common/text.h"

#define TRACE ".trace"
#define MOST_LEVELS 8 /* of processes below the one that was named */
#define INTERVAL_S 1.0
#define LEAST_REST 4.0 /* after a look, times what it took: a fifth of one core at most */
#define SITES 10
#define MOST_SECONDS 1e6

static const char usage[] =
    "usage: xferscope live RUN|PID [OPTIONS]\n"
    "\n"
    "Shows what moves now in a run that is being recorded: RUN is its directory (NAME.xft), PID a\n"
    "process that records, or its `xferscope record`. Each second: the rates of all transfers, by\n"
    "kind, and by call site. It ends with the run.\n"
    "\n"
    "      --once               one look: the rates since the run's start\n"
    "      --seconds S          end after S seconds\n"
    "  -n, --top N              show N call sites (10)\n"
    "      --openmetrics FILE   write the run's counters there each time, whole or not at all, "
    "for\n"
    "                           a node exporter; unix:PATH: serve them on a Unix socket instead\n"
    "  -q, --quiet              show nothing: for --openmetrics\n"
    "  -h, --help               print this\n"
    "\n"
    "Exit status: 0; 1 nothing could be read; 2 wrong usage; 4 the output could not be written.\n";

struct options {
    const char *run, *metrics;
    size_t top;
    double seconds; /* INFINITY: no limit */
    bool once, quiet;
};

enum live_option { ONCE = 256, SECONDS, METRICS };

static const struct option longs[] = {
    {"once", no_argument, NULL, ONCE},
    {"seconds", required_argument, NULL, SECONDS},
    {"top", required_argument, NULL, 'n'},
    {"openmetrics", required_argument, NULL, METRICS},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static volatile int stopped; /* by a signal */

static void stop(int number)
{
    stopped = 1;
}

/* ---- options --------------------------------------------------------------------------------- */

static int wrong(const char *what, const char *value)
{
    xfc_print(stderr, "xferscope live: %s%s%s; see xferscope live --help\n", what,
              value ? ": " : "", value ? value : "");
    return -1;
}

static int set_seconds(struct options *options, const char *word)
{
    char *end;
    options->seconds = strtod(word, &end);
    bool good = end != word && !*end && options->seconds > 0 && options->seconds <= MOST_SECONDS;
    return good ? 0 : wrong("not a number of seconds", word);
}

static int set_top(struct options *options, const char *word)
{
    uint64_t number;
    if (!xfa_number(word, &number))
        return wrong("not a number of call sites", word);
    options->top = number;
    return 0;
}

static int set_option(struct options *options, int option, const char *value)
{
    switch (option) {
    case ONCE:
        options->once = true;
        return 0;
    case SECONDS:
        return set_seconds(options, value);
    case 'n':
        return set_top(options, value);
    case METRICS:
        options->metrics = value;
        return *value ? 0 : wrong("--openmetrics lacks a file name", NULL);
    case 'q':
        options->quiet = true;
        return 0;
    default:
        return 0;
    }
}

/* 0: go on; 1: help was asked for; -1: wrong usage. */
static int parse(struct options *options, int argc, char **argv)
{
    int option;
    *options = (struct options){.top = SITES, .seconds = INFINITY};
    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":n:qh", longs, NULL)) != -1) {
        if (option == 'h')
            return 1;
        if (option == '?' || option == ':') {
            xfc_refused_option("live", option, argv, longs);
            return -1;
        }
        if (set_option(options, option, optarg) != 0)
            return -1;
    }
    if (optind + 1 != argc || !*argv[optind])
        return wrong(optind >= argc ? "which run?" : "one run at a time", NULL);
    options->run = argv[optind];
    return 0;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* ---- the run of a process -------------------------------------------------------------------- */

/* The directory of a mapped trace; a path is the last field of a line of /proc/PID/maps. */
static bool run_in_line(char *line, char run[PATH_MAX])
{
    size_t length = strcspn(line, "\n");
    char *path = strchr(line, '/'), *slash;
    line[length] = '\0';
    if (!path || strlen(path) <= strlen(TRACE) || strlen(path) >= PATH_MAX ||
        strcmp(path + strlen(path) - strlen(TRACE), TRACE) != 0)
        return false;
    slash = strrchr(path, '/');
    snprintf(run, PATH_MAX, "%.*s", (int)(slash - path), path);
    return slash > path;
}

/* False and errno: it cannot be looked at; 0: it can, and has none. */
static bool run_mapped(long pid, char run[PATH_MAX])
{
    char name[64], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(name, sizeof name, "/proc/%ld/maps", pid);
    FILE *maps = fopen(name, "re");
    if (!maps)
        return false;
    while (!found && getline(&line, &room, maps) > 0)
        found = run_in_line(line, run);
    free(line);
    fclose(maps);
    errno = 0;
    return found;
}

static bool run_below(long pid, int levels, char run[PATH_MAX])
{
    char name[96];
    long child;
    bool found = false;
    snprintf(name, sizeof name, "/proc/%ld/task/%ld/children", pid, pid);
    FILE *children = levels > 0 ? fopen(name, "re") : NULL;
    if (!children)
        return false;
    while (!found && fscanf(children, "%ld", &child) == 1)
        found = run_mapped(child, run) || run_below(child, levels - 1, run);
    fclose(children);
    return found;
}

/*
 * The run directory of a process of this host, by the trace that it has mapped; of `xferscope
 * record` and of launchers by those of the processes that they started. False with one line in
 * error: there is no such process, or it records nothing yet.
 */
static bool run_of_process(long pid, char run[PATH_MAX], char *error, size_t error_bytes)
{
    if (run_mapped(pid, run))
        return true;
    int why = errno;
    if (why == 0 && run_below(pid, MOST_LEVELS, run))
        return true;
    snprintf(error, error_bytes, "process %ld %s%s", pid,
             why ? "cannot be looked at: " : "records nothing (yet)", why ? strerror(why) : "");
    return false;
}

/* ---- the run that is asked for --------------------------------------------------------------- */

/* A number is a process, unless there is a file of that name. False after a line on stderr. */
static bool find_run(const char *word, char run[PATH_MAX])
{
    char error[PATH_MAX + 128];
    uint64_t pid;
    if (!xfa_number(word, &pid) || access(word, F_OK) == 0) {
        snprintf(run, PATH_MAX, "%s", word);
        return true;
    }
    if (pid <= INT_MAX && run_of_process((long)pid, run, error, sizeof error))
        return true;
    xfc_print(stderr, "xferscope live: %s\n", pid <= INT_MAX ? error : "no such process");
    return false;
}

struct watching {
    const struct options *options;
    struct xfa_live_view view;
    struct xfa_server server;
    struct xfa_look *before;
    double began_s; /* of the first look */
};

/* One look, shown. NULL: it failed, *status says how. */
static struct xfa_look *look(struct watching *w, const char *run, int *status)
{
    char error[PATH_MAX + 256];
    struct xfa_look *now = xfa_look_at(run, w->options->metrics != NULL, error, sizeof error);
    if (!now) {
        xfc_print(stderr, "xferscope live: %s\n", error);
        *status = XFA_NOTHING;
        return NULL;
    }
    if (!w->options->quiet)
        xfa_rates_write(w->before, now, &w->view, stdout);
    if (ferror(stdout) ||
        (now->metrics && xfa_serve_put(&w->server, now->metrics, now->metrics_bytes) != 0)) {
        *status = XFA_OUTPUT;
        xfa_look_free(now);
        return NULL;
    }
    return now;
}

/* True: there is to be another look. */
static bool rest(struct watching *w, const struct xfa_look *now)
{
    double wait = fmax(INTERVAL_S, LEAST_REST * now->took_s);
    double end = w->began_s + w->options->seconds;
    if (w->options->once || now->working == 0)
        return false;
    xfa_serve_until(&w->server, fmin(now->at_s + now->took_s + wait, end), &stopped,
                    now->metrics ? now->metrics : "", now->metrics ? now->metrics_bytes : 0);
    return !stopped && now->at_s + now->took_s + wait < end;
}

static int watch(struct watching *w, const char *run)
{
    int status = XFA_OK;
    if (w->view.terminal && !w->options->quiet)
        fputs("\033[2J", stdout);
    for (bool more = true; more;) {
        struct xfa_look *now = look(w, run, &status);
        if (!now)
            break;
        if (!w->before)
            w->began_s = now->at_s;
        xfa_look_free(w->before);
        w->before = now;
        more = rest(w, now);
    }
    xfa_look_free(w->before);
    return status;
}

static int live(const struct options *options)
{
    const struct sigaction on_stop = {.sa_handler = stop};
    char run[PATH_MAX];
    struct watching w = {.options = options,
                         .view = {.top = options->top,
                                  .width = xfa_output_width(stdout),
                                  .terminal = isatty(STDOUT_FILENO) && !options->once}};
    if (!find_run(options->run, run))
        return XFA_NOTHING;
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of writing */
    sigaction(SIGINT, &on_stop, NULL);
    sigaction(SIGTERM, &on_stop, NULL);
    int status = xfa_serve_open(&w.server, options->metrics) == 0 ? watch(&w, run) : XFA_OUTPUT;
    xfa_serve_close(&w.server);
    return status;
}

int xfa_live_command(int argc, char **argv)
{
    struct options options;
    setlocale(LC_CTYPE, "");
    int parsed = parse(&options, argc, argv);
    if (parsed > 0)
        return fputs(usage, stdout) < 0 ? XFA_OUTPUT : XFA_OK;
    return parsed < 0 ? XFA_USAGE : live(&options);
}
