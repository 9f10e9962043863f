/*
 * OpenMetrics text of a finished run: what a scraper, or a job at the end of a run, can keep.
 *
 * Each family's samples stand together, so the rows are gone through once per family. Labels of a
 * row are all that tells rows apart for people, and `row`, which tells apart what they would not.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/export/export.h"

/* ---- labels ---------------------------------------------------------------------------------- */

/* Shown texts have no line ends; quotes and backslashes are escaped. */
static void write_label(FILE *out, const char *before, const char *key, const char *value)
{
    fprintf(out, "%s%s=\"", before, key);
    for (; value && *value; value++) {
        if (*value == '"' || *value == '\\')
            putc('\\', out);
        putc(*value, out);
    }
    putc('"', out);
}

static void write_number(FILE *out, const char *key, bool known, int64_t value)
{
    char text[24] = "";
    if (known)
        snprintf(text, sizeof text, "%" PRId64, value);
    write_label(out, ",", key, text);
}

static void write_row_labels(struct xfa_export *export, const struct xfa_row *row)
{
    FILE *out = export->out;
    const struct xfa_row_key *key = &row->key;
    write_label(out, "{", "site", xfa_words_site(&export->words, row->site, XFA_WORDS_SITE));
    write_label(out, ",", "function", xfa_words_function(&export->words, xfa_row_called(row)));
    write_label(out, ",", "direction", xft_direction_word(key->direction));
    write_label(out, ",", "src_memory", xft_memory_word(key->src_mem));
    write_label(out, ",", "dst_memory", xft_memory_word(key->dst_mem));
    write_number(out, "src_gpu", key->src_gpu >= 0, key->src_gpu);
    write_number(out, "dst_gpu", key->dst_gpu >= 0, key->dst_gpu);
    write_label(out, ",", "async", key->async ? "true" : "false");
    write_number(out, "row", true, row->number);
    putc('}', out);
}

/* ---- families -------------------------------------------------------------------------------- */

static void write_family(FILE *out, const char *name, const char *type, const char *unit,
                         const char *help)
{
    fprintf(out, "# TYPE xferscope_%s %s\n", name, type);
    if (unit)
        fprintf(out, "# UNIT xferscope_%s %s\n", name, unit);
    fprintf(out, "# HELP xferscope_%s %s\n", name, help);
}

/* NAN: not known, no sample. */
typedef double value_fn(const struct xfa_figures *figures);

static void write_rows(struct xfa_export *export, const char *name, value_fn *value)
{
    const struct xfa_analysis *analysis = export->analysis;
    for (size_t i = 0; i < analysis->row_count; i++) {
        double number = value(&analysis->rows[i]);
        if (isnan(number))
            continue;
        fprintf(export->out, "xferscope_%s_total", name);
        write_row_labels(export, xfa_analysis_row(analysis, i));
        fprintf(export->out, " %.15g\n", number);
    }
}

static double transfers_of(const struct xfa_figures *figures)
{
    return (double)figures->transfers;
}

static double copies_of(const struct xfa_figures *figures)
{
    return (double)figures->copies;
}

static double bytes_of(const struct xfa_figures *figures)
{
    return (double)figures->bytes;
}

static double timed_of(const struct xfa_figures *figures)
{
    return (double)(figures->device.transfers + figures->host.transfers);
}

static double seconds_of(const struct xfa_figures *figures)
{
    return timed_of(figures) > 0 ? (figures->device.ns + figures->host.ns) / 1e9 : NAN;
}

static double sum_of(const struct xfa_sum *sum)
{
    return sum->transfers ? sum->ns / 1e9 : NAN;
}

static double achievable_of(const struct xfa_figures *figures)
{
    return sum_of(&figures->achievable);
}

static double lost_of(const struct xfa_figures *figures)
{
    return sum_of(&figures->lost);
}

static double blocked_of(const struct xfa_figures *figures)
{
    return sum_of(&figures->blocked);
}

static const struct family {
    const char *name, *unit, *help;
    value_fn *value;
} families[] = {
    {"transfers", NULL, "Calls that moved bytes.", transfers_of},
    {"copies", NULL, "Copies of these calls; a batch has several.", copies_of},
    {"moved_bytes", "bytes", "Bytes that they moved.", bytes_of},
    {"timed_transfers", NULL, "Those whose time is known.", timed_of},
    {"transfer_seconds", "seconds", "Time of those whose time is known.", seconds_of},
    {"achievable_seconds", "seconds", "What the profile gives for those it speaks of.",
     achievable_of},
    {"lost_seconds", "seconds", "Time beyond what was achievable, where both are known.", lost_of},
    {"blocked_seconds", "seconds", "Host time in calls that block.", blocked_of},
};

/* ---- the run --------------------------------------------------------------------------------- */

static void write_run(struct xfa_export *export)
{
    const struct xfa_run *run = export->analysis->run;
    FILE *out = export->out;
    char *program = xfa_words_made(XFA_WORDS_SHOWN, run->program);
    char *host = xfa_words_made(XFA_WORDS_SHOWN, run->hostname);
    write_family(out, "run", "info", NULL, "The run.");
    fputs("xferscope_run_info", out);
    write_label(out, "{", "program", program);
    write_label(out, ",", "host", host);
    write_label(out, ",", "simulated", export->analysis->simulated ? "true" : "false");
    fputs("} 1\n", out);
    write_family(out, "processes", "gauge", NULL, "Processes of the run.");
    fprintf(out, "xferscope_processes %zu\n", run->process_count);
    write_family(out, "run_seconds", "gauge", "seconds",
                 "From the first process's start to the last one's end.");
    if (xfa_run_wall_ns(run) > 0)
        fprintf(out, "xferscope_run_seconds %.15g\n", xfa_run_wall_ns(run) / 1e9);
    free(program);
    free(host);
}

static void write_losses(const struct xfa_export *export)
{
    static const char *const metrics[XFT_LOSS_COUNT] = {
#define XFT_LOSS(name, field, json, metric, what, one) [XFT_LOSS_##name] = metric,
#include "xferscope/losses.def"
#undef XFT_LOSS
    };
    const struct xfa_run *run = export->analysis->run;
    uint64_t lost[XFT_LOSS_COUNT] = {0};
    for (size_t i = 0; i < run->process_count; i++) {
        for (int j = 0; j < XFT_LOSS_COUNT; j++)
            lost[j] += run->processes[i]->lost[j];
        lost[XFT_LOSS_EVENTS] += run->processes[i]->loss.missing_events;
    }
    write_family(export->out, "losses", "counter", NULL,
                 "What was not recorded, or could not be read.");
    for (int j = 0; j < XFT_LOSS_COUNT; j++)
        fprintf(export->out, "xferscope_losses_total{what=\"%s\"} %" PRIu64 "\n", metrics[j],
                lost[j]);
}

/* What is not in the rows. */
static void write_counts(const struct xfa_export *export)
{
    const struct xfa_counts *counts = &export->analysis->counts;
    const struct {
        const char *why;
        uint64_t count;
    } idle[] = {
        {"failed", counts->failed}, {"captured", counts->captured}, {"empty", counts->empty}};
    write_family(export->out, "idle_calls", "counter", NULL, "Calls that moved nothing.");
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        fprintf(export->out, "xferscope_idle_calls_total{why=\"%s\"} %" PRIu64 "\n", idle[i].why,
                idle[i].count);
    write_losses(export);
}

/* Bounds are the largest sizes of so many bits. */
static void write_sizes(const struct xfa_export *export, unsigned direction)
{
    const struct xfa_analysis *analysis = export->analysis;
    uint64_t sizes[XFA_SIZE_CLASSES] = {0}, below = 0;
    for (size_t i = 0; i < analysis->row_count; i++)
        for (size_t j = 0; j < XFA_SIZE_CLASSES; j++)
            if (xfa_analysis_row(analysis, i)->key.direction == direction)
                sizes[j] += analysis->rows[i].sizes[j];
    const char *word = xft_direction_word(direction);
    for (size_t j = 0; j < XFA_SIZE_CLASSES; j++) {
        below += sizes[j];
        if (sizes[j])
            fprintf(export->out,
                    "xferscope_transfer_size_bytes_bucket{direction=\"%s\",le=\"%.15g\"} %" PRIu64
                    "\n",
                    word, j ? ldexp(1, (int)j) - 1 : 0.0, below);
    }
    fprintf(export->out,
            "xferscope_transfer_size_bytes_bucket{direction=\"%s\",le=\"+Inf\"} %" PRIu64
            "\nxferscope_transfer_size_bytes_count{direction=\"%s\"} %" PRIu64
            "\nxferscope_transfer_size_bytes_sum{direction=\"%s\"} %.15g\n",
            word, below, word, below, word, (double)analysis->directions[direction].bytes);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void write_message_labels(struct xfa_export *export, const struct xfa_message_row *row,
                                 size_t number)
{
    FILE *out = export->out;
    const struct xfa_run *run = export->analysis->run;
    const char *word = xft_message_word(row->key.what);
    write_label(out, "{", "site",
                xfa_words_site(&export->words, xfa_run_site(run, row->key.site), XFA_WORDS_SITE));
    write_label(out, ",", "function",
                xfa_words_function(&export->words, xfa_run_function(run, row->key.function)));
    write_label(out, ",", "operation", word ? word : "");
    write_number(out, "from_rank", row->key.from < XFT_RANK_ANY, row->key.from);
    write_number(out, "to_rank", row->key.to < XFT_RANK_ANY, row->key.to);
    write_number(out, "row", true, (int64_t)number);
    putc('}', out);
}

typedef double message_fn(const struct xfa_message_row *row);

static double calls_of(const struct xfa_message_row *row)
{
    return (double)row->calls;
}

static double sent_of(const struct xfa_message_row *row)
{
    return (double)row->sent;
}

static double called_of(const struct xfa_message_row *row)
{
    return row->ns / 1e9;
}

static double late_of(const struct xfa_message_row *row)
{
    return row->divided ? row->before_ns / 1e9 : NAN;
}

static void write_messages(struct xfa_export *export)
{
    static const struct {
        const char *name, *unit, *help;
        message_fn *value;
    } all[] = {
        {"messages", NULL, "Calls of MPI and NCCL.", calls_of},
        {"message_sent_bytes", "bytes", "Bytes that they sent.", sent_of},
        {"message_seconds", "seconds", "The host's time in these calls.", called_of},
        {"message_late_seconds", "seconds", "Time before the other side had begun.", late_of},
    };
    const struct xfa_table *rows = &export->analysis->messages.rows;
    for (size_t k = 0; rows->count && k < sizeof all / sizeof *all; k++) {
        write_family(export->out, all[k].name, "counter", all[k].unit, all[k].help);
        for (size_t i = 0; i < rows->count; i++) {
            const struct xfa_message_row *row = xfa_message_row(&export->analysis->messages, i);
            if (isnan(all[k].value(row)))
                continue;
            fprintf(export->out, "xferscope_%s_total", all[k].name);
            write_message_labels(export, row, i);
            fprintf(export->out, " %.15g\n", all[k].value(row));
        }
    }
}

/* ---- findings -------------------------------------------------------------------------------- */

static void write_finding(const struct xfa_export *export, size_t number, const char *name,
                          const char *bound, double ns)
{
    const struct xfa_finding *finding = &export->findings->items[number];
    if (isnan(ns))
        return;
    fprintf(export->out, "xferscope_%s{kind=\"%s\",number=\"%zu\"", name,
            xfa_finding_word(finding->id), number + 1);
    if (bound)
        write_label(export->out, ",", "estimate", bound);
    fprintf(export->out, "} %.15g\n", ns / 1e9);
}

static void write_findings(const struct xfa_export *export)
{
    const struct xfa_findings *findings = export->findings;
    FILE *out = export->out;
    if (!findings)
        return;
    write_family(out, "finding_saving_seconds", "gauge", "seconds",
                 "What the run would save with this finding's fix alone.");
    for (size_t i = 0; i < findings->count; i++) {
        const struct xfw_saving *saving = &findings->items[i].saving;
        if (findings->items[i].idle)
            continue;
        write_finding(export, i, "finding_saving_seconds", "low", saving->low);
        write_finding(export, i, "finding_saving_seconds", "likely", saving->likely);
        write_finding(export, i, "finding_saving_seconds", "high", saving->high);
    }
    write_family(out, "finding_lost_seconds", "gauge", "seconds",
                 "Time that the finding's transfers lost.");
    for (size_t i = 0; i < findings->count; i++)
        if (!findings->items[i].idle)
            write_finding(export, i, "finding_lost_seconds", NULL, findings->items[i].lost_ns);
    if (!findings->whatif || xfw_saving_known(&findings->whatif->set) != XFW_KNOWN)
        return;
    const struct xfw_saving *set = &findings->whatif->set;
    write_family(out, "saving_seconds", "gauge", "seconds",
                 "What the run would save with the best set of fixes.");
    fprintf(out,
            "xferscope_saving_seconds{estimate=\"low\"} %.15g\n"
            "xferscope_saving_seconds{estimate=\"likely\"} %.15g\n"
            "xferscope_saving_seconds{estimate=\"high\"} %.15g\n",
            set->low / 1e9, set->likely / 1e9, set->high / 1e9);
}

static void finish(struct xfa_export *export)
{
    write_run(export);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        write_family(export->out, families[i].name, "counter", families[i].unit, families[i].help);
        write_rows(export, families[i].name, families[i].value);
    }
    write_family(export->out, "transfer_size_bytes", "histogram", "bytes", "Sizes of transfers.");
    for (unsigned direction = 0; direction < XFT_DIRECTION_COUNT; direction++)
        if (export->analysis->directions[direction].transfers)
            write_sizes(export, direction);
    write_counts(export);
    write_messages(export);
    write_findings(export);
    fputs("# EOF\n", export->out);
}

const struct xfa_export_format xfa_export_openmetrics = {
    .name = "openmetrics",
    .what = "counters and gauges of the finished run, for Prometheus and its like",
    .text = true,
    .saves = true,
    .words = XFA_WORDS_SHOWN,
    .finish = finish,
};

void xfa_export_metrics(struct xfa_analysis *analysis, FILE *out)
{
    struct xfa_export export = {
        .format = &xfa_export_openmetrics, .analysis = analysis, .out = out};
    xfa_words_init(&export.words, XFA_WORDS_SHOWN);
    finish(&export);
    xfa_words_free(&export.words);
}
