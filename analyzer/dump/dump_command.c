/* xferscope dump: docs/dump.md. */
#include "analyzer/analyzer.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "common/nearest.h"
#include "common/text.h"
#include "analyzer/dump/dump.h"
#include "analyzer/base/output.h"
#include "analyzer/base/units.h"
#include "analyzer/run/resolve.h"

#define MOST_KINDS 64 /* numbers of kinds are below */

struct options {
    const char *trace, *output;
    const struct xfa_dump_format *format;
    uint64_t kinds; /* bit per event kind; 0 = all */
    uint64_t limit; /* of events per file; 0 = all */
    bool sites;     /* instead: words of its call sites */
};

static const char usage[] =
    "usage: xferscope dump TRACE [options]\n"
    "\n"
    "Prints what a run (NAME.xft, or one of its .trace files) contains: header, META, segments,\n"
    "INDEX, stacks, arguments, events.\n"
    "\n"
    "  -f, --format FORMAT  text (default) or json (one object per line)\n"
    "  -k, --kind KIND,...  only these events: transfer, alloc, free, register, unregister,\n"
    "                       prefetch, advise, peer, sync, device-copy, graph-launch, kernel,\n"
    "                       memset, migration, fault, range-begin, range-end, content,\n"
    "                       launch, set, record, wait, query, host-function, stream,\n"
    "                       stream-end, records, overhead, host-access, message, message-end,\n"
    "                       communicator, graph-call, processor, context\n"
    "  -n, --limit N        at most N events per file\n"
    "      --sites          instead: functions and files of its call sites, one a line\n"
    "  -o, --output FILE    write there instead of standard output\n"
    "  -h, --help           show this\n"
    "\n"
    "Exit status: 0 printed; 1 nothing could be read; 2 wrong usage; 3 printed, but part of the\n"
    "input was lost or could not be read; 4 the output could not be written.\n";

static int wrong(const char *what, const char *value)
{
    xfc_print(stderr, "xferscope dump: %s%s%s; see xferscope dump --help\n", what,
              value ? ": " : "", value ? value : "");
    return -1;
}

static int wrong_kind(const char *word)
{
    const char *words[MOST_KINDS];
    size_t count = 0;
    for (unsigned kind = 1; kind < MOST_KINDS; kind++)
        if (xft_event_word(kind))
            words[count++] = xft_event_word(kind);
    return xfc_wrong_word("dump", "no such kind of event", word, xfc_nearest(word, words, count));
}

static int set_kind(struct options *options, const char *word, size_t length)
{
    for (unsigned kind = 1; kind < MOST_KINDS; kind++) {
        const char *known = xft_event_word(kind);
        if (known && strlen(known) == length && strncmp(known, word, length) == 0) {
            options->kinds |= (uint64_t)1 << kind;
            return 0;
        }
    }
    char *said = xfa_print("%.*s", (int)length, word);
    if (length)
        wrong_kind(said);
    else
        wrong("--kind lacks a kind of event", NULL);
    free(said);
    return -1;
}

/* Nothing between two commas is no kind, and an empty list is not "all". */
static int set_kinds(struct options *options, const char *words)
{
    for (;;) {
        size_t length = strcspn(words, ",");
        if (set_kind(options, words, length) != 0)
            return -1;
        if (!words[length])
            return 0;
        words += length + 1;
    }
}

static int set_limit(struct options *options, const char *word)
{
    return xfa_number(word, &options->limit) ? 0 : wrong("not a number of events", word);
}

static int set_output(struct options *options, const char *name)
{
    options->output = name;
    return *name ? 0 : wrong("--output lacks a file name", NULL);
}

static int set_format(struct options *options, const char *name)
{
    static const struct xfa_dump_format *const formats[] = {&xfa_dump_text, &xfa_dump_json};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i]->name, name) == 0) {
            options->format = formats[i];
            return 0;
        }
    }
    static const char *const words[] = {"text", "json"};
    return xfc_wrong_word("dump", "no such format", name,
                          xfc_nearest(name, words, sizeof words / sizeof *words));
}

enum dump_option { SITES = 256 };

static int set_option(struct options *options, int option, const char *value)
{
    switch (option) {
    case SITES:
        options->sites = true;
        return 0;
    case 'f':
        return set_format(options, value);
    case 'k':
        return set_kinds(options, value);
    case 'n':
        return set_limit(options, value);
    case 'o':
        return set_output(options, value);
    default:
        return 0;
    }
}

/* 0: go on; 1: help was asked for; -1: wrong usage. */
static int parse(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"format", required_argument, NULL, 'f'},
        {"kind", required_argument, NULL, 'k'},
        {"limit", required_argument, NULL, 'n'},
        {"output", required_argument, NULL, 'o'},
        {"sites", no_argument, NULL, SITES},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *options = (struct options){.format = &xfa_dump_text};
    optind = 0; /* this may be the second parse of the process */
    int option;
    while ((option = getopt_long(argc, argv, ":f:k:n:o:h", longs, NULL)) != -1) {
        if (option == 'h')
            return 1;
        if (option == '?' || option == ':')
            return xfc_refused_option("dump", option, argv, longs);
        if (set_option(options, option, optarg) != 0)
            return -1;
    }
    if (optind + 1 != argc || !*argv[optind])
        return wrong(optind >= argc - 1 ? "which trace?" : "one trace at a time", NULL);
    options->trace = argv[optind];
    if (xfa_output_replaces(options->output, &options->trace, 1))
        return wrong("--output would replace what is read", options->trace);
    return 0;
}

struct printing {
    const struct options *options;
    const struct xfa_trace *trace;
    uint64_t printed;
    FILE *out;
};

static void print_batch(void *context, const struct xfa_batch *batch)
{
    struct printing *printing = context;
    const struct options *options = printing->options;
    for (size_t i = 0; i < batch->rows; i++) {
        unsigned kind = batch->events[i].kind;
        if (options->kinds && (kind >= MOST_KINDS || !(options->kinds & (uint64_t)1 << kind)))
            continue;
        if (options->limit && printing->printed >= options->limit)
            return;
        options->format->event(printing->trace, batch, i, printing->out);
        printing->printed++;
    }
}

static void dump_index(const struct xfa_dump_format *format, struct xfa_trace *trace,
                       const struct xfa_segment *segment, FILE *out)
{
    struct xft_index_entry entry;
    unsigned char *raw = xfa_segment_load(trace, segment);
    for (uint64_t at = 0; raw && at + sizeof entry <= segment->raw; at += sizeof entry) {
        memcpy(&entry, raw + at, sizeof entry);
        format->index(trace, &entry, out);
    }
    free(raw);
}

static bool dump_file(const struct options *options, struct xfa_trace *trace, FILE *out)
{
    const struct xfa_dump_format *format = options->format;
    format->header(trace, out);
    format->meta(trace, out);
    for (size_t i = 0; i < trace->segment_count; i++)
        format->segment(trace, &trace->segments[i], out);
    for (size_t i = 0; i < trace->segment_count; i++)
        if (trace->segments[i].type == XFT_SEG_INDEX)
            dump_index(format, trace, &trace->segments[i], out);
    for (size_t i = 0; i < trace->names.stacks.count; i++)
        format->stack(trace, xfa_table_at(&trace->names.stacks, i), out);
    for (size_t i = 0; i < trace->names.arguments.count; i++)
        format->arguments(trace, xfa_table_at(&trace->names.arguments, i), out);
    struct printing printing = {options, trace, 0, out};
    xfa_trace_events(trace, print_batch, &printing);
    char *line = xfa_trace_loss_line(trace);
    format->losses(trace, line, out);
    if (line)
        xfc_print(stderr, "xferscope dump: %s: %s; the rest was read\n", trace->name, line);
    free(line);
    return line != NULL;
}

static int dump_sites(const struct options *options, char **files, size_t count)
{
    struct xfa_output output;
    if (xfa_output_open(&output, options->output) != 0)
        return XFA_OUTPUT;
    size_t read = xfa_dump_sites(files, count, output.stream);
    if (xfa_output_close(&output) != 0)
        return XFA_OUTPUT;
    return read == 0 ? XFA_NOTHING : read < count ? XFA_LOSSES : XFA_OK;
}

static int dump_files(const struct options *options, char **files, size_t count)
{
    struct xfa_output output;
    size_t read = 0;
    bool lossy = false;
    if (xfa_output_open(&output, options->output) != 0)
        return XFA_OUTPUT;
    for (size_t i = 0; i < count; i++) {
        char error[1024] = "";
        struct xfa_trace *trace = xfa_trace_open(files[i], error, sizeof error);
        if (trace) {
            xfa_trace_resolve(trace);
            read++;
            lossy = dump_file(options, trace, output.stream) || lossy;
        } else {
            xfc_print(stderr, "xferscope dump: %s\n", error);
        }
        xfa_trace_close(trace);
    }
    if (xfa_output_close(&output) != 0)
        return XFA_OUTPUT;
    return read == 0 ? XFA_NOTHING : lossy || read < count ? XFA_LOSSES : XFA_OK;
}

int xfa_dump_command(int argc, char **argv)
{
    struct options options;
    char error[1024] = "";
    size_t count = 0;
    int parsed = parse(&options, argc, argv);
    if (parsed > 0)
        return fputs(usage, stdout) < 0 || fflush(stdout) != 0 ? XFA_OUTPUT : XFA_OK;
    if (parsed < 0)
        return XFA_USAGE;
    char **files = xfa_run_files(options.trace, &count, error, sizeof error);
    if (count == 0) {
        xfc_print(stderr, "xferscope dump: %s\n", error);
        return XFA_NOTHING;
    }
    int status =
        options.sites ? dump_sites(&options, files, count) : dump_files(&options, files, count);
    xfa_run_files_free(files, count);
    return status;
}
