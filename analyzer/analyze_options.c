#include "analyzer/analyze_options.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/output.h"
#include "analyzer/base/units.h"
#include "analyzer/compare/statistics.h"
#include "analyzer/whatif/ops/op_store.h"
#include "common/nearest.h"
#include "common/text.h"

const char xfa_analyze_usage[] =
    "usage: xferscope analyze TRACE... [options]\n"
    "\n"
    "Reads a run (NAME.xft, or one of its .trace files; several, of other hosts too, are one\n"
    "run) and reports, for each call site and kind of transfer, what it achieved, what the\n"
    "machine could have given and what to change.\n"
    "\n"
    "  -p, --profile FILE   machine profile, from `xferscope probe`; without it the one of the\n"
    "                       run's machine is looked up ($XFERSCOPE_PROFILE, HOSTNAME.json here or\n"
    "                       in ~/.local/share/xferscope)\n"
    "      --no-profile     without one\n"
    "      --network FILE   a profile that has the network between the run's hosts\n"
    "  -f, --format FORMAT  "
#define XFA_FORMAT(name, help) help
#include "analyzer/report/formats.def"
#undef XFA_FORMAT
    "\n"
    "  -o, --output FILE    write there instead of standard output\n"
    "      --full           text: all sections, on a terminal through $PAGER (less -FRX); without\n"
    "                       it a terminal gets the first screen\n"
    "      --brief          text: the first screen, also where the output is no terminal; with\n"
    "                       --compare one line: what was promised, and what came of it\n"
    "      --open           html: write the page to a file (-o, or a temporary one), and open it\n"
    "  -n, --top N          show N rows of transfers (text, markdown: 20, json: all); 0 = all\n"
    "  -s, --sort ORDER     lost (default), bytes or count\n"
    "      --replay         measure the run's distinct transfers on this machine's GPUs, as they\n"
    "                       were and in their alternatives, and keep that in the profile\n"
    "      --replay=run     play the whole run on this machine's GPUs, as it was recorded and "
    "with\n"
    "                       the best set of fixes: what they save is measured\n"
    "      --replay-time S  for at most S seconds each (30)\n"
    "      --per-transfer   instead of the report a line for each transfer (json: an object), in\n"
    "                       the order of time; -n: the first N\n"
    "      --site PATTERN   only call sites with this in their function or file:line (or *, ?, "
    "[])\n"
    "      --kind WORD      only such transfers (H2D, pageable, peer, managed ...) or findings\n"
    "                       (small-transfers ...)\n"
    "      --rank N[,N-M]   only transfers of these ranks\n"
    "      --phase NAME     only transfers in ranges (NVTX) of this name\n"
    "      --assume KIND[@SITE]=yes|no\n"
    "                       answer a question of the report (again for more): with yes what the\n"
    "                       finding would save is computed as if that were known, with no it is\n"
    "                       left out; or a file with such a line for each answer\n"
    "      --plan FILE      write what the advice would do as a plan, too, to be read, edited and\n"
    "                       carried out (xferscope apply --plan FILE); with --compare read it:\n"
    "                       what it predicted, what was applied, what was measured\n"
    "      --memory BYTES   keep so much of the run in memory for its replays (K, M, G;\n"
    "                       without it 512M)\n"
    "  -j, --jobs N         by N processes of this machine, which divide the run's processes\n"
    "                       among them (default: as many as pays, for large runs); 1: by one\n"
    "      --alone          in a rank of an MPI launcher: without the other ranks; else all "
    "analyze\n"
    "                       the run together, and rank 0 reports\n"
    "      --together       together, also where a script of the rank started the command\n"
    "      --color WHEN     auto (default: on a terminal, without NO_COLOR), always or never\n"
    "      --compare        instead of the report what changed: --compare BEFORE AFTER, or with\n"
    "                       repetitions --compare BEFORE... --to AFTER...; each trace is a run\n"
    "      --to             what follows are the runs after the change\n"
    "      --fail-on PERCENT\n"
    "                       with --compare: exit status 5 when the run or its transfers took more\n"
    "                       than PERCENT % longer, and noise does not explain it\n"
    "      --gate-write FILE\n"
    "                       make a gate of the run: its call sites, with kinds of memory, counts\n"
    "                       and bytes (with --phase NAME only of those ranges)\n"
    "      --gate FILE      instead of the report what of the run the gate does not allow: exit\n"
    "                       status 6 (-f text, json, github, sarif or junit)\n"
    "  -h, --help           show this\n"
    "\n"
    "Exit status: 0 reported; 1 nothing could be read; 2 wrong usage; 3 reported, but part of the\n"
    "input was lost or could not be read; 4 the output could not be written; 5 slower than\n"
    "--fail-on allows; 6 not what the gate allows.\n";

#define TOP_OF_FORMAT ((size_t)-1)
#define REPLAY_SECONDS 30
#define MOST_REPLAY_SECONDS 86400
#define MOST_JOBS 256
enum {
    PER_TRANSFER = 256,
    REPLAY,
    REPLAY_TIME,
    MEMORY,
    COLOUR,
    SITE,
    KIND,
    RANK,
    PHASE,
    COMPARE,
    TO,
    FAIL_ON,
    NO_PROFILE,
    NETWORK,
    FULL,
    BRIEF,
    OPEN,
    GATE,
    GATE_WRITE,
    ASSUME,
    PLAN,
    ALONE,
    TOGETHER
};                /* options without a letter */
#define OPERAND 1 /* getopt's value for an operand */

static int wrong(const char *what, const char *value)
{
    xfc_print(stderr, "xferscope analyze: %s%s%s; see xferscope analyze --help\n", what,
              value ? ": " : "", value ? value : "");
    return -1;
}

static int wrong_word(const char *what, const char *word, const char *const *words, size_t count)
{
    return xfc_wrong_word("analyze", what, word, xfc_nearest(word, words, count));
}

static int set_sort(struct xfa_analyze_options *options, const char *word)
{
    static const char *const words[] = {"lost", "bytes", "count"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i], word) == 0) {
            options->view.sort = (enum xfa_sort)i;
            return 0;
        }
    }
    return wrong_word("no such order", word, words, sizeof words / sizeof *words);
}

static int set_top(struct xfa_analyze_options *options, const char *word)
{
    uint64_t number;
    if (!xfa_number(word, &number) || number >= TOP_OF_FORMAT)
        return wrong("not a number of rows", word);
    options->view.top = number;
    return 0;
}

static int set_replay(struct xfa_analyze_options *options, const char *how)
{
    if (how && strcmp(how, "run") != 0)
        return wrong("no such replay", how);
    *(how ? &options->play : &options->replay) = true;
    return 0;
}

static int set_replay_time(struct xfa_analyze_options *options, const char *word)
{
    char *end;
    options->limited = true;
    options->replay_s = strtod(word, &end);
    if (end == word || *end || !(options->replay_s > 0) || options->replay_s > MOST_REPLAY_SECONDS)
        return wrong("not a number of seconds", word);
    return 0;
}

static int set_jobs(struct xfa_analyze_options *options, const char *word)
{
    uint64_t number;
    if (!xfa_number(word, &number) || number < 1 || number > MOST_JOBS)
        return wrong("not a number of processes from 1 to 256", word);
    options->jobs = (uint32_t)number;
    return 0;
}

static int set_memory(struct xfa_analyze_options *options, const char *word)
{
    static const char units[] = "KMG";
    size_t length = strlen(word);
    const char *unit = length > 1 ? strchr(units, word[length - 1]) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    char *digits = strndup(word, unit ? length - 1 : length);
    uint64_t number;
    bool known = digits && xfa_number(digits, &number) && number <= SIZE_MAX >> shift;
    free(digits);
    if (!known)
        return wrong("not a size of memory (1000000, 64K, 512M, 2G)", word);
    options->memory = (size_t)number << shift;
    return 0;
}

static int set_colour(struct xfa_analyze_options *options, const char *word)
{
    static const char *const words[] = {"auto", "always", "never"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i], word) == 0) {
            options->colour = (enum xfa_colour_choice)i;
            return 0;
        }
    }
    return wrong_word("--color is auto, always or never, not", word, words,
                      sizeof words / sizeof *words);
}

static int set_fail_on(struct xfa_analyze_options *options, const char *word)
{
    char *end;
    options->fail_on = strtod(word, &end) / 100;
    if (end == word || *end || !(options->fail_on >= 0) || isinf(options->fail_on))
        return wrong("not a number of percent", word);
    return 0;
}

static int set_to(struct xfa_analyze_options *options)
{
    if (options->before != SIZE_MAX)
        return wrong("--to stands once, before the runs after the change", NULL);
    options->before = options->trace_count;
    return 0;
}

static int add_trace(struct xfa_analyze_options *options, const char *path)
{
    options->traces[options->trace_count++] = path;
    return *path ? 0 : wrong("which trace?", NULL);
}

static int set_file(const char **file, const char *name, const char *lacks)
{
    *file = name;
    return *name ? 0 : wrong(lacks, NULL);
}

static int has_format(const struct xfa_format *format)
{
    const char *lacks = format->lacks ? format->lacks() : NULL;
    if (lacks)
        xfc_print(stderr, "xferscope analyze: --format %s: %s\n", format->name, lacks);
    return lacks ? -1 : 0;
}

static int set_filter(struct xfa_filter *filter, int option, const char *value)
{
    char error[512];
    int failed = 0;
    if (!*value)
        return wrong("--site, --kind, --rank and --phase need a value", NULL);
    if (option == SITE)
        filter->site = value;
    else if (option == PHASE)
        filter->phase = value;
    else if (option == KIND)
        failed = xfa_filter_kind(filter, value, error, sizeof error);
    else
        failed = xfa_filter_ranks(filter, value, error, sizeof error);
    return failed ? wrong(error, NULL) : 0;
}

static int set_assume(struct xfa_analyze_options *options, const char *text)
{
    char error[1024];
    bool taken = xfa_answers_take(&options->answers, text, error, sizeof error) == 0;
    return taken ? 0 : wrong(error, NULL);
}

/* What an option without a value sets; NULL: it has one. */
static bool *flag_of(int option, struct xfa_analyze_options *options)
{
    switch (option) {
    case NO_PROFILE:
        return &options->no_profile;
    case FULL:
        return &options->full;
    case BRIEF:
        return &options->brief;
    case ALONE: /* of these the command has made something already (tools/xferscope/analyze.c) */
        return &options->alone;
    case TOGETHER:
        return &options->together;
    case OPEN:
        return &options->open;
    case COMPARE:
        return &options->compare;
    case PER_TRANSFER:
        return &options->per_transfer;
    default:
        return NULL;
    }
}

static int set_option(struct xfa_analyze_options *options, int option, const char *value)
{
    bool *flag = flag_of(option, options);
    if (flag) {
        *flag = true;
        return 0;
    }
    switch (option) {
    case OPERAND:
        return add_trace(options, value);
    case TO:
        return set_to(options);
    case FAIL_ON:
        return set_fail_on(options, value);
    case 'p':
        return set_file(&options->profile, value, "--profile lacks a file name");
    case NETWORK:
        return set_file(&options->network, value, "--network lacks a file name");
    case 'o':
        return set_file(&options->output, value, "--output lacks a file name");
    case 's':
        options->sorted = true;
        return set_sort(options, value);
    case REPLAY:
        return set_replay(options, value);
    case REPLAY_TIME:
        return set_replay_time(options, value);
    case MEMORY:
        return set_memory(options, value);
    case 'j':
        return set_jobs(options, value);
    case ASSUME:
        return set_assume(options, value);
    case SITE:
    case KIND:
    case RANK:
    case PHASE:
        return set_filter(&options->filter, option, value);
    case COLOUR:
        return set_colour(options, value);
    case 'n':
        return set_top(options, value);
    case 'f':
        options->format_word = value;
        return 0;
    case GATE:
        return set_file(&options->gate, value, "--gate lacks a file name");
    case PLAN:
        return set_file(&options->plan, value, "--plan lacks a file name");
    case GATE_WRITE:
        return set_file(&options->gate_write, value, "--gate-write lacks a file name");
    default:
        return 0;
    }
}

static int wrong_format(const char *word)
{
    static const char *const words[] = {
#define XFA_FORMAT(name, help) #name,
#include "analyzer/report/formats.def"
#undef XFA_FORMAT
    };
    return wrong_word("no such format", word, words, sizeof words / sizeof *words);
}

static int wrong_gate_format(const char *word)
{
    static const char *const words[] = {"text", "github", "sarif", "junit"};
    return wrong_word("no such format of a gate", word, words, sizeof words / sizeof *words);
}

/* Formats of a gate's verdict are others than those of a report. */
static int find_format(struct xfa_analyze_options *options)
{
    const char *word = options->format_word ? options->format_word : "text";
    if (options->gate || options->gate_write) {
        options->gate_format = xfa_gate_format_find(word);
        return options->gate_format ? 0 : wrong_gate_format(word);
    }
    options->format = xfa_format_find(word);
    return options->format ? has_format(options->format) : wrong_format(word);
}

/* Checks which options exclude or need each other. */
static int check(const struct xfa_analyze_options *options)
{
    if (options->trace_count == 0)
        return wrong("which trace?", NULL);
    if (options->profile && options->no_profile)
        return wrong("--profile or --no-profile", NULL);
    if (options->network && options->replay)
        return wrong("--replay keeps what it measures in the profile: no --network", NULL);
    if (options->brief && (options->full || options->per_transfer))
        return wrong("--brief shows neither --full nor --per-transfer", NULL);
    if (options->brief && options->format != &xfa_format_text)
        return wrong("--brief is of text, not", options->format->name);
    if (options->per_transfer && options->sorted)
        return wrong("--per-transfer knows no --sort: its order is that of time", NULL);
    if (options->per_transfer && options->filter.kind_of == XFA_FILTER_FINDING)
        return wrong("--per-transfer looks for no findings: --kind takes a transfer's there",
                     options->filter.kind);
    if (options->per_transfer && options->play)
        return wrong("--per-transfer is of a run as it was: it knows no --replay=run", NULL);
    if (options->per_transfer && options->plan)
        return wrong("--per-transfer looks for no findings: it knows no --plan", NULL);
    if (options->plan && strcmp(options->plan, "-") == 0)
        return wrong("--plan takes the name of a file: the report goes to standard output", NULL);
    if (options->per_transfer && options->answers.count)
        return wrong("--per-transfer looks for no findings: it knows no --assume", NULL);
    if (options->limited && !options->replay && !options->play)
        return wrong("--replay-time needs --replay", NULL);
    if (options->per_transfer && !options->format->per_transfer)
        return wrong("--per-transfer is not to be had in this format", options->format->name);
    return 0;
}

/* A page needs a file: half a megabyte of HTML is of no use on a terminal. */
static int check_page(const struct xfa_analyze_options *options)
{
    bool page = options->format == &xfa_format_html;
    bool named = options->output && strcmp(options->output, "-") != 0;
    if (options->open && (!page || options->per_transfer))
        return wrong("--open shows a page: it needs --format html", NULL);
    if (page && !named && !options->open && isatty(STDOUT_FILENO))
        return wrong("a page is not for a terminal: -o FILE writes it to a file, --open shows it "
                     "in the browser",
                     NULL);
    return 0;
}

static int check_gate(const struct xfa_analyze_options *options)
{
    const struct xfa_filter *filter = &options->filter;
    if (!options->gate && !options->gate_write)
        return 0;
    if (options->gate && options->gate_write)
        return wrong("--gate or --gate-write", NULL);
    if (options->compare || options->per_transfer || options->replay || options->play)
        return wrong("--gate is of one run as it was: no --compare, --per-transfer and --replay",
                     NULL);
    if (options->plan)
        return wrong("a gate is of what is: no --plan", NULL);
    if (filter->site || filter->kind || filter->ranks)
        return wrong("a gate is of all sites: no --site, --kind and --rank", NULL);
    if (options->gate && filter->phase)
        return wrong("the gate says which ranges it is of: no --phase", NULL);
    if (options->gate_write && options->output)
        return wrong("--gate-write names its file itself: no --output", NULL);
    return 0;
}

/* What is written must not replace an input. */
static int check_written(const struct xfa_analyze_options *options, const char *output)
{
    const char *lost = xfa_output_replaces(output, options->traces, options->trace_count);
    if (!lost)
        lost = xfa_output_replaces(output, &options->profile, 1);
    if (!lost)
        lost = xfa_output_replaces(output, &options->network, 1);
    if (!lost)
        lost = xfa_output_replaces(output, &options->gate, 1);
    return lost ? wrong("--output would replace what is read", lost) : 0;
}

static int check_output(const struct xfa_analyze_options *options)
{
    const char *output = options->gate_write ? options->gate_write : options->output;
    if (options->plan && output && strcmp(options->plan, output) == 0)
        return wrong("--plan and --output name the same file", output);
    if (options->plan && !options->compare && check_written(options, options->plan) != 0)
        return -1;
    return check_written(options, output);
}

/* Checks --compare and its options; sets where --to would be for two runs. */
static int check_compare(struct xfa_analyze_options *options)
{
    if (!options->compare && options->before != SIZE_MAX)
        return wrong("--to needs --compare", NULL);
    if (!options->compare && !isnan(options->fail_on))
        return wrong("--fail-on needs --compare", NULL);
    if (!options->compare)
        return 0;
    if (options->per_transfer || options->replay || options->play || options->sorted)
        return wrong("--compare knows no --per-transfer, --replay and --sort", NULL);
    if (xfa_filter_any(&options->filter))
        return wrong("--compare is of whole runs: no --site, --kind, --rank and --phase", NULL);
    if (!options->format->compare)
        return wrong("--compare is not to be had in this format", options->format->name);
    if (options->before == SIZE_MAX && options->trace_count == 2)
        options->before = 1;
    if (options->before == SIZE_MAX)
        return wrong("--compare takes two runs, or several on each side of --to", NULL);
    size_t after = options->trace_count - options->before;
    if (options->before == 0 || after == 0)
        return wrong("--compare needs runs on both sides of --to", NULL);
    if (options->before > XFA_COMPARED_RUNS || after > XFA_COMPARED_RUNS)
        return wrong("--compare takes at most 32 runs on each side", NULL);
    return 0;
}

static const struct option longs[] = {
    {"profile", required_argument, NULL, 'p'},
    {"no-profile", no_argument, NULL, NO_PROFILE},
    {"network", required_argument, NULL, NETWORK},
    {"format", required_argument, NULL, 'f'},
    {"output", required_argument, NULL, 'o'},
    {"top", required_argument, NULL, 'n'},
    {"sort", required_argument, NULL, 's'},
    {"per-transfer", no_argument, NULL, PER_TRANSFER},
    {"replay", optional_argument, NULL, REPLAY},
    {"replay-time", required_argument, NULL, REPLAY_TIME},
    {"memory", required_argument, NULL, MEMORY},
    {"jobs", required_argument, NULL, 'j'},
    {"site", required_argument, NULL, SITE},
    {"kind", required_argument, NULL, KIND},
    {"rank", required_argument, NULL, RANK},
    {"phase", required_argument, NULL, PHASE},
    {"color", required_argument, NULL, COLOUR},
    {"full", no_argument, NULL, FULL},
    {"brief", no_argument, NULL, BRIEF},
    {"open", no_argument, NULL, OPEN},
    {"gate", required_argument, NULL, GATE},
    {"gate-write", required_argument, NULL, GATE_WRITE},
    {"assume", required_argument, NULL, ASSUME},
    {"plan", required_argument, NULL, PLAN},
    {"alone", no_argument, NULL, ALONE},
    {"together", no_argument, NULL, TOGETHER},
    {"compare", no_argument, NULL, COMPARE},
    {"to", no_argument, NULL, TO},
    {"fail-on", required_argument, NULL, FAIL_ON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* What was given fits together. */
static int check_all(struct xfa_analyze_options *options)
{
    if (find_format(options) != 0 || check_gate(options) != 0)
        return -1;
    if (options->gate_format)
        return options->trace_count ? check_output(options) : wrong("which trace?", NULL);
    if (check(options) != 0 || check_compare(options) != 0 || check_page(options) != 0 ||
        check_output(options) != 0)
        return -1;
    /* An option about rows or their order shows them. */
    options->full = options->full || options->sorted || options->view.top != TOP_OF_FORMAT;
    if (options->view.top == TOP_OF_FORMAT)
        options->view.top = options->per_transfer ? 0 : options->format->rows;
    return 0;
}

int xfa_analyze_options(struct xfa_analyze_options *options, int argc, char **argv)
{
    *options =
        (struct xfa_analyze_options){.view.top = TOP_OF_FORMAT,
                                     .replay_s = REPLAY_SECONDS,
                                     .memory = XFW_OP_STORE_MOST,
                                     .traces = xfa_alloc((size_t)(argc + 1) * sizeof(const char *)),
                                     .before = SIZE_MAX,
                                     .fail_on = NAN};
    optind = 0; /* reset, for a second parse in one process */
    int option; /* "-": operands come in their order */
    while ((option = getopt_long(argc, argv, "-:p:f:o:n:s:j:h", longs, NULL)) != -1) {
        if (option == 'h')
            return 1;
        if (option == '?' || option == ':')
            return xfc_refused_option("analyze", option, argv, longs);
        if (set_option(options, option, optarg) != 0)
            return -1;
    }
    for (int i = optind; i < argc; i++)
        if (add_trace(options, argv[i]) != 0)
            return -1;
    return check_all(options);
}
