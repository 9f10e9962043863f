/* One transfer per line, in columns of fixed width, since later lines are not known when a line is
 * written. The figures are in the first 80 columns, texts of the program last; a text that is too
 * wide moves the rest of its line. */
#include "analyzer/report/per_transfer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

static void write_head(FILE *out)
{
    xfc_print(
        out,
        "%10s %6s %-17s %8s %7s %8s %10s %7s %6s %-17s %4s %7s %-10s %-4s %-4s %-7s %-20s %s\n",
        "AT", "PID", "TRANSFER", "BYTES", "TIME", "GB/s", "ACHIEVABLE", "LOST", "ERROR", "BASIS",
        "RANK", "THREAD", "STREAM", "NODE", "PEER", "SHAPE", "FUNCTION", "CALL SITE");
}

static void say_simulated(FILE *out)
{
    fputs(XFA_SIMULATED_TEXT("SIMULATED GPU") "\n", out);
}

static void write_at(const struct xfa_listed *listed, FILE *out)
{
    double ns = xfa_listed_at_ns(listed);
    if (isnan(ns))
        fprintf(out, "%10s", "-");
    else
        fprintf(out, "%10.6f", ns / 1e9);
}

static void write_number(FILE *out, int width, bool known, long long number)
{
    if (known)
        fprintf(out, " %*lld", width, number);
    else
        fprintf(out, " %*s", width, "-");
}

/* Host time is an upper bound: what was achieved is at least this. */
static void write_figures(const struct xfa_listed *listed, FILE *out)
{
    const struct xfa_event *event = listed->event;
    const struct xfa_transfer *transfer = &event->transfer;
    char bytes[XFA_UNIT_CHARS], time[XFA_UNIT_CHARS], had[XFA_UNIT_CHARS],
        least[XFA_UNIT_CHARS + 2];
    char best[XFA_UNIT_CHARS], lost[XFA_UNIT_CHARS];
    xfa_gbps_text(had, xfa_listed_achieved_gbps(listed));
    snprintf(least, sizeof least, "%s%s", transfer->timed == XFA_TIMED_HOST ? ">=" : "", had);
    fprintf(out, " %8s %7s %8s %10s %7s", xfa_bytes_text(bytes, event->bytes),
            xfa_time_text(time, transfer->achieved_ns), least,
            xfa_gbps_text(best, xfa_listed_achievable_gbps(listed)),
            xfa_time_text(lost, transfer->lost_ns));
}

static void write_bases(const struct xfa_listed *listed, FILE *out)
{
    const struct xfp_estimate *estimate = &listed->event->transfer.achievable;
    const char *had = xfa_listed_achieved_basis(listed);
    const char *best = xfa_listed_achievable_basis(listed);
    char error[XFA_UNIT_CHARS] = "-", bases[64];
    if (estimate->basis != XFP_UNKNOWN && isfinite(estimate->error))
        snprintf(error, sizeof error, "+-%.*f%%", estimate->error < 0.0995 ? 1 : 0,
                 estimate->error * 100);
    snprintf(bases, sizeof bases, "%s/%s%s", had ? had : "-", best ? best : "-",
             listed->other_machine ? "*" : "");
    fprintf(out, " %6s %-17s", error, bases);
}

/* NUMA nodes of the host's memory; of both sides for copies within the host. */
static void write_nodes(const struct xfa_class_key *key, FILE *out)
{
    char text[32] = "-";
    if (key->src_node >= 0 && key->dst_node >= 0)
        snprintf(text, sizeof text, "%d>%d", key->src_node, key->dst_node);
    else if (key->src_node >= 0 || key->dst_node >= 0)
        snprintf(text, sizeof text, "%d", key->src_node >= 0 ? key->src_node : key->dst_node);
    xfc_print(out, " %-4s", text);
}

static char *rest_text(const struct xfa_listed *listed)
{
    char *text = NULL;
    size_t bytes = 0;
    const char *peer = xfa_listed_peer(listed);
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    xfc_print(out, " %-10s", xfa_listed_stream(listed));
    write_nodes(&listed->event->transfer.class->key, out);
    xfc_print(out, " %-4s %-7s %-20s %s\n", peer ? peer : "-", xfa_listed_shape(listed),
              xfa_row_called(listed->row)->name, listed->row->site->text);
    fclose(out);
    return text;
}

static void write_line(const struct xfa_listed *listed, FILE *out)
{
    enum { PATH, REST };
    const struct xfa_event *event = listed->event;
    const struct xfa_process *process = event->process;
    char **texts = listed->of_class;
    if (!texts[PATH])
        texts[PATH] = xfa_path_text(&listed->row->key, false);
    if (!texts[REST])
        texts[REST] = rest_text(listed);
    write_at(listed, out);
    write_number(out, 6, process->pid > 0, process->pid);
    fprintf(out, " %-17s", texts[PATH]);
    write_figures(listed, out);
    write_bases(listed, out);
    write_number(out, 4, process->rank.known, process->rank.number);
    write_number(out, 7, event->tid > 0, event->tid);
    fputs(texts[REST] ? texts[REST] : "\n", out);
}

/* Why ACHIEVABLE is "-", in one line. */
static void write_foot(const struct xfa_per_transfer *list, FILE *out)
{
    uint64_t unknown = list->written - list->lacks[XFA_LACK_NONE];
    const char *before = ": ";
    if (unknown == 0)
        return;
    fprintf(out, "ACHIEVABLE is not known (-) of %" PRIu64 " of %" PRIu64 " transfer%s", unknown,
            list->written, list->written == 1 ? "" : "s");
    for (unsigned i = XFA_LACK_NONE + 1; i < XFA_LACKS_COUNT; i++) {
        if (list->lacks[i] == 0)
            continue;
        fprintf(out, "%s%s", before, xfa_lack_words(i));
        if (list->lacks[i] < unknown)
            fprintf(out, " (%" PRIu64 ")", list->lacks[i]);
        before = "; ";
    }
    fputc('\n', out);
}

const struct xfa_per_transfer_format xfa_per_transfer_text = {
    .head = write_head, .simulated = say_simulated, .line = write_line, .foot = write_foot};
