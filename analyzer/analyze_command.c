/* xferscope analyze: docs/analyze.md. */
#include "analyzer/analyzer.h"

#include <getopt.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "common/text.h"
#include "analyzer/base/output.h"
#include "analyzer/base/units.h"
#include "analyzer/report/report.h"
#include "analyzer/model/resolve.h"

struct options {
    const char *trace, *profile, *output;
    const struct xfa_format *format;
    enum xfa_sort sort;
    size_t top;
};

static const char usage[] =
    "usage: xferscope analyze TRACE [options]\n"
    "\n"
    "Reads a run (NAME.xft, or one of its .trace files) and reports, for each call site and kind\n"
    "of transfer, what it achieved, what the machine could have given and what to change.\n"
    "\n"
    "  -p, --profile FILE   machine profile, from `xferscope probe`\n"
    "  -f, --format FORMAT  text (default) or json\n"
    "  -o, --output FILE    write there instead of standard output\n"
    "  -n, --top N          show N rows of transfers (text: 20, json: all); 0 = all\n"
    "  -s, --sort ORDER     lost (default), bytes or count\n"
    "  -h, --help           show this\n"
    "\n"
    "Exit status: 0 reported; 1 nothing could be read; 2 wrong usage; 3 reported, but part of the\n"
    "input was lost or could not be read; 4 the output could not be written.\n";

#define TOP_OF_FORMAT ((size_t)-1)
#define TOP_TEXT 20

const struct xfa_format *xfa_format_find(const char *name)
{
    static const struct xfa_format *const formats[] = {&xfa_format_text, &xfa_format_json};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

static int wrong(const char *what, const char *value)
{
    xfc_print(stderr, "xferscope analyze: %s%s%s; see xferscope analyze --help\n", what,
              value ? ": " : "", value ? value : "");
    return -1;
}

static int set_sort(struct options *options, const char *word)
{
    static const char *const words[] = {"lost", "bytes", "count"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i], word) == 0) {
            options->sort = (enum xfa_sort)i;
            return 0;
        }
    }
    return wrong("no such order", word);
}

static int set_top(struct options *options, const char *word)
{
    uint64_t number;
    if (!xfa_number(word, &number) || number >= TOP_OF_FORMAT)
        return wrong("not a number of rows", word);
    options->top = number;
    return 0;
}

static int set_file(const char **file, const char *name, const char *lacks)
{
    *file = name;
    return *name ? 0 : wrong(lacks, NULL);
}

static int set_option(struct options *options, int option, const char *value)
{
    switch (option) {
    case 'p':
        return set_file(&options->profile, value, "--profile lacks a file name");
    case 'o':
        return set_file(&options->output, value, "--output lacks a file name");
    case 's':
        return set_sort(options, value);
    case 'n':
        return set_top(options, value);
    case 'f':
        options->format = xfa_format_find(value);
        return options->format ? 0 : wrong("no such format", value);
    case ':':
        return wrong("an option lacks its value", NULL);
    default:
        return wrong("unknown option", NULL);
    }
}

/* 0: go on; 1: help was asked for; -1: wrong usage. */
static int parse(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"profile", required_argument, NULL, 'p'},
        {"format", required_argument, NULL, 'f'},
        {"output", required_argument, NULL, 'o'},
        {"top", required_argument, NULL, 'n'},
        {"sort", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *options = (struct options){.format = &xfa_format_text, .top = TOP_OF_FORMAT};
    optind = 0; /* this may be the second parse of the process */
    int option;
    while ((option = getopt_long(argc, argv, ":p:f:o:n:s:h", longs, NULL)) != -1) {
        if (option == 'h')
            return 1;
        if (option == '?' && optind > 0 && optind <= argc)
            return wrong("unknown option", argv[optind - 1]);
        if (set_option(options, option, optarg) != 0)
            return -1;
    }
    if (optind + 1 != argc || !*argv[optind])
        return wrong(optind >= argc - 1 ? "which trace?" : "one trace at a time", NULL);
    options->trace = argv[optind];
    if (options->top == TOP_OF_FORMAT)
        options->top = options->format == &xfa_format_text ? TOP_TEXT : 0;
    return 0;
}

/* A profile that cannot be read leaves the achievable figures unknown; all else is reported. */
static struct xfp_profile *load_profile(const struct options *options, char **problem)
{
    char error[1024] = "";
    if (!options->profile)
        return NULL;
    struct xfp_profile *profile = xfp_read_file(options->profile, error, sizeof error);
    if (!profile) {
        *problem = xfa_kept(error, strlen(error));
        xfc_print(stderr, "xferscope analyze: %s; going on without what is achievable\n", *problem);
    }
    return profile;
}

static void read_files(struct xfa_report *report, char **files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char error[1024] = "";
        struct xfa_trace *trace = xfa_trace_open(files[i], error, sizeof error);
        if (trace) {
            xfa_trace_resolve(trace);
            xfa_report_add(report, trace);
        } else {
            xfc_print(stderr, "xferscope analyze: %s\n", error);
            xfa_report_unreadable(report, error);
        }
        xfa_trace_close(trace);
    }
}

static void say_losses(const struct xfa_report *report)
{
    if (report->mismatch)
        xfc_print(stderr, "xferscope analyze: %s\n", report->mismatch);
    for (size_t i = 0; i < report->run.process_count; i++) {
        const struct xfa_process *process = &report->run.processes[i];
        if (process->losses)
            xfc_print(stderr, "xferscope analyze: %s: %s; the rest was read\n", process->file,
                      process->losses);
    }
}

static int write_report(const struct xfa_report *report, const struct options *options)
{
    struct xfa_output output;
    if (xfa_output_open(&output, options->output) != 0)
        return XFA_OUTPUT;
    struct xfa_view view = {.top = options->top, .width = xfa_output_width(output.stream)};
    options->format->write(report, &view, output.stream);
    if (xfa_output_close(&output) != 0)
        return XFA_OUTPUT;
    return xfa_report_lossy(report) ? XFA_LOSSES : XFA_OK;
}

static int analyze(const struct options *options)
{
    char error[1024] = "", *problem = NULL;
    size_t count = 0;
    char **files = xfa_run_files(options->trace, &count, error, sizeof error);
    if (count == 0) {
        xfc_print(stderr, "xferscope analyze: %s\n", error);
        return XFA_NOTHING;
    }
    struct xfp_profile *profile = load_profile(options, &problem);
    struct xfa_report *report = xfa_report_new(options->trace, profile);
    report->profile_problem = problem;
    report->profile_path =
        options->profile ? xfa_kept(options->profile, strlen(options->profile)) : NULL;
    read_files(report, files, count);
    xfa_run_files_free(files, count);
    int status = XFA_NOTHING;
    if (report->run.process_count > 0) {
        xfa_report_finish(report, options->sort);
        say_losses(report);
        status = write_report(report, options);
    }
    xfa_report_free(report);
    if (profile)
        xfp_free(profile);
    return status;
}

int xfa_analyze_command(int argc, char **argv)
{
    struct options options;
    setlocale(LC_CTYPE, ""); /* names beyond ASCII, as wide as the terminal shows them */
    int parsed = parse(&options, argc, argv);
    if (parsed > 0)
        return fputs(usage, stdout) < 0 || fflush(stdout) != 0 ? XFA_OUTPUT : XFA_OK;
    return parsed < 0 ? XFA_USAGE : analyze(&options);
}
