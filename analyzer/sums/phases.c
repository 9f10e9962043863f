#include "analyzer/sums/phases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/compare.h"

/* The phase of a range, by the trace's words. */
struct known {
    struct known_key {
        uint32_t parent;       /* number of a phase */
        uint32_t process;      /* 1: a range of the process */
        uint64_t domain, name; /* ids of the trace's texts */
    } key;
    uint32_t phase;
};

/* Beside an open range, by its slot. */
struct open_phase {
    uint32_t phase;
    uint32_t nesting; /* phases on its path */
    bool own;         /* false: over a limit, in the phase of the one around it */
};

/* A phase that ranges of the process have or had. */
struct shared {
    uint32_t phase;  /* key */
    uint32_t ranges; /* open ones */
    uint32_t place;  /* in `open`, while there are any */
};

struct xfa_phases_process {
    struct xfa_process *process;
    bool any;                         /* ranges were met */
    struct xfa_phase_figures outside; /* before the first one */
    struct xfa_table known;           /* phases by the trace's words */
    struct open_phase *by_slot;
    size_t slot_count, slot_capacity;
    struct xfa_table shared;
    uint32_t *open; /* indexes of `shared`: those that are open */
    size_t open_count, open_capacity;
};

static struct xfa_phase *at(const struct xfa_phases *phases, size_t number)
{
    return xfa_table_at(&phases->all, number);
}

/* ---- figures ---------------------------------------------------------------------------- */

static void count(struct xfa_phase_figures *figures, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    struct xfa_sum *sum = &figures->by_direction[transfer->class->key.row.direction];
    figures->transfers++;
    sum->transfers++;
    sum->bytes = xfa_add(sum->bytes, event->bytes);
    if (!isnan(transfer->achieved_ns)) {
        sum->ns += transfer->achieved_ns;
        figures->timed++;
        figures->transfer_ns += transfer->achieved_ns;
    }
    if (!isnan(transfer->lost_ns)) {
        figures->priced++;
        figures->lost_ns += transfer->lost_ns;
    }
}

/* Those of transfers alone: nothing began outside of ranges. */
static void merge_transfers(struct xfa_phase_figures *into, const struct xfa_phase_figures *from)
{
    for (size_t d = 0; d < XFT_DIRECTION_COUNT; d++) {
        struct xfa_sum *sum = &into->by_direction[d];
        sum->transfers += from->by_direction[d].transfers;
        sum->bytes = xfa_add(sum->bytes, from->by_direction[d].bytes);
        sum->ns += from->by_direction[d].ns;
    }
    into->transfers += from->transfers;
    into->timed += from->timed;
    into->transfer_ns += from->transfer_ns;
    into->priced += from->priced;
    into->lost_ns += from->lost_ns;
}

static uint32_t number_of(const struct xfa_phases *phases, const struct xfa_phase *phase)
{
    return (uint32_t)(phase - at(phases, 0));
}

/* ---- names ------------------------------------------------------------------------------ */

static char *text_of(const struct xfa_process *process, uint64_t id)
{
    const struct xfa_text *text = xfa_trace_text(process->trace, id);
    if (!text || text->bytes == 0)
        return NULL;
    return xfa_kept(text->text, text->bytes < XFA_PHASE_NAME ? text->bytes : XFA_PHASE_NAME);
}

static uint64_t hash_text(const char *text, uint64_t seed)
{
    return text ? XXH3_64bits_withSeed(text, strlen(text), seed) : seed * 0x9e3779b97f4a7c15u + 1;
}

/* The phase of these names; NULL when there is no room for more. */
static struct xfa_phase *by_names(struct xfa_phases *phases, const struct known_key *key)
{
    char *domain = text_of(phases->now->process, key->domain);
    char *name = text_of(phases->now->process, key->name);
    uint64_t identity = at(phases, key->parent)->identity + key->process + 1;
    identity = hash_text(name, hash_text(domain, identity));
    struct xfa_phase *phase = xfa_table_get(&phases->all, &identity);
    if (!phase && phases->all.count < XFA_MAX_PHASES) {
        phase = xfa_table_put(&phases->all, &identity);
        phase->parent = key->parent;
        phase->process = key->process != 0;
        phase->domain = domain;
        phase->name = name;
        return phase;
    }
    free(domain);
    free(name);
    return phase;
}

static uint32_t phase_of(struct xfa_phases *phases, uint32_t parent, const struct xfa_range *range)
{
    struct xfa_table *known = &phases->now->known;
    struct known_key key = {parent, range->id != 0, range->domain, range->name};
    const struct known *met = xfa_table_get(known, &key);
    if (met)
        return met->phase;
    const struct xfa_phase *phase = by_names(phases, &key);
    if (!phase) {
        phases->beyond++;
        return parent;
    }
    uint32_t number = number_of(phases, phase);
    if (known->count < XFA_MAX_PHASES) /* many words may mean one phase: of further ones, none */
        ((struct known *)xfa_table_put(known, &key))->phase = number;
    return number;
}

/* ---- ranges that are open --------------------------------------------------------------- */

/* The walk knows which ranges are open (ranges.h). */
static struct open_phase *beside(struct xfa_phases_process *now, const struct xfa_range *range)
{
    now->by_slot = xfa_grown(now->by_slot, &now->slot_capacity, &now->slot_count, range->slot,
                             sizeof *now->by_slot);
    return &now->by_slot[range->slot];
}

/* Two open ranges of one phase are one place for a transfer. */
static void share(struct xfa_phases *phases, uint32_t phase)
{
    struct xfa_phases_process *now = phases->now;
    struct shared *shared = xfa_table_put(&now->shared, &phase);
    if (shared->ranges++ > 0)
        return;
    phases->beyond += now->open_count >= XFA_MAX_OPEN;
    shared->place = (uint32_t)now->open_count;
    now->open = xfa_room(now->open, &now->open_capacity, now->open_count + 1, sizeof *now->open);
    now->open[now->open_count++] =
        (uint32_t)(shared - (struct shared *)xfa_table_at(&now->shared, 0));
}

static void unshare(struct xfa_phases_process *now, uint32_t phase)
{
    struct shared *shared = xfa_table_get(&now->shared, &phase);
    if (--shared->ranges > 0)
        return;
    uint32_t last = now->open[--now->open_count];
    now->open[shared->place] = last;
    ((struct shared *)xfa_table_at(&now->shared, last))->place = shared->place;
}

static void begin(struct xfa_phases *phases, const struct xfa_range *range)
{
    struct xfa_phases_process *now = phases->now;
    struct open_phase outer = {0};
    if (range->outer)
        outer = now->by_slot[range->outer - 1];
    bool nests = outer.nesting < XFA_MAX_NESTING;
    uint32_t phase = nests ? phase_of(phases, outer.phase, range) : outer.phase;
    bool own = phase != outer.phase;
    phases->beyond += !nests;
    *beside(now, range) = (struct open_phase){phase, outer.nesting + own, own};
    if (own)
        at(phases, phase)->figures.times++;
    if (own && range->id)
        share(phases, phase);
}

/* A range over a limit has its time in the one around it already. */
static void end(struct xfa_phases *phases, const struct xfa_range *range, uint64_t end_ns)
{
    struct xfa_phases_process *now = phases->now;
    const struct open_phase *ended = beside(now, range);
    if (!ended->own)
        return;
    if (end_ns > range->start_ns)
        at(phases, ended->phase)->figures.ns += (double)(end_ns - range->start_ns);
    if (range->id)
        unshare(now, ended->phase);
}

/* ---- the observer ----------------------------------------------------------------------- */

#define ALL_KINDS (XFA_KIND(XFT_EVENT_RANGE_BEGIN) | XFA_KIND(XFT_EVENT_RANGE_END))

static uint64_t start_process(void *self, struct xfa_process *process)
{
    struct xfa_phases *phases = self;
    phases->now = xfa_alloc(sizeof *phases->now);
    phases->now->process = process;
    xfa_table_init(&phases->now->known, sizeof(struct known_key), sizeof(struct known));
    xfa_table_init(&phases->now->shared, sizeof(uint32_t), sizeof(struct shared));
    return ALL_KINDS;
}

static void first_range(struct xfa_phases *phases)
{
    uint64_t outside = 0;
    phases->now->any = true;
    struct xfa_phase *phase = xfa_table_put(&phases->all, &outside);
    merge_transfers(&phase->figures, &phases->now->outside);
}

static void take_range(void *self, const struct xfa_event *event)
{
    struct xfa_phases *phases = self;
    if (!phases->now->any)
        first_range(phases);
    if (!event->range)
        return;
    if (event->kind == XFT_EVENT_RANGE_BEGIN)
        begin(phases, event->range);
    else
        end(phases, event->range, event->start_ns);
}

static void take_unended(void *self, const struct xfa_range *range, enum xfa_unended why,
                         uint64_t end_ns)
{
    end(self, range, end_ns);
}

static void take_transfer(void *self, const struct xfa_event *event)
{
    struct xfa_phases *phases = self;
    uint32_t numbers[XFA_PHASES_OF_ONE];
    size_t belongs = xfa_phases_of(phases, event, numbers);
    if (belongs == 0)
        count(&phases->now->outside, event);
    for (size_t i = 0; i < belongs; i++)
        count(&at(phases, numbers[i])->figures, event);
}

static void forget_process(struct xfa_phases *phases)
{
    if (phases->now) {
        xfa_table_free(&phases->now->known);
        xfa_table_free(&phases->now->shared);
        free(phases->now->by_slot);
        free(phases->now->open);
    }
    free(phases->now);
    phases->now = NULL;
}

static void end_process(void *self, struct xfa_process *process)
{
    struct xfa_phases *phases = self;
    phases->touched = phases->now->any;
    forget_process(phases);
}

static bool touched(const void *self)
{
    return ((const struct xfa_phases *)self)->touched;
}

size_t xfa_phases_of(const struct xfa_phases *phases, const struct xfa_event *event,
                     uint32_t numbers[XFA_PHASES_OF_ONE])
{
    const struct xfa_phases_process *now = phases->now;
    size_t count = 0;
    if (!now || !now->any)
        return 0;
    numbers[count++] = event->range ? now->by_slot[event->range->slot].phase : 0;
    for (size_t i = 0; i < now->open_count && i < XFA_MAX_OPEN; i++) {
        const struct shared *shared = xfa_table_at(&now->shared, now->open[i]);
        numbers[count++] = shared->phase;
    }
    return count;
}

size_t xfa_phases_known(const struct xfa_phases *phases)
{
    return phases->now->known.count;
}

struct xfa_observer xfa_phases_observer(struct xfa_phases *phases)
{
    xfa_table_init(&phases->all, sizeof(uint64_t), sizeof(struct xfa_phase));
    return (struct xfa_observer){
        .name = "phases",
        .kinds = ALL_KINDS,
        .self = phases,
        .process = start_process,
        .event = take_range,
        .transfer = take_transfer,
        .unended = take_unended,
        .end = end_process,
        .touched = touched,
    };
}

void xfa_phases_free(struct xfa_phases *phases)
{
    for (size_t i = 0; i < phases->all.count; i++) {
        free(at(phases, i)->domain);
        free(at(phases, i)->name);
    }
    xfa_table_free(&phases->all);
    forget_process(phases);
}

/* ---- order ------------------------------------------------------------------------------ */

static double bytes_of(const struct xfa_phase *phase)
{
    double bytes = 0;
    for (size_t d = 0; d < XFT_DIRECTION_COUNT; d++)
        bytes += (double)phase->figures.by_direction[d].bytes;
    return bytes;
}

static int by_loss(const void *a, const void *b)
{
    const struct xfa_phase *x = *(const struct xfa_phase *const *)a;
    const struct xfa_phase *y = *(const struct xfa_phase *const *)b;
    int order = xfa_descending(x->figures.lost_ns, y->figures.lost_ns);
    order = order ? order : xfa_descending(x->figures.transfer_ns, y->figures.transfer_ns);
    order = order ? order : xfa_descending(bytes_of(x), bytes_of(y));
    order = order ? order : xfa_descending(x->figures.ns, y->figures.ns);
    return order ? order : (x->identity > y->identity) - (x->identity < y->identity);
}

const struct xfa_phase **xfa_phases_order(const struct xfa_phases *phases)
{
    const struct xfa_phase **order = xfa_alloc((phases->all.count + 1) * sizeof *order);
    for (size_t i = 0; i < phases->all.count; i++)
        order[i] = at(phases, i);
    if (phases->all.count)
        qsort(order, phases->all.count, sizeof *order, by_loss);
    return order;
}

size_t xfa_phase_path(const struct xfa_phases *phases, const struct xfa_phase *phase,
                      const struct xfa_phase *path[XFA_MAX_NESTING])
{
    size_t depth = 0;
    for (uint32_t i = number_of(phases, phase); i != 0 && depth < XFA_MAX_NESTING;
         i = at(phases, i)->parent)
        path[depth++] = at(phases, i);
    for (size_t i = 0; i < depth / 2; i++) {
        const struct xfa_phase *outer = path[depth - 1 - i];
        path[depth - 1 - i] = path[i];
        path[i] = outer;
    }
    return depth;
}
