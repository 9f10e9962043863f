/* xferscope record: docs/record.md */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/nearest.h"
#include "common/text.h"
#include "preload/record/ranks.h"
#include "tools/xferscope/child.h"
#include "tools/xferscope/commands.h"
#include "tools/xferscope/given_plan.h"
#include "tools/xferscope/preloaded.h"
#include "tools/xferscope/record.h"
#include "tools/xferscope/record_end.h"

enum { MAX_STACK_DEPTH = 64 };

static const char usage[] =
    "usage: xferscope record [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs PROGRAM and records its CUDA transfers in the run directory NAME.xft.\n"
    "\n"
    "  -o, --output NAME      run directory; default: PROGRAM-PID.xft\n"
    "      --force            replace a run of that name\n" RECORD_WHAT_USAGE
    "  -p, --profile FILE     machine profile for the summary, from `xferscope probe`\n"
    "      --no-summary       end with one line instead of the summary\n"
    "  -q, --quiet            say nothing when all went well\n"
    "  -h, --help             print this\n"
    "\n"
    "The exit status is PROGRAM's own; 125 to 127 when record itself failed.\n";

static const char *speaker = "record"; /* the subcommand whose options are parsed */

int record_own_error(const char *format, ...)
{
    va_list arguments;
    char *line = NULL;

    va_start(arguments, format);
    if (vasprintf(&line, format, arguments) >= 0)
        xfc_print(stderr, "xferscope %s: %s\n", speaker, line);
    va_end(arguments);
    free(line);
    return RECORD_OWN_ERROR;
}

static int check_depth(const char *text)
{
    char *end;
    long depth = strtol(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || depth < 1 || depth > MAX_STACK_DEPTH)
        return record_own_error("--stack-depth wants a number from 1 to %d, not '%s'",
                                MAX_STACK_DEPTH, text);
    return 0;
}

/* The word is one of `words`; `are` names them. */
static int check_word(const char *option, const char *are, const char *word,
                      const char *const *words, size_t count)
{
    char meant[64];

    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return 0;
    xfc_did_you_mean(meant, sizeof meant, "", xfc_nearest(word, words, count));
    return record_own_error("%s wants %s, not '%s'%s", option, are, word, meant);
}

static int check_content(const char *word)
{
    static const char *const words[] = {"auto", "off", "sampled", "whole"};

    return check_word("--content", "auto, off, sampled or whole", word, words,
                      sizeof words / sizeof *words);
}

static int check_timing(const char *word)
{
    static const char *const words[] = {"auto", "cupti", "event", "host"};

    return check_word("--timing", "auto, cupti, event or host", word, words,
                      sizeof words / sizeof *words);
}

static int check_budget(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 2 || text[digits])
        return record_own_error("--budget wants a percentage from 0 to 99, not '%s'", text);
    return 0;
}

static int check_profile(const char *path)
{
    if (access(path, R_OK) != 0)
        return record_own_error("--profile %s: %s", path, strerror(errno));
    return 0;
}

/* In the setting's form: digits, and a fraction. */
static int check_seconds(const char *option, const char *text)
{
    size_t whole = strspn(text, "0123456789"), part = 0;

    if (text[whole] == '.')
        part = 1 + strspn(text + whole + 1, "0123456789");
    if (whole == 0 || whole > 9 || part > 10 || text[whole + part])
        return record_own_error("%s wants seconds, such as 2.5, not '%s'", option, text);
    return 0;
}

static int check_duration(const char *text)
{
    int status = check_seconds("--duration", text);

    if (status == 0 && !text[strspn(text, "0.")]) /* the recorder takes 0 as no limit */
        return record_own_error("--duration wants more than no time, not '%s'", text);
    return status;
}

static int check_phase(const char *name)
{
    enum { MOST = 255 };

    if (!*name || strlen(name) > MOST)
        return record_own_error("--phase wants the name of an NVTX range, of at most %d bytes",
                                MOST);
    return 0;
}

static int check_size(const char *text)
{
    static const char suffixes[] = "KMG";
    const double most = 999999.0 * (1 << 30);
    size_t digits = strspn(text, "0123456789");
    const char *suffix = text[digits] ? strchr(suffixes, text[digits]) : NULL;
    double bytes = digits > 0 && digits < 16 ? strtod(text, NULL) : 0;

    for (int i = 0; suffix && i <= suffix - suffixes; i++)
        bytes *= 1024;
    if ((text[digits] && (!suffix || text[digits + 1])) || bytes < 1 << 20 || bytes > most)
        return record_own_error("--max-size wants 1M to 999999G, such as 500M, not '%s'", text);
    return 0;
}

enum option_values {
    OPT_FORCE = 256,
    OPT_NO_STACKS,
    OPT_NO_SOURCES,
    OPT_STACK_DEPTH,
    OPT_TIMING,
    OPT_CONTENT,
    OPT_HOST_ACCESS,
    OPT_VERIFY,
    OPT_NO_KERNELS,
    OPT_NO_MANAGED,
    OPT_NO_SUMMARY,
    OPT_DELAY,
    OPT_DURATION,
    OPT_PHASE,
    OPT_MAX_SIZE,
    OPT_BUDGET,
    OPT_NO_PROBE,
    OPT_NO_PAGE,
    OPT_APPLY,
};

/* The first are of `run` alone. */
enum { OF_RUN = 2 };
static const struct option long_options[] = {
    {"no-probe", no_argument, NULL, OPT_NO_PROBE},
    {"no-page", no_argument, NULL, OPT_NO_PAGE},
    {"output", required_argument, NULL, 'o'},
    {"force", no_argument, NULL, OPT_FORCE},
    {"no-stacks", no_argument, NULL, OPT_NO_STACKS},
    {"no-sources", no_argument, NULL, OPT_NO_SOURCES},
    {"stack-depth", required_argument, NULL, OPT_STACK_DEPTH},
    {"no-kernels", no_argument, NULL, OPT_NO_KERNELS},
    {"no-managed", no_argument, NULL, OPT_NO_MANAGED},
    {"timing", required_argument, NULL, OPT_TIMING},
    {"content", optional_argument, NULL, OPT_CONTENT},
    {"host-access", no_argument, NULL, OPT_HOST_ACCESS},
    {"verify", no_argument, NULL, OPT_VERIFY},
    {"delay", required_argument, NULL, OPT_DELAY},
    {"duration", required_argument, NULL, OPT_DURATION},
    {"phase", required_argument, NULL, OPT_PHASE},
    {"max-size", required_argument, NULL, OPT_MAX_SIZE},
    {"budget", required_argument, NULL, OPT_BUDGET},
    {"apply", required_argument, NULL, OPT_APPLY},
    {"profile", required_argument, NULL, 'p'},
    {"no-summary", no_argument, NULL, OPT_NO_SUMMARY},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* What an option without a value sets; NULL: it has one. */
static bool *flag_of(int option, struct record_options *options)
{
    switch (option) {
    case OPT_FORCE:
        return &options->force;
    case OPT_NO_STACKS:
        return &options->no_stacks;
    case OPT_NO_SOURCES:
        return &options->no_sources;
    case OPT_NO_KERNELS:
        return &options->no_kernels;
    case OPT_NO_MANAGED:
        return &options->no_managed;
    case OPT_HOST_ACCESS:
        return &options->host_access;
    case OPT_VERIFY:
        return &options->verify;
    case OPT_NO_SUMMARY:
        return &options->no_summary;
    case 'q':
        return &options->quiet;
    case OPT_NO_PROBE:
        return &options->no_probe;
    case OPT_NO_PAGE:
        return &options->no_page;
    default:
        return NULL;
    }
}

/* One option. 0, an exit status, or -1 for --help. */
static int take_option(int option, char **argv, const struct option *known,
                       struct record_options *options)
{
    bool *flag = flag_of(option, options);
    if (flag) {
        *flag = true;
        return 0;
    }
    switch (option) {
    case 'o':
        options->output = optarg;
        return *optarg ? 0 : record_own_error("-o wants a name");
    case OPT_STACK_DEPTH:
        options->stack_depth = optarg;
        return check_depth(optarg);
    case OPT_DELAY:
        options->delay = optarg;
        return check_seconds("--delay", optarg);
    case OPT_DURATION:
        options->duration = optarg;
        return check_duration(optarg);
    case OPT_PHASE:
        options->phase = optarg;
        return check_phase(optarg);
    case OPT_MAX_SIZE:
        options->max_size = optarg;
        return check_size(optarg);
    case OPT_BUDGET:
        options->budget = optarg;
        return check_budget(optarg);
    case OPT_APPLY:
        options->apply = optarg;
        return *optarg ? 0 : record_own_error("--apply wants a plan");
    case OPT_CONTENT:
        options->content = optarg ? optarg : "sampled";
        return check_content(options->content);
    case OPT_TIMING:
        options->timing = optarg;
        return check_timing(optarg);
    case 'p':
        options->profile = optarg;
        return check_profile(optarg);
    case 'h':
        return -1;
    default:
        xfc_refused_option(speaker, option, argv, known);
        return RECORD_OWN_ERROR;
    }
}

int record_parse(const char *command, int argc, char **argv, struct record_options *options)
{
    const struct option *known = long_options + (strcmp(command, "record") == 0 ? OF_RUN : 0);
    int option, status;

    *options = (struct record_options){0};
    speaker = command;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "+:o:p:qh", known, NULL)) != -1) {
        status = take_option(option, argv, known, options);
        if (status != 0)
            return status;
    }
    options->given = argv + 1;
    options->given_count = (size_t)(optind - 1);
    options->program = argv + optind;
    return optind < argc ? 0 : record_own_error("no program given; xferscope help %s", speaker);
}

/* PROGRAM-PID; a long name is cut as the recorder does, but at whole characters. */
static int default_name(const char *program, char *name, size_t bytes)
{
    enum { MOST = 200 };
    const char *slash = strrchr(program, '/'), *base = slash ? slash + 1 : program;
    int length = (int)strnlen(base, MOST);

    while (length > 0 && base[length] && ((unsigned char)base[length] & 0xc0) == 0x80)
        length--;
    return snprintf(name, bytes, "%.*s-%ld", length, base, (long)getpid());
}

/* The run directory, absolute (the program may change its working directory), ending in .xft; of
 * one of several ranks that all are recorded by their own record, in .rankN.xft. */
static int name_output(const struct record_options *options, int rank, char *path, size_t bytes)
{
    char part[32] = "";
    bool ended;

    char folder[PATH_MAX] = "", name[PATH_MAX];
    size_t length;
    int n;

    if (options->output) {
        n = snprintf(name, sizeof name, "%s", options->output);
    } else {
        n = default_name(options->program[0], name, sizeof name);
    }
    if (n < 0 || (size_t)n >= sizeof name)
        return record_own_error("the name of the run is too long");
    for (length = (size_t)n; length > 1 && name[length - 1] == '/'; length--)
        name[length - 1] = '\0';
    if (name[0] != '/' && !getcwd(folder, sizeof folder))
        return record_own_error("cannot tell the working directory: %s", strerror(errno));
    ended = length >= 4 && strcmp(name + length - 4, ".xft") == 0;
    if (rank >= 0) {
        snprintf(part, sizeof part, ".rank%d", rank);
        name[ended ? length - 4 : length] = '\0';
        ended = false;
    }
    n = snprintf(path, bytes, "%s%s%s%s%s", folder, *folder ? "/" : "", name, part,
                 ended ? "" : ".xft");
    if (n < 0 || (size_t)n >= bytes)
        return record_own_error("the name of the run is too long");
    return 0;
}

/* What the processes are given of --apply. */
struct applying {
    struct xfa_apply_plan *plan; /* NULL: nothing is applied */
    struct xfs_report *report;
    char plan_name[GIVEN_MEMORY_NAME], report_name[GIVEN_MEMORY_NAME];
};

/* 0, or an exit status after a line. */
static int begin_applying(const struct record_options *options, struct applying *applying)
{
    *applying = (struct applying){0};
    if (!options->apply)
        return 0;
    applying->plan = given_plan(options->apply, false, applying->plan_name, record_own_error);
    if (!applying->plan)
        return RECORD_OWN_ERROR;
    applying->report =
        given_memory(XFS_REPORT_NAME, sizeof *applying->report, applying->report_name);
    if (applying->report)
        applying->report->bytes = sizeof *applying->report;
    return 0;
}

static void end_applying(const struct record_options *options, struct applying *applying)
{
    if (applying->plan && applying->report && !options->quiet)
        given_plan_end(applying->plan, applying->report, speaker);
    xfa_apply_plan_free(applying->plan);
}

static int run_program(const struct record_options *options, const char *library,
                       const char *output, const char *run, const struct applying *applying,
                       struct child_result *result)
{
    enum { MOST = 28 };
    struct child_setting settings[MOST];
    const char *nvtx = getenv("NVTX_INJECTION64_PATH");
    size_t count = 0;

    settings[count++] = (struct child_setting){"XFERSCOPE_OUTPUT", output};
    settings[count++] = (struct child_setting){"XFERSCOPE_RUN", run};
    settings[count++] = (struct child_setting){"XFERSCOPE_SYMBOLS", "0"};
    if (!nvtx || !*nvtx) /* else it is another tool's, and stays */
        settings[count++] = (struct child_setting){"NVTX_INJECTION64_PATH", library};
    if (options->no_stacks)
        settings[count++] = (struct child_setting){"XFERSCOPE_STACKS", "0"};
    if (options->no_sources)
        settings[count++] = (struct child_setting){"XFERSCOPE_SOURCES", "0"};
    if (options->content)
        settings[count++] = (struct child_setting){"XFERSCOPE_CONTENT", options->content};
    if (options->host_access)
        settings[count++] = (struct child_setting){"XFERSCOPE_HOST_ACCESS", "1"};
    if (options->verify)
        settings[count++] = (struct child_setting){"XFERSCOPE_VERIFY", "1"};
    if (options->no_kernels)
        settings[count++] = (struct child_setting){"XFERSCOPE_KERNELS", "0"};
    if (options->no_managed)
        settings[count++] = (struct child_setting){"XFERSCOPE_MANAGED", "0"};
    if (options->stack_depth)
        settings[count++] = (struct child_setting){"XFERSCOPE_STACK_DEPTH", options->stack_depth};
    if (options->timing)
        settings[count++] = (struct child_setting){"XFERSCOPE_TIMING", options->timing};
    if (options->budget)
        settings[count++] = (struct child_setting){"XFERSCOPE_BUDGET", options->budget};
    if (options->delay)
        settings[count++] = (struct child_setting){"XFERSCOPE_DELAY", options->delay};
    if (options->duration)
        settings[count++] = (struct child_setting){"XFERSCOPE_DURATION", options->duration};
    if (options->phase)
        settings[count++] = (struct child_setting){"XFERSCOPE_PHASE", options->phase};
    if (options->max_size)
        settings[count++] = (struct child_setting){"XFERSCOPE_MAX_SIZE", options->max_size};
    if (applying->plan) {
        settings[count++] = (struct child_setting){"XFERSCOPE_APPLY", "on"};
        settings[count++] = (struct child_setting){"XFERSCOPE_APPLY_PLAN", applying->plan_name};
        settings[count++] = (struct child_setting){"XFERSCOPE_APPLY_REPORT", applying->report_name};
    }
    return preloaded_run(options->program, library, settings, count, result, record_own_error);
}

/* ---- what `again` repeats --------------------------------------------------------------- */

/* Appends `separator` and a word. False: it does not fit, or has a separator in it. */
static bool add_word(char *text, size_t bytes, const char *separator, const char *word)
{
    size_t length = strlen(text);
    int n = snprintf(text + length, bytes - length, "%s%s", separator, word);

    return n >= 0 && (size_t)n < bytes - length && !strpbrk(word, RECORD_PART RECORD_WORD);
}

/* As META has it under `started`; "" when it is not known. */
static void describe(const struct record_options *options, char *text, size_t bytes)
{
    char folder[PATH_MAX];
    const char *between = RECORD_PART;
    bool good = getcwd(folder, sizeof folder) != NULL;

    *text = '\0';
    good = good && add_word(text, bytes, "", folder);
    for (size_t i = 0; good && i < options->given_count; i++, between = RECORD_WORD)
        good = add_word(text, bytes, between, options->given[i]);
    if (good && options->given_count == 0)
        good = add_word(text, bytes, between, "");
    between = RECORD_PART;
    for (char **word = options->program; good && *word; word++, between = RECORD_WORD)
        good = add_word(text, bytes, between, *word);
    if (!good)
        *text = '\0';
}

/* ---- the command ------------------------------------------------------------------------ */

/* Records in a directory that is claimed. 0, or an exit status: the program was not run. */
static int record_in(struct rundir *dir, const struct record_options *options, const char *library,
                     struct recorded *recorded)
{
    struct run_notes notes;
    struct applying applying;
    char started[XFS_NOTES_STARTED_BYTES];
    int status;

    status = begin_applying(options, &applying);
    if (status != 0) {
        record_undo(dir);
        return status;
    }
    describe(options, started, sizeof started);
    run_notes_open(&notes, recorded->path, started);
    fflush(NULL);
    status = run_program(options, library, recorded->path, notes.run, &applying, &recorded->result);
    end_applying(options, &applying);
    if (status != 0) {
        record_undo(dir);
        return status;
    }
    record_end(dir, &notes,
               &(struct record_words){.program = options->program[0],
                                      .profile = options->profile,
                                      .part = options->delay || options->duration ||
                                              options->phase || options->max_size,
                                      .ranked = recorded->rank >= 0,
                                      .quiet = options->quiet || recorded->rank > 0,
                                      .brief = options->no_summary,
                                      .led = options->led},
               &recorded->totals);
    return 0;
}

int record_program(const struct record_options *options, struct recorded *recorded)
{
    struct rundir dir;
    struct xfs_rank rank;
    char library[PATH_MAX], error[2 * PATH_MAX];
    int status = preloaded_library(library, sizeof library, record_own_error);

    *recorded = (struct recorded){0};
    xfs_rank_find(&rank);
    if (rank.size == 1)
        rank.rank = -1;
    recorded->rank = rank.rank;
    if (status == 0)
        status = name_output(options, rank.rank, recorded->path, sizeof recorded->path);
    if (status != 0)
        return status;
    if (rundir_claim(&dir, recorded->path, options->force, error, sizeof error) != 0)
        return record_own_error("%s", error);
    return record_in(&dir, options, library, recorded);
}

int xferscope_record(int argc, char **argv)
{
    struct record_options options;
    struct recorded recorded;
    int status = record_parse("record", argc, argv, &options);

    if (status < 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (status == 0)
        status = record_program(&options, &recorded);
    return status ? status : child_reproduce(recorded.result.wait_status);
}
