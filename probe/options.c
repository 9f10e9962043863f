#include "probe/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "probe/bench/bench.h"
#include "common/nearest.h"
#include "common/text.h"
#include "probe/device/flush.h"
#include "probe/measure/sizes.h"

#define XFP_MOST_BYTES (1ull << 36)

const char xfp_probe_usage[] =
    "usage: xferscope probe [options]\n"
    "       xferscope probe --compare FIRST.json SECOND.json\n"
    "       xferscope probe --summary=FILE.json\n"
    "Measures what this machine's transfers can achieve and writes a machine profile.\n"
    "\n"
    "  -o, --output FILE     where the profile goes (default HOSTNAME.json; -: standard output)\n"
    "      --format FORMAT   what is printed: text (default), json or csv; with json and csv no\n"
    "                        profile is written unless -o is given\n"
    "      --list            name the benchmarks of this machine and end\n"
    "      --filter REGEX    only benchmarks whose name matches\n"
    "      --device N        only those in which GPU N takes part\n"
    "      --sizes MIN:MAX   bytes, with K, M or G (default 64:256M)\n"
    "      --full            sizes to 1G\n"
    "      --quick           every second size, to 64M: seconds; how many is said as it begins\n"
    "      --time-limit S    seconds for measuring (default: what the benchmarks may need)\n"
    "      --paper           Comm|Scope's rule: copies repeat for a second\n"
    "      --no-flush        leave host memory in the processor's caches before copies\n"
    "      --no-verify       do not check the data after each copy\n"
    "      --resume FILE     go on with the profile of an interrupted run\n"
    "      --summary[=FILE]  print what the figures say about affinity, direction and links\n"
    "      --net             measure the network between the ranks of an MPI launcher:\n"
    "                        mpirun -n 2 -H a,b xferscope probe --net -o a-b.json\n"
    "      --loaded          with --net: pairs that share a host at the same time\n"
    "      --compare A B     print where profile B differs from profile A beyond noise\n"
    "      --tolerance P     percent that runs may differ by (default 5; with --compare)\n"
    "      --quiet           say nothing but errors\n"
    "  -h, --help            this text\n"
    "\n"
    "Exit status: 0 measured; 1 nothing measured, not read or not written; 2 usage; 3 some\n"
    "benchmarks failed, or the run was interrupted (what was measured is kept); 4 profiles\n"
    "differ.\n";

static int usage_error(const char *what, const char *argument)
{
    xfc_print(stderr, "xferscope probe: %s: %s (see xferscope probe --help)\n", what, argument);
    return XFP_PROBE_USAGE;
}

static int wrong_format(const char *word)
{
    static const char *const words[] = {"text", "json", "csv"};
    char meant[64];

    xfc_print(stderr, "xferscope probe: --format knows text, json and csv: %s%s\n", word,
              xfc_did_you_mean(meant, sizeof(meant), "",
                               xfc_nearest(word, words, sizeof(words) / sizeof(words[0]))));
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
    QUIET,
    FULL,
    PAPER,
    FLUSH,
    NO_FLUSH,
    RESUME,
    SUMMARY,
    COMPARE,
    TOLERANCE,
    NET,
    LOADED
};

static bool parse_tolerance(const char *text, double *tolerance)
{
    char *end;
    double percent = strtod(text, &end);

    *tolerance = percent / 100;
    return end != text && !*end && isfinite(percent) && percent >= 0 && percent <= 1000;
}

/* An empty pattern would match everything; usually a shell variable was not set. */
static int take_filter(struct xfp_probe_options *o, const char *value)
{
    regex_t regex;
    char why[128] = "needs a pattern";
    int bad = *value ? regcomp(&regex, value, REG_EXTENDED | REG_NOSUB) : REG_BADPAT;

    o->filter = value;
    if (!bad)
        regfree(&regex);
    else if (*value)
        regerror(bad, NULL, why, sizeof(why));
    if (!bad)
        return 0;
    xfc_print(stderr, "xferscope probe: --filter \"%s\": %s (see xferscope probe --help)\n", value,
              why);
    return XFP_PROBE_USAGE;
}

static const char needs_two[] = "needs two file names";

/* Options about existing profiles. */
static int take_file(struct xfp_command *c, int option, const char *value)
{
    switch (option) {
    case RESUME:
        c->resume = value;
        return *value ? 0 : usage_error("--resume", "needs a file name");
    case SUMMARY:
        c->summary = true;
        c->described = value;
        return !value || *value ? 0 : usage_error("--summary=", "needs a file name");
    case COMPARE:
        c->first = value;
        return *value ? 0 : usage_error("--compare", needs_two);
    default:
        c->tolerance_said = true;
        return parse_tolerance(value, &c->tolerance)
                   ? 0
                   : usage_error("--tolerance takes percent from 0 to 1000", value);
    }
}

static int take_option(struct xfp_command *c, int option, const char *value)
{
    struct xfp_probe_options *o = &c->options;

    switch (option) {
    case OUTPUT:
        c->output = value;
        return *value ? 0 : usage_error("--output", "needs a file name");
    case FORMAT:
        c->format = xfp_report_format(value);
        return c->format ? 0 : wrong_format(value);
    case FILTER:
        return take_filter(o, value);
    case DEVICE:
        return parse_device(value, &o->device) ? 0 : usage_error("--device takes a number", value);
    case SIZES:
        c->sized = true;
        return parse_sizes(value, o) ? 0 : usage_error("--sizes takes MIN:MAX, as 64:256M", value);
    case LIMIT:
        return parse_seconds(value, &o->time_limit_s)
                   ? 0
                   : usage_error("--time-limit takes seconds above 0", value);
    case RESUME:
    case SUMMARY:
    case COMPARE:
    case TOLERANCE:
        return take_file(c, option, value);
    default:
        c->list |= option == LIST;
        c->help |= option == HELP;
        o->quick |= option == QUICK;
        o->quiet |= option == QUIET;
        o->verify &= option != NO_VERIFY;
        o->paper |= option == PAPER;
        c->net |= option == NET;
        c->loaded |= option == LOADED;
        if (option == FLUSH || option == NO_FLUSH) {
            o->flush = option == FLUSH;
            c->flush_said = true;
        }
        c->full |= option == FULL;
        return 0;
    }
}

/* The output file is the one that is resumed; for m.json.partial it is m.json. */
static const char *whole_name(struct xfp_command *c)
{
    size_t length = strlen(c->resume), end = strlen(XFP_PARTIAL);

    if (length <= end || strcmp(c->resume + length - end, XFP_PARTIAL) ||
        length >= sizeof(c->whole))
        return c->resume;
    snprintf(c->whole, sizeof(c->whole), "%.*s", (int)(length - end), c->resume);
    return c->whole;
}

/* Checks combinations of options and fills in defaults. */
static int check_together(struct xfp_command *c)
{
    struct xfp_probe_options *o = &c->options;
    uint64_t first;

    if (c->first && (!c->second || !*c->second))
        return usage_error("--compare", needs_two);
    if (c->tolerance_said && !c->first)
        return usage_error("--tolerance", "goes with --compare");
    if (c->loaded && !c->net)
        return usage_error("--loaded", "goes with --net");
    if (c->resume && !c->output)
        c->output = whole_name(c);
    if (c->full && (o->quick || c->sized))
        return usage_error("--full", "and --quick or --sizes are not for one run");
    if (o->paper && o->quick)
        return usage_error("--paper", "and --quick are not for one run");
    o->sized = c->sized;
    if (c->full)
        o->max_bytes = 1 << 30;
    if (o->quick && !c->sized)
        o->max_bytes = 64 << 20;
    if (o->flush && c->flush_said && !xfp_can_flush())
        return usage_error("--flush", "this processor's caches cannot be flushed by a program");
    o->flush &= xfp_can_flush();
    if (!xfp_sweep_sizes(o, &first, 1))
        return usage_error("--sizes", "holds no power of two (of four, with --quick)");
    return 0;
}

int xfp_parse_options(struct xfp_command *c, int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, OUTPUT},
        {"format", required_argument, NULL, FORMAT},
        {"list", no_argument, NULL, LIST},
        {"filter", required_argument, NULL, FILTER},
        {"device", required_argument, NULL, DEVICE},
        {"sizes", required_argument, NULL, SIZES},
        {"quick", no_argument, NULL, QUICK},
        {"time-limit", required_argument, NULL, LIMIT},
        {"no-verify", no_argument, NULL, NO_VERIFY},
        {"quiet", no_argument, NULL, QUIET},
        {"help", no_argument, NULL, HELP},
        {"full", no_argument, NULL, FULL},
        {"paper", no_argument, NULL, PAPER},
        {"flush", no_argument, NULL, FLUSH},
        {"no-flush", no_argument, NULL, NO_FLUSH},
        {"resume", required_argument, NULL, RESUME},
        {"summary", optional_argument, NULL, SUMMARY},
        {"compare", required_argument, NULL, COMPARE},
        {"tolerance", required_argument, NULL, TOLERANCE},
        {"net", no_argument, NULL, NET},
        {"loaded", no_argument, NULL, LOADED},
        {0},
    };
    int option, bad = 0;

    optind = 0; /* begin anew: getopt has parsed the main command line */
    opterr = 0;
    while (!bad && (option = getopt_long(argc, argv, ":o:h", options, NULL)) != -1)
        bad = option != '?' && option != ':' ? take_option(c, option, optarg)
              : xfc_refused_option("probe", option, argv, options) < 0 ? XFP_PROBE_USAGE
                                                                       : 0;
    if (!bad && c->first)
        c->second = optind < argc ? argv[optind++] : NULL;
    if (!bad && optind < argc)
        return usage_error("unexpected argument", argv[optind]);
    return bad ? bad : check_together(c);
}
