/* The section "Messages": calls of MPI and NCCL, the ranks that others waited for, hosts' clocks.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

#define SHOWN_ROWS 20 /* at most, unless --top 0 */
#define SHOWN_RANKS 10

enum column {
    COL_SITE,
    COL_CALL,
    COL_RANKS,
    COL_CALLS,
    COL_BYTES,
    COL_TIME,
    COL_WAITS,
    COL_BEFORE,
    COL_GBPS,
    COL_ACHIEVABLE,
    COLUMNS
};

static const struct xfa_column columns[COLUMNS] = {
    [COL_SITE] = {"CALL SITE", XFA_SITE_BREAKS, 0},
    [COL_CALL] = {"FUNCTION", XFA_SITE_BREAKS, 0},
    [COL_RANKS] = {"RANKS", NULL, 0},
    [COL_CALLS] = {"COUNT", NULL, SCOLS_FL_RIGHT},
    [COL_BYTES] = {"BYTES", NULL, SCOLS_FL_RIGHT},
    [COL_TIME] = {"TIME", NULL, SCOLS_FL_RIGHT},
    [COL_WAITS] = {"WAITED", NULL, SCOLS_FL_RIGHT},
    [COL_BEFORE] = {"LATE", NULL, SCOLS_FL_RIGHT},
    [COL_GBPS] = {"GB/s", NULL, SCOLS_FL_RIGHT},
    [COL_ACHIEVABLE] = {"POSSIBLE", NULL, SCOLS_FL_RIGHT},
};

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *rank_text(char text[16], uint32_t rank)
{
    if (rank < XFT_RANK_ANY)
        snprintf(text, 16, "%u", rank);
    else
        snprintf(text, 16, "?");
    return text;
}

/* "0 to 1", of a send-receive that sends to 1 ">1 <3", "all 8", "all 8, root 0", "neighbors"; the
 * caller frees it. */
static char *ranks_text(const struct xfa_message_row *row)
{
    char from[16], to[16], all[24] = "all";
    if (row->key.what == XFT_MESSAGE_WAIT)
        return xfa_text("-");
    if (xft_message_is_among_neighbors(row->key.what))
        return xfa_text("neighbors");
    if (row->key.what == XFT_MESSAGE_SENDRECV)
        return xfa_print(">%s <%s", rank_text(to, row->key.to), rank_text(from, row->key.from));
    if (!xft_message_is_collective(row->key.what))
        return xfa_print("%s to %s", rank_text(from, row->key.from), rank_text(to, row->key.to));
    if (row->size)
        snprintf(all, sizeof all, "all %u", row->size);
    return row->key.to == XFT_RANK_NONE ? xfa_text(all)
                                        : xfa_print("%s, root %s", all, rank_text(to, row->key.to));
}

/* A barrier that was timed: of these the time stands where others have a rate. */
static bool moves_nothing(const struct xfa_message_row *row)
{
    return row->timed > 0 && row->timed_bytes == 0;
}

static void add_row(struct libscols_table *table, const struct xfa_run *run,
                    const struct xfa_message_row *row)
{
    char text[XFA_UNIT_CHARS];
    struct libscols_line *line = scols_table_new_line(table, NULL);
    uint64_t bytes = row->sent > row->arrived ? row->sent : row->arrived;
    if (!line)
        return;
    xfa_set_cell(line, COL_SITE, xfa_run_site(run, row->key.site)->text);
    xfa_set_cell(line, COL_CALL, xfa_run_function(run, row->key.function)->name);
    scols_line_refer_data(line, COL_RANKS, ranks_text(row));
    scols_line_refer_data(line, COL_CALLS, xfa_print("%" PRIu64, row->calls));
    scols_line_set_data(line, COL_BYTES, bytes ? xfa_bytes_text(text, bytes) : "-");
    scols_line_set_data(line, COL_TIME, xfa_time_text(text, row->ns));
    scols_line_set_data(line, COL_WAITS,
                        xfa_time_text(text, row->wait_ns > 0 ? row->wait_ns : NAN));
    scols_line_set_data(line, COL_BEFORE, xfa_time_text(text, row->divided ? row->before_ns : NAN));
    bool nothing = moves_nothing(row);
    scols_line_set_data(line, COL_GBPS,
                        nothing ? xfa_time_text(text, xfa_message_call_ns(row))
                                : xfa_gbps_text(text, xfa_message_gbps(row)));
    scols_line_set_data(line, COL_ACHIEVABLE,
                        nothing ? xfa_time_text(text, xfa_message_achievable_call_ns(row))
                                : xfa_gbps_text(text, xfa_message_achievable_gbps(row)));
}

/* Is GB/s without what they waited, or with it? */
static void write_late_kernels(bool without, bool with, int width, FILE *out)
{
    if (without || with)
        xfa_write_words(
            out, width, "  ",
            "LATE, of NCCL: what its kernels ran before the last of them began; GB/s is %s.",
            !with      ? "without it"
            : !without ? "with it: what it is without it is not known"
                       : "without it where that is known");
}

/* Of what was timed of collectives, and of NCCL, why it is not known what was possible. Without a
 * network in the profile it is not known of any message. */
static void write_unpriced(const struct xfa_message_row **order, size_t count,
                           const struct xfp_network *network, int width, FILE *out)
{
    static const char *const because[XFA_UNPRICED_COUNT] = {
        [XFA_UNPRICED_NOT_MEASURED] = "the profile has no such operation",
        [XFA_UNPRICED_RANKS] = "the profile's collectives were measured with other ranks, not with "
                               "as many on as many of its hosts",
        [XFA_UNPRICED_SIZE] = "the profile has it of one size only, which is smaller",
        [XFA_UNPRICED_MEMORY] = "MPI was given device memory, with which its collectives were not "
                                "measured",
        [XFA_UNPRICED_PARTS] = "not all ranks give, or get, as much",
        [XFA_UNPRICED_GROUP] = "they are of groups of more than one send and one receive",
    };
    uint64_t rows[XFA_UNPRICED_COUNT] = {0};
    for (size_t i = 0; i < count; i++)
        rows[order[i]->unpriced]++;
    for (size_t why = XFA_PRICED + 1; network && why < XFA_UNPRICED_COUNT; why++)
        if (rows[why])
            xfa_write_words(out, width, "  ", "POSSIBLE is not known of %" PRIu64 " row%s: %s.",
                            rows[why], xfa_plural(rows[why]), because[why]);
}

static void write_table(const struct xfa_message_row **order, size_t count,
                        const struct xfa_analysis *analysis, const struct xfa_view *view, FILE *out)
{
    const struct xfp_profile *profile = analysis->achievable.profile;
    size_t shown = xfa_view_shown(view, count);
    if (view->top && shown > SHOWN_ROWS)
        shown = SHOWN_ROWS;
    struct libscols_table *table = xfa_text_table(columns, COLUMNS, out);
    bool both_ways = false, without = false, with = false, nothing = false;
    for (size_t i = 0; table && i < shown; i++) {
        add_row(table, analysis->run, order[i]);
        both_ways |= order[i]->key.what == XFT_MESSAGE_SENDRECV;
        nothing |= moves_nothing(order[i]);
        bool kernels = xfa_message_has_kernels(order[i]) && order[i]->divided;
        without |= kernels && order[i]->timed;
        with |= kernels && !order[i]->timed;
    }
    xfa_text_table_print(table, columns, view->width, out);
    xfa_write_hidden(out, count - shown);
    if (both_ways)
        fputs("  >1 <3  one call sends to rank 1 and receives from rank 3\n", out);
    if (nothing)
        fputs("  a time instead of GB/s: what one call that moves nothing took\n", out);
    write_late_kernels(without, with, view->width, out);
    write_unpriced(order, shown, profile ? profile->network : NULL, view->width, out);
}

/* ---- matching -------------------------------------------------------------------------------- */

/* Calls that matching is about, and are not matched. */
static uint64_t alone_of(const struct xfa_analysis *analysis)
{
    return analysis->matched.alone + analysis->messages.not_kept;
}

static void write_matched(const struct xfa_analysis *analysis, int width, FILE *out)
{
    const struct xfa_matched *matched = &analysis->matched;
    uint64_t alone = alone_of(analysis);
    if (matched->messages + alone == 0)
        return;
    char chosen[64] = "", without[160] = "";
    if (analysis->messages.kept.mask)
        snprintf(chosen, sizeof chosen, " (one in %" PRIu64 ", chosen by chance)",
                 analysis->messages.kept.mask + 1);
    if (alone)
        snprintf(without, sizeof without,
                 "; of %" PRIu64 " call%s the other side is not known for sure", alone,
                 xfa_plural(alone));
    xfa_write_words(out, width, "  ", "%" PRIu64 " matched with their other side%s%s.",
                    matched->messages, chosen, without);
}

/* Where any were matched the line of the replay says how many were not. */
static void write_unmet(const struct xfa_matched *matched, int width, FILE *out)
{
    if (matched->meetings > 0 || matched->unmet == 0)
        return;
    xfa_write_words(
        out, width, "  ",
        "%" PRIu64 " call%s of NCCL without %s: not all ranks, or not the times of their "
        "kernels, were recorded. Their kernels wait as recorded when the run is replayed.",
        matched->unmet, xfa_plural(matched->unmet),
        matched->unmet == 1 ? "its other side" : "their other sides");
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static char *process_text(const struct xfa_process *process)
{
    return process->rank.known ? xfa_print("rank %u", process->rank.number)
                               : xfa_print("process %d", process->pid);
}

static void write_slow(const struct xfa_analysis *analysis, int width, FILE *out)
{
    const struct xfa_matched *matched = &analysis->matched;
    for (size_t i = 0; i < matched->process_count; i++) {
        const struct xfa_message_process_sum *sum = &matched->processes[i];
        if (!sum->stands_out)
            continue;
        char *who = process_text(analysis->run->processes[i]);
        xfa_write_words(out, width, "  ",
                        "%s is slow: its messages take %.2f times as long as usual with each of "
                        "its %" PRIu64 " peers.",
                        who, sum->slower, sum->peers);
        free(who);
    }
}

static int longest_first(const void *a, const void *b, void *of)
{
    const struct xfa_message_process_sum *all = of;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    if (all[i].others_ns != all[k].others_ns)
        return all[i].others_ns > all[k].others_ns ? -1 : 1;
    return (i > k) - (i < k);
}

/* Who came last, and what the others waited then. */
static void write_last(const struct xfa_analysis *analysis, const struct xfa_view *view, FILE *out)
{
    const struct xfa_matched *matched = &analysis->matched;
    uint32_t *order = xfa_alloc((matched->process_count + 1) * sizeof *order);
    size_t count = 0;
    for (uint32_t i = 0; i < matched->process_count; i++)
        if (matched->processes[i].others_ns > 0)
            order[count++] = i;
    qsort_r(order, count, sizeof *order, longest_first, matched->processes);
    size_t shown = xfa_shown_facts(view, count, SHOWN_RANKS);
    for (size_t i = 0; i < shown; i++) {
        const struct xfa_message_process_sum *sum = &matched->processes[order[i]];
        char text[XFA_UNIT_CHARS];
        char *who = process_text(analysis->run->processes[order[i]]);
        xfa_write_words(out, view->width, "  ",
                        "%s came last in %" PRIu64 " of %" PRIu64
                        " collectives; others waited %s for it, added up.",
                        who, sum->last, sum->collectives, xfa_time_text(text, sum->others_ns));
        free(who);
    }
    xfa_write_hidden(out, count - shown);
    free(order);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static void write_clock(const struct xfa_run *run, const struct xfa_host_clock *clock, size_t host,
                        int width, FILE *out)
{
    char offset[XFA_UNIT_CHARS], error[XFA_UNIT_CHARS];
    const char *name = run->hosts[host].name ? run->hosts[host].name : "(unnamed)";
    const char *first = run->hosts[0].name ? run->hosts[0].name : "the first host";
    xfa_time_text(offset, fabs(clock->offset_ns));
    const char *way = clock->offset_ns < 0 ? "behind" : "before";
    if (clock->basis == XFA_CLOCK_MESSAGES)
        xfa_write_words(out, width, "  ",
                        "clock of %s: %s %s that of %s, drift %.3g ppm, by messages; at most %s "
                        "off.",
                        name, offset, way, first, 1e6 * clock->drift,
                        xfa_time_text(error, clock->error_ns));
    else if (clock->basis == XFA_CLOCK_BOUND)
        xfa_write_words(out, width, "  ",
                        "clock of %s: %s %s that of %s at least, by messages in one direction; how "
                        "far it is off is not known.",
                        name, offset, way, first);
    else
        xfa_write_words(
            out, width, "  ", "clock of %s: its own%s; how far it is off is not known.", name,
            clock->basis == XFA_CLOCK_CONTRADICTED ? ", as the messages contradict each other"
                                                   : "");
}

static void write_clocks(const struct xfa_analysis *analysis, const struct xfa_view *view,
                         FILE *out)
{
    const struct xfa_host_clocks *clocks = &analysis->matched.clocks;
    size_t others = clocks->count > 0 ? clocks->count - 1 : 0;
    size_t shown = xfa_shown_facts(view, others, SHOWN_RANKS);
    for (size_t i = 1; i <= shown; i++)
        write_clock(analysis->run, &clocks->all[i], i, view->width, out);
    xfa_write_hidden(out, others - shown);
}

void xfa_write_messages(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_analysis *analysis = report->analysis;
    const struct xfa_messages *messages = &analysis->messages;
    char bytes[XFA_UNIT_CHARS], time[XFA_UNIT_CHARS];
    if (messages->calls == 0)
        return;
    const struct xfa_message_row **order = xfa_messages_order(messages);
    size_t count = 0;
    for (size_t i = 0; i < messages->rows.count; i++)
        if (!view->filter ||
            xfa_filter_site(view->filter, xfa_run_site(analysis->run, order[i]->key.site)))
            order[count++] = order[i];
    xfa_write_title(view, out, "Messages of MPI and NCCL (%" PRIu64 " call%s, %s sent, %s in them)",
                    messages->calls, xfa_plural(messages->calls),
                    xfa_bytes_text(bytes, messages->all_sent), xfa_time_text(time, messages->ns));
    write_table(order, count, analysis, view, out);
    xfa_write_folded(out, view->width,
                     &(struct xfa_folded){"calls", "ranks", "rows", messages->without_ranks,
                                          messages->without_site});
    write_matched(analysis, view->width, out);
    write_unmet(&analysis->matched, view->width, out);
    write_slow(analysis, view->width, out);
    write_last(analysis, view, out);
    write_clocks(analysis, view, out);
    free(order);
}
