#include "analyzer/live/look.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/alloc.h"
#include "analyzer/export/export.h"

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- rows ------------------------------------------------------------------------------------ */

int xfa_live_row_order(const void *a, const void *b)
{
    const struct xfa_live_row *x = a, *y = b;
    int order = strcmp(x->site, y->site);
    if (order == 0)
        order = strcmp(x->function, y->function);
    if (order == 0)
        order = (x->direction > y->direction) - (x->direction < y->direction);
    if (order == 0)
        order = (x->src_mem > y->src_mem) - (x->src_mem < y->src_mem);
    return order ? order : (x->dst_mem > y->dst_mem) - (x->dst_mem < y->dst_mem);
}

const char *xfa_live_kind(const struct xfa_live_row *row, char text[64])
{
    bool from_host = row->direction == XFT_DIR_H2D, to_host = row->direction == XFT_DIR_D2H;
    const char *memory = from_host ? xft_memory_word(row->src_mem)
                         : to_host ? xft_memory_word(row->dst_mem)
                                   : "";
    snprintf(text, 64, "%s%s%s", xft_direction_word(row->direction), *memory ? " " : "", memory);
    return text;
}

static void take_rows(struct xfa_look *look, const struct xfa_analysis *analysis)
{
    look->rows = xfa_alloc((analysis->row_count + 1) * sizeof *look->rows);
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        const struct xfa_figures *figures = &analysis->rows[i];
        char *site = xfa_words_made(XFA_WORDS_SHOWN, row->site->text);
        char *function = xfa_words_made(XFA_WORDS_SHOWN, xfa_row_called(row)->name);
        look->transfers += figures->transfers;
        look->bytes += figures->bytes;
        look->rows[look->row_count++] = (struct xfa_live_row){
            site ? site : xfa_text(""),
            function ? function : xfa_text(""),
            row->key.direction,
            row->key.src_mem,
            row->key.dst_mem,
            figures->transfers,
            figures->bytes,
        };
    }
    qsort(look->rows, look->row_count, sizeof *look->rows, xfa_live_row_order);
}

/* Rows that differ in what is not shown become one. */
static void merge_rows(struct xfa_look *look)
{
    size_t kept = 0;
    for (size_t i = 0; i < look->row_count; i++) {
        struct xfa_live_row *row = &look->rows[i];
        if (kept == 0 || xfa_live_row_order(&look->rows[kept - 1], row) != 0) {
            look->rows[kept++] = *row;
            continue;
        }
        look->rows[kept - 1].transfers += row->transfers;
        look->rows[kept - 1].bytes += row->bytes;
        free(row->site);
        free(row->function);
    }
    look->row_count = kept;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* A process that was killed leaves its trace as if it still recorded. */
static bool works(const struct xfa_process *process)
{
    return !process->closed && (kill(process->pid, 0) == 0 || errno == EPERM);
}

static void take_run(struct xfa_look *look, const struct xfa_analysis *analysis)
{
    const struct xfa_run *run = analysis->run;
    look->processes = run->process_count;
    look->run_s = xfa_run_wall_ns(run) / 1e9;
    look->simulated = analysis->simulated;
    for (size_t i = 0; i < run->process_count; i++)
        look->working += works(run->processes[i]);
}

static void take_metrics(struct xfa_look *look, struct xfa_analysis *analysis)
{
    FILE *memory = open_memstream(&look->metrics, &look->metrics_bytes);
    if (!memory)
        return;
    xfa_export_metrics(analysis, memory);
    if (fclose(memory) != 0) {
        free(look->metrics);
        look->metrics = NULL;
    }
}

struct xfa_look *xfa_look_at(const char *run, bool metrics, char *error, size_t error_bytes)
{
    struct xfa_request request = {.path = run};
    struct xfa_look *look = xfa_alloc(sizeof *look);
    struct xfa_analysis *analysis = xfa_analysis_new(&request);
    *look = (struct xfa_look){.at_s = now_s()};
    xfa_analysis_add(analysis, run, NULL);
    xfa_analysis_finish(analysis);
    take_run(look, analysis);
    take_rows(look, analysis);
    merge_rows(look);
    if (metrics && look->processes)
        take_metrics(look, analysis);
    if (look->processes == 0)
        snprintf(error, error_bytes, "%s",
                 analysis->run->unreadable_count ? analysis->run->unreadable[0]
                                                 : "nothing could be read");
    xfa_analysis_free(analysis);
    look->took_s = now_s() - look->at_s;
    if (look->processes)
        return look;
    xfa_look_free(look);
    return NULL;
}

void xfa_look_free(struct xfa_look *look)
{
    if (!look)
        return;
    for (size_t i = 0; i < look->row_count; i++) {
        free(look->rows[i].site);
        free(look->rows[i].function);
    }
    free(look->rows);
    free(look->metrics);
    free(look);
}
