/*
 * host-device-turns: the host works on what it copies from the GPU again and again, and the GPU
 * waits for that. Whether the GPU could do that work itself, or nobody reads the copies, no record
 * shows: a question, and nothing is saved unless it is answered. Lost: not known.
 *
 * Whether another thread could do it meanwhile is asked apart (serial_host_work.c).
 *
 * What is copied in small pieces is another kind's (frequent-readback): a program decides by it.
 *
 * The other way, the host makes what it copies to the GPU while that waits. If it converts what is
 * less (bytes to floats), or makes it of little or nothing (random numbers, indices, a formula),
 * the GPU could do that: a question, too.
 *
 * Managed memory needs no copies: the host waits, touches it, and so moves it there, and kernels
 * move it back. Often that is for a little of it (a border, an input), which a small kernel could
 * write, or a small copy: a question, too.
 */
#include "analyzer/findings/host_turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/memories.h"

#define LEAST_TIMES 8   /* else they are results, */
#define LEAST_TURNS 3   /* unless the GPU was given work behind so many of them (a guess) */
#define MOST_PENDING 16 /* rows that were copied since the process's last kernel */
#define MOST_SEEN 64    /* arguments of launches, by their id; a power of two */
#define MOST_SENT 0.125 /* for each fetch: the host sets up now and then (a guess) */

#define LAUNCHES (XFA_KIND(XFT_EVENT_LAUNCH) | XFA_KIND(XFT_EVENT_GRAPH_LAUNCH))
#define KINDS (LAUNCHES | XFW_MEMORIES_KINDS)

struct turn {
    uint64_t times;       /* the GPU was given work behind copies of the row */
    uint64_t before, now; /* what the host had sent by the first of them, and by the last */
};

struct turns {
    struct turn *of; /* by row number */
    size_t count, capacity;
    uint32_t pending[MOST_PENDING];
    unsigned pending_count;
    uint64_t sent; /* copies to the device, and what kernels get from the host without one */
    struct xfw_memories memories;
    uint64_t seen[MOST_SEEN]; /* arguments without memory of the host, since memory came or went */
};

static void take_transfer(void *self, const struct xfa_event *event)
{
    struct turns *turns = self;
    uint8_t direction = event->transfer.class->key.row.direction;
    uint32_t row = event->transfer.class->row;
    if (direction != XFT_DIR_D2H && direction != XFT_DIR_H2D)
        return;
    turns->sent += direction == XFT_DIR_H2D;
    for (unsigned i = 0; i < turns->pending_count; i++)
        if (turns->pending[i] == row)
            return;
    if (turns->pending_count < MOST_PENDING)
        turns->pending[turns->pending_count++] = row;
}

/* Memory that the host may have written, and no copy sends. */
static bool reads_of_host(struct turns *turns, const struct xfa_event *event)
{
    uint64_t arguments = event->launch.arguments;
    if (event->kind != XFT_EVENT_LAUNCH || turns->seen[arguments % MOST_SEEN] == arguments + 1)
        return false;
    if (xfw_given_host(&turns->memories, event->process, arguments) == XFW_GIVEN_HOST)
        return true;
    turns->seen[arguments % MOST_SEEN] = arguments + 1;
    return false;
}

static void take_launch(struct turns *turns, const struct xfa_event *event)
{
    turns->sent += reads_of_host(turns, event);
    for (unsigned i = 0; i < turns->pending_count; i++) {
        uint32_t row = turns->pending[i];
        turns->of = xfa_grown(turns->of, &turns->capacity, &turns->count, row, sizeof *turns->of);
        struct turn *turn = &turns->of[row];
        turn->now = turns->sent;
        if (turn->times++ == 0)
            turn->before = turns->sent;
    }
    turns->pending_count = 0;
}

static void take_event(void *self, const struct xfa_event *event)
{
    struct turns *turns = self;
    if (event->flags & (XFT_FAILED | XFT_CAPTURED))
        return;
    if (XFA_KIND(event->kind) & LAUNCHES) {
        take_launch(turns, event);
    } else {
        memset(turns->seen, 0, sizeof turns->seen);
        xfw_memories_event(&turns->memories, event);
    }
}

static uint64_t begin_process(void *self, struct xfa_process *process)
{
    struct turns *turns = self;
    (void)process;
    turns->pending_count = 0;
    memset(turns->seen, 0, sizeof turns->seen);
    xfw_memories_free(&turns->memories);
    return KINDS;
}

static struct xfa_observer observe(void *self)
{
    return (struct xfa_observer){
        .name = "turns",
        .kinds = KINDS,
        .self = self,
        .process = begin_process,
        .event = take_event,
        .transfer = take_transfer,
    };
}

static void release(void *self)
{
    struct turns *turns = self;
    free(turns->of);
    xfw_memories_free(&turns->memories);
}

bool xfa_is_turn(const void *sums, const struct xfa_row *row, const struct xfa_figures *figures)
{
    const struct turns *turns = sums;
    bool by_turns = row->number < turns->count && turns->of[row->number].times >= LEAST_TURNS;
    return (row->key.direction == XFT_DIR_D2H || row->key.direction == XFT_DIR_H2D) &&
           (by_turns || figures->transfers >= LEAST_TIMES) &&
           figures->bytes / XFW_TURN_BYTES >= figures->transfers;
}

bool xfa_turn_sends_nothing(const void *sums, const struct xfa_row *row)
{
    const struct turns *turns = sums;
    if (row->number >= turns->count || turns->of[row->number].times < LEAST_TURNS)
        return false;
    const struct turn *turn = &turns->of[row->number];
    return (double)(turn->now - turn->before) <= MOST_SENT * (double)turn->times;
}

double xfa_brought_part(const struct xfa_analysis *analysis, const void *sums)
{
    uint64_t brought = 0, sent = 0;
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        const struct xfa_figures *figures = &analysis->rows[i];
        uint64_t *bytes = row->key.direction == XFT_DIR_D2H ? &brought : &sent;
        if (xfa_is_turn(sums, row, figures))
            *bytes = xfa_add(*bytes, figures->bytes);
    }
    double all = (double)brought + (double)sent;
    return all > 0 ? (double)brought / all : 1;
}

/* It went to the host again and again, as that touched it, and back to kernels. */
static bool goes_to_and_fro(const struct xfa_managed_figures *figures)
{
    uint64_t touched = figures->by_cause[XFT_CAUSE_USER];
    return figures->host_faults >= LEAST_TIMES && figures->bytes[XFT_DIR_D2H] > touched &&
           figures->bytes[XFT_DIR_H2D] > touched;
}

static void try_managed(const struct xfa_analysis *analysis, struct xfa_findings *findings)
{
    const struct xfa_finding like = {
        .id = XFA_FINDING_HOST_TURNS,
        .remedy = {.kind = XFA_REMEDY_TOUCH_THERE, .node = -1},
        .assumed = "the GPU needs no time for it that counts",
        .question = "the GPU can do, or a small copy bring, what the host does with the memory of "
                    "{site} between kernels",
    };
    for (size_t i = 0; i < analysis->managed.sites.count; i++) {
        const struct xfa_managed_site *of = xfa_table_at(&analysis->managed.sites, i);
        const struct xfa_managed_figures *figures = &of->figures;
        const struct xfa_finding_site site = {
            .site = xfa_run_site(analysis->run, of->site),
            .transfers = figures->allocations,
            .bytes = xfa_add(figures->bytes[XFT_DIR_D2H], figures->bytes[XFT_DIR_H2D]),
            .lost_ns = NAN,
            .reckoning = XFA_RECKONED_TURNS,
        };
        if (goes_to_and_fro(figures))
            xfa_findings_add_site(findings, &like, &site);
    }
}

/* On trial, since without a replay it says nothing. */
static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    try_managed(analysis, findings);
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        const struct xfa_figures *figures = &analysis->rows[i];
        bool fetched = row->key.direction == XFT_DIR_D2H;
        if (!xfa_is_turn(sums, row, figures))
            continue;
        const struct xfa_finding like = {
            .id = XFA_FINDING_HOST_TURNS,
            .by_function = true, /* one piece of the host's work each */
            .remedy = xfa_remedy_for(row, XFA_REMEDY_ON_DEVICE),
            .assumed = "the GPU needs no time for it that counts",
            .question = fetched ? "the GPU can do the host's work on what {site} brings"
                                : "the host only converts what {site} sends, or makes it of little "
                                  "(random numbers, indices, a formula), and the GPU can do that",
        };
        const struct xfa_finding_site site =
            xfa_finding_site_of_row(row, figures, XFA_RECKONED_TURNS);
        xfa_findings_add_site(findings, &like, &site);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    if (finding->remedy.kind == XFA_REMEDY_TOUCH_THERE)
        return xfw_change_managed_turns(analysis);
    struct xfw_set classes = xfa_finding_classes(analysis, finding);
    double part = xfa_brought_part(analysis, sums);
    return finding->remedy.to_host ? xfw_change_host_turns(analysis, &classes, part)
                                   : xfw_change_host_converts(analysis, &classes, part);
}

const struct xfa_finding_kind xfa_kind_host_turns = {
    .try = try,
    .change = change,
    .self_bytes = sizeof(struct turns),
    .observe = observe,
    .free = release,
};
