#include "analyzer/timeline/phase_shares.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

#define PLACES (XFA_SHARE_GPUS + 2) /* of struct xfa_shares */

struct phase {
    uint64_t name;
    uint32_t open;
    /* The shares at its opening are subtracted, and those at its closing are added: the difference
     * is right even where the sums wrap. */
    uint64_t shares[PLACES][XFA_SHARES];
};

struct sum {
    char *name;
    struct xfa_exact exact[XFA_SHARES];
    double shares[XFA_SHARES]; /* the same */
};

struct xfa_phase_shares {
    struct phase *phases; /* XFA_PHASES; NULL: there was no range yet */
    uint32_t count;       /* in the process at hand */
    struct sum *sums;
    size_t sum_count, sum_capacity;
};

struct xfa_phase_shares *xfa_phase_shares_new(void)
{
    struct xfa_phase_shares *phases = xfa_alloc(sizeof *phases);
    *phases = (struct xfa_phase_shares){.count = 0};
    return phases;
}

void xfa_phase_shares_free(struct xfa_phase_shares *phases)
{
    if (!phases)
        return;
    for (size_t i = 0; i < phases->sum_count; i++)
        free(phases->sums[i].name);
    free(phases->sums);
    free(phases->phases);
    free(phases);
}

uint32_t xfa_phase_number(struct xfa_phase_shares *phases, uint64_t name)
{
    for (uint32_t i = 0; i < phases->count; i++)
        if (phases->phases[i].name == name)
            return i;
    if (phases->count == XFA_PHASES)
        return XFA_NO_PHASE;
    if (!phases->phases)
        phases->phases = xfa_alloc(XFA_PHASES * sizeof *phases->phases);
    phases->phases[phases->count] = (struct phase){.name = name};
    return phases->count++;
}

bool xfa_phase_opens(struct xfa_phase_shares *phases, uint32_t phase)
{
    return phases->phases[phase].open++ == 0;
}

bool xfa_phase_closes(struct xfa_phase_shares *phases, uint32_t phase)
{
    struct phase *of = &phases->phases[phase];
    return of->open > 0 && --of->open == 0;
}

void xfa_phase_take(struct xfa_phase_shares *phases, uint32_t phase, size_t place,
                    const uint64_t shares[XFA_SHARES], bool adds)
{
    uint64_t *of = phases->phases[phase].shares[place];
    for (unsigned i = 0; i < XFA_SHARES; i++)
        of[i] += adds ? shares[i] : 0 - shares[i];
}

void xfa_phase_copy(struct xfa_phase_shares *phases, size_t from, size_t to)
{
    for (uint32_t i = 0; i < phases->count; i++)
        memcpy(phases->phases[i].shares[to], phases->phases[i].shares[from],
               sizeof phases->phases[i].shares[to]);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static struct sum *sum_named(struct xfa_phase_shares *phases, const char *name)
{
    for (size_t i = 0; i < phases->sum_count; i++)
        if (strcmp(phases->sums[i].name, name) == 0)
            return &phases->sums[i];
    phases->sums = xfa_grown(phases->sums, &phases->sum_capacity, &phases->sum_count,
                             phases->sum_count, sizeof *phases->sums);
    struct sum *sum = &phases->sums[phases->sum_count - 1];
    sum->name = xfa_text(name);
    return sum;
}

static void add(struct sum *sum, const struct xfa_exact more[XFA_SHARES])
{
    for (unsigned i = 0; i < XFA_SHARES; i++) {
        xfa_exact_merge(&sum->exact[i], &more[i]);
        sum->shares[i] = xfa_exact_value(&sum->exact[i]);
    }
}

void xfa_phase_shares_end(struct xfa_phase_shares *phases, const struct xfa_shares *shares,
                          const struct xfa_process *process)
{
    for (uint32_t i = 0; i < phases->count; i++) {
        const struct phase *phase = &phases->phases[i];
        const struct xfa_text *text =
            phase->name ? xfa_trace_text(process->trace, phase->name) : NULL;
        char *name = text ? xfa_kept(text->text, text->bytes) : xfa_text("(no name)");
        for (size_t gpu = 0; gpu < XFA_SHARE_GPUS; gpu++) {
            if (!shares->times[gpu].used)
                continue;
            struct xfa_exact more[XFA_SHARES] = {{0}};
            for (unsigned s = 0; s < XFA_SHARES; s++)
                xfa_exact_add(&more[s], (double)phase->shares[gpu][s]);
            add(sum_named(phases, name), more);
        }
        free(name);
    }
    phases->count = 0;
}

void xfa_phase_shares_give(const struct xfa_phase_shares *phases, struct xfa_parcel *parcel)
{
    xfa_parcel_number(parcel, phases->sum_count);
    for (size_t i = 0; i < phases->sum_count; i++) {
        xfa_parcel_text(parcel, phases->sums[i].name);
        xfa_parcel_put(parcel, phases->sums[i].exact, sizeof phases->sums[i].exact);
    }
}

void xfa_phase_shares_take(struct xfa_phase_shares *phases, struct xfa_unpacking *from)
{
    uint64_t count = xfa_unpack_number(from);
    for (uint64_t i = 0; i < count && !from->bad; i++) {
        struct xfa_exact more[XFA_SHARES];
        char *name = xfa_unpack_text(from);
        xfa_unpack_bytes(from, more, sizeof more);
        if (!from->bad)
            add(sum_named(phases, name), more);
        free(name);
    }
}

const double *xfa_phase_shares_named(const struct xfa_phase_shares *phases, const char *name)
{
    for (size_t i = 0; i < phases->sum_count; i++)
        if (strcmp(phases->sums[i].name, name) == 0)
            return phases->sums[i].shares;
    return NULL;
}
