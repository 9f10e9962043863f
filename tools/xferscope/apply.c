/* xferscope apply: docs/apply.md */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/nearest.h"
#include "common/text.h"
#include "preload/apply/state/classes.h"
#include "tools/xferscope/apply_end.h"
#include "tools/xferscope/checked_plan.h"
#include "tools/xferscope/commands.h"
#include "tools/xferscope/figures.h"
#include "tools/xferscope/given_plan.h"
#include "tools/xferscope/preloaded.h"
#include "xferscope/profile.h"

static const char usage[] =
    "usage: xferscope apply [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs PROGRAM and carries out on it what of the advice is safe for every program, where that\n"
    "proves faster: large copies of pageable memory by threads through page-locked memory, large\n"
    "allocations of page-locked memory by threads.\n"
    "\n"
    "      --plan PLAN        also what PLAN says, which xferscope analyze RUN --plan wrote\n"
    "      --check            also make every changed operation as PROGRAM asked, and compare\n"
    "      --profile FILE     this machine's profile; default: looked up as xferscope analyze "
    "does\n"
    "      --no-profile       begin as on any machine\n"
    "      --memory SIZE      most page-locked memory of a process (K, M, G); default: 256M\n"
    "      --threads N        most threads that copy; default: half of the processors\n"
    "      --only CLASSES     names of classes with commas between, or `all`; default:\n"
    "                         all but pipeline and relay\n"
    "      --off SITES        sites to leave alone, MODULE+0xOFFSET with commas between\n"
    "  -q, --quiet            say nothing at the end\n"
    "  -h, --help             print this\n"
    "\n"
    "The exit status is PROGRAM's own; 125 to 127 when apply itself failed.\n";

struct options {
    const char *memory, *threads, *only, *off, *plan, *profile;
    bool check, quiet, no_profile;
    char **program;
};

static int refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int refuse(const char *format, ...)
{
    va_list arguments;
    char *line = NULL;

    va_start(arguments, format);
    if (vasprintf(&line, format, arguments) >= 0)
        xfc_print(stderr, "xferscope apply: %s\n", line);
    va_end(arguments);
    free(line);
    return PRELOADED_OWN_ERROR;
}

/* ---- options --------------------------------------------------------------------------------- */

static int check_size(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 9 ||
        (text[digits] && (!strchr("KMG", text[digits]) || text[digits + 1])))
        return refuse("--memory wants a size such as 256M, not '%s'", text);
    return 0;
}

static int check_threads(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 3 || text[digits] || !text[strspn(text, "0")])
        return refuse("--threads wants a number from 1 to 999, not '%s'", text);
    return 0;
}

static bool is_class(const char *word, size_t length)
{
    for (unsigned i = 0; i < XFS_CLASS_COUNT; i++)
        if (strlen(xfs_class_word(i)) == length && strncmp(xfs_class_word(i), word, length) == 0)
            return true;
    return false;
}

static int check_classes(const char *text)
{
    const char *at = text;

    if (strcmp(text, "all") == 0)
        return 0;
    do {
        size_t length = strcspn(at, ",");
        if (!is_class(at, length))
            return refuse("--only: there is no class '%.*s'; xferscope help apply", (int)length,
                          at);
        at += length;
    } while (*at++ == ',');
    return 0;
}

enum {
    OPT_CHECK = 256,
    OPT_MEMORY,
    OPT_THREADS,
    OPT_ONLY,
    OPT_OFF,
    OPT_PLAN,
    OPT_PROFILE,
    OPT_NO_PROFILE
};
static const struct option known[] = {
    {"check", no_argument, NULL, OPT_CHECK},
    {"memory", required_argument, NULL, OPT_MEMORY},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"only", required_argument, NULL, OPT_ONLY},
    {"off", required_argument, NULL, OPT_OFF},
    {"plan", required_argument, NULL, OPT_PLAN},
    {"profile", required_argument, NULL, OPT_PROFILE},
    {"no-profile", no_argument, NULL, OPT_NO_PROFILE},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* One option. 0, an exit status, or -1 for --help. */
static int take_option(int option, char **argv, struct options *options)
{
    switch (option) {
    case OPT_CHECK:
        options->check = true;
        return 0;
    case OPT_MEMORY:
        options->memory = optarg;
        return check_size(optarg);
    case OPT_THREADS:
        options->threads = optarg;
        return check_threads(optarg);
    case OPT_ONLY:
        options->only = optarg;
        return check_classes(optarg);
    case OPT_OFF:
        options->off = optarg;
        return 0;
    case OPT_PLAN:
        options->plan = optarg;
        return 0;
    case OPT_PROFILE:
        options->profile = optarg;
        return 0;
    case OPT_NO_PROFILE:
        options->no_profile = true;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case 'h':
        return -1;
    default:
        xfc_refused_option("apply", option, argv, known);
        return PRELOADED_OWN_ERROR;
    }
}

static int parse(int argc, char **argv, struct options *options)
{
    int option, status;

    *options = (struct options){.only = "on"};
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "+:qh", known, NULL)) != -1) {
        status = take_option(option, argv, options);
        if (status != 0)
            return status;
    }
    options->program = argv + optind;
    return optind < argc ? 0 : refuse("no program given; xferscope help apply");
}

/* ---- the profile ----------------------------------------------------------------------------- */

/* The settings that follow from it, for child_setting; "": none. */
struct from_profile {
    char threads[16], least[24], relays[4096];
};

/* What the user sets is the user's. */
static void write_number(char *text, size_t bytes, const char *variable, uint64_t number)
{
    if (number > 0 && getenv(variable) == NULL)
        snprintf(text, bytes, "%" PRIu64, number);
}

/* 0, or an exit status: a profile that was named has to be one. */
static int look_up(const struct options *options, struct from_profile *from)
{
    char path[PATH_MAX], why[256];
    struct figures figures;

    *from = (struct from_profile){"", "", ""};
    snprintf(path, sizeof path, "%s", options->profile ? options->profile : "");
    if (options->no_profile ||
        (!*path && xfp_look_up(NULL, false, path, sizeof path) == XFP_NOT_THERE))
        return 0;
    bool good = figures_of(path, &figures, why, sizeof why);
    if (!good && options->profile)
        return refuse("%s", why);
    if (!good) {
        xfc_print(stderr, "xferscope apply: %s; it is not used\n", why);
        return 0;
    }
    if (getenv("XFERSCOPE_APPLY_RELAYS") == NULL)
        snprintf(from->relays, sizeof from->relays, "%s", figures.relays);
    if (!options->threads)
        write_number(from->threads, sizeof from->threads, "XFERSCOPE_APPLY_THREADS",
                     figures.tuned.threads);
    write_number(from->least, sizeof from->least, "XFERSCOPE_APPLY_LEAST", figures.tuned.least);
    return 0;
}

static size_t add_profile(const struct from_profile *from, struct child_setting *settings,
                          size_t count)
{
    if (*from->threads)
        settings[count++] = (struct child_setting){"XFERSCOPE_APPLY_THREADS", from->threads};
    if (*from->least)
        settings[count++] = (struct child_setting){"XFERSCOPE_APPLY_LEAST", from->least};
    if (*from->relays)
        settings[count++] = (struct child_setting){"XFERSCOPE_APPLY_RELAYS", from->relays};
    return count;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Nothing is recorded. */
static int run(const struct options *options, const char *report, const char *plan,
               struct child_result *result)
{
    struct child_setting settings[12];
    struct from_profile from;
    char library[PATH_MAX];
    size_t count = 0;
    int status = preloaded_library(library, sizeof library, refuse);

    if (status == 0)
        status = look_up(options, &from);
    if (status != 0)
        return status;
    count = add_profile(&from, settings, count);
    settings[count++] = (struct child_setting){"XFERSCOPE_ENABLE", "0"};
    settings[count++] = (struct child_setting){"XFERSCOPE_APPLY", options->only};
    settings[count++] = (struct child_setting){"XFERSCOPE_APPLY_REPORT", report};
    if (options->plan)
        settings[count++] = (struct child_setting){"XFERSCOPE_APPLY_PLAN", plan};
    if (options->check)
        settings[count++] = (struct child_setting){"XFERSCOPE_APPLY_CHECK", "1"};
    if (options->memory)
        settings[count++] = (struct child_setting){"XFERSCOPE_APPLY_MEMORY", options->memory};
    if (options->threads)
        settings[count++] = (struct child_setting){"XFERSCOPE_APPLY_THREADS", options->threads};
    if (options->off)
        settings[count++] = (struct child_setting){"XFERSCOPE_APPLY_OFF", options->off};
    fflush(NULL);
    return preloaded_run(options->program, library, settings, count, result, refuse);
}

static uint64_t calendar_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int xferscope_apply(int argc, char **argv)
{
    struct options options;
    struct child_result result;
    char name[GIVEN_MEMORY_NAME], plan_name[GIVEN_MEMORY_NAME];
    struct xfa_apply_plan *plan = NULL;
    int status = parse(argc, argv, &options);
    uint64_t started_ns = calendar_ns();

    if (status < 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (status != 0)
        return status;
    if (options.plan && !(plan = given_plan(options.plan, options.check, plan_name, refuse)))
        return PRELOADED_OWN_ERROR;
    struct xfs_report *report = given_memory(XFS_REPORT_NAME, sizeof *report, name);
    if (report)
        report->bytes = sizeof *report;
    status = run(&options, name, plan_name, &result);
    if (status == 0 && !options.quiet && report)
        apply_end(report, started_ns, plan);
    if (status == 0 && plan && report && options.check)
        checked_plan_note(plan, options.plan, report);
    xfa_apply_plan_free(plan);
    if (status != 0)
        return status;
    return child_reproduce(result.wait_status);
}
