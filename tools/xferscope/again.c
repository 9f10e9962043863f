/* xferscope again: docs/again.md */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/nearest.h"
#include "common/text.h"
#include "tools/xferscope/commands.h"
#include "tools/xferscope/earlier.h"
#include "tools/xferscope/own_profile.h"
#include "tools/xferscope/record.h"
#include "tools/xferscope/record_end.h"
#include "tools/xferscope/shown.h"

static const char usage[] =
    "usage: xferscope again [OPTIONS] [RUN]\n"
    "\n"
    "Records the program of RUN again, as it was recorded then (its command line, directory and\n"
    "options), and says in one line what the advice promised and what came of it. RUN: NAME.xft;\n"
    "without it the last one in this directory.\n"
    "\n"
    "  -o, --output NAME      run directory; default: NAME.2.xft, NAME.3.xft ... beside RUN\n"
    "      --force            replace a run and a page of that name\n"
    "  -p, --profile FILE     machine profile, from `xferscope probe`\n"
    "      --no-probe         measure no profile when there is none\n"
    "      --no-page          write no page\n"
    "  -q, --quiet            only that one line\n"
    "  -h, --help             print this\n"
    "\n"
    "All of it goes to standard error. The exit status is the program's; 125 to 127 when it was\n"
    "not recorded.\n";

struct asked {
    const char *run, *output, *profile;
    bool force, no_probe, no_page, quiet;
};

enum again_option { FORCE = 256, NO_PROBE, NO_PAGE };

static const struct option known[] = {
    {"output", required_argument, NULL, 'o'},  {"force", no_argument, NULL, FORCE},
    {"profile", required_argument, NULL, 'p'}, {"no-probe", no_argument, NULL, NO_PROBE},
    {"no-page", no_argument, NULL, NO_PAGE},   {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
};

static int wrong(const char *what, const char *word)
{
    xfc_print(stderr, "xferscope again: %s%s; xferscope help again\n", what, word);
    return RECORD_OWN_ERROR;
}

/* 0; -1 for --help; or an exit status. */
static int parse(int argc, char **argv, struct asked *asked)
{
    int option;

    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":o:p:qh", known, NULL)) != -1) {
        asked->force |= option == FORCE;
        asked->no_probe |= option == NO_PROBE;
        asked->no_page |= option == NO_PAGE;
        asked->quiet |= option == 'q';
        if (option == 'h')
            return -1;
        if (option == '?' || option == ':') {
            xfc_refused_option("again", option, argv, known);
            return RECORD_OWN_ERROR;
        }
        if ((option == 'o' || option == 'p') && !*optarg)
            return wrong("a value is missing after ", argv[optind - 1]);
        if (option == 'o')
            asked->output = optarg;
        if (option == 'p')
            asked->profile = optarg;
    }
    if (optind + 1 < argc)
        return wrong("one run at most, not also ", argv[optind + 1]);
    asked->run = argv[optind];
    return 0;
}

/* As seen from everywhere: the program is started in its own directory. NULL stays. */
static char *absolute(const char *path)
{
    char folder[PATH_MAX], *whole = NULL;

    if (!path)
        return NULL;
    if (*path == '/' || !getcwd(folder, sizeof folder))
        return strdup(path);
    return asprintf(&whole, "%s/%s", folder, path) < 0 ? NULL : whole;
}

/* NAME.2.xft beside NAME.xft, NAME.3.xft beside NAME.2.xft; the first that is free. */
static char *next_name(const char *run)
{
    size_t length = strlen(run) - strlen(".xft"), end = length;
    char *name = NULL;

    while (end > 0 && run[end - 1] >= '0' && run[end - 1] <= '9')
        end--;
    if (end > 1 && end < length && run[end - 1] == '.' && run[end - 2] != '/')
        length = end - 1;
    for (unsigned n = 2; n < 100000; n++) {
        free(name);
        if (asprintf(&name, "%.*s.%u.xft", (int)length, run, n) < 0)
            return NULL;
        if (access(name, F_OK) != 0)
            return name;
    }
    return name;
}

/* The options of then, with those that `again` has itself in their place. */
static int options_of(const struct earlier *earlier, const struct asked *asked,
                      struct record_options *options)
{
    int status = record_parse("again", earlier->argc, earlier->argv, options);

    if (status != 0)
        return status < 0 ? RECORD_OWN_ERROR : status;
    options->output = asked->output ? asked->output : next_name(earlier->run);
    options->force = asked->force;
    if (asked->profile)
        options->profile = asked->profile;
    options->no_probe |= asked->no_probe;
    options->no_page |= asked->no_page;
    options->quiet = asked->quiet;
    options->led = true;
    return options->output ? 0 : record_own_error("out of memory");
}

static void say_command(const struct earlier *earlier, const struct record_options *options)
{
    fputs("xferscope: again:", stderr);
    for (char **word = options->program; *word; word++) {
        fputc(' ', stderr);
        record_say_argument(*word);
    }
    xfc_print(stderr, " (in %s)\n", earlier->folder);
}

static int record_again(const struct earlier *earlier, const struct asked *asked)
{
    struct record_options options;
    struct recorded recorded;
    char profile[PATH_MAX];
    int status;

    if (chdir(earlier->folder) != 0)
        return record_own_error("%s: %s", earlier->folder, strerror(errno));
    status = options_of(earlier, asked, &options);
    if (status == 0 && !options.quiet)
        say_command(earlier, &options);
    if (status == 0)
        status = record_program(&options, &recorded);
    if (status != 0)
        return status;
    if (recorded.totals.processes > 0 && recorded.rank <= 0) {
        own_profile(&options, &recorded, profile);
        shown_promise(earlier->run, recorded.path, profile);
        if (!options.no_page)
            shown_page(&options, recorded.path, profile);
    }
    return child_reproduce(recorded.result.wait_status);
}

static int find_and_record(struct asked *asked)
{
    struct earlier earlier;
    char error[2 * PATH_MAX];

    if (earlier_find(asked->run, &earlier, error, sizeof error) == 0)
        return record_again(&earlier, asked);
    xfc_print(stderr, "xferscope again: %s\n", error);
    return RECORD_OWN_ERROR;
}

int xferscope_again(int argc, char **argv)
{
    struct asked asked = {0};
    char *output, *profile;
    int status = parse(argc, argv, &asked);

    if (status < 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (status != 0)
        return status;
    asked.output = output = absolute(asked.output);
    asked.profile = profile = absolute(asked.profile);
    status = find_and_record(&asked);
    free(output);
    free(profile);
    return status;
}
