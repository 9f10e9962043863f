/*
 * The subcommand `xferscope probe`: options, files, exit status. docs/probe.md is its manual.
 */
#include "probe.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "report.h"

#define XFP_MOST_BYTES (1ull << 36)

struct command {
    struct xfp_probe_options options;
    const char *output; /* NULL: the default */
    const struct xfp_report_format *format;
    bool list, help, sized;
};

static const char usage[] =
    "usage: xferscope probe [options]\n"
    "Measures what this machine's transfers can achieve and writes a machine profile.\n"
    "\n"
    "  -o, --output FILE     where the profile goes (default HOSTNAME.json; -: standard output)\n"
    "      --format FORMAT   what is printed: text (default), json or csv; with json and csv no\n"
    "                        profile is written unless -o is given\n"
    "      --list            name the benchmarks of this machine and end\n"
    "      --filter REGEX    only benchmarks whose name matches\n"
    "      --device N        only those in which GPU N takes part\n"
    "      --sizes MIN:MAX   bytes, with K, M or G (default 64:256M)\n"
    "      --quick           under 8 seconds: every second size, to 64M\n"
    "      --time-limit S    seconds for measuring (default 5 a benchmark, with --quick 0.55)\n"
    "      --no-verify       do not check the data after each copy\n"
    "      --quiet           say nothing but errors\n"
    "      --help            this text\n"
    "\n"
    "Exit status: 0 measured; 1 nothing measured or not written; 2 usage; 3 some benchmarks\n"
    "failed, or the run was interrupted (what was measured is kept).\n";

static int usage_error(const char *what, const char *argument)
{
    fprintf(stderr, "xferscope probe: %s: %s (see xferscope probe --help)\n", what, argument);
    return XFP_PROBE_USAGE;
}

/* "64", "32K", "256M", "1G". */
static bool parse_bytes(const char *text, const char **end, uint64_t *bytes)
{
    static const char units[] = "KMG";
    const char *unit;
    char *after;
    int shift = 0;

    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *bytes = strtoull(text, &after, 10);
    unit = *after ? strchr(units, toupper((unsigned char)*after)) : NULL;
    if (unit) {
        shift = 10 * (int)(unit - units + 1);
        after++;
    }
    *end = after;
    if (errno || *bytes > XFP_MOST_BYTES >> shift)
        return false;
    *bytes <<= shift;
    return true;
}

static bool parse_sizes(const char *text, struct xfp_probe_options *options)
{
    const char *end;

    if (!parse_bytes(text, &end, &options->min_bytes) || *end != ':')
        return false;
    if (!parse_bytes(end + 1, &end, &options->max_bytes) || *end)
        return false;
    return options->min_bytes > 0 && options->min_bytes <= options->max_bytes;
}

static bool parse_device(const char *text, int *device)
{
    char *end;
    long n = strtol(text, &end, 10);

    *device = (int)n;
    return isdigit((unsigned char)*text) && !*end && n < 256;
}

static bool parse_seconds(const char *text, double *seconds)
{
    char *end;

    *seconds = strtod(text, &end);
    return end != text && !*end && isfinite(*seconds) && *seconds > 0 && *seconds <= 1e6;
}

enum probe_option {
    OUTPUT = 'o',
    HELP = 'h',
    FORMAT = 256,
    LIST,
    FILTER,
    DEVICE,
    SIZES,
    QUICK,
    LIMIT,
    NO_VERIFY,
    QUIET
};

static int take_option(struct command *c, int option, const char *value)
{
    struct xfp_probe_options *o = &c->options;

    switch (option) {
    case OUTPUT:
        c->output = value;
        return *value ? 0 : usage_error("--output", "needs a file name");
    case FORMAT:
        c->format = xfp_report_format(value);
        return c->format ? 0 : usage_error("--format knows text, json and csv", value);
    case FILTER:
        o->filter = value;
        return 0;
    case DEVICE:
        return parse_device(value, &o->device) ? 0 : usage_error("--device takes a number", value);
    case SIZES:
        c->sized = true;
        return parse_sizes(value, o) ? 0 : usage_error("--sizes takes MIN:MAX, as 64:256M", value);
    case LIMIT:
        return parse_seconds(value, &o->time_limit_s)
                   ? 0
                   : usage_error("--time-limit takes seconds above 0", value);
    default:
        c->list |= option == LIST;
        c->help |= option == HELP;
        o->quick |= option == QUICK;
        o->quiet |= option == QUIET;
        o->verify &= option != NO_VERIFY;
        return option == '?' ? XFP_PROBE_USAGE : 0;
    }
}

static int parse_options(struct command *c, int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, OUTPUT}, {"format", required_argument, NULL, FORMAT},
        {"list", no_argument, NULL, LIST},           {"filter", required_argument, NULL, FILTER},
        {"device", required_argument, NULL, DEVICE}, {"sizes", required_argument, NULL, SIZES},
        {"quick", no_argument, NULL, QUICK},         {"time-limit", required_argument, NULL, LIMIT},
        {"no-verify", no_argument, NULL, NO_VERIFY}, {"quiet", no_argument, NULL, QUIET},
        {"help", no_argument, NULL, HELP},           {0},
    };
    int option, bad = 0;
    uint64_t first;

    optind = 0; /* the command line of the subcommand is a new one */
    while (!bad && (option = getopt_long(argc, argv, "o:h", options, NULL)) != -1)
        bad = take_option(c, option, optarg);
    if (!bad && optind < argc)
        return usage_error("unexpected argument", argv[optind]);
    if (c->options.quick && !c->sized)
        c->options.max_bytes = 64 << 20;
    if (!bad && !xfp_sweep_sizes(&c->options, &first, 1))
        return usage_error("--sizes", "holds no power of two (of four, with --quick)");
    return bad;
}

/* HOSTNAME.json, and never over a real machine's profile when the GPU is simulated. */
static void default_name(const struct xfp_profile *profile, char *name, size_t bytes)
{
    snprintf(name, bytes, "%s%s.json",
             *profile->machine.hostname ? profile->machine.hostname : "machine",
             profile->machine.simulated ? "-simulated" : "");
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_' && (*c != '.' || c == name))
            *c = '_';
}

static int save(const struct command *c, const struct xfp_profile *profile)
{
    bool text = !strcmp(c->format->word, "text");
    char name[320], error[512];

    if (!c->output && !text)
        return 0;
    default_name(profile, name, sizeof(name));
    if (xfp_save(profile, c->output ? c->output : name, error, sizeof(error))) {
        fprintf(stderr, "xferscope probe: %s\n", error);
        return -1;
    }
    if (!c->options.quiet && text)
        printf("\nmachine profile: %s\n", c->output ? c->output : name);
    return 0;
}

static int deliver(const struct command *c, const struct xfp_profile *profile)
{
    bool to_stdout = c->output && !strcmp(c->output, "-");
    const struct xfp_report_format *format = to_stdout ? xfp_report_format("json") : c->format;
    int bad = 0;

    if (to_stdout || !c->options.quiet || strcmp(format->word, "text"))
        bad = format->print(profile, stdout);
    if (!to_stdout)
        bad |= save(c, profile);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "xferscope probe: standard output: %s\n", strerror(errno));
        bad = -1;
    }
    return bad;
}

/* Said before a minute is spent on measuring. Other reasons show when the file is written. */
static bool folder_takes_files(const struct command *c)
{
    const char *path = c->output ? c->output : ".";
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + 1 : 0;
    char folder[4096];

    if ((!c->output && strcmp(c->format->word, "text")) || (c->output && !access(path, W_OK)) ||
        (c->output && !strcmp(path, "-")))
        return true;
    snprintf(folder, sizeof(folder), "%.*s.", length, path);
    if (!access(folder, W_OK | X_OK))
        return true;
    fprintf(stderr, "xferscope probe: %s: cannot write the machine profile: %s\n", path,
            strerror(errno));
    return false;
}

static int measure(const struct command *c)
{
    struct xfp_profile *profile;
    struct xfp_probe_outcome outcome;
    char error[512];
    int bad;

    if (!folder_takes_files(c))
        return XFP_PROBE_FAILED;
    profile = xfp_probe_run(&c->options, &outcome, error, sizeof(error));
    if (!profile) {
        fprintf(stderr, "xferscope probe: %s\n", error);
        return XFP_PROBE_FAILED;
    }
    if (!outcome.measured) {
        fprintf(stderr, "xferscope probe: nothing was measured, no profile is written\n");
        xfp_free(profile);
        return XFP_PROBE_FAILED;
    }
    bad = deliver(c, profile);
    xfp_free(profile);
    if (bad)
        return XFP_PROBE_FAILED;
    return outcome.failed || outcome.interrupted ? XFP_PROBE_PARTLY : XFP_PROBE_OK;
}

int xfp_probe_command(int argc, char **argv)
{
    struct command c = {
        .options = {.min_bytes = 64, .max_bytes = 256 << 20, .device = -1, .verify = true},
        .format = xfp_report_format("text")};
    char error[512];
    int status = parse_options(&c, argc, argv);

    if (status)
        return status;
    if (c.help) {
        fputs(usage, stdout);
        return XFP_PROBE_OK;
    }
    if (!c.list)
        return measure(&c);
    if (!xfp_probe_list(&c.options, stdout, error, sizeof(error)))
        return XFP_PROBE_OK;
    fprintf(stderr, "xferscope probe: %s\n", error);
    return XFP_PROBE_FAILED;
}
