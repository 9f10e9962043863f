/* Which rows of a run a gate does not allow. */
#include "analyzer/gate/gate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/compare/match.h"
#include "analyzer/report/format.h"
#include "analyzer/run/site.h"

static bool is_host(unsigned memory)
{
    return memory == XFT_MEM_PAGEABLE || xfa_is_page_locked(memory);
}

/* A copy between host and device that the driver stages: asked to be asynchronous, it holds the
 * calling thread all the same. Between two places on the host nothing is to be locked. */
static bool is_staged(const struct xfa_row_key *key)
{
    return xfa_row_pageable(key) && !(is_host(key->src_mem) && is_host(key->dst_mem));
}

/* ---- the rules ------------------------------------------------------------------------------- */

/* One row under judgement. site: what the gate knows of it; NULL: nothing. */
struct judged {
    const struct xfa_gate *gate;
    const struct xfa_gated *row;
    const struct xfa_snapshot_row *site;
};

static char *new_site(const struct judged *j)
{
    return j->site ? NULL : xfa_text("the gate knows no such transfers here");
}

/* A site that is staged in the gate may stay so. */
static bool newly_staged(const struct judged *j)
{
    return is_staged(&j->row->row->key) && !(j->site && is_staged(&j->site->key));
}

static const char *locked_memory(const struct judged *j)
{
    const struct xfa_row_key *key = j->site ? &j->site->key : NULL;
    unsigned memory = key && is_host(key->src_mem) ? key->src_mem : key ? key->dst_mem : 0;
    return memory ? xft_memory_word(memory) : "no pageable";
}

static char *blocking(const struct judged *j)
{
    if (!j->row->row->key.async || !newly_staged(j))
        return NULL;
    return xfa_print("%s blocks: the memory is pageable (the gate has %s memory here)",
                     xfa_row_called(j->row->row)->name, locked_memory(j));
}

/* Where it blocks although it was not to, that is what is said. */
static char *pageable(const struct judged *j)
{
    bool said = j->row->row->key.async && j->gate->rules[XFA_GATE_BLOCKING];
    if (said || !newly_staged(j))
        return NULL;
    return xfa_print("the memory is pageable (the gate has %s memory here)", locked_memory(j));
}

static double most(const struct judged *j, uint64_t allowed)
{
    return (double)allowed * (1 + j->gate->more);
}

static char *calls(const struct judged *j)
{
    uint64_t now = j->row->figures->transfers;
    if (!j->site || (double)now <= most(j, j->site->transfers))
        return NULL;
    return xfa_print("%" PRIu64 " transfers, where %" PRIu64 " are allowed", now,
                     xfa_count_of(most(j, j->site->transfers)));
}

static char *bytes(const struct judged *j)
{
    char now[XFA_UNIT_CHARS], then[XFA_UNIT_CHARS];
    if (!j->site || (double)j->row->figures->bytes <= most(j, j->site->bytes))
        return NULL;
    xfa_bytes_text(now, j->row->figures->bytes);
    xfa_bytes_text(then, xfa_count_of(most(j, j->site->bytes)));
    if (strcmp(now, then) == 0) /* too near for their units */
        return xfa_print("%" PRIu64 " bytes, where %" PRIu64 " are allowed", j->row->figures->bytes,
                         xfa_count_of(most(j, j->site->bytes)));
    return xfa_print("%s, where %s are allowed", now, then);
}

static char *(*const judges[XFA_GATE_RULE_COUNT])(const struct judged *) = {
    [XFA_GATE_NEW_SITE] = new_site, [XFA_GATE_BLOCKING] = blocking, [XFA_GATE_PAGEABLE] = pageable,
    [XFA_GATE_CALLS] = calls,       [XFA_GATE_BYTES] = bytes,
};

static const struct xfa_gate_exception *exception_of(const struct xfa_gate *gate,
                                                     const struct xfa_site *site, int rule)
{
    for (size_t i = 0; i < gate->exception_count; i++)
        if (gate->exceptions[i].rules[rule] && site &&
            xfa_site_matches(gate->exceptions[i].site, site))
            return &gate->exceptions[i];
    return NULL;
}

static void judge_row(struct xfa_gate_verdict *verdict, struct xfa_gated *row,
                      const struct xfa_snapshot_row *site)
{
    struct judged judged = {verdict->gate, row, site};
    for (int rule = 0; rule < XFA_GATE_RULE_COUNT; rule++) {
        char *broken = verdict->gate->rules[rule] ? judges[rule](&judged) : NULL;
        const struct xfa_gate_exception *exception =
            broken ? exception_of(verdict->gate, row->row->site, rule) : NULL;
        if (exception) {
            row->allowed_by = exception->site;
            free(broken);
            broken = NULL;
        }
        row->broken[rule] = broken;
        verdict->broken += broken != NULL;
    }
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static void take_rows(struct xfa_gate_verdict *verdict, const struct xfa_analysis *analysis,
                      const struct xfa_figures *figures)
{
    uint32_t *order = xfa_rows_sorted(analysis, xfa_by_bytes);
    verdict->rows = xfa_alloc((analysis->row_count + 1) * sizeof *verdict->rows);
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, order[i]);
        if (figures[order[i]].transfers > 0)
            verdict->rows[verdict->row_count++] = (struct xfa_gated){
                .row = row,
                .figures = &figures[order[i]],
                .path = xfa_path_text(&row->key, analysis->run->gpu_count <= 1),
            };
    }
    free(order);
}

/* For each row of the run its place among the gate's sites, or XFA_UNMATCHED. */
static size_t *match(const struct xfa_gate_verdict *verdict)
{
    size_t m = verdict->row_count, n = verdict->gate->site_count;
    struct xfa_snapshot_row *rows = xfa_alloc((m + 1) * sizeof *rows);
    const struct xfa_snapshot_row **now = xfa_alloc((m + 1) * sizeof *now);
    const struct xfa_snapshot_row **then = xfa_alloc((n + 1) * sizeof *then);
    for (size_t i = 0; i < m; i++) {
        rows[i] = xfa_snapshot_row_of(verdict->rows[i].row, verdict->rows[i].figures);
        now[i] = &rows[i];
    }
    for (size_t i = 0; i < n; i++)
        then[i] = &verdict->gate->sites[i];
    size_t *places = xfa_match_rows(now, m, then, n);
    for (size_t i = 0; i < m; i++)
        xfa_snapshot_row_free(&rows[i]);
    free(rows);
    free(now);
    free(then);
    return places;
}

struct xfa_gate_verdict *xfa_gate_judge(const struct xfa_gate *gate,
                                        const struct xfa_analysis *analysis,
                                        const struct xfa_figures *figures)
{
    struct xfa_gate_verdict *verdict = xfa_alloc(sizeof *verdict);
    verdict->gate = gate;
    take_rows(verdict, analysis, figures);
    size_t *places = match(verdict);
    for (size_t i = 0; i < verdict->row_count; i++)
        judge_row(verdict, &verdict->rows[i],
                  places[i] == XFA_UNMATCHED ? NULL : &gate->sites[places[i]]);
    free(places);
    return verdict;
}

void xfa_gate_verdict_free(struct xfa_gate_verdict *verdict)
{
    for (size_t i = 0; i < verdict->row_count; i++) {
        for (int rule = 0; rule < XFA_GATE_RULE_COUNT; rule++)
            free(verdict->rows[i].broken[rule]);
        free(verdict->rows[i].path);
    }
    free(verdict->rows);
    free(verdict);
}
