#include "analyzer/export/stacks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"

struct stack {
    uint64_t hash; /* key: of all frames */
    struct xfa_site *site;
};

struct known {
    uint32_t id; /* key: in the process */
    uint32_t stack;
};

/* ---- stacks ---------------------------------------------------------------------------------- */

static uint64_t frame_hash(const struct xfa_frame *frame, uint64_t seed)
{
    const char *texts[] = {frame->function, frame->file, frame->module};
    uint64_t numbers[] = {frame->line, frame->function && frame->line ? 0
                                       : frame->module                ? frame->offset
                                                                      : frame->address};
    uint64_t hash = XXH3_64bits_withSeed(numbers, sizeof numbers, seed);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hash =
            XXH3_64bits_withSeed(texts[i] ? texts[i] : "", texts[i] ? strlen(texts[i]) : 0, hash);
    return hash;
}

static uint64_t stack_hash(const struct xfa_site *site)
{
    uint64_t hash = site->frame_count;
    for (size_t i = 0; i < site->frame_count; i++)
        hash = frame_hash(&site->frames[i], hash);
    return hash ? hash : 1;
}

/* Takes the site. */
static uint32_t keep_stack(struct xfa_stacks *stacks, struct xfa_site *site)
{
    uint64_t hash = stack_hash(site);
    bool full = stacks->stacks.count >= XFA_MOST_STACKS;
    const struct stack *known = xfa_table_get(&stacks->stacks, &hash);
    if (known || full) {
        xfa_site_free(site);
        return known ? (uint32_t)(known - (struct stack *)xfa_table_at(&stacks->stacks, 0)) : 0;
    }
    struct stack *stack = xfa_table_put(&stacks->stacks, &hash);
    stack->site = site;
    stacks->frames += site->frame_count;
    return (uint32_t)(stacks->stacks.count - 1);
}

static uint32_t stack_of(struct xfa_stacks *stacks, const struct xfa_process *process, uint32_t id)
{
    const struct known *before = xfa_table_get(&stacks->known, &id);
    if (before)
        return before->stack;
    /* the shelf counts what it was ever given: here only what is kept counts */
    stacks->shelf.frames = stacks->frames < XFA_MOST_STACK_FRAMES ? 0 : XFA_MAX_FRAMES;
    uint32_t stack = keep_stack(stacks, xfa_site_new(&stacks->shelf, process->trace, id));
    struct known *known = xfa_table_put(&stacks->known, &id);
    known->stack = stack;
    return stack;
}

static struct xfa_stack_sum *sum_of(struct xfa_stacks *stacks, struct xfa_stack_key key)
{
    if (stacks->sums.count >= XFA_MOST_SUMS && !xfa_table_get(&stacks->sums, &key))
        key.stack = 0;
    return xfa_table_put(&stacks->sums, &key);
}

void xfa_stacks_begin(struct xfa_export *export)
{
    struct xfa_stacks *stacks = export->self;
    uint64_t none = 0;
    xfa_shelf_init(&stacks->shelf);
    xfa_table_init(&stacks->stacks, sizeof(uint64_t), sizeof(struct stack));
    xfa_table_init(&stacks->known, sizeof(uint32_t), sizeof(struct known));
    xfa_table_init(&stacks->sums, sizeof(struct xfa_stack_key), sizeof(struct xfa_stack_sum));
    xfa_table_put(&stacks->stacks, &none); /* the other stacks */
}

void xfa_stacks_process(struct xfa_export *export, struct xfa_process *process)
{
    struct xfa_stacks *stacks = export->self;
    xfa_table_free(&stacks->known);
    xfa_table_init(&stacks->known, sizeof(uint32_t), sizeof(struct known));
}

void xfa_stacks_transfer(struct xfa_export *export, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    struct xfa_stacks *stacks = export->self;
    struct xfa_stack_key key = {stack_of(stacks, event->process, event->stack),
                                transfer->class->row};
    struct xfa_stack_sum *sum = sum_of(stacks, key);
    sum->transfers++;
    sum->weights[XFA_WEIGHT_BYTES] += (double)event->bytes;
    if (!isnan(transfer->achieved_ns))
        sum->weights[XFA_WEIGHT_TIME] += transfer->achieved_ns;
    if (!isnan(transfer->lost_ns))
        sum->lost_ns += transfer->lost_ns;
}

void xfa_stacks_free(struct xfa_export *export)
{
    struct xfa_stacks *stacks = export->self;
    for (size_t i = 0; i < stacks->stacks.count; i++)
        xfa_site_free(((struct stack *)xfa_table_at(&stacks->stacks, i))->site);
    xfa_table_free(&stacks->stacks);
    xfa_table_free(&stacks->known);
    xfa_table_free(&stacks->sums);
    xfa_shelf_free(&stacks->shelf);
}

/* ---- what is saved --------------------------------------------------------------------------- */

/* Shares are in proportion to what was lost or, where that is not known, to bytes. */
static double worth(const struct xfa_finding_site *site, bool lost)
{
    if (!lost)
        return (double)site->bytes + 1;
    return site->lost_ns > 0 ? site->lost_ns : 0;
}

/* A site that makes no transfers, or whose row is not here: its own stack. */
static void save_at_site(struct xfa_stacks *stacks, const struct xfa_finding *finding,
                         const struct xfa_site *site, double ns)
{
    struct xfa_site *own = xfa_alloc(sizeof *own);
    size_t capacity = 0;
    *own = *site;
    own->text = NULL;
    own->frames = xfa_room(NULL, &capacity, site->frame_count + 1, sizeof *own->frames);
    if (site->frame_count)
        memcpy(own->frames, site->frames, site->frame_count * sizeof *own->frames);
    struct xfa_stack_key key = {keep_stack(stacks, own), XFA_NO_ROW - (uint32_t)finding->id};
    struct xfa_stack_sum *sum = sum_of(stacks, key);
    sum->what = xfa_finding_word(finding->id);
    sum->weights[XFA_WEIGHT_SAVING] += ns;
}

struct of_row {
    double lost_ns, bytes;
};

static void save_in_rows(struct xfa_stacks *stacks, const double *saved, const struct of_row *rows,
                         size_t count)
{
    for (size_t i = 0; i < stacks->sums.count; i++) {
        struct xfa_stack_sum *sum = xfa_table_at(&stacks->sums, i);
        if (sum->key.row >= count || !(saved[sum->key.row] > 0))
            continue;
        const struct of_row *row = &rows[sum->key.row];
        double part = row->lost_ns > 0 ? sum->lost_ns / row->lost_ns
                                       : sum->weights[XFA_WEIGHT_BYTES] / row->bytes;
        sum->weights[XFA_WEIGHT_SAVING] += saved[sum->key.row] * part;
    }
}

static void share_out(struct xfa_stacks *stacks, const struct xfa_finding *finding, double ns,
                      double *saved, const struct of_row *rows, size_t count)
{
    double lost = 0, all = 0;
    for (size_t i = 0; i < finding->site_count; i++)
        lost += finding->sites[i].lost_ns > 0 ? finding->sites[i].lost_ns : 0;
    for (size_t i = 0; i < finding->site_count; i++)
        all += worth(&finding->sites[i], lost > 0);
    for (size_t i = 0; i < finding->site_count; i++) {
        const struct xfa_finding_site *site = &finding->sites[i];
        double part = ns * worth(site, lost > 0) / all;
        bool moved = site->row && site->row->number < count && rows[site->row->number].bytes > 0;
        if (moved)
            saved[site->row->number] += part;
        else if (part > 0)
            save_at_site(stacks, finding, site->site, part);
    }
}

void xfa_stacks_save(struct xfa_export *export)
{
    struct xfa_stacks *stacks = export->self;
    const struct xfa_findings *findings = export->findings;
    size_t count = export->analysis->row_count;
    double added = 0;
    if (!findings || !findings->whatif || !(findings->whatif->set.likely > 0))
        return;
    double set = findings->whatif->set.likely;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].order && findings->items[i].added_ns > 0)
            added += findings->items[i].added_ns;
    double *saved = xfa_alloc((count + 1) * sizeof *saved);
    struct of_row *rows = xfa_alloc((count + 1) * sizeof *rows);
    for (size_t i = 0; i < stacks->sums.count; i++) {
        const struct xfa_stack_sum *sum = xfa_table_at(&stacks->sums, i);
        rows[sum->key.row].lost_ns += sum->lost_ns;
        rows[sum->key.row].bytes += sum->weights[XFA_WEIGHT_BYTES];
    }
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].order && findings->items[i].added_ns > 0)
            share_out(stacks, &findings->items[i], findings->items[i].added_ns * set / added, saved,
                      rows, count);
    save_in_rows(stacks, saved, rows, count);
    free(saved);
    free(rows);
}

/* ---- what is shown --------------------------------------------------------------------------- */

const struct xfa_site *xfa_stacks_frames(const struct xfa_stacks *stacks,
                                         const struct xfa_stack_sum *sum)
{
    static const struct xfa_frame other = {.function = "(other stacks)"};
    static const struct xfa_frame unknown = {.function = "(no call stack)"};
    static const struct xfa_site others = {.frames = (struct xfa_frame *)&other, .frame_count = 1};
    static const struct xfa_site none = {.frames = (struct xfa_frame *)&unknown, .frame_count = 1};
    const struct stack *stack = xfa_table_at(&stacks->stacks, sum->key.stack);
    if (!stack->site)
        return &others;
    return stack->site->frame_count ? stack->site : &none;
}

char *xfa_stacks_leaf(const struct xfa_export *export, const struct xfa_stack_sum *sum)
{
    if (sum->what)
        return xfa_text(sum->what);
    const struct xfa_row *row = xfa_analysis_row(export->analysis, sum->key.row);
    return xfa_print("%s %s, %s to %s", xfa_row_called(row)->name,
                     xft_direction_word(row->key.direction), xft_memory_word(row->key.src_mem),
                     xft_memory_word(row->key.dst_mem));
}
