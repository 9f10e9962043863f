/*
 * small-transfers: below the half-bandwidth size Lo / G a transfer's time is mostly the fixed cost
 * Lo (van Werkhoven et al., section V). Looked at are runs of such transfers that one thread made
 * one behind the other from one site; lost is what they took minus Lo + k G of one transfer of all
 * k bytes.
 */
#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

/* Runs of one row. */
struct runs {
    struct xfa_sum sum; /* ns: what they took, measured or by the model */
    uint64_t modelled;  /* of its transfers: by the model */
    double batched_ns;  /* one transfer per run instead */
    double error;       /* of the model, relative */
};

/* What a thread did last: a run of small transfers of one row. */
struct lane {
    uint32_t id; /* key */
    uint32_t row;
    uint64_t count, bytes; /* 0 = no run */
    double took_ns;
    bool measured; /* took_ns covers every transfer of the run */
    const struct xfp_fit *fit;
};

struct small {
    struct runs *rows; /* by row number */
    size_t count, capacity;
    struct xfa_table lanes; /* of the process at hand */
};

static struct runs *runs_of(struct small *small, uint32_t row)
{
    if (row >= small->count) {
        small->rows = xfa_room(small->rows, &small->capacity, (size_t)row + 1, sizeof *small->rows);
        memset(small->rows + small->count, 0, (row + 1 - small->count) * sizeof *small->rows);
        small->count = (size_t)row + 1;
    }
    return &small->rows[row];
}

/* Section V: n transfers one behind the other take Lo + k G + (n - 1) g, one of all k bytes
 * Lo + k G. */
static void end_run(struct small *small, struct lane *lane)
{
    if (lane->count >= 2) {
        const struct xfp_fit *fit = lane->fit;
        double batched = fit->Lo_ns + (double)lane->bytes * fit->G_ns_per_byte;
        double modelled = batched + (double)(lane->count - 1) * fit->g_ns;
        double took = lane->measured ? lane->took_ns : modelled;
        if (!isnan(took)) {
            struct runs *runs = runs_of(small, lane->row);
            runs->sum.transfers += lane->count;
            runs->sum.bytes = xfa_add(runs->sum.bytes, lane->bytes);
            runs->sum.ns += took;
            runs->modelled += lane->measured ? 0 : lane->count;
            runs->batched_ns += batched;
            runs->error = fmax(runs->error, fit->max_error);
        }
    }
    lane->count = lane->bytes = 0;
}

static void transfer(void *self, const struct xfa_transfer *transfer)
{
    struct small *small = self;
    struct lane *lane = xfa_table_put(&small->lanes, &transfer->lane);
    const struct xfp_fit *fit = transfer->class->achievable.fit;
    uint64_t bytes = transfer->event->bytes;
    bool is_small = fit && (double)bytes * fit->G_ns_per_byte < fit->Lo_ns;
    if (lane->row != transfer->class->row || !is_small)
        end_run(small, lane);
    if (!is_small)
        return;
    if (lane->count == 0) {
        lane->row = transfer->class->row;
        lane->fit = fit;
        lane->took_ns = 0;
        lane->measured = true;
    }
    lane->count++;
    lane->bytes += bytes;
    lane->measured = lane->measured && !isnan(transfer->achieved_ns);
    lane->took_ns += isnan(transfer->achieved_ns) ? 0 : transfer->achieved_ns;
}

static uint32_t process(void *self, struct xfa_process *process)
{
    struct small *small = self;
    xfa_table_init(&small->lanes, sizeof(uint32_t), sizeof(struct lane));
    return 0;
}

static void end(void *self, struct xfa_process *process)
{
    struct small *small = self;
    for (size_t i = 0; i < small->lanes.count; i++)
        end_run(small, xfa_table_at(&small->lanes, i));
    xfa_table_free(&small->lanes);
}

static struct xfa_observer observe(void *self)
{
    return (struct xfa_observer){.name = "small transfers",
                                 .self = self,
                                 .process = process,
                                 .transfer = transfer,
                                 .end = end};
}

static void release(void *self)
{
    struct small *small = self;
    free(small->rows);
}

/* ---- the finding ----------------------------------------------------------------------------- */

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct small *small = sums;
    const struct runs *runs = row < small->count ? &small->rows[row] : NULL;
    if (!runs || runs->sum.transfers == 0)
        return false;
    gain->transfers = runs->sum.transfers;
    gain->bytes = runs->sum.bytes;
    gain->achieved_ns = runs->sum.ns;
    gain->achievable_ns = runs->batched_ns;
    gain->lost_ns = fmax(0, runs->sum.ns - runs->batched_ns);
    gain->error = runs->error;
    gain->achieved_basis = runs->modelled == 0 ? xfa_achieved_basis(&analysis->rows[row])
                           : runs->modelled == runs->sum.transfers ? XFA_BASIS_MODELLED
                                                                   : XFA_BASIS_MIXED;
    gain->achievable_basis = XFA_BASIS_MODELLED;
    gain->reckoning = XFA_RECKONED_BATCHED;
    gain->remedy = xfa_remedy_for(xfa_analysis_row(analysis, row), XFA_REMEDY_BATCH);
    return true;
}

const struct xfa_finding_kind xfa_kind_small = {
    .look = look,
    .self_bytes = sizeof(struct small),
    .observe = observe,
    .free = release,
};
