/* xferscope export: docs/export.md. */
#include "analyzer/analyzer.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/output.h"
#include "analyzer/export/export.h"
#include "common/nearest.h"
#include "common/text.h"

struct options {
    struct xfa_export_request request;
    bool weighed; /* --weight was given */
};

static const char usage_head[] =
    "usage: xferscope export TRACE... --format FORMAT -o FILE [options]\n"
    "\n"
    "Writes a run (NAME.xft, or one of its .trace files; several, of other hosts too, are one\n"
    "run) in the form of another tool.\n"
    "\n"
    "  -f, --format FORMAT  ";
static const char usage_options[] =
    "  -o, --output FILE    write there; text goes to standard output without it, when that is\n"
    "                       no terminal, and with -o -\n"
    "  -p, --profile FILE   machine profile, from `xferscope probe`: what was achievable; without\n"
    "                       it the one of the run's machine is looked up, as analyze does\n"
    "      --no-profile     without one\n"
    "      --weight WHAT    folded: what a stack counts, bytes (default), time or saving\n"
    "  -h, --help           show this\n"
    "\n"
    "Formats:\n";
static const char usage_end[] =
    "\n"
    "Exit status: 0 written; 1 nothing could be read; 2 wrong usage; 3 written, but part of the\n"
    "input was lost or could not be read; 4 the output could not be written.\n";

static const char *const weights[XFA_WEIGHTS] = {"bytes", "time", "saving"};
enum { WEIGHT = 256, NO_PROFILE }; /* options without a letter */

static int wrong(const char *what, const char *value)
{
    xfc_print(stderr, "xferscope export: %s%s%s; see xferscope export --help\n", what,
              value ? ": " : "", value ? value : "");
    return -1;
}

#define NAMES_A_LINE 5

/* "a, b, c,\n d or e\n" */
static void print_names(void)
{
    for (size_t i = 0; xfa_export_formats[i]; i++) {
        const char *between = i == 0                       ? ""
                              : !xfa_export_formats[i + 1] ? " or "
                              : i % NAMES_A_LINE == 0      ? ",\n                       "
                                                           : ", ";
        printf("%s%s", between, xfa_export_formats[i]->name);
    }
    putchar('\n');
}

static int print_usage(void)
{
    fputs(usage_head, stdout);
    print_names();
    fputs(usage_options, stdout);
    for (size_t i = 0; xfa_export_formats[i]; i++)
        printf("  %-12s %s\n", xfa_export_formats[i]->name, xfa_export_formats[i]->what);
    fputs(usage_end, stdout);
    return fflush(stdout) != 0 || ferror(stdout) ? XFA_OUTPUT : XFA_OK;
}

#define MOST_FORMATS 32 /* of which the nearest is looked for */

/* One line, with the one that may be meant, else with all there are. */
static int wrong_format(const char *name)
{
    const char *words[MOST_FORMATS], *nearest = NULL;
    char *list = xfa_text(""), meant[64];
    size_t count = 0;
    for (size_t i = 0; xfa_export_formats[i]; i++) {
        if (count < MOST_FORMATS)
            words[count++] = xfa_export_formats[i]->name;
        char *longer = xfa_print("%s%s%s", list, i ? ", " : "", xfa_export_formats[i]->name);
        free(list);
        list = longer;
    }
    nearest = name ? xfc_nearest(name, words, count) : NULL;
    xfc_did_you_mean(meant, sizeof meant, "", nearest);
    xfc_print(stderr,
              name ? "xferscope export: no such format: %s%s%s%s\n"
                   : "xferscope export: which format?%s%s There are %s%s\n",
              name ? name : "", meant, nearest || !name ? "" : "; there are ", nearest ? "" : list);
    free(list);
    return -1;
}

static int set_format(struct options *options, const char *name)
{
    options->request.format = xfa_export_find(name);
    return options->request.format ? 0 : wrong_format(name);
}

static int set_weight(struct options *options, const char *word)
{
    for (size_t i = 0; i < XFA_WEIGHTS; i++) {
        if (strcmp(weights[i], word) == 0) {
            options->request.weight = (enum xfa_weight)i;
            options->weighed = true;
            return 0;
        }
    }
    return wrong("no such weight", word);
}

static int set_file(const char **file, const char *name, const char *lacks)
{
    *file = name;
    return *name ? 0 : wrong(lacks, NULL);
}

static int set_option(struct options *options, int option, const char *value)
{
    switch (option) {
    case 'f':
        return set_format(options, value);
    case 'o':
        return set_file(&options->request.output, value, "--output lacks a file name");
    case 'p':
        return set_file(&options->request.profile, value, "--profile lacks a file name");
    case NO_PROFILE:
        options->request.no_profile = true;
        return 0;
    case WEIGHT:
        return set_weight(options, value);
    default:
        return 0;
    }
}

/* Nobody wants a screen full of numbers, or of bytes that are no text. */
static int check_output(const struct xfa_export_request *request)
{
    const char *name = request->format->name;
    bool printed = !request->output || strcmp(request->output, "-") == 0;
    if (printed && request->format->regular)
        return wrong("this format needs a file: -o FILE", name);
    if (printed && isatty(STDOUT_FILENO) && (!request->output || !request->format->text))
        return wrong("standard output is a terminal: -o FILE", NULL);
    if (!request->output && !request->format->text)
        return wrong("this format is no text: -o FILE", name);
    const char *lost = xfa_output_replaces(request->output, request->traces, request->trace_count);
    if (!lost)
        lost = xfa_output_replaces(request->output, &request->profile, 1);
    return lost ? wrong("--output would replace what is read", lost) : 0;
}

static int check(const struct options *options)
{
    const struct xfa_export_request *request = &options->request;
    for (size_t i = 0; i < request->trace_count; i++)
        if (!*request->traces[i])
            return wrong("which trace?", NULL);
    if (request->trace_count == 0)
        return wrong("which trace?", NULL);
    if (!request->format)
        return wrong_format(NULL);
    if (request->profile && request->no_profile)
        return wrong("--profile or --no-profile", NULL);
    if (options->weighed && !request->format->weighed)
        return wrong("this format knows no --weight", request->format->name);
    return check_output(request);
}

/* 0: go on; 1: help was asked for; -1: wrong usage. */
static int parse(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"format", required_argument, NULL, 'f'},
        {"output", required_argument, NULL, 'o'},
        {"profile", required_argument, NULL, 'p'},
        {"weight", required_argument, NULL, WEIGHT},
        {"no-profile", no_argument, NULL, NO_PROFILE},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *options = (struct options){0};
    optind = 0; /* this may be the second parse of the process */
    int option;
    while ((option = getopt_long(argc, argv, ":f:o:p:h", longs, NULL)) != -1) {
        if (option == 'h')
            return 1;
        if (option == '?' || option == ':')
            return xfc_refused_option("export", option, argv, longs);
        if (set_option(options, option, optarg) != 0)
            return -1;
    }
    options->request.traces = (const char *const *)argv + optind;
    options->request.trace_count = (size_t)(argc - optind);
    return check(options);
}

int xfa_export_command(int argc, char **argv)
{
    struct options options;
    int parsed = parse(&options, argc, argv);
    if (parsed > 0)
        return print_usage();
    return parsed < 0 ? XFA_USAGE : xfa_export_run(&options.request);
}
